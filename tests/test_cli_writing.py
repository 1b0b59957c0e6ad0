"""Tables are written whole or not at all, and carry what was not predicted as it was; hostile lines are skipped."""

from __future__ import annotations

import math
import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy.commands import _common, _write  # noqa: E402
from prophecy.commands._lines import Csv, Jsonl  # noqa: E402
from prophecy.frames.columns import Hints  # noqa: E402
from prophecy.frames.table import open_table  # noqa: E402


def test_columns_that_are_not_predicted_come_out_as_the_text_they_were(tmp_path):
    (tmp_path / "x.csv").write_text('id,v,note\n007,1.10,"a, b"\n008,2,plain\n')
    table = open_table(str(tmp_path / "x.csv"), Hints(columns=["v"]))
    out = tmp_path / "o.csv"
    with _write.sink(out) as write:
        write(_write.with_columns(table.rows(), {"p": np.array([0.1, np.nan])}))
    rows = out.read_text().splitlines()
    assert rows[0] == "id,v,note,p"
    assert pd.read_csv(out, dtype=str)["id"].tolist() == ["007", "008"]
    assert pd.read_csv(out, dtype=str)["note"].tolist() == ["a, b", "plain"]
    assert rows[2].endswith(",")


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet"])
def test_what_is_written_reads_back(tmp_path, name):
    values = np.random.default_rng(1).standard_normal(300)
    with _write.sink(tmp_path / name) as write:
        write(_write.as_table({"v": values[:100]}))
        write(_write.as_table({"v": values[100:]}))
    assert np.array_equal(open_table(str(tmp_path / name)).values[:, 0], values)


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    target = tmp_path / "o.csv"
    target.write_text("old")

    def failing():
        with _write.sink(target) as write:
            write(_write.as_table({"v": [1.0]}))
            raise RuntimeError("no more")

    with pytest.raises(RuntimeError, match="no more"):
        failing()
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]


def test_added_columns_take_names_that_are_free():
    assert list(_write.free_names(["p"], ["v"], ["v"]).values()) == ["p"]
    assert list(_write.free_names(["p"], ["v", "w"], ["v", "w"]).values()) == ["v_p", "w_p"]
    assert list(_write.free_names(["p", "q"], ["v"], ["v", "p"]).values()) == ["prophecy_p", "prophecy_q"]
    assert list(_write.free_names(["p"], ["v"], ["p", "prophecy_p"]).values()) == ["prophecy_prophecy_p"]


def test_an_intervals_ends_are_told_apart():
    for lower, upper in [(24.7, 25.1), (1e9 + 24.7, 1e9 + 25.1), (-3e-7, 2e-7), (1.0, 1.0 + 1e-6)]:
        digits = _common.digits_between(lower, upper)
        assert f"{lower:.{digits}g}" != f"{upper:.{digits}g}"
    for lower, upper in [(1.0, 1.0), (-math.inf, math.inf), (math.nan, math.nan), (1.0, 1.0 + 1e-15)]:
        assert _common.digits_between(lower, upper) == 4


@given(st.text(max_size=60))
def test_any_line_of_a_stream_is_a_number_or_a_value_error(text):
    keyed = {"key": "1", "time": "2"}
    for lines in (Csv(), Csv("1"), Csv(**keyed), Jsonl(), Jsonl("a"), Jsonl(**keyed), Jsonl(time="a", pattern="%Y")):
        try:
            line = lines.read(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017
        else:
            assert math.isnan(line.value) or abs(line.value) <= 1e75
            assert 0 < len(line.key) <= 512
            assert (lines.time is None) == math.isnan(line.time)


def test_hostile_json_lines_are_skipped_and_the_stream_goes_on():
    lines = ["1.5", "9" * 401, "[" * 100_000, '{"value": ' + "7" * 5000 + "}", '{"value": true}', "2.5"]
    done = subprocess.run(
        [sys.executable, "-m", "prophecy.cli", "stream", "--format", "jsonl"],
        input="\n".join(lines) + "\n", capture_output=True, text=True,
    )  # fmt: skip
    assert done.returncode == 0
    assert "Traceback" not in done.stderr
    assert done.stderr.count("skipped") == 4
    assert len(done.stdout.splitlines()) == 2


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        ([1_700_000_000 + 60 * k for k in range(30)], ["1700001800", "1700001860"]),
        ([1_700_000_000_000 + 60_000 * k for k in range(30)], ["1700001800000", "1700001860000"]),
        ([f"{1_700_000_000.25 + 0.5 * k:.2f}" for k in range(30)], ["1700000015.25", "1700000015.75"]),
        ([10 + 2 * k for k in range(30)], ["70", "72"]),
        ([f"{0.5 + 0.25 * k}" for k in range(30)], ["8", "8.25"]),
    ],
    ids=["seconds", "milliseconds", "seconds with a fraction", "whole numbers", "numbers"],
)
def test_the_times_of_a_forecast_are_numbers_where_the_files_are(prophecy, tmp_path, times, expected):
    path, out = tmp_path / "t.csv", tmp_path / "n.csv"
    path.write_text("time,v\n" + "".join(f"{time},{k % 5}\n" for k, time in enumerate(times)))
    assert prophecy("forecast", path, "--horizon", 2, "--time", "time", "--out", out)[0] == 0
    assert [row.split(",")[0] for row in out.read_text().splitlines()[1:]] == expected


def test_the_times_of_a_forecast_keep_the_type_and_zone_of_parquet(prophecy, tmp_path):
    times = pd.date_range("2024-03-30 12:00", periods=30, freq="h", tz="Europe/Berlin")
    pd.DataFrame({"when": times, "v": np.arange(30) % 5}).to_parquet(tmp_path / "t.parquet")
    assert prophecy("forecast", tmp_path / "t.parquet", "-H", 2, "--out", tmp_path / "n.parquet")[0] == 0
    made = pd.read_parquet(tmp_path / "n.parquet")["when"]
    assert str(made.dt.tz) == "Europe/Berlin"
    assert (made - times[-1]).dt.total_seconds().tolist() == [3600.0, 7200.0]


@pytest.mark.parametrize(
    ("times", "expected"),
    [
        (["2024-02-10", "2024-02-11"], ["2024-02-10", "2024-02-11"]),
        (["2024-02-10T00:00", "2024-02-10T12:30"], ["2024-02-10 00:00", "2024-02-10 12:30"]),
        (["2024-02-10T00:00:01.5", "NaT"], ["2024-02-10 00:00:01.500", ""]),
    ],
)
def test_dates_by_type_are_written_as_people_write_them(tmp_path, times, expected):
    batch = _write.as_table({"day": pa.array(np.array(times, "M8[us]")), "v": [1.0, 2.0]})
    with _write.sink(tmp_path / "x.csv") as write:
        write(batch)
    lines = (tmp_path / "x.csv").read_text().splitlines()
    assert [line.split(",")[0].strip('"') for line in lines[1:]] == expected
