"""Tables are read in pieces as they were written, whatever their dialect, and written whole or not at all."""

from __future__ import annotations

import gzip
import io
import math

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy.commands import _common, _io, _series, _times  # noqa: E402
from prophecy.commands._lines import Csv, Jsonl  # noqa: E402


def written(tmp_path, text, name="data.csv"):
    path = tmp_path / name
    path.write_bytes(gzip.compress(text.encode()) if name.endswith(".gz") else text.encode())
    return str(path)


def read(path, **roles):
    table = _io.open_table(path, **roles)
    batches = list(table.batches)
    columns = {name: np.concatenate([_io.floats(batch, name) for batch in batches]) for name in table.roles.values}
    return table.roles, columns


@pytest.mark.parametrize("name", ["data.csv", "data.csv.gz", "data.txt", "data"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t", "|"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_any_delimiter_newline_and_name(tmp_path, name, delimiter, newline):
    text = newline.join(
        delimiter.join(row) for row in [("time", "a", "b"), ("0", "1.5", "x"), ("1", "", "y"), ("2", "-3e2", "z")]
    )
    roles, columns = read(written(tmp_path, text, name))
    assert roles == _io.Roles(("a",), "time", None)
    assert np.array_equal(columns["a"], [1.5, np.nan, -300.0], equal_nan=True)


def test_decimal_commas_byte_order_marks_and_no_header(tmp_path):
    _, columns = read(written(tmp_path, "\ufefft;v\n0;1,5\n1;2,25\n"))
    assert np.array_equal(columns["v"], [1.5, 2.25])
    roles, columns = read(written(tmp_path, "1.0\n2.0\n3.0"))
    assert roles.values == ("value",)
    assert np.array_equal(columns["value"], [1.0, 2.0, 3.0])
    roles, columns = read(written(tmp_path, "1,5\n2,6\n"))
    assert np.array_equal(columns["column2"], [5.0, 6.0])


def test_latin_1_is_read_where_it_is_not_utf_8(tmp_path):
    path = tmp_path / "excel.csv"
    path.write_bytes("t;Temp (°C);place\n0;1,5;Köln\n1;2,5;Köln\n".encode("latin-1"))
    table = _io.open_table(str(path))
    assert table.roles == _io.Roles(("Temp (°C)",), "t", None)
    (batch,) = table.batches
    assert batch.column(2).to_pylist() == ["Köln", "Köln"]
    path.write_bytes("v\n1\n".encode("utf-16"))
    with pytest.raises(ValueError, match="neither UTF-8 text"):
        _io.open_table(str(path))


def test_the_row_numbers_pandas_writes_are_not_a_series(tmp_path):
    assert read(written(tmp_path, ",time,v\n0,5,1.5\n1,6,2.5\n"))[0].values == ("v",)


def test_a_bad_cell_is_named_with_its_column_and_row(tmp_path):
    with pytest.raises(ValueError, match="column 'v', row 12 of the file: invalid value 'ERR'; correct it, or leave"):
        read(written(tmp_path, "t,v\n" + "0,1\n" * 10 + "0,ERR\n" + "0,1\n" * 10))


def test_days_and_months_are_told_apart_and_t_in_capitals_is_a_temperature(tmp_path):
    for mark, order in (("/", "%d{0}%m{0}%Y"), (".", "%d{0}%m{0}%Y"), ("/", "%m{0}%d{0}%Y")):
        for start in ("2024-02-01", "2024-02-20"):
            days = pd.date_range(start, periods=9)
            assert np.array_equal(_times.axis(list(days.strftime(order.format(mark))), 9), days.to_numpy())
    assert read(written(tmp_path, "when,T\n01.02.2024 10:00,20.5\n01.02.2024 10:05,21\n"))[0] == (("T",), "when", None)


def test_an_intervals_ends_are_told_apart():
    for lower, upper in [(24.7, 25.1), (1e9 + 24.7, 1e9 + 25.1), (-3e-7, 2e-7), (1.0, 1.0 + 1e-6)]:
        digits = _common.digits_between(lower, upper)
        assert f"{lower:.{digits}g}" != f"{upper:.{digits}g}"
    for lower, upper in [(1.0, 1.0), (-math.inf, math.inf), (math.nan, math.nan), (1.0, 1.0 + 1e-15)]:
        assert _common.digits_between(lower, upper) == 4


def test_an_integer_column_may_turn_into_fractions_and_gaps_far_down(tmp_path):
    text = "v\n" + "7\n" * 50_000 + "7.5\nNA\n"
    _, columns = read(written(tmp_path, text))
    assert len(columns["v"]) == 50_002
    assert columns["v"][-2] == 7.5
    assert np.isnan(columns["v"][-1])


def test_long_files_come_in_pieces(tmp_path, monkeypatch):
    monkeypatch.setattr(_io, "PIECE", 10_000)
    values = np.arange(20_000) / 8
    table = _io.open_table(written(tmp_path, "v\n" + "\n".join(map(str, values))))
    pieces = [_io.floats(batch, "v") for batch in table.batches]
    assert len(pieces) > 5
    assert np.array_equal(np.concatenate(pieces), values)


def test_parquet_and_npy_hold_the_same_table(tmp_path):
    values = np.random.default_rng(0).standard_normal((1000, 2))
    values[3, 1] = np.nan
    pd.DataFrame({"ds": pd.date_range("2020", periods=1000), "a": values[:, 0], "b": values[:, 1]}).to_parquet(
        tmp_path / "d.parquet"
    )
    np.save(tmp_path / "d.npy", values)
    roles, columns = read(str(tmp_path / "d.parquet"))
    assert roles == _io.Roles(("a", "b"), "ds", None)
    assert np.array_equal(np.stack(list(columns.values()), 1), values, equal_nan=True)
    roles, columns = read(str(tmp_path / "d.npy"))
    assert roles.values == ("value0", "value1")
    assert np.array_equal(np.stack(list(columns.values()), 1), values, equal_nan=True)
    np.save(tmp_path / "i.npy", np.arange(5, dtype=np.int16))
    assert np.array_equal(read(str(tmp_path / "i.npy"))[1]["value"], np.arange(5.0))


@pytest.mark.parametrize(
    ("text", "roles", "says"),
    [
        ("", {}, "is empty"),
        ("a,b\nx,y\n", {}, "no column of numbers"),
        ("a,b\n1,y\n", {"columns": ["c"]}, "has no column 'c'; it has a, b"),
        ("a,b\n1,y\n", {"columns": ["b"]}, "'b' does not hold numbers; columns that do: a"),
        ("a,b\n1,2\n", {"columns": ["a"], "time": "a"}, "cannot be both"),
        ("a,b\n1,2\n", {"group": "g"}, "no group column 'g'"),
        ("a,a\n1,2\n", {}, "several columns called 'a'"),
    ],
)
def test_what_cannot_be_read_is_named(tmp_path, text, roles, says):
    with pytest.raises(ValueError, match=says):
        _io.open_table(written(tmp_path, text), **roles)


def test_damage_further_down_is_named_with_the_file(tmp_path):
    for text, says in (
        ("a,b\n" + "1,2\n" * 9000 + "1,2,3\n", "Expected 2 columns, got 3"),
        ("a\n" + "1\n" * 40000 + "oops\n", "oops"),
    ):
        with pytest.raises(ValueError, match=says):
            read(written(tmp_path, text))
    whole = gzip.compress(b"a\n" + b"1\n" * 100_000)
    (tmp_path / "cut.csv.gz").write_bytes(whole[: len(whole) // 2])
    with pytest.raises(ValueError, match="damaged"):
        read(str(tmp_path / "cut.csv.gz"))
    for name, data in (("x.parquet", b"no"), ("x.npy", b"no"), ("x.csv", b"\xff\xfe\x00\x01")):
        (tmp_path / name).write_bytes(data)
        with pytest.raises(ValueError, match=rf"x\.{name[2:]}"):
            read(str(tmp_path / name))
    np.save(tmp_path / "c.npy", np.ones(3, complex))
    with pytest.raises(ValueError, match="must hold real numbers"):
        read(str(tmp_path / "c.npy"))
    with pytest.raises(ValueError, match="folder"):
        read(str(tmp_path))


def test_columns_that_are_not_predicted_come_out_as_the_text_they_were(tmp_path):
    table = _io.open_table(written(tmp_path, 'id,v,note\n007,1.10,"a, b"\n008,2,plain\n'), columns=["v"])
    out = tmp_path / "o.csv"
    with _common.appearing(out) as temporary:
        writer = _io.Writer(temporary, out)
        for batch in table.batches:
            writer.write(_io.with_columns(batch, {"p": np.array([0.1, np.nan])}))
        writer.close()
    rows = out.read_text().splitlines()
    assert rows[0] == "id,v,note,p"
    assert pd.read_csv(out, dtype=str)["id"].tolist() == ["007", "008"]
    assert pd.read_csv(out, dtype=str)["note"].tolist() == ["a, b", "plain"]
    assert rows[2].endswith(",")


@pytest.mark.parametrize("name", ["o.csv", "o.csv.gz", "o.parquet"])
def test_what_is_written_reads_back(tmp_path, name):
    table = _io.open_table(
        written(tmp_path, "v\n" + "\n".join(map(repr, np.random.default_rng(1).standard_normal(300).tolist())))
    )
    out, expected = tmp_path / name, []
    with _common.appearing(out) as temporary:
        writer = _io.Writer(temporary, out)
        for batch in table.batches:
            expected.append(_io.floats(batch, "v"))
            writer.write(batch)
        writer.close()
    assert np.array_equal(read(str(out))[1]["v"], np.concatenate(expected))


def test_a_failed_write_leaves_the_old_file_and_no_litter(tmp_path):
    target = tmp_path / "o.csv"
    target.write_text("old")
    with pytest.raises(TypeError), _common.appearing(target) as temporary:
        temporary.write_text("half" + 1)
    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["o.csv"]


def test_groups_keep_the_order_of_their_rows():
    import pyarrow as pa

    batch = pa.RecordBatch.from_arrays([pa.array(["b", "a", None, "b", "a"])], names=["g"])
    found = {name: list(rows) for name, rows in _series.groups(batch, "g")}
    assert found == {"b": [0, 3], "a": [1, 4], "(no group)": [2]}


def test_tails_keep_the_last_rows_of_each_group(tmp_path, monkeypatch):
    monkeypatch.setattr(_io, "PIECE", 2_000)
    rows = [(k, "ab"[k % 2], k / 2) for k in range(3_001)]
    path = written(tmp_path, "time,g,v\n" + "\n".join(",".join(map(str, row)) for row in rows))
    tails = _series.read_tails(_io.open_table(path, group="g"), most=700)
    for key, parity in (("a", 0), ("b", 1)):
        expected = [row for row in rows if row[0] % 2 == parity][-700:]
        assert np.array_equal(tails.values(key)[:, 0], [row[2] for row in expected])
        assert tails.times(key) == [str(row[0]) for row in expected]
        assert tails.length(key) == 700


def test_times_go_on_as_they_began():
    assert _times.after(["2001-10-01", "2001-11-01", "2001-12-01"], 2) == ["2002-01-01", "2002-02-01"]
    assert _times.after(["2024-05-01 00:00", "2024-05-01 06:00", "2024-05-01 12:00"], 2) == [
        "2024-05-01 18:00:00",
        "2024-05-02 00:00:00",
    ]
    assert _times.after(["2024-05-01T00:00:00Z", "2024-05-01T00:00:00.500Z"], 1) == ["2024-05-01T00:00:01Z"]
    assert _times.after(["2024-05-01T00:00+02:00", "2024-05-01T01:00+02:00"], 1) == ["2024-05-01T02:00:00+02:00"]
    assert _times.after(["2024-05-01T00:00:00.00", "2024-05-01T00:00:00.01"], 1) == ["2024-05-01T00:00:00.020000"]
    assert _times.after(["1", "2", "3"], 2) == [4, 5]
    assert _times.after(["0.5", "1.0", "1.5"], 2) == [2.0, 2.5]
    assert _times.after(None, 3) == [1, 2, 3]
    assert np.array_equal(_times.axis(["monday", "noon"], 2), [0.0, 1.0])
    uneven = np.array(["2024-01-01", "2024-01-02", "2024-01-05"], "datetime64[ns]")
    assert len(_times.extended(uneven, 4)) == 4
    assert _times.extended(np.array([3.0]), 2).tolist() == [4.0, 5.0]


NEARLY_TABLES = st.text(alphabet="0123456789.,;\t|\n\r\"'-+eENa\x00 x\u00e9", max_size=200).map(str.encode)


@settings(max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.one_of(st.binary(max_size=200), NEARLY_TABLES))
def test_any_bytes_are_a_table_or_a_value_error(tmp_path, data):
    (tmp_path / "x.csv").write_bytes(data)
    try:
        _, columns = read(str(tmp_path / "x.csv"))
    except ValueError as error:
        assert str(error)  # noqa: PT017 (most bytes are no table: both ends are right)
    else:
        assert columns


@given(st.text(max_size=60))
def test_any_line_of_a_stream_is_a_number_or_a_value_error(text):
    for lines in (Csv(), Csv("1"), Jsonl(), Jsonl("a")):
        try:
            value = lines.value(text)
        except ValueError as error:
            assert str(error)  # noqa: PT017
        else:
            assert math.isnan(value) or abs(value) <= 1e100


def test_stdin_is_a_table_too(monkeypatch):
    class Stdin:
        buffer = io.BufferedReader(io.BytesIO(b"v\n1\n2\n"))

    monkeypatch.setattr("sys.stdin", Stdin)
    assert np.array_equal(read("-")[1]["v"], [1.0, 2.0])
