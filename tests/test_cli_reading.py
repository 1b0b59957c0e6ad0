"""A folder of awkward files: each is read exactly as a person would, or refused with the reason and the way out."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import threading

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pa = pytest.importorskip("pyarrow")
pytest.importorskip("typer")


from prophecy.commands._options import SHELL  # noqa: E402
from prophecy.commands.forecast import words  # noqa: E402
from prophecy.frames.collect import collect  # noqa: E402
from prophecy.frames.columns import Hints  # noqa: E402
from prophecy.frames.numbers import number  # noqa: E402
from prophecy.frames.table import open_table  # noqa: E402

HOURS = np.arange("2016-07-01T00", "2016-07-01T08", dtype="M8[h]")


def written(folder, data, name="data.csv"):
    path = folder / name
    path.write_bytes(data.encode() if isinstance(data, str) else data)
    return str(path)


def read(path, **asked):
    """Names and values of the predicted columns, times of the rows, and what was said."""
    table = open_table(path, Hints(**asked, ways=SHELL))
    values = dict(zip(table.roles.values, table.values.T, strict=True))
    return values, None if table.times is None else table.times.values, table


def same(values, expected):
    return np.array_equal(values, np.asarray(expected, float), equal_nan=True)


# --- dates and numbers, each file with its exact reading ------------------------------------------------------------

GERMAN = "Datum;Last;Temperatur\n01.07.2016 00:00;30,53;5,83\n01.07.2016 01:00;1.031,5;-5\n01.07.2016 02:00;;5,8\n"

TIMED = {
    "german": (GERMAN, ["2016-07-01T00", "2016-07-01T01", "2016-07-01T02"], "Last", [30.53, 1031.5, np.nan]),
    "separate date and time": (
        "Date,Time,v\n2024-01-05,23:30,1\n2024-01-06,00:00,2\n2024-01-06,00:30,3\n",
        ["2024-01-05T23:30", "2024-01-06T00:00", "2024-01-06T00:30"],
        "v",
        [1, 2, 3],
    ),
    "weeks": (
        "week,v\n2024-W01,1\n2024-W02,2\n2024-W03,3\n",
        ["2024-01-01", "2024-01-08", "2024-01-15"],
        "v",
        [1, 2, 3],
    ),
    "months": (
        "month,v\n2024-11,1\n2024-12,2\n2025-01,3\n",
        ["2024-11-01", "2024-12-01", "2025-01-01"],
        "v",
        [1, 2, 3],
    ),
    "month names": (
        "when,v\nJan 2024,1\nFeb 2024,2\nMar 2024,3\n",
        ["2024-01-01", "2024-02-01", "2024-03-01"],
        "v",
        [1, 2, 3],
    ),
    "quarters": ("q,v\n2024Q3,1\n2024Q4,2\n2025Q1,3\n", ["2024-07-01", "2024-10-01", "2025-01-01"], "v", [1, 2, 3]),
    "epoch in seconds": (
        "epoch,v\n1700000000,1\n1700000060,2\n",
        ["2023-11-14T22:13:20", "2023-11-14T22:14:20"],
        "v",
        [1, 2],
    ),
    "epoch in ms": (
        "unix_ms,v\n1700000000500,1\n1700000001000,2\n",
        ["2023-11-14T22:13:20.5", "2023-11-14T22:13:21"],
        "v",
        [1, 2],
    ),
    "epoch in us": (
        "ts,v\n1700000000000001,1\n1700000000000002,2\n",
        ["2023-11-14T22:13:20.000001", "2023-11-14T22:13:20.000002"],
        "v",
        [1, 2],
    ),
    "epoch in ns": (
        "t,v\n1700000000000000001,1\n1700000000000000002,2\n",
        ["2023-11-14T22:13:20.000000001", "2023-11-14T22:13:20.000000002"],
        "v",
        [1, 2],
    ),
    "epoch under no telling name": (
        "a,b\n1700000000,7\n1700000060,5\n1700000120,6\n",
        ["2023-11-14T22:13:20", "2023-11-14T22:14:20", "2023-11-14T22:15:20"],
        "b",
        [7, 5, 6],
    ),
    "compact": (
        "Tag,v\n20240229,1\n20240301,2\n20240302,3\n",
        ["2024-02-29", "2024-03-01", "2024-03-02"],
        "v",
        [1, 2, 3],
    ),
    "any name, any column": (
        "v,Messzeitpunkt\n1,2024-02-29T10:00Z\n2,2024-02-29T11:00Z\n",
        ["2024-02-29T10:00", "2024-02-29T11:00"],
        "v",
        [1, 2],
    ),
    "american": ("day,v\n01/02/2024,1\n01/13/2024,2\n", ["2024-01-02", "2024-01-13"], "v", [1, 2]),
    "british": ("day,v\n01/02/2024,1\n13/02/2024,2\n", ["2024-02-01", "2024-02-13"], "v", [1, 2]),
    "am and pm": (
        "at,v\n1/13/24 11:30 AM,1\n1/13/24 12:30 PM,2\n",
        ["2024-01-13T11:30", "2024-01-13T12:30"],
        "v",
        [1, 2],
    ),
    "no header but dates": ("2024-01-01,5\n2024-01-02,6\n", ["2024-01-01", "2024-01-02"], "column2", [5, 6]),
    "swiss thousands": (
        "day;v\n2024-01-01;1'234.5\n2024-01-02;12.25\n",
        ["2024-01-01", "2024-01-02"],
        "v",
        [1234.5, 12.25],
    ),
    "american thousands": (
        'day,v\n2024-01-01,"1,234.5"\n2024-01-02,"1,234,567"\n',
        ["2024-01-01", "2024-01-02"],
        "v",
        [1234.5, 1234567],
    ),
    "french": ("jour;v\n2024-01-01;1 234,5\n2024-01-02;7,25\n", ["2024-01-01", "2024-01-02"], "v", [1234.5, 7.25]),
    "comments first": (
        "# station 7\n# in °C\nday,v\n2024-01-01,1\n2024-01-02,2\n",
        ["2024-01-01", "2024-01-02"],
        "v",
        [1, 2],
    ),
    "quoted line breaks": (
        'day,note,v\n2024-01-01,"a\nb",1\n2024-01-02,"c, d",2\n',
        ["2024-01-01", "2024-01-02"],
        "v",
        [1, 2],
    ),
}


@pytest.mark.parametrize("name", TIMED)
def test_awkward_tables_are_read_as_a_person_would(tmp_path, name):
    text, moments, column, expected = TIMED[name]
    values, times, _ = read(written(tmp_path, text))
    assert same(values[column], expected)
    assert np.array_equal(times.astype("M8[ns]"), np.array(moments, "M8[ns]"))


@pytest.mark.parametrize(
    "packed", [lambda b: b, gzip.compress, bz2.compress, lzma.compress, lambda b: pa.compress(b, "zstd", asbytes=True)]
)
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16", "latin-1"])
def test_any_packing_encoding_and_byte_order_mark(tmp_path, packed, encoding):
    text = GERMAN.replace("Temperatur", "Temp (°C)")
    path = tmp_path / "data"  # the name says nothing
    path.write_bytes(packed(text.encode(encoding)))
    values, times, _ = read(str(path))
    assert same(values["Last"], [30.53, 1031.5, np.nan])
    assert same(values["Temp (°C)"], [5.83, -5, 5.8])
    assert times[2] == np.datetime64("2016-07-01T02")


@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_any_separator_and_line_end(tmp_path, delimiter, newline):
    rows = [("time", "a", "b"), ("0", "1.5", "x"), ("1", "", "y"), ("2", "-3e2", "z")]
    values, times, table = read(written(tmp_path, newline.join(delimiter.join(row) for row in rows)))
    assert list(values) == ["a"]
    assert same(values["a"], [1.5, np.nan, -300])
    assert times.tolist() == [0, 1, 2]
    assert table.layout["b"].kind == "text"


def test_a_missing_header_is_said_and_nothing_is_lost(tmp_path):
    values, _, table = read(written(tmp_path, "1.0\n2.0\n3.0"))
    assert same(values["value"], [1, 2, 3])
    assert "no header" in table.notes[0]
    values, _, _ = read(written(tmp_path, "1,5\n2,6\n"))
    assert same(values["column2"], [5, 6])
    values, times, table = read(written(tmp_path, "shop1,2024-01-01,5\nshop2,2024-01-01,6\n"))
    assert same(values["column3"], [5, 6])
    assert len(times) == 2
    years, _, _ = read(written(tmp_path, "1990,1991\n5,6\n7,8\n"), header=True)
    assert same(years["1991"], [6, 8])
    gap, _, _ = read(written(tmp_path, "v\n1\n\n3\n"))
    assert same(gap["v"], [1, np.nan, 3])


def test_a_header_longer_than_any_buffer_is_a_header(tmp_path):
    names = [f"sensor {'x' * 300} {k}" for k in range(5000)]
    body = "\n".join(",".join(str(k + row) for k in range(5000)) for row in range(4))
    values, _, _ = read(written(tmp_path, ",".join(names) + "\n" + body))
    assert list(values) == names
    assert same(values[names[4999]], [4999, 5000, 5001, 5002])


def test_numbers_that_could_be_either_are_said(tmp_path):
    values, _, table = read(written(tmp_path, "a;b\n1,234;x\n5,678;y\n"))
    assert same(values["a"], [1.234, 5.678])
    assert "'1,234' is read as 1.234; if it is 1234, use --decimal '.'" in table.notes
    values, _, _ = read(written(tmp_path, "a;b\n1,234;x\n5,678;y\n"), decimal=".")
    assert same(values["a"], [1234, 5678])
    values, _, table = read(written(tmp_path, "a;b\n1,234;0,5\n5,678;1,25\n"))
    assert same(values["a"], [1.234, 5.678])
    assert table.notes == []


def test_points_that_could_be_either_are_thousands_beside_german_dates_and_said(tmp_path):
    values, _, table = read(written(tmp_path, "zeit;v\n01.07.2016 00:00;1.334\n01.07.2016 01:00;2.871\n"))
    assert same(values["v"], [1334, 2871])
    assert "'1.334' is read as 1334; if it is 1.334, use --decimal '.'" in table.notes
    values, _, table = read(written(tmp_path, "zeit;v\n2016-07-01;1.334\n2016-07-02;2.871\n"))
    assert same(values["v"], [1.334, 2.871])
    assert "'1.334' is read as 1.334; if it is 1334, use --decimal ','" in table.notes


def test_day_and_month_that_cannot_be_told_are_refused_until_said(tmp_path):
    path = written(tmp_path, "day,v\n01/02/2024,1\n02/02/2024,2\n03/02/2024,3\n")
    with pytest.raises(ValueError, match=r"1 Feb 2024 \(%d/%m/%Y\) or 2 Jan 2024 .*--time-format '%d/%m/%Y'"):
        read(path)
    assert read(path, time_format="%m/%d/%Y")[1][1] == np.datetime64("2024-02-02")
    hours = "".join(f"0{d}/02/2024 {h:02d}:00,1\n" for d in (1, 2) for h in range(24))
    _, times, table = read(written(tmp_path, "day,v\n" + hours))
    assert times[-1] == np.datetime64("2024-02-02T23")
    assert "is read as %d/%m/%Y" in table.notes[0]


def test_times_named_by_hand_and_two_columns_of_dates(tmp_path):
    text = "sent,received,v\n2024-01-01,2024-01-03,1\n2024-01-02,2024-01-05,2\n"
    _, times, table = read(written(tmp_path, text))
    assert times[1] == np.datetime64("2024-01-02")
    assert "several columns hold dates: 'sent' taken as the time, --time chooses another" in table.notes
    assert read(written(tmp_path, text), time="received")[1][1] == np.datetime64("2024-01-05")
    parts = "d,z,v\n2024-01-01,10:30,1\n2024-01-01,10:45,2\n"
    assert read(written(tmp_path, parts), time="d + z")[1][1] == np.datetime64("2024-01-01T10:45")
    assert read(written(tmp_path, parts), time="z")[1][1] == np.datetime64("2024-01-01T10:45")
    with pytest.raises(ValueError, match="times of day without dates"):
        read(written(tmp_path, "z,v\n10:30,1\n10:45,2\n"), time="z")


def test_a_column_of_growing_numbers_is_no_clock_by_itself(tmp_path):
    values, times, _ = read(written(tmp_path, "meter,power\n100,5\n101,6\n105,7\n"))
    assert times is None
    assert list(values) == ["meter", "power"]
    values, times, _ = read(written(tmp_path, "T,v\n20.5,1\n21,2\n"))
    assert times is None
    assert list(values) == ["T", "v"]
    assert list(read(written(tmp_path, ",v\n0,1.5\n1,2.5\n"))[0]) == ["v"]


# --- other formats --------------------------------------------------------------------------------------------------


def test_json_lines_with_nested_keys(tmp_path):
    rows = [{"at": f"2024-01-01T0{k}:00:00", "sensor": {"temp": k / 2, "id": "a"}, "tags": [1]} for k in range(5)]
    rows[2]["sensor"]["temp"] = None
    values, times, table = read(written(tmp_path, "\n".join(map(json.dumps, rows)), "x.jsonl"))
    assert same(values["sensor.temp"], [0, 0.5, np.nan, 1.5, 2])
    assert times[3] == np.datetime64("2024-01-01T03")
    assert table.layout.names == ("at", "sensor.temp", "sensor.id")
    values, _, _ = read(written(tmp_path, json.dumps(rows), "x.json"))
    assert same(values["sensor.temp"], [0, 0.5, np.nan, 1.5, 2])


def test_parquet_excel_and_npy_hold_the_same_table(tmp_path):
    data = np.random.default_rng(0).standard_normal((100, 2)).round(9)  # Excel keeps fifteen digits
    data[3, 1] = np.nan
    frame = pd.DataFrame({"a": data[:, 0], "b": data[:, 1], "Zeit": pd.date_range("2020", periods=100), "who": "x"})
    frame.to_parquet(tmp_path / "d.parquet")
    frame.to_excel(tmp_path / "d.xlsx", index=False)
    np.save(tmp_path / "d.npy", data)
    for name in ("d.parquet", "d.xlsx"):
        values, times, _ = read(str(tmp_path / name))
        assert same(values["a"], data[:, 0])
        assert same(values["b"], data[:, 1])
        assert np.array_equal(times.astype("M8[D]"), np.arange("2020-01-01", "2020-04-10", dtype="M8[D]"))
    values, times, _ = read(str(tmp_path / "d.npy"))
    assert times is None
    assert same(values["value1"], data[:, 1])
    zoned = frame.assign(Zeit=frame["Zeit"].dt.tz_localize("Europe/Berlin"))
    zoned.to_parquet(tmp_path / "z.parquet")
    _, times, table = read(str(tmp_path / "z.parquet"))
    assert times[0] == np.datetime64("2019-12-31T23:00")
    assert str(table.times.zone) == "Europe/Berlin"


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet", "x.npy", "x.csv.gz"])
def test_stdin_takes_every_kind(tmp_path, monkeypatch, name):
    frame = pd.DataFrame({"v": [1.0, 2.0, 4.0]})
    path = tmp_path / name
    {
        "x.csv": lambda: frame.to_csv(path, index=False),
        "x.csv.gz": lambda: frame.to_csv(path, index=False),
        "x.jsonl": lambda: frame.to_json(path, orient="records", lines=True),
        "x.parquet": lambda: frame.to_parquet(path),
        "x.npy": lambda: np.save(path, frame["v"].to_numpy()),
    }[name]()

    class Stdin:
        buffer = io.BytesIO(path.read_bytes())

    monkeypatch.setattr("sys.stdin", Stdin)
    (values,) = read("-")[0].values()
    assert same(values, [1, 2, 4])


def test_a_named_pipe_is_read_once_from_its_beginning(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    writer = threading.Thread(target=path.write_text, args=("v\n" + "1.5\n" * 50_000,))
    writer.start()
    (values,) = read(str(path))[0].values()
    writer.join()
    assert same(values, [1.5] * 50_000)


# --- hopeless files -------------------------------------------------------------------------------------------------

HOPELESS = {
    "": "is empty",
    "\n\n": "is empty",
    "a,b\n": "has a header but no rows",
    "a,b\nx,y\n": "no column of numbers",
    "a,a\n1,2\n": "several columns called 'a'",
    "time,v\n01/03/2024 00:00,1\n2024-03-01 01:00,2\n": "in two ways, '01/03/2024 00:00' and '2024-03-01 01:00'",
    "a,b\n1,2\n3,4,5\n6,7\n": "1 of 3 rows .* row 3 of the file, 3 cells instead of 2: '3,4,5'",
    "time,v\n2024-01-05,1a\n2024-01-06,2b\n": "'v' holds '1a' in row 1 of the data; 0 of 2 cells are numbers",
    '{"v": 1}\n{"v": \n': "line 2 is not JSON",
    '{"v": 1}\n[1]\n': "line 2 is list, not an object",
    '{"v": ' + "9" * 401 + "}\n": "digits",
    "[" * 100_000: "not JSON",
    "[1, 2]": "array of objects",
    '{"v": [1, 2, 3]}': "no values, or lists of them; write an object for each row",
}


@pytest.mark.parametrize("text", HOPELESS, ids=lambda text: repr(text[:20]))
def test_hopeless_tables_are_refused_with_the_reason(tmp_path, text):
    path = written(tmp_path, text, "bad")
    with pytest.raises(ValueError, match=HOPELESS[text]) as caught:
        read(path)
    assert path in str(caught.value)


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ({"columns": ["c"]}, "has no column 'c'; it has a, b"),
        ({"columns": ["b"]}, "'b' does not hold numbers; columns that do: 'a'"),
        ({"columns": ["a"], "time": "a"}, "cannot be both"),
        ({"key": "g"}, "no key column 'g'"),
        ({"time": "b"}, "cannot be read as dates: 'y'"),
        ({"time": "b", "time_format": "%Y"}, "'y' does not fit --time-format '%Y'"),
        ({"time": "b", "time_format": "%Q"}, "has %Q"),
    ],
)
def test_wrong_columns_are_named(tmp_path, asked, says):
    with pytest.raises(ValueError, match=says):
        read(written(tmp_path, "a,b\n1,y\n2,z\n"), **asked)


@pytest.mark.parametrize("asked", [{}, {"columns": ["value"]}])
@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("time,value\n1,1.5\n2,2\n3,x\n4,4\n", "'value' holds 'x' in row 3 of the data; 3 of 4 cells are numbers, 90%"),
        ("time,value\n1,\n2,2\n3,NA\n4,1.5.2\n", "'value' holds '1.5.2' in row 4 of the data; 1 of 2 cells are"),
        ("time;value\n1;1.000,5\n2;2,5\n3;x\n", "'value' holds 'x' in row 3 of the data; 2 of 3 cells are"),
        ('{"value": 1}\n{"value": "low"}\n', "'value' holds 'low' in row 2 of the data; 1 of 2 cells are"),
    ],
    ids=["csv", "missing", "comma", "json"],
)
def test_a_cell_that_keeps_a_column_from_being_numbers_is_named(tmp_path, text, says, asked):
    with pytest.raises(ValueError, match=re.escape(says)):
        read(written(tmp_path, text), **asked)


def test_a_column_without_any_value_is_said_to_be_empty(tmp_path):
    with pytest.raises(ValueError, match="'b' does not hold numbers; columns that do: 'a'; all its cells are empty"):
        read(written(tmp_path, "a,b\n1,\n2,\n"), columns=["b"])


def test_damage_is_named_with_the_file(tmp_path):
    whole = gzip.compress(b"a\n" + b"1\n" * 100_000)
    for name, data, says in (
        ("cut.csv.gz", whole[: len(whole) // 2], "damaged"),
        ("x.parquet", b"no", "is not a Parquet file"),
        ("x.npy", b"no", "is not an .npy file"),
        ("x.xlsx", b"PK\x03\x04 and so on", "Excel"),
        ("x.xls", b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", "save it as .xlsx"),
        ("x.csv", b"a\n\x00\x01\x02\xff\n", "neither text nor"),
        ("wide.csv", b"a,b\n" + b"1,2\n" * 9000 + b"1,2,3\n" * 2000, "2,000 of 11,000 rows .* row 9002 of the file"),
        (
            "cell.csv",
            b"a\n" + b"1\n" * 40000 + b"oops\n" * 9000,
            "'a' holds 'oops' in row 40001 of the data; 40,000 of 49,000 cells are numbers",
        ),
    ):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=says) as caught:
            read(str(tmp_path / name))
        assert name in str(caught.value)
    np.save(tmp_path / "c.npy", np.ones(3, complex))
    with pytest.raises(ValueError, match="must hold real numbers"):
        read(str(tmp_path / "c.npy"))
    with pytest.raises(ValueError, match="folder"):
        read(str(tmp_path))
    (tmp_path / "t.csv").write_text("a;b\n1.000,5;x\n" + "2,5;y\n" * 30_000 + "2,5,5;y\n")
    values, _, table = read(str(tmp_path / "t.csv"))
    assert np.isnan(values["a"][-1])
    assert "1 cell of 'a' taken as missing: '2,5,5' (row 30002)" in table.notes


NEARLY_TABLES = st.text(alphabet="0123456789.,;\t|\n\r\"'-+:/eENaTZWQ\x00 x\u00e9{}[]", max_size=200).map(str.encode)


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), NEARLY_TABLES))
def test_any_bytes_are_a_table_or_a_value_error(tmp_path, data):
    (tmp_path / "x").write_bytes(data)
    try:
        found = collect(open_table(str(tmp_path / "x"), Hints(duplicates="mean")), 1000)
    except ValueError as error:
        assert str(error)  # noqa: PT017 (most bytes are no table: both ends are right)
    else:
        assert found.sources


# --- series ---------------------------------------------------------------------------------------------------------


def test_unsorted_missing_and_newest_first_rows_come_back_in_order(tmp_path):
    days = pd.date_range("2024-01-01", periods=60)
    frame = pd.DataFrame({"day": days.strftime("%d.%m.%Y"), "v": np.arange(60.0)})
    for rows, fact in ((frame[::-1], "reversed (newest first)"), (frame.sample(frac=1, random_state=0), "sorted")):
        rows.drop(index=[7, 8, 30]).to_csv(tmp_path / "x.csv", index=False, sep=";")
        found = collect(open_table(str(tmp_path / "x.csv")), 10**6)
        (source,) = found.sources.values()
        expected = np.where(np.isin(np.arange(60), [7, 8, 30]), np.nan, np.arange(60))
        assert same(source.series.values[:, 0], expected)
        assert words(found) == f"57 rows, every day, {fact}, 3 missing times filled as gaps"


def test_doubled_times_are_refused_with_their_values_and_a_key_to_try(tmp_path):
    text = "day,shop,v\n2024-01-01,a,1\n2024-01-01,b,5\n2024-01-02,a,2\n2024-01-02,b,6\n"
    with pytest.raises(ValueError, match=r"'day' repeat, and 'shop' tells their rows apart; .* key='shop'"):
        collect(open_table(written(tmp_path, text)), 10)
    made = collect(open_table(written(tmp_path, text), Hints(duplicates="mean")), 10)
    assert same(made.sources[""].series.values[:, 0], [3, 4])
    keyed = collect(open_table(written(tmp_path, text), Hints(key="shop")), 10)
    assert same(keyed.sources["b"].series.values[:, 0], [5, 6])


def test_only_the_newest_rows_are_kept_where_so_many_are_asked_for(tmp_path):
    rows = [(k, "ab"[k % 2], k / 2) for k in range(3_000)]
    for order in (rows, rows[::-1]):
        path = written(tmp_path, "time,g,v\n" + "\n".join(",".join(map(str, row)) for row in order))
        found = collect(open_table(path, Hints(key="g")), 70)
        for key, parity in (("a", 0), ("b", 1)):
            expected = [row for row in rows if row[0] % 2 == parity][-70:]
            assert same(found.sources[key].series.values[:, 0], [row[2] for row in expected])
            assert found.sources[key].series.times.values.tolist() == [row[0] for row in expected]
        assert len(found.table.values) == 3_000


def test_keys_keep_the_order_of_their_rows(tmp_path):
    pd.DataFrame({"g": ["b", "a", None, "b", "a"], "v": range(5)}).to_parquet(tmp_path / "x.parquet")
    table = open_table(str(tmp_path / "x.parquet"), Hints(key="g"))
    found = {name: list(rows) for name, rows in table.split().items()}
    assert found == {"b": [0, 3], "a": [1, 4], "(no key)": [2]}


def test_long_files_are_read_to_their_last_row(tmp_path):
    values = np.arange(40_000) / 8
    table = open_table(written(tmp_path, "v\n" + "\n".join(map(str, values))))
    assert np.array_equal(table.values[:, 0], values)


@settings(max_examples=200)
@given(
    st.floats(-1e9, 1e9, allow_nan=False), st.sampled_from([(".", ","), (",", "."), (",", " "), (".", "'"), (".", "")])
)
def test_numbers_read_back_however_they_are_written(value, marks):
    decimal, thousands = marks
    text = f"{value:,.3f}".replace(",", "_").replace(".", decimal).replace("_", thousands)
    assert number(text, decimal) == round(value, 3)


@pytest.mark.parametrize(
    "name", ["t_ms", "Time [s]", "time (min)", "elapsed_s", "t/s", "timestamp_us", "Elapsed Time (h)"]
)
def test_a_name_of_time_with_a_unit_is_a_clock_where_its_numbers_rise(tmp_path, name):
    rows = "".join(f"{500 * k},{k % 3},{k % 5}\n" for k in range(40))
    values, times, _ = read(written(tmp_path, f"{name},a,b\n{rows}"))
    assert list(values) == ["a", "b"]
    assert same(times[:2], [0, 500])
    turned = "".join(f"{(7 * k) % 11},{k % 3},{k % 5}\n" for k in range(40))
    values, times, _ = read(written(tmp_path, f"{name},a,b\n{turned}"))
    assert times is None
    assert list(values) == [name, "a", "b"]


@pytest.mark.parametrize("name", ["t_max", "time_constant", "ms", "temperature_s", "T_s2"])
def test_other_names_with_an_underscore_are_no_clocks(tmp_path, name):
    rows = "".join(f"{500 * k + k % 7},{k % 3}\n" for k in range(40))
    values, times, _ = read(written(tmp_path, f"{name},a\n{rows}"))
    assert times is None
    assert list(values) == [name, "a"]
