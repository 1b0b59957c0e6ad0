"""The service's API: what goes in by HTTP is what a fleet sees, and what comes out is what it says."""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import sqlite3
from dataclasses import replace
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")
pytest.importorskip("httpx")

from starlette.testclient import TestClient

from prophecy.fleet import Fleet
from prophecy.service import DEFAULT, create_app
from prophecy.service.app import INLINE, READERS, _written
from prophecy.service.metrics import Metrics

ADDRESS = "http://127.0.0.1:8765"
JSON = {"content-type": "application/json"}


def client(fleet=None, **options):
    return TestClient(
        create_app(Fleet() if fleet is None else fleet, **options), base_url=ADDRESS, raise_server_exceptions=False
    )


@pytest.fixture
def service():
    with client() as found:
        yield found


def wave(count, seed=0):
    rng = np.random.default_rng(seed)
    return (np.sin(np.arange(count) / 9) + 0.01 * rng.standard_normal(count)).tolist()


def same(answer, expected):
    return expected is None if answer is None else answer == expected or (math.isnan(expected) and answer is None)


def test_values_sent_one_at_a_time_get_the_answers_of_a_fleet(service):
    fleet = Fleet()
    for k, value in enumerate(wave(30)):
        row = service.post("/v1/observe", json={"key": "a", "time": k, "value": value}).json()["rows"][0]
        own = fleet.observe(["a"], [value], time=[float(k)])
        for name in ("point", "lower", "upper", "score", "alarm", "next", "next_lower", "next_upper"):
            number = float(getattr(own, name)[0])
            assert row[name] == (number if math.isfinite(number) else None), (k, name)
        assert (row["key"], row["time"], row["value"], row["status"]) == ("a", k, value, "taken")


def bodies(values):
    """One batch in every form there is."""
    stamps = [f"2026-03-01T12:{k:02d}:00+01:00" for k in range(len(values))]
    rows = [{"key": "a", "time": stamp, "value": value} for stamp, value in zip(stamps, values, strict=True)]
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    table = "key,time,value\n" + "".join(f"a,{row['time']},{row['value']!r}\n" for row in rows)
    wide = "time;a\n" + "".join(f"{row['time']};{str(row['value']).replace('.', ',')}\n" for row in rows)
    return {
        "rows": (json.dumps(rows), "application/json"),
        "columns": (json.dumps({"key": "a", "time": stamps, "value": values}), "application/json; charset=utf-8"),
        "lines": (lines, "application/x-ndjson"),
        "lines with blank ones": (lines.replace("\n", "\n\n"), "application/jsonl"),
        "csv": (table, "text/csv"),
        "csv with a byte order mark and Windows line ends": ("\ufeff" + table.replace("\n", "\r\n"), "text/csv"),
        "wide csv with decimal commas": (wide, "text/csv; header=present"),
    }


def test_every_form_of_a_batch_gives_the_same_answers():
    found = {}
    for name, (body, kind) in bodies(wave(40)).items():
        with client() as service:
            answer = service.post("/v1/observe", content=body.encode(), headers={"content-type": kind})
            assert answer.status_code == 200, (name, answer.text)
            found[name] = answer.json()["rows"]
    first = found.pop("rows")
    assert first[5]["time"] == "2026-03-01T11:05:00Z"
    assert all(rows == first for rows in found.values())


def test_answers_come_as_rows_columns_or_not_at_all(service):
    batch = [{"key": "a", "value": 1.0}, {"key": "b", "value": None}]
    rows = service.post("/v1/observe", json=batch).json()
    columns = service.post("/v1/observe?answers=columns", json=batch).json()
    none = service.post("/v1/observe?answers=none", json=batch).json()
    assert (rows["taken"], rows["missing"], rows["late"]) == (1, 1, 0)
    assert [row["key"] for row in rows["rows"]] == columns["columns"]["key"] == ["a", "b"]
    assert "rows" not in none
    assert "columns" not in none
    assert (rows["cursor"], columns["cursor"], none["cursor"]) == (2, 4, 6)


def test_late_values_are_told_and_passed_over(service):
    service.post("/v1/observe", json=[{"key": "a", "time": t, "value": 1.0 * t} for t in range(10)])
    answer = service.post("/v1/observe", json={"key": "a", "time": 3.5, "value": 99.0}).json()
    assert (answer["late"], answer["rows"][0]["status"]) == (1, "late")
    assert service.get("/v1/series/a").json()["value"] == 9.0


def test_a_file_sent_twice_is_taken_once_and_that_is_said(service):
    lines = [f"2026-03-01T{k // 60:02}:{k % 60:02}:00Z,{value!r}" for k, value in enumerate(wave(1400))]
    body = "time,value\n" + "\n".join(lines) + "\n"
    csv = {"content-type": "text/csv"}
    first, second = (service.post("/v1/observe?name=a", content=body, headers=csv).json() for _ in range(2))
    assert (first["taken"], first["repeated"]) == (1400, 0)
    assert (second["taken"], second["late"], second["repeated"]) == (0, 0, 1400)
    assert service.get("/v1/series/a").json()["count"] == 1400


def test_dates_stay_dates_numbers_numbers_and_rows_without_times_have_none(service):
    service.post("/v1/observe", json=[{"key": "d", "time": "2026-03-01T12:00:00.25Z", "value": 1.0}])
    service.post("/v1/observe", json=[{"key": "n", "time": 12.5, "value": 1.0}])
    service.post("/v1/observe", json=[{"key": "u", "value": 1.0}])
    times = {row["key"]: row["time"] for row in service.get("/v1/series").json()["series"]}
    assert times == {"d": "2026-03-01T12:00:00.250Z", "n": 12.5, "u": None}


def test_a_date_without_a_zone_is_utc_and_with_one_is_brought_there(service):
    rows = [
        {"key": "a", "time": "2026-03-01T00:00:00", "value": 1},
        {"key": "b", "time": "2026-03-01T01:00+01", "value": 1},
    ]
    answers = service.post("/v1/observe", json=rows).json()["rows"]
    assert {row["time"] for row in answers} == {"2026-03-01T00:00:00Z"}


@pytest.mark.parametrize("text", ["%d%d", "%B%b", "%Y-%m-%d %d", "%", "%Q"])
def test_a_format_of_times_that_cannot_be_is_refused_with_400(service, text):
    body, csv = "key,time,value\na,01.02.2026,1\n", {"content-type": "text/csv"}
    answer = service.post("/v1/observe", params={"time_format": text}, content=body, headers=csv)
    assert answer.status_code == 400
    assert "time format" in answer.json()["error"]
    assert answer.json()["way_out"]
    assert service.get("/v1/series").json()["total"] == 0


def test_the_list_is_searched_paged_and_has_recent_values(service):
    for n in range(7):
        service.post("/v1/observe", json={"key": f"Hall {n}/temperature", "value": n})
    found = service.get("/v1/series", params={"search": "hall", "offset": 2, "limit": 3, "recent": 5}).json()
    assert found["total"] == 7
    assert [row["key"] for row in found["series"]] == [f"Hall {n}/temperature" for n in (2, 3, 4)]
    assert [row["recent"]["value"] for row in found["series"]] == [[2], [3], [4]]
    assert service.get("/v1/series", params={"search": "cellar"}).json() == {"total": 0, "offset": 0, "series": []}


def test_a_series_has_its_past_its_slope_and_words_of_its_own(service):
    values = [0.5 * k for k in range(60)]
    service.post("/v1/observe", json=[{"key": "ramp", "time": k, "value": v} for k, v in enumerate(values)])
    found = service.get("/v1/series/ramp?count=20").json()
    assert found["recent"]["value"] == values[-20:]
    assert found["derivative"] == pytest.approx(0.5, rel=1e-6)
    assert found["point"] == pytest.approx(30.0, rel=1e-6)
    assert "60 values seen" in found["words"]
    assert (found["count"], found["cursor"], found["dt"]) == (60, 60, 1.0)


def test_the_past_of_a_series_without_times_says_which_values_raised_alarms(service):
    values = wave(400)
    values[350] = 50.0
    answers = service.post("/v1/observe?answers=columns", json={"key": "a", "value": values}).json()["columns"]
    assert answers["event"][350] > 0
    assert service.get("/v1/series/a?count=256").json()["recent"]["event"] == answers["event"][-256:]
    assert service.get("/v1/series?recent=60").json()["series"][0]["recent"]["event"] == answers["event"][-60:]


def test_a_forecast_is_the_one_of_the_library_with_times_and_quantiles(service):
    values = wave(200)
    service.post("/v1/observe", json=[{"key": "a", "time": 10 * k, "value": v} for k, v in enumerate(values)])
    found = service.get("/v1/forecast", params={"key": "a", "horizon": 12, "level": 0.8}).json()
    fleet = Fleet()
    fleet.observe(["a"] * 200, values, time=[10.0 * k for k in range(200)])
    own = fleet.forecast("a", 12, 0.8)
    assert found["mean"] == np.asarray(own.mean).tolist()
    assert found["lower"] == np.asarray(own.lower).tolist()
    assert found["point"] == np.asarray(own.point).tolist()
    assert found["quantiles"]["0.5"] == np.asarray(own.median).tolist()
    assert found["time"] == [2000.0 + 10 * k for k in range(12)]
    order = np.array([found["quantiles"][q] for q in ("0.05", "0.1", "0.25", "0.5", "0.75", "0.9", "0.95")])
    assert (np.diff(order, axis=0) >= 0).all()


def test_a_forecast_of_too_few_values_says_so(service):
    service.post("/v1/observe", json={"key": "a", "value": 1.0})
    answer = service.get("/v1/forecast?key=a")
    assert answer.status_code == 409
    assert "at least 2" in answer.json()["error"]


def test_a_spike_raises_an_alarm_that_the_cursor_finds_once(service):
    rng = np.random.default_rng(3)
    values = rng.standard_normal(400).tolist()
    service.post("/v1/observe", json=[{"key": "a", "time": k, "value": v} for k, v in enumerate(values)])
    before = service.get("/v1/events").json()["last"]
    service.post("/v1/observe", json={"key": "a", "time": 400, "value": 60.0})
    found = service.get("/v1/events", params={"since": before}).json()
    assert [(a["key"], a["time"], a["value"]) for a in found["events"]] == [("a", 400.0, 60.0)]
    assert service.get("/v1/events", params={"since": found["cursor"]}).json()["events"] == []
    service.post("/v1/observe", json={"key": "b", "value": 1.0})
    assert service.get("/v1/events", params={"since": before, "key": "b"}).json()["events"] == []
    assert service.get("/v1/events", params={"since": before, "key": "c"}).status_code == 404


def test_a_series_can_be_forgotten_and_begun_again(service):
    service.post("/v1/observe", json=[{"key": "a/b", "value": v} for v in wave(20)])
    assert service.delete("/v1/series/a%2Fb").status_code == 204
    assert service.get("/v1/series/a%2Fb").status_code == 404
    assert service.post("/v1/observe", json={"key": "a/b", "value": 1.0}).json()["rows"][0]["point"] is None


KEYS = st.text(st.characters(codec="utf-8"), min_size=1, max_size=30)


@settings(max_examples=60)
@given(KEYS)
def test_a_key_is_refused_or_can_be_asked_for(key):
    with client() as service:
        taken = service.post("/v1/observe", json={"key": key, "value": 1.0})
        if taken.status_code == 400:
            assert taken.json()["field"] == "key"
            assert not key.isprintable() or key != key.strip() or {".", ".."} & set(key.split("/"))
            return
        assert service.get("/v1/series/" + quote(key, safe="")).json()["key"] == key
        assert service.get("/v1/series", params={"search": key}).json()["total"] == 1


def test_unknown_series_and_paths_are_404_with_a_way_out(service):
    for path in ("/v1/series/none", "/v1/forecast?key=none", "/v1/nothing", "/page/../app.py", "/page/passwd"):
        answer = service.get(path)
        assert answer.status_code == 404, path
        assert answer.json()["way_out"], path
    assert service.delete("/v1/series/none").status_code == 404
    assert service.put("/v1/observe").status_code == 405


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/v1/series?limit=0", "limit"),
        ("/v1/series?limit=501", "limit"),
        ("/v1/series?offset=-1", "offset"),
        ("/v1/forecast?key=a&horizon=0", "horizon"),
        ("/v1/forecast?key=a&horizon=1000000", "horizon"),
        ("/v1/forecast?key=a&level=1", "level"),
        ("/v1/forecast?key=a&level=nan", "level"),
        ("/v1/forecast", "key"),
        ("/v1/events?since=-1", "since"),
        ("/v1/events?since=99999999999999999999999", "since"),
        ("/v1/values?since=x", "since"),
        ("/v1/series/a?count=9999999", "count"),
    ],
)
def test_parameters_out_of_range_are_named(service, path, field):
    answer = service.get(path)
    assert answer.status_code == 400
    assert answer.json()["field"] == field


def test_limits_answer_413_and_429_and_change_nothing():
    limits = replace(DEFAULT, body=2_000, batch=20, keys=3, values=10.0, burst=1.0, requests=1e6)
    with client(settings=limits) as service:
        assert service.post("/v1/observe", json=[{"key": "a", "value": 1.0}] * 5).status_code == 200
        cases = [
            ([{"key": "k" * 90, "value": 1.0}] * 19, 413, "bytes"),
            ([{"key": "a", "value": 1.0}] * 21, 413, "rows"),
            ([{"key": f"{n}", "value": 1.0} for n in range(3)], 413, "3 new series"),
        ]
        for body, status, word in cases:
            answer = service.post("/v1/observe", json=body)
            assert (answer.status_code, word in answer.json()["error"]) == (status, True), answer.text
        lines = "\n".join(['{"key": "a", "value": 1.0}'] * 21)
        assert (
            service.post("/v1/observe", content=lines, headers={"content-type": "application/jsonl"}).status_code == 413
        )
        table = "key,value\n" + "a,1\n" * 21
        assert service.post("/v1/observe", content=table, headers={"content-type": "text/csv"}).status_code == 413
        answer = service.post("/v1/observe", json=[{"key": "a", "value": 1.0}] * 20)
        assert answer.status_code == 429
        assert int(answer.headers["retry-after"]) >= 1
        assert service.get("/v1/health").json()["series"] == 1
        assert service.get("/v1/series/a").json()["count"] == 5


def test_requests_beyond_the_rate_are_429_and_others_wait_for_nothing():
    with client(settings=replace(DEFAULT, requests=1.0, burst=5.0)) as service:
        codes = [service.get("/v1/health").status_code for _ in range(8)]
    assert codes == [200] * 5 + [429] * 3


def test_a_table_however_small_is_not_read_on_the_event_loop(service):
    """6 kB of commas, which are 2 000 columns, kept everybody else waiting for 0.9 s."""
    assert {READERS[kind] in INLINE for kind in READERS if "json" in kind} == {True}
    assert READERS["text/csv"] not in INLINE
    wide = b"," * 1999 + b"\n" + b"1," * 1999
    assert len(wide) < DEFAULT.inline
    answer = service.post("/v1/observe?answers=none", content=wide, headers={"content-type": "text/csv"})
    assert answer.json()["taken"] == 1998


def test_answers_to_many_rows_are_written_piece_by_piece_and_are_one_document():
    """50 000 rows were written at once, and nobody else was served for a third of a second."""
    sent, small = {"key": "a", "value": list(range(25))}, replace(DEFAULT, frame_rows=4)
    with client() as whole, client(settings=small) as pieces:
        for how in ("rows", "columns", "none"):
            answers = [one.post(f"/v1/observe?answers={how}", json=sent).json() for one in (whole, pieces)]
            assert [answer.pop("boot") for answer in answers]
            assert answers[0] == answers[1]
            assert how == "none" or len(answers[1][how]["key"] if how == "columns" else answers[1][how]) == 25

    async def served_meanwhile(as_rows):
        turns = [0]

        async def other():
            while True:
                turns[0] += 1
                await asyncio.sleep(0)

        task = asyncio.create_task(other())
        await asyncio.sleep(0)
        await _written({"key": ["a"] * 25, "value": [1.0] * 25}, as_rows, 4)
        task.cancel()
        return turns[0]

    assert asyncio.run(served_meanwhile(True)) >= 7
    assert asyncio.run(served_meanwhile(False)) >= 2


def test_a_body_sent_in_pieces_is_cut_off_at_the_limit():
    with client(settings=replace(DEFAULT, body=10_000)) as service:
        answer = service.post("/v1/observe", content=(b" " * 1_000 for _ in range(50)), headers=JSON)
        assert answer.status_code == 413


class Failing(Fleet):
    """A fleet whose disk is full, or that has a mistake nobody expected, when told so."""

    full = broken = False

    def observe_some(self, *arguments, **named):
        if self.full:
            raise sqlite3.OperationalError("disk full: /home/me/secret name.db")
        return super().observe_some(*arguments, **named)

    def summary(self, *arguments, **named):
        return super().summary(*arguments, **named) if not self.broken else 1 / 0


def test_trouble_with_the_disk_is_503_without_a_path_and_changes_nothing(tmp_path):
    fleet = Failing(tmp_path / "secret name.db")
    with client(fleet) as service:
        service.post("/v1/observe", json={"key": "a", "value": 1.0})
        fleet.full = True
        answer = service.post("/v1/observe", json={"key": "a", "value": 2.0})
        assert answer.status_code == 503
        assert "secret" not in answer.text
        assert "/home" not in answer.text
        fleet.full = False
        assert service.get("/v1/series/a").json()["count"] == 1


@pytest.mark.parametrize("statement", ["SET state = x'00'", "SET seen = 1 << 62", "SET last = zeroblob(74)"])
def test_a_series_that_cannot_be_read_is_named_by_health_and_lists_go_on(tmp_path, statement):
    """Lists that contained it were answered with 500."""
    path = tmp_path / "plant.db"
    with Fleet(path) as fleet:
        fleet.observe(["a", "b"], [1.0, 2.0])
    with contextlib.closing(sqlite3.connect(path)) as db, db:
        db.execute(f"UPDATE streams {statement} WHERE key = 'b'")
    with client(Fleet(path)) as service:
        assert service.get("/v1/series?recent=5").json()["series"][0]["key"] == "a"
        answer = service.get("/v1/series/b")
        assert (answer.status_code, answer.json()["way_out"]) == (404, "GET /v1/series lists them")
        (aside,) = service.get("/v1/health").json()["set_aside"]
        assert aside["key"] == "b"
        assert aside["reason"]
        assert "prophecy_series_set_aside 1" in service.get("/metrics").text
        assert service.post("/v1/observe", json={"key": "b", "value": 3.0}).json()["taken"] == 1
        assert service.get("/v1/series/b").json()["count"] == 1


def test_what_nobody_expected_is_500_and_tells_nothing():
    fleet = Failing()
    with client(fleet) as service:
        fleet.broken = True
        answer = service.get("/v1/series")
        assert answer.status_code == 500
        assert set(answer.json()) == {"error", "way_out"}
        assert "division" not in answer.text
        assert answer.headers["content-security-policy"]


def test_what_was_acknowledged_is_there_after_a_restart(tmp_path):
    path, values = tmp_path / "plant.db", wave(50)
    with client(Fleet(path)) as service:
        service.post("/v1/observe", json=[{"key": "a", "time": k, "value": v} for k, v in enumerate(values)])
        first = service.get("/v1/series/a").json()
    with client(Fleet(path)) as service:
        second = service.get("/v1/series/a").json()
    for found in (first, second):
        found.pop("boot"), found.pop("cursor")
    assert first == second


def test_metrics_are_in_prometheus_text_format_and_count(service):
    service.post("/v1/observe", json=[{"key": "a", "value": 1.0}, {"key": "b", "value": None}])
    service.get("/v1/series/a")
    answer = service.get("/metrics")
    assert answer.headers["content-type"].startswith("text/plain; version=0.0.4")
    samples, typed = {}, set()
    for line in answer.text.rstrip("\n").split("\n"):
        if line.startswith("#"):
            typed.add(re.fullmatch(r"# (?:HELP|TYPE) (\w+) .+", line)[1])
            continue
        name, labels, value = re.fullmatch(r'(\w+)((?:\{(?:\w+="[^"\\]*",?)+\})?) (\S+)', line).groups()
        assert re.sub("_(bucket|sum|count)$", "", name) in typed or name in typed
        samples[name + labels] = float(value)
    assert samples['prophecy_values_total{status="taken"}'] == 1
    assert samples['prophecy_values_total{status="missing"}'] == 1
    assert samples["prophecy_series"] == 2
    assert samples['prophecy_requests_total{method="GET",path="/v1/series/{key}",status="200"}'] == 1
    buckets = [v for n, v in samples.items() if n.startswith('prophecy_request_seconds_bucket{path="/v1/observe"')]
    assert buckets == sorted(buckets)
    assert buckets[-1] == samples['prophecy_request_seconds_count{path="/v1/observe"}'] == 1


def test_labels_of_metrics_cannot_be_invented_by_clients():
    metrics = Metrics()
    for n in range(500):
        metrics.note("GET", f"/v1/series/{n}", 200, 0.1)
        metrics.note(f"M{n}", f'/"}} {n}', 404, 0.1)
    assert len(metrics.text([]).split("\n")) < 70


def test_the_description_of_the_api_names_every_route_and_its_page_loads_nothing_from_elsewhere(service):
    found = service.get("/openapi.json").json()
    assert set(found["paths"]) == {
        "/v1/observe", "/v1/table", "/v1/values", "/v1/series", "/v1/series/{key}", "/v1/forecast", "/v1/events",
        "/v1/health", "/metrics",
    }  # fmt: skip
    for page in ("/", "/docs"):
        text = service.get(page).text
        assert not re.findall(r'(?:src|href)="(?!/|#)', text), page
        for part in re.findall(r'(?:src|href)="(/page/[^"]+)"', text):
            assert service.get(part).status_code == 200, part


def test_no_file_of_the_page_names_another_host(service):
    from prophecy.service import files

    for name in files.names() - {"plotly.min.js"}:
        text = files.part(name).plain.decode()
        assert set(re.findall(r"https?://[\w.]+", text)) <= {"http://www.w3.org"}, name


def test_balancers_that_ask_with_head_are_answered(service):
    for path in ("/", "/v1/health"):
        answer = service.head(path)
        assert (answer.status_code, answer.content) == (200, b"")


def test_parts_of_the_page_are_packed_and_not_sent_twice(service):
    first = service.get("/page/plotly.min.js", headers={"accept-encoding": "gzip"})
    assert first.headers["content-encoding"] == "gzip"
    again = service.get("/page/plotly.min.js", headers={"if-none-match": first.headers["etag"]})
    assert (again.status_code, again.content) == (304, b"")
