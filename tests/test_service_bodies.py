"""Bodies: what is wrong is named with its row, field and way out, and thousands of broken ones change nothing."""

from __future__ import annotations

import json
import random
from urllib.parse import quote

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

pytest.importorskip("fastapi")

from starlette.testclient import TestClient

from prophecy.fleet import Fleet
from prophecy.service import DEFAULT, create_app
from prophecy.service.bodies import BodyNames, from_json, from_lines
from prophecy.service.errors import Problem
from prophecy.service.tables import from_csv, preview

KINDS = {"application/json": from_json, "application/x-ndjson": from_lines, "text/csv": from_csv}
PLAIN = BodyNames()


def parsed(read, text, asked=PLAIN):
    return read(text.encode() if isinstance(text, str) else text, asked, DEFAULT)


WRONG_JSON = [
    ('{"key": "a", "timestamp": "2024-01-01T00:00:00Z", "value": 1}', 1, "time"),
    ('{"key": "a", "ts": [0, 1], "value": [1, 2]}', None, "time"),
    ("", None, None),
    ("{", None, None),
    ("3", None, None),
    ("[]", None, None),
    ("[" * 40_000, None, None),
    ('{"key": "a", "value": NaN}', None, None),
    ('{"key": "a", "value": 1' + "0" * 5000 + "}", None, None),
    ('[{"key": "a", "value": 1}, 7]', 2, None),
    ('[{"key": "a", "value": 1}, {"key": "a"}]', 2, "value"),
    ('[{"key": "a", "value": 1}, {"value": 1}]', 2, "key"),
    ('{"key": "a", "value": "20.5"}', 1, "value"),
    ('{"key": "a", "value": true}', 1, "value"),
    ('{"key": "a", "value": 1e999}', 1, "value"),
    ('{"key": "a", "value": [[1]]}', 1, "value"),
    ('{"key": 7, "value": 1}', 1, "key"),
    ('{"key": "", "value": 1}', 1, "key"),
    ('{"key": "a\\nb", "value": 1}', 1, "key"),
    ('{"key": "\\ud800", "value": 1}', 1, "key"),
    ('{"key": "a/../b", "value": 1}', 1, "key"),
    (json.dumps({"key": "k" * 201, "value": 1}), 1, "key"),
    ('{"key": "a", "time": "yesterday", "value": 1}', 1, "time"),
    ('{"key": "a", "time": "2026-02-30", "value": 1}', 1, "time"),
    ('{"key": "a", "time": "20260301", "value": 1}', 1, "time"),
    *(
        (json.dumps({"key": "a", "time": f"{year}-01-01", "value": 1}), 1, "time")
        for year in ("0001", "1600", "2300", "9999")
    ),
    ('{"key": "a", "time": {}, "value": 1}', 1, "time"),
    ('{"key": "a", "time": true, "value": 1}', 1, "time"),
    ('{"key": "a", "time": 1e999, "value": 1}', 1, "time"),
    ('[{"key": "a", "time": 1, "value": 1}, {"key": "a", "value": 1}]', 2, "time"),
    ('[{"key": "a", "value": 1}, {"key": "a", "time": 1, "value": 1}]', 2, "time"),
    ('[{"key": "a", "time": 1, "value": 1}, {"key": "a", "time": "2026-01-01", "value": 1}]', 2, "time"),
    ('{"key": ["a"], "value": [1, 2]}', None, "key"),
]


@pytest.mark.parametrize(("text", "row", "field"), WRONG_JSON)
def test_wrong_json_is_refused_naming_row_and_field(text, row, field):
    with pytest.raises(Problem) as refused:
        parsed(from_json, text)
    assert (refused.value.status, refused.value.row, refused.value.field) == (400, row, field)
    assert refused.value.way_out
    assert len(refused.value.error) < 300


WRONG_CSV = [
    ("", None),
    ("key,value\n", None),
    ("key,value\na,1\nb\n", 3),
    ("key,value\na,1\n\nb,x\n", 3),
    ("key,value\na,1e999\n", 2),
    ("key,value\na,1_000\n", 2),
    ("key,value\n ,1\n", None),
    ("key,time,value\na,,1\n", None),
    ("key,time,value\na,1,1\na,soon,2\n", None),
    ("time,text\n1,a\n", 2),
    ("time,a,a\n1,2,3\n", None),
    ("key,time,value\na,01.02.2026,1\na,01.02.1600,1\n", 3),
    ("key,value\na/../b,1\n", None),
    ("shop,day,value\na,2024-01-01,1\nb,2024-01-01,2\na,2024-01-02,2\n", None),
    ("country,2000,2001,2002\nA,1,2,3\n", None),
]


@pytest.mark.parametrize(("text", "line"), WRONG_CSV)
def test_wrong_csv_is_refused_naming_the_line(text, line):
    with pytest.raises(Problem) as refused:
        parsed(from_csv, text)
    assert (refused.value.status, refused.value.row) == (400, line)
    assert refused.value.way_out


def test_rows_of_a_table_that_were_sorted_and_dropped_are_said():
    batch = parsed(from_csv, "key,time,value\na,2,5\nb,1,5\na,1,4\na,2,5\na,,7\n")
    assert list(zip(batch.keys, batch.times, batch.values, strict=True)) == [("b", 1, 5), ("a", 1, 4), ("a", 2, 5)]
    assert batch.notes == ("1 row without a time left out", "sorted", "1 exact duplicate dropped")


@pytest.mark.parametrize("read", [lambda body: from_csv(body, PLAIN, DEFAULT), lambda body: preview(body, PLAIN)])
@pytest.mark.parametrize(
    ("body", "called"),
    [(b"PK\x03\x04\x14", "an Excel file"), (b"PAR1\x15", "a Parquet file"), (b"\x1f\x8b\x08", "packed")],
)
def test_a_file_that_is_no_text_is_called_by_its_name(read, body, called):
    with pytest.raises(Problem, match=f"it is {called}, and text is read here") as caught:
        read(body)
    assert caught.value.way_out == "save it as CSV"


@pytest.mark.parametrize("read", [lambda body: from_csv(body, PLAIN, DEFAULT), lambda body: preview(body, PLAIN)])
@pytest.mark.parametrize(
    "text", ['[{"key": "k0", "time": 10,,07, "value": 0.5}]', '{"key": "a", "value":,3,}', "\ufeff\n [1,2\n3,4\n"]
)
def test_json_sent_as_a_table_is_refused_with_the_right_header(text, read):
    """Of 5 000 broken bodies sent as text/csv six had a number between two commas: each began a series."""
    with pytest.raises(Problem, match="begins like JSON") as refused:
        read(text.encode())
    assert "application/json" in refused.value.way_out


def test_ambiguous_dates_of_a_csv_are_refused_and_a_format_decides():
    text = "key,time,value\na,01/02/2026,1\na,05/03/2026,2\n"
    with pytest.raises(Problem, match="does not decide it"):
        parsed(from_csv, text)
    batch = parsed(from_csv, text, BodyNames(time_format="%d/%m/%Y"))
    assert batch.times[1] - batch.times[0] == 32 * 86400


@pytest.mark.parametrize(
    "text", ["%b" * 30, "%Y%Y", "%d%d", "%b %B", "%Y-%m-%d" + "x" * 90, "%Q", "", "%", "(%Y", "%Y(a+)+$"]
)
def test_a_format_of_times_is_refused_or_read_at_once(text):
    cells = "key,time,value\n" + "".join(f"a,{'a' * n},1\n" for n in range(1, 60))
    with pytest.raises(Problem):
        parsed(from_csv, cells, BodyNames(time_format=text))


@pytest.mark.parametrize("mark", [",", ";", "\t", " ", "|"])
def test_tables_too_wide_or_too_long_are_refused_before_they_are_read(mark, monkeypatch):
    """20 000 columns in 140 kB took three minutes, and 4 million lines that end with a carriage return five seconds."""
    for name in ("open_table", "open_bytes"):
        monkeypatch.setattr(f"prophecy.service.tables.{name}", lambda *_: pytest.fail("read"))
    for text in (mark.join(f"c{k}" for k in range(20_000)), "a\r" + "1\r" * 200_000, "a\n" + "1\n" * 200_000):
        with pytest.raises(Problem) as refused:
            from_csv(text.encode(), PLAIN, DEFAULT)
        assert refused.value.status == 413
    with pytest.raises(Problem, match="columns"):
        preview(("\n" + mark * 5_000).encode(), PLAIN)


@pytest.mark.parametrize("unit", ["[],", "{},", '[{"a":[]}],', "\n[]", "1,1,1,1,", '"a":1,"b":2,"c":3,'])
def test_bodies_that_would_unfold_are_refused_before_they_are_parsed(unit, monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))
    body = "[" + unit * 200_000 + "]"
    for read in (from_json, from_lines):
        with pytest.raises(Problem) as refused:
            parsed(read, body)
        assert refused.value.status == 413


def test_lines_beyond_the_limit_are_refused_before_they_are_counted_one_by_one(monkeypatch):
    monkeypatch.setattr(json, "loads", lambda *_, **__: pytest.fail("parsed"))
    for text in ("\n" * 200_000, "1\n" * 200_000):
        with pytest.raises(Problem) as refused:
            parsed(from_lines, text)
        assert refused.value.status == 413


def test_columns_of_a_table_are_told_by_its_beginning_whatever_comes_after():
    """A megabyte of one column took three seconds, and eight are taken."""
    start = "time,value\n" + "".join(f"{k},{k % 7}\n" for k in range(40_000))
    assert preview((start + "x\0;,\n" * 10_000).encode(), PLAIN) == preview(start.encode(), PLAIN)


def test_columns_whose_times_have_a_decimal_comma_are_told_as_they_are_read():
    text = b"time;value\n2,5;2,5\n1,5;3,5\n"
    assert preview(text, PLAIN)["newest_first"]
    assert from_csv(text, PLAIN, DEFAULT).times.tolist() == [1.5, 2.5]


def test_messages_about_a_table_of_a_million_columns_stay_short():
    with pytest.raises(Problem) as refused:
        parsed(from_csv, "x," * 500_000 + "y\n" + "a," * 500_000 + "b\n")
    assert len(str(refused.value.answer())) < 3_000


def test_columns_of_a_wide_csv_are_series_and_text_columns_are_left_out():
    batch = parsed(from_csv, "Date;place;warm;cold\n01.02.2026;x;1,5;\n02.02.2026;y;2,5;-1\n", BodyNames(name="hall"))
    assert batch.keys == ["hall/warm", "hall/cold"] * 2
    assert np.array_equal(batch.values, [1.5, np.nan, 2.5, -1.0], equal_nan=True)
    assert np.diff(batch.times).tolist() == [0, 86400, 0]
    assert batch.dated


def test_columns_are_named_in_the_address():
    batch = parsed(from_csv, "machine,at,kW,rpm\nm1,5,1,2\n", BodyNames(key="machine", time="at", value="rpm"))
    assert (batch.keys, batch.times.tolist(), batch.values.tolist()) == (["m1"], [5.0], [2.0])
    with pytest.raises(Problem, match="no column 'torque'"):
        parsed(from_csv, "machine,at\nm1,5\n", BodyNames(key="machine", value="torque"))
    row = '{"machine": "m1", "t": 3, "rpm": 2}'
    assert parsed(from_json, row, BodyNames(key="machine", time="t", value="rpm")).times.tolist() == [3.0]


FLOATS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(st.tuples(st.sampled_from("abc"), FLOATS, FLOATS), min_size=1, max_size=20))
def test_numbers_are_read_to_the_last_bit_in_every_form(rows):
    objects = [{"key": key, "time": time, "value": value} for key, time, value in rows]
    texts = {
        from_json: json.dumps(objects),
        from_lines: "\n".join(map(json.dumps, objects)),
        from_csv: "key,time,value\n" + "".join(f"{k},{t!r},{v!r}\n" for k, t, v in rows),
    }
    for read, text in texts.items():
        batch = parsed(read, text)
        if read is from_csv:  # a table is sorted by time, and has no row twice
            rows = sorted(dict.fromkeys(rows), key=lambda row: row[1])
        assert batch.keys == [row[0] for row in rows]
        assert batch.times.tolist() == [row[1] for row in rows]
        assert batch.values.tolist() == [row[2] for row in rows]


LEAVES = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
TREES = st.recursive(
    LEAVES, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4)
)
ROWS = st.lists(st.fixed_dictionaries({}, optional={"key": TREES, "time": TREES, "value": TREES}), max_size=4)


@settings(max_examples=300)
@given(st.binary(max_size=200) | (TREES | ROWS).map(lambda tree: json.dumps(tree).encode()))
@example(b"key,time,value\na,9999-12-31T23:59:59-23:59,1")
@example(b'{"key": "a", "time": "0001-01-01T00:00:00+23:59", "value": 1}')
@example(b"\xef\xbb\xbf")
@example(b"key;value\na;1,\n")
def test_any_body_is_a_batch_or_refused(body):
    for read in KINDS.values():
        try:
            batch = read(body, PLAIN, DEFAULT)
        except Problem as error:
            refused = error
        else:
            assert len(batch) == len(batch.values) == len(batch.lines) > 0
            assert batch.times is None or np.isfinite(batch.times).all()
            continue
        assert refused.status in (400, 413)
        json.dumps(refused.answer(), allow_nan=False)


def broken(good, rng):
    """A good body with something wrong in it, somewhere."""
    text = bytearray(good)
    for _ in range(rng.randint(1, 4)):
        at = rng.randrange(len(text))
        kind = rng.randrange(4)
        if kind == 0:
            text[at] = rng.randrange(256)
        elif kind == 1:
            del text[at : at + rng.randint(1, 30)]
        elif kind == 2:
            text[at:at] = rng.choice([b"null", b'"', b"}", b"[", b"1e999", b"\x00", b"\xff", b"NaN", b",", b"\n"])
        else:
            text[at:at] = text[at : at + rng.randint(1, 40)]
        if not text:
            text = bytearray(b"x")
    return bytes(text)


def test_thousands_of_broken_bodies_change_nothing_but_what_is_acknowledged():
    """Whatever comes in, the service holds exactly what it has answered with 200 for."""
    rng = random.Random(7)
    rows = [{"key": f"k{n % 3}", "time": 1000 + n, "value": n / 7} for n in range(12)]
    good = {
        "application/json": json.dumps(rows).encode(),
        "application/x-ndjson": "\n".join(map(json.dumps, rows)).encode(),
        "text/csv": b"key,time,value\n" + b"".join(f"{r['key']},{r['time']},{r['value']}\n".encode() for r in rows),
    }
    mirror, codes = Fleet(), {}
    with TestClient(create_app(Fleet()), base_url="http://127.0.0.1") as service:
        for _ in range(3_000):
            kind = rng.choice(list(good))
            body = broken(good[kind], rng)
            answer = service.post("/v1/observe", content=body, headers={"content-type": kind})
            codes[answer.status_code] = codes.get(answer.status_code, 0) + 1
            if answer.status_code == 200:
                batch = KINDS[kind](body, PLAIN, DEFAULT)
                times = batch.times
                if times is not None and batch.dated:
                    times = np.round(times * 1e6).astype("datetime64[us]")
                mirror.observe(batch.keys, batch.values, time=times)
        keys = {row["key"] for row in service.get("/v1/series?limit=500").json()["series"]}
        assert keys == set(mirror)
        for key in keys:
            found = service.get("/v1/series/" + quote(key, safe="")).json()
            own = mirror.recent(key, 5000)
            assert np.array_equal(np.array(found["recent"]["value"], float), own.value, equal_nan=True), key
    assert set(codes) <= {200, 400}, codes
    assert codes[400] > 1_000
