"""One reader: an awkward file gives the same series through the command line, the API, the page and Python."""

from __future__ import annotations

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("fastapi")
pytest.importorskip("typer")

import prophecy  # noqa: E402
from examples import make_sensor  # noqa: E402
from prophecy.commands import _options  # noqa: E402
from prophecy.commands.forecast import units_of, words  # noqa: E402
from prophecy.frames.collect import collect, read, read_table, split  # noqa: E402
from prophecy.frames.table import open_table  # noqa: E402
from prophecy.service import DEFAULT  # noqa: E402
from prophecy.service.bodies import BodyNames  # noqa: E402
from prophecy.service.errors import Problem  # noqa: E402
from prophecy.service.tables import from_csv, preview  # noqa: E402
from prophecy.tables.regressors import Regressors  # noqa: E402

DAYS = [f"2024-01-{day:02d}" for day in range(1, 13)]
NAN = float("nan")


def table(*rows: str) -> str:
    return "\n".join(rows) + "\n"


def daily(cells: list[str], header: str = "day,v", sep: str = ",") -> str:
    return table(header, *(f"{day}{sep}{cell}" for day, cell in zip(DAYS, cells, strict=False)))


PLAIN = [str(n * n % 17) for n in range(12)]
NUMBERS = [float(cell) for cell in PLAIN]
ODD = [*PLAIN[:5], "bad", *PLAIN[6:]]
WITHOUT = [*NUMBERS[:5], *NUMBERS[6:]]

# name: (text, {series: values without missing ones}, what is said)
FILES: dict[str, tuple[str, dict[str, list[float]], str]] = {
    "german": (
        table("Datum;Last", "01.07.2016 00:00;30,53", "01.07.2016 01:00;1.031,5"),
        {"Last": [30.53, 1031.5]},
        "",
    ),
    "american": (table("Date,Sales", '01/30/2024,"1,234.50"', '01/31/2024,"2,001.00"'), {"Sales": [1234.5, 2001]}, ""),
    "french": (table("jour;v", "2024-01-01;1\u202f234,5", "2024-01-02;7,25"), {"v": [1234.5, 7.25]}, "thousands"),
    "swiss": (table("tag;v", "2024-01-01;1'234.5", "2024-01-02;12.25"), {"v": [1234.5, 12.25]}, "thousands"),
    "francs by their letters": (
        table("tag;v", "2024-01-01;CHF 1'234.5", "2024-01-02;CHF 12.25"),
        {"v": [1234.5, 12.25]},
        "'CHF'",
    ),
    "indian": (table("day\tv", "2024-01-01\t12,34,567.5", "2024-01-02\t1,00,000.0"), {"v": [1234567.5, 100000]}, ""),
    "british dates": (table("day,v", "13/02/2024,1", "14/02/2024,2", "15/02/2024,3"), {"v": [1, 2, 3]}, ""),
    "tabs": (table("time\tv", "0\t1", "1\t2"), {"v": [1, 2]}, ""),
    "pipes": (table("time|v", "0|1", "1|2"), {"v": [1, 2]}, ""),
    "byte order mark": ("\ufeff" + daily(PLAIN), {"v": NUMBERS}, ""),
    "windows line ends": (daily(PLAIN).replace("\n", "\r\n"), {"v": NUMBERS}, ""),
    "a title": ("Station 7, hourly means\n\n" + daily(PLAIN), {"v": NUMBERS}, "before the table skipped"),
    "titles padded by Excel": ("Report;\n2024;\n" + daily(PLAIN, "day;v", ";"), {"v": NUMBERS}, "2 lines before"),
    "comments": ("# a\n# b\n" + daily(PLAIN), {"v": NUMBERS}, "2 lines before the table skipped"),
    "units below the names": (daily(PLAIN).replace("day,v\n", "day,v\n,degC\n"), {"v": NUMBERS}, "below the names"),
    "units with brackets": (daily(PLAIN).replace("day,v\n", "day,v\n[date],[W]\n"), {"v": NUMBERS}, "units, perhaps"),
    "Campbell TOA5": (
        table(
            '"TOA5","CR1000","CR1000","1234","CR1000.Std.22"',
            '"TIMESTAMP","RECORD","Batt_V","AirTC","RH"',
            '"TS","RN","Volts","Deg C","%"',
            '"","","Min","Avg","Smp"',
            '"2024-01-01 00:00:00",0,12.9,4.25,"NAN"',
            '"2024-01-01 00:10:00",1,12.8,4.5,93.1',
            '"2024-01-01 00:20:00",2,12.8,4.75,92.5',
        ),
        {"Batt_V": [12.9, 12.8, 12.8], "AirTC": [4.25, 4.5, 4.75], "RH": [93.1, 92.5]},
        "'RECORD' left out: it counts rows",
    ),
    "decimal commas in a single column": (
        table("Pegel", "1,5", "2,25", "3,125"),
        {"Pegel": [1.5, 2.25, 3.125]},
        "comma",
    ),
    "decimal commas without a header": (table("19,05", "20,5", "18,25"), {"value": [19.05, 20.5, 18.25]}, "comma"),
    "quarters with a space": (
        table("Quarter,GDP", "2005 Q1,20.5", "2005 Q2,21", "2005 Q3,22"),
        {"GDP": [20.5, 21, 22]},
        "",
    ),
    "a label among remarks": (
        table("# unit: K", "# t x", "0.0 1.5", "0.5 2.5", "1.0 0.5"),
        {"x": [1.5, 2.5, 0.5]},
        "2 lines before the table skipped",
    ),
    "a logger's counter": (
        table("time,Nr,v", "2024-01-01,7,1.5", "2024-01-02,8,2.5", "2024-01-03,9,0.5"),
        {"v": [1.5, 2.5, 0.5]},
        "'Nr' left out: it counts rows",
    ),
    "machines that never speak at once": (
        daily([f"{cell},m{n % 2}" for n, cell in enumerate(PLAIN)], "day,v,machine"),
        {"v": NUMBERS},
        "if 'machine' tells series apart, say --key 'machine'",
    ),
    "two columns of whole numbers": (table("a,b", "1,5", "2,7", "9,3"), {"a": [1, 2, 9], "b": [5, 7, 3]}, ""),
    "one bad cell": (daily(ODD), {"v": WITHOUT}, "1 cell of 'v' taken as missing: 'bad' (row 6)"),
    "a number for Python alone": (
        daily([*PLAIN[:5], "1_0", *PLAIN[6:]]),
        {"v": WITHOUT},
        "1 cell of 'v' taken as missing: '1_0' (row 6)",
    ),
    "dashes": (daily([*PLAIN[:5], "---", *PLAIN[6:]]), {"v": WITHOUT}, ""),
    "a question mark": (daily([*PLAIN[:5], "?", *PLAIN[6:]]), {"v": WITHOUT}, ""),
    "excel's errors": (daily([*PLAIN[:5], "#DIV/0!", *PLAIN[6:]]), {"v": WITHOUT}, ""),
    "excel's word for nothing": (daily([*PLAIN[:5], "#N/A", *PLAIN[6:]]), {"v": WITHOUT}, ""),
    "the word for nothing": (daily([*PLAIN[:5], "n/a", *PLAIN[6:]]), {"v": WITHOUT}, ""),
    "a bad first row": (daily(["bad", *PLAIN[1:]]), {"v": NUMBERS[1:]}, "'bad' (row 1)"),
    "a total": (daily(PLAIN) + "Total,96\n", {"v": NUMBERS}, "'Total' (row 13)"),
    "a cut last line": (daily(PLAIN) + "2024-01", {"v": NUMBERS}, "1 row with another number of cells left out"),
    "a percent sign": (daily([f"{cell}%" for cell in PLAIN]), {"v": NUMBERS}, "'%' removed from numbers"),
    "degrees": (daily([f"{cell} °C" for cell in PLAIN]), {"v": NUMBERS}, "'°C' removed from numbers"),
    "dollars": (daily([f"${cell}.50" for cell in PLAIN]), {"v": [n + 0.5 for n in NUMBERS]}, "'$'"),
    "reais": (
        daily([f"R$ 1.{100 + k},50" for k in range(12)], "day;v", ";"),
        {"v": [1100.5 + k for k in range(12)]},
        "'R$'",
    ),
    "a unit in words": (daily([f"{cell} kWh" for cell in PLAIN]), {"v": NUMBERS}, "'kWh'"),
    "accountants' brackets": (
        daily([*PLAIN[:11], "(1,234.5)"], sep=";", header="day;v"),
        {"v": [*NUMBERS[:11], -1234.5]},
        "",
    ),
    "a unit at once": (daily([f"{cell}.5kW" for cell in PLAIN]), {"v": [n + 0.5 for n in NUMBERS]}, "'kW'"),
    "thousands in letters": (daily([f"{cell}k" for cell in PLAIN]), {"v": NUMBERS}, "'k' removed from numbers"),
    "names with digits": (
        table("day,flat,v", *(f"{day},{k + 1}{'abc'[k % 3]},{k}" for k, day in enumerate(DAYS))),
        {"v": [float(k) for k in range(12)]},
        "column 'flat' left out: no numbers",
    ),
    "spaces": (table("time value", "0 1.5", "1 2.5", "2 3.5"), {"value": [1.5, 2.5, 3.5]}, ""),
    "a typographer's minus": (daily(["\u22125", *PLAIN[1:]]), {"v": [-5, *NUMBERS[1:]]}, ""),
    "a minus behind": (daily(["5-", *PLAIN[1:]]), {"v": [-5, *NUMBERS[1:]]}, ""),
    "exact duplicates": (daily(PLAIN) + "2024-01-12,2\n", {"v": NUMBERS}, ""),
    "newest first": (table("day,v", *reversed(daily(PLAIN).splitlines()[1:])), {"v": NUMBERS}, ""),
    "epoch in seconds": (table("a,b", "1700000000,7", "1700000060,5"), {"b": [7, 5]}, "time since 1970 in s"),
    "epoch in ms": (table("ts,b", "1700000000500,7", "1700000001000,5"), {"b": [7, 5]}, "since 1970 in ms"),
    "epoch in us": (table("ts,b", "1700000000000001,7", "1700000000000002,5"), {"b": [7, 5]}, "since 1970 in µs"),
    "minutes": (table("min,b", *(f"{5 * k},{k * k % 7}" for k in range(9))), {"b": [k * k % 7 for k in range(9)]}, ""),
    "elapsed": (table("elapsed,b", "0,3", "1.5,4", "3,1"), {"b": [3, 4, 1]}, ""),
    "durations": (
        table("elapsed,b", *(f"{k // 4}:{k % 4 * 15:02d}:00,{k * k % 7}" for k in range(9))),
        {"b": [k * k % 7 for k in range(9)]},
        "'elapsed' read as hours, minutes and seconds since a start",
    ),
    "more hours than a day has": (
        table("t,b", *(f"{20 + k}:00,{k * k % 7}" for k in range(9))),
        {"b": [k * k % 7 for k in range(9)]},
        "in steps of 3600, 't' read as hours",
    ),
    "offsets of winter and of summer": (
        table(
            "t,b",
            *(f"2024-03-{d}T00:00:00+0{1 + (d > 31)}:00,{d}" for d in (29, 30, 31)),
            "2024-04-01T00:00:00+02:00,5",
        ),
        {"b": [29, 30, 31, 5]},
        "every day, 't' has several offsets (+01:00, +02:00)",
    ),
    "a number of samples": (table("n,b", "1,3", "2,4", "3,1"), {"b": [3, 4, 1]}, ""),
    "an even column": (
        table("pos,b", *(f"{k},{k * k % 7}" for k in range(9))),
        {"b": [k * k % 7 for k in range(9)]},
        "rises evenly",
    ),
    "date and time apart": (
        table("d,z,v", "2024-01-01,10:30,1", "2024-01-01,10:45,2"),
        {"v": [1, 2]},
        "joined to one time",
    ),
    "a key of a usual name": (
        table("sensor,day,v", "a,2024-01-01,1", "b,2024-01-01,5", "a,2024-01-02,2"),
        {"a": [1, 2], "b": [5]},
        "",
    ),
    "a key and its value": (
        table("key,time,value,quality", "a,1,1,9", "a,2,2,9", "b,1,5,9"),
        {"a": [1, 2], "b": [5]},
        "alone is predicted",
    ),
    "wide": (table("day,a,b,c", "2024-01-01,1,2,x", "2024-01-02,3,4,y"), {"a": [1, 3], "b": [2, 4]}, ""),
    "a code for nothing": (
        daily([*PLAIN[:9], "-9999", "-9999", "-9999"]),
        {"v": [*NUMBERS[:9], *[-9999.0] * 3]},
        "-9999 comes 3 times in 'v', far from all other values",
    ),
    "truth": (
        table("day,open,v", "2024-01-01,true,1", "2024-01-02,false,2", "2024-01-03,true,3"),
        {"v": [1, 2, 3]},
        "column 'open' left out: no numbers",
    ),
    "days as Excel counts them": (
        table("Date,v", *(f"{45292 + k},{cell}" for k, cell in enumerate(PLAIN))),
        {"v": NUMBERS},
        "days since 1899-12-30",
    ),
    "names in angle brackets": (table("<DATE>,<CLOSE>", "2024-01-01,1", "2024-01-02,2"), {"<CLOSE>": [1, 2]}, ""),
    "no header": (table("2024-01-01,5", "2024-01-02,6"), {"column2": [5, 6]}, "no header"),
    "pandas' row numbers": (table(",v", "0,1.5", "1,2.5"), {"v": [1.5, 2.5]}, ""),
    "dates of Japan": (table("日付,気温", "2024年3月1日,5.5", "2024年3月2日,6"), {"気温": [5.5, 6]}, ""),
    "dates of France": (table("mois;v", "janvier 2024;1,5", "février 2024;2"), {"v": [1.5, 2]}, ""),
    "the parts of a date": (
        table("year,month,v", "2023,11,5.5", "2023,12,6", "2024,1,7"),
        {"v": [5.5, 6, 7]},
        "columns 'year' and 'month' joined to one time",
    ),
    "months of Spain": (table("mes;v", "ene 2024;1,5", "feb 2024;2", "ago 2024;3"), {"v": [1.5, 2, 3]}, ""),
    "months of Portugal": (table("mês;v", "fev 2024;1,5", "out 2024;2", "dez 2024;3"), {"v": [1.5, 2, 3]}, ""),
    "months of Brazil": (table("mês;v", "jan/2024;R$ 1,5", "fev/2024;R$ 2"), {"v": [1.5, 2]}, "every month"),
    "months in words beside a year": (
        table("Year,Month,v", "2023,Nov,5.5", "2023,Dec,6", "2024,Jan,7"),
        {"v": [5.5, 6, 7]},
        "columns 'Year' and 'Month' joined to one time",
    ),
    "the day of the year": (
        table("year,doy,v", "2024,59,5.5", "2024,60,6", "2024,61,7"),
        {"v": [5.5, 6, 7]},
        "columns 'year' and 'doy' joined to one time",
    ),
    "dates without marks in UTC": (
        table("ts,v", "20240101T000000Z", "20240101T003000Z").replace("Z\n", "Z,7\n"),
        {"v": [7, 7]},
        "every 30 min",
    ),
    "points between hours and minutes": (
        table("Date;Time;v", "13/03/2004;18.00.00;2,5", "13/03/2004;19.00.00;2"),
        {"v": [2.5, 2]},
        "columns 'Date' and 'Time' joined",
    ),
    "times of day without a date": (
        table("time,v", "10:00,1", "10:30,2", "11:00,3"),
        {"v": [1, 2, 3]},
        "column 'time' left out: times of day without dates",
    ),
    "columns of spaces with a word": (
        table("station  temp   p", "ABC      19.5 1000.0", "ABC       8.5  999.5"),
        {"temp": [19.5, 8.5], "p": [1000, 999.5]},
        "column 'station' left out",
    ),
    "columns of spaces with names in a remark": (
        table("#YY  MM DD hh mm WSPD", "#yr  mo dy hr mn m/s", "2024 03 01 10 00  5.5", "2024 03 01 11 00 16.0"),
        {"WSPD": [5.5, 16]},
        "'YY', 'MM', 'DD', 'hh' and 'mm' joined to one time",
    ),
    "a separator for Excel": ("sep=;\n" + daily(PLAIN, "day;v", ";"), {"v": NUMBERS}, ""),
    "quoted": (table("day,note,v", '2024-01-01,"a, b",1', '2024-01-02,"c ""d""",2'), {"v": [1, 2]}, ""),
}

REFUSED = {
    "two decimal marks": (
        daily(["9.34", "14.804,00", "3.1", "2.5"], "day;v", ";"),
        r"'9.34' is 9.34 with a decimal point, '14.804,00' is 14804 with a decimal comma",
        {"decimal": ","},
    ),
    "a key of another name": (
        table("shop,day,v", "a,2024-01-01,1", "b,2024-01-01,5", "a,2024-01-02,2", "b,2024-01-02,6"),
        r"many series: times in 'day' repeat, and 'shop' tells their rows apart; (say|use) .{0,40}key",
        {"key": "shop"},
    ),
    "numbers as keys": (
        table("shop,day,v", "1,2024-01-01,1.5", "2,2024-01-01,5", "1,2024-01-02,2", "2,2024-01-02,6"),
        r"'shop' tells their rows apart",
        {"key": "shop"},
    ),
    "two columns as a key": (
        table(
            "region,item,day,v",
            *(f"{a[0]},{a[1]},2024-01-0{d},{d}{ord(a[1])}" for a in ("Nx", "Ny", "Sx") for d in "12"),
        ),
        r"'region' and 'item' together tell their rows apart",
        {"key": "region + item"},
    ),
    "two numbers as a key": (
        table("store,item,day,v", *(f"{k % 2},{k // 4},2024-01-0{k // 2 % 2 + 1},{k % 2 + k // 4}" for k in range(12))),
        r"'store' and 'item' together tell their rows apart",
        {"key": "store + item"},
    ),
    "years across": (table("country,2000,2001,2002", "A,1,2,3", "B,4,5,6"), r"columns are times \(2000 … 2002\)", None),
    "months across": (
        table("what,2024-01,2024-02,2024-03", "A,1,2,3", "B,4,5,6"),
        r"columns are times \(2024-01",
        None,
    ),
    "months across beside years": (
        table("Year,Jan,Feb,Mar", "1990,1,2,3", "1991,4,5,6"),
        r"columns are times \(Jan … Mar\).*table.melt\(\['Year'\], var_name='month'\)",
        None,
    ),
    "keys whose numbers are the same": (
        table("shop,day,v", "a,2024-01-01,1", "b,2024-01-01,1", "a,2024-01-02,2", "b,2024-01-02,2"),
        r"'shop' tells their rows apart",
        {"key": "shop"},
    ),
    "a zone behind the time": (
        table("time,v", "2024-01-01 00:00 CET,1", "2024-01-01 01:00 CET,2"),
        r"time_.?format.{1,3}%Y-%m-%d %H:%M CET|time-format '%Y-%m-%d %H:%M CET'",
        {"time_format": "%Y-%m-%d %H:%M CET"},
    ),
    "too many bad cells": (
        daily([*PLAIN[:8], "x", "y", "z", "w"]),
        r"'v' holds 'x' in row 9 of the data; 8 of 12",
        None,
    ),
    "ambiguous dates": (
        table("day,v", "01/02/2024,1", "02/02/2024,2", "03/02/2024,3"),
        r"1 Feb 2024 \(%d/%m/%Y\) or 2 Jan 2024",
        {"time_format": "%d/%m/%Y"},
    ),
    "ragged": (table("a,b", "1,2", "3,4,5", "6,7"), r"1 of 3 rows have another number of cells", None),
    "words": (table("a,b", "x,y", "z,w"), "no column of numbers", None),
}


def rows_of(series: Any) -> tuple[list[float], list[float]]:
    """Times (seconds, or numbers; row numbers without any) and values of the rows that have a value."""
    values = series.values[:, 0]
    there = np.isfinite(values)
    times = np.arange(len(values), dtype=float)
    if series.times is not None:
        moments = series.times.values
        times = moments.astype("M8[us]").astype(np.int64) / 1e6 if series.times.dates else moments
    return times[there].tolist(), values[there].tolist()


def by_command_line(path: str, **said: object) -> tuple[dict[str, object], str]:
    asked = _options.asked(**said)
    found = collect(open_table(path, asked), 10**6)
    many = len(found.table.roles.values) > 1
    made = {}
    for title, source in units_of(found, joint=False).items():
        name = title.replace(" · ", "/") if many else title.partition(" · ")[0]
        made[name] = rows_of(source.series)
    return made, words(found)


def by_python(path: str, **said: object) -> dict[str, object]:
    data = read_table(path, **said) if set(said) - {"key"} else path
    made = {}
    for key, source in split(data, said.get("key")).items():
        for i, name in enumerate(source.names):
            part = source.series.values[:, i : i + 1]
            title = str(key) if len(source.names) == 1 else f"{key}/{name}"
            made[title] = rows_of(type(source.series)(part, source.series.times))
    return made


def gathered(batches: list[Any]) -> dict[str, object]:
    made: dict[str, object] = {}
    for batch in batches:
        times = batch.times if batch.times is not None else [None] * len(batch.values)
        for key, time, value in zip(batch.keys, times, batch.values, strict=True):
            rows = made.setdefault(key, ([], []))
            if np.isfinite(value):
                rows[0].append(float(len(rows[1]) if time is None else time))
                rows[1].append(float(value))
    return made


def by_api(data: bytes, **said: object) -> dict[str, object]:
    return gathered([from_csv(data, BodyNames(**said), DEFAULT)])


def by_page(data: bytes, **said: object) -> dict[str, object]:
    """What `page/drop.js` does: ask about the beginning, then send pieces of lines below a line of names."""
    about = preview(data, BodyNames(**said))
    if "error" in about:
        raise ValueError(about["error"] + "; " + about["way_out"])
    lines = data.decode(about["encoding"]).replace("\ufeff", "").replace("\r\n", "\n").split("\n")
    body = [line for line in lines[about["skip"] :] if line.strip()]
    body = list(dict.fromkeys(body)) if about["time"] else body
    names = about["sep"].join('"' + name.replace('"', '""') + '"' for name in about["names"])
    values = about["values"][0] if len(about["values"]) == 1 else "value"
    asked = {
        "key": about["key"] or "key", "time": about["time"] or "time", "value": values, "sep": about["sep"],
        "decimal": about["decimal"], "time_format": about["time_format"], "header": True,
    }  # fmt: skip
    pieces = [body] if len(body) < 8 else [body[:6], body[6:]]
    pieces = pieces[::-1] if about["newest_first"] else pieces
    return gathered([from_csv("\n".join([names, *piece]).encode(), BodyNames(**asked), DEFAULT) for piece in pieces])


def the_same(made: dict[str, object], expected: dict[str, object]) -> None:
    assert list(made) == list(expected)
    for name in made:
        np.testing.assert_allclose(made[name][0], expected[name][0], rtol=0, atol=1e-6)
        assert made[name][1] == expected[name][1]


@pytest.mark.parametrize("name", FILES)
def test_a_file_gives_the_same_series_everywhere(tmp_path, name):
    text, expected, says = FILES[name]
    path = tmp_path / "file.csv"
    path.write_bytes(text.encode())
    made, words = by_command_line(str(path))
    assert {series: rows[1] for series, rows in made.items()} == expected
    assert says in words
    the_same(by_python(str(path)), made)
    the_same(by_api(text.encode()), made)


PIECEWISE = set(FILES) - {
    "quoted",
    "a total",
    "a bad first row",
    "one bad cell",
    "a cut last line",
    "a number for Python alone",
}
"""A stray cell or row is more than a tenth of a short piece; cells with line breaks are not cut."""


@pytest.mark.parametrize("name", sorted(PIECEWISE))
def test_the_page_reads_it_likewise(tmp_path, name):
    text, _, _ = FILES[name]
    the_same(by_page(text.encode()), by_api(text.encode()))


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_be_told_is_refused_everywhere_and_read_when_it_is_said(tmp_path, name):
    text, reason, said = REFUSED[name]
    path = tmp_path / "file.csv"
    path.write_bytes(text.encode())
    with pytest.raises(ValueError, match=reason):
        by_command_line(str(path))
    with pytest.raises(ValueError, match=reason):
        by_python(str(path))
    with pytest.raises((ValueError, Problem), match=reason):
        by_page(text.encode())
    if said is None:
        with pytest.raises(Problem) as caught:
            by_api(text.encode())
        assert re.search(reason, f"{caught.value.error}; {caught.value.way_out}")
        return
    if name == "two decimal marks":  # the cells of the other way are then bad ones, and too many here
        return
    made, _ = by_command_line(str(path), **said)
    the_same(by_python(str(path), **said), made)
    the_same(by_api(text.encode(), **said), made)
    the_same(by_page(text.encode(), **said), made)


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"missing": ["-9999"]}, [1, 3, 4]),
        ({"missing": ["-9999", "3"]}, [1, 4]),
        ({"skip": 2}, [-9999, 3, 4]),
        ({"sep": ";"}, [1, -9999, 3, 4]),
    ],
)
def test_options_say_what_content_does_not(tmp_path, said, expected):
    path = tmp_path / "file.csv"
    path.write_text("v;w\n1;2\n-9999;2\n3;2\n4;2\n")
    found = collect(open_table(str(path), _options.asked(column=["v"] if "skip" not in said else None, **said)), 99)
    values = next(iter(found.sources.values())).series.values[:, 0]
    assert values[np.isfinite(values)].tolist() == expected


def sheet(rows: list[list[object]], **more: list[list[object]]) -> bytes:
    from openpyxl import Workbook

    book = Workbook()
    for name, cells in {"Data": rows, **more}.items():
        page = book.create_sheet(name)
        for row in cells:
            page.append(row)
    book.remove(book["Sheet"])
    out = io.BytesIO()
    book.save(out)
    return out.getvalue()


def test_sheets_have_titles_units_totals_and_names(tmp_path):
    days = pd.date_range("2024-01-01", periods=12).to_pydatetime().tolist()
    body = [[day, k * 1.5, f"{k} kW"] for k, day in enumerate(days)]
    rows = [["Plant 7"], [], ["Day", "Load", "Power"], ["", "MW", "kW"], *body, ["Total", 99.0, ""]]
    (tmp_path / "x.xlsx").write_bytes(sheet(rows, Other=[["a"], [1], [2]]))
    made, words = by_command_line(str(tmp_path / "x.xlsx"))
    assert made["Load"][1] == [k * 1.5 for k in range(12)]
    assert made["Power"][1] == list(range(12))
    assert "1 line before the table skipped ('Plant 7')" in words
    assert "below the names skipped (units, perhaps: 'MW kW')" in words
    assert "'Total' (row 13)" in words
    assert "sheet 'Data' of 2" in words
    the_same(by_python(str(tmp_path / "x.xlsx")), made)
    other, _ = by_command_line(str(tmp_path / "x.xlsx"), sheet="Other")
    assert other["a"][1] == [1, 2]
    with pytest.raises(ValueError, match="no sheet 'Nope'; it has 'Data', 'Other'"):
        by_command_line(str(tmp_path / "x.xlsx"), sheet="Nope")


def test_a_title_with_a_date_is_no_row(tmp_path):
    body = [[pd.Timestamp(day).to_pydatetime(), k * 1.5, k] for k, day in enumerate(DAYS)]
    rows = [["Plant 7"], ["printed 3 Jan 2024"], [], ["Day", "Load", "Power"], ["", "MW", "kW"], *body]
    (tmp_path / "x.xlsx").write_bytes(sheet(rows))
    made, words = by_command_line(str(tmp_path / "x.xlsx"))
    assert made["Load"][1] == [k * 1.5 for k in range(12)]
    assert "2 lines before the table skipped ('Plant 7')" in words


def test_a_cover_sheet_is_passed_over(tmp_path):
    cover = [["Report"], ["made by the plant, 2 Jan 2024"], ["see next sheet"]]
    (tmp_path / "x.xlsx").write_bytes(sheet(cover, Values=[["day", "v"], ["2024-01-01", 1], ["2024-01-02", 2]]))
    made, words = by_command_line(str(tmp_path / "x.xlsx"))
    assert made["v"][1] == [1, 2]
    assert "sheet 'Values' of 2" in words


def test_a_sheet_is_read_by_its_cells_and_not_by_what_it_says_of_its_size(tmp_path):
    import zipfile

    whole = sheet([["v"], *[[float(k)] for k in range(30)]])
    out = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(whole)) as old, zipfile.ZipFile(out, "w") as new:
        for part in old.namelist():
            data = old.read(part)
            new.writestr(part, re.sub(rb'<dimension ref="[^"]*"', b'<dimension ref="A1:A12"', data))
    (tmp_path / "x.xlsx").write_bytes(out.getvalue())
    assert by_command_line(str(tmp_path / "x.xlsx"))[0]["v"][1] == [float(k) for k in range(30)]


def test_a_keyed_table_is_refused_alike_in_every_format(tmp_path):
    frame = pd.DataFrame(
        {"shop": ["a", "b"] * 6, "day": np.repeat(pd.date_range("2024-01-01", periods=6), 2), "v": np.arange(12.0)}
    )
    frame.to_parquet(tmp_path / "x.parquet")
    frame.to_excel(tmp_path / "x.xlsx", index=False)
    frame.to_csv(tmp_path / "x.csv", index=False)
    frame.assign(day=frame["day"].astype(str)).to_json(tmp_path / "x.jsonl", orient="records", lines=True)
    for name in ("x.parquet", "x.xlsx", "x.csv", "x.jsonl"):
        with pytest.raises(ValueError, match=r"'shop' tells their rows apart; say --key 'shop'"):
            by_command_line(str(tmp_path / name))
        assert by_command_line(str(tmp_path / name), key="shop")[0]["b"][1] == [1, 3, 5, 7, 9, 11]
    with pytest.raises(ValueError, match=r"forecast_many\(data, horizon, key='shop'\)"):
        read(frame)
    with pytest.raises(ValueError, match=r"2 series, by shop; .* forecast_many"):
        read(frame.set_index(["shop", "day"]))


def test_years_across_a_frame_are_refused_too():
    frame = pd.DataFrame({"country": ["A", "B"], 2000: [1, 2], 2001: [3, 4], 2002: [5, 6]})
    for data in (frame, frame.rename(columns=str)):
        with pytest.raises(ValueError, match=r"columns are times \(2000 … 2002\), one row a series; transpose it"):
            read(data)


def test_columns_that_are_numbered_are_no_years(tmp_path):
    pd.DataFrame(np.arange(40.0).reshape(2, 20), columns=range(1990, 2010)).to_csv(tmp_path / "years.csv", index=False)
    with pytest.raises(ValueError, match="columns are times"):
        read(tmp_path / "years.csv")
    pd.DataFrame(np.ones((2, 1700))).to_csv(tmp_path / "numbered.csv", index=False)
    assert len(read(tmp_path / "numbered.csv").names) == 1700


def test_words_and_truth_are_regressors(tmp_path):
    days = pd.date_range("2024-01-01", periods=30)
    source = read(pd.DataFrame({"day": days[:25], "v": np.arange(25.0)}), "day")
    sky, open_ = ["sun", "rain", "snow"] * 10, [True, False] * 15
    known = pd.DataFrame({"day": days, "sky": sky, "open": open_, "price": np.arange(30.0)})
    found = Regressors(known)(source, 5)
    assert sorted(found.names) == ["open", "price", "sky = snow", "sky = sun"]
    place = found.names.index("sky = snow")
    np.testing.assert_array_equal(found.values[:, place], [float(cell == "snow") for cell in sky])
    known.to_csv(tmp_path / "known.csv", index=False)
    again = Regressors(str(tmp_path / "known.csv"))(source, 5)
    assert {"price", "sky = snow", "sky = sun"} <= set(again.names)
    with pytest.raises(ValueError, match=r"known has 31 different words in 'sky', and at most 30"):
        Regressors(pd.DataFrame({"sky": [f"w{k}" for k in range(31)]}))(source, 6)


def test_regressors_of_many_series_are_found_by_key_in_any_library_and_in_files(tmp_path):
    pa = pytest.importorskip("pyarrow")
    days = pd.date_range("2024-01-01", periods=30)
    series = split(pd.DataFrame({"k": ["a", "b"] * 25, "day": np.repeat(days[:25], 2), "v": np.arange(50.0)}), "k")
    known = pd.DataFrame({"k": ["a"] * 30 + ["b"] * 30, "day": [*days, *days], "price": np.arange(60.0)})
    known.to_csv(tmp_path / "known.csv", index=False)
    for data in (known, pa.Table.from_pandas(known), tmp_path / "known.csv"):
        regressors = Regressors(data)
        assert regressors(series["a"], 5).values[:, 0].tolist() == list(range(30))
        assert regressors(series["b"], 5).values[:, 0].tolist() == list(range(30, 60))


@pytest.mark.parametrize("keys", [["n"], ["n", "k"]])
def test_keys_of_a_frame_and_of_a_file_of_regressors_are_the_same_however_they_are_typed(tmp_path, keys):
    days = pd.date_range("2024-01-01", periods=30)
    known = pd.DataFrame({"n": [1] * 30 + [2] * 30, "k": "x", "day": [*days, *days], "price": np.arange(60.0)})
    table = known[known["day"] < "2024-01-26"].rename(columns={"price": "v"})
    for name, data in (("table.csv", table), ("known.csv", known)):
        data.drop(columns=[] if "k" in keys else ["k"]).to_csv(tmp_path / name, index=False)
    for data in (table, tmp_path / "table.csv"):
        for beside in (known.drop(columns=[] if "k" in keys else ["k"]), tmp_path / "known.csv"):
            *_, last = split(data, keys, columns="v").values()
            assert Regressors(beside)(last, 5).values[:, 0].tolist() == list(range(30, 60))


def test_several_columns_are_a_key_in_python_as_the_refusal_says(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text(REFUSED["two columns as a key"][0])
    with pytest.raises(ValueError, match=r"key=\['region', 'item'\]"):
        split(str(path), None)
    assert (
        list(split(str(path), ["region", "item"])) == list(split(str(path), "region + item")) == ["N/x", "N/y", "S/x"]
    )


def test_an_euro_of_windows_is_one(tmp_path):
    path = tmp_path / "euro.csv"
    path.write_bytes(daily(PLAIN, "day;Umsatz (€)", ";").encode("cp1252"))
    assert list(by_command_line(str(path))[0]) == ["Umsatz (€)"]


def test_a_frame_of_a_file_gives_the_series_of_the_file(tmp_path):
    """The same rules for frames: clocks by name, epochs, keys of usual names; what is written again is as it was."""
    for text in (
        table("t,v", *(f"{k / 2},{k * k % 7}" for k in range(20))),
        table("ts,v", *(f"{1700000000 + 60 * k},{k * k % 7}" for k in range(20))),
        table("unique_id,ds,y", *(f"{key},2024-01-{k:02d},{k * k % 7}" for key in "ab" for k in range(1, 20))),
        table("year,month,v", *(f"{2020 + k // 12},{k % 12 + 1},{k * k % 7}" for k in range(20))),
    ):
        path = tmp_path / "file.csv"
        path.write_text(text)
        of_file, of_frame = split(str(path), None), split(pd.read_csv(path), None)
        assert list(of_file) == list(of_frame)
        for key, source in of_file.items():
            assert rows_of(source.series) == rows_of(of_frame[key].series)
    seconds = prophecy.forecast_many(pd.DataFrame({"ts": 1700000000 + 60 * np.arange(20), "v": PLAIN[0:1] * 20}), 2)
    assert seconds.to_frame()["ts"].tolist() == [1700001200, 1700001260]


def test_what_a_frame_does_not_tell_is_said_to_the_same_function():
    frame = pd.DataFrame({"time": [f"2024-01-01 {k:02d}:00 CET" for k in range(20)], "v": np.arange(20) % 7})
    with pytest.raises(ValueError, match=r"read_table\(data, time_format='%Y-%m-%d %H:%M CET'\)"):
        read(frame)
    made = read(read_table(frame, time_format="%Y-%m-%d %H:%M CET", missing="3"))
    assert made.series.grid.words() == "every hour"
    assert np.isnan(made.values).sum() == 3


def test_empty_columns_and_row_numbers_of_a_frame_are_left_out_as_those_of_a_file(tmp_path):
    path = tmp_path / "file.csv"
    path.write_text(table(",day,v,,", *(f"{k},2024-01-{k + 1:02d},{k * k % 7},," for k in range(20))))
    frame = pd.read_csv(path)
    assert "Unnamed: 0" in frame
    assert frame["Unnamed: 3"].isna().all()
    assert read(str(path)).names == read(frame).names == ("v",)


def test_a_series_that_cannot_be_read_is_a_failure_of_its_own():
    days = pd.date_range("2024-01-01", periods=9)
    frame = pd.DataFrame({"k": ["a"] * 9 + ["b"] * 9, "day": [*days, *days], "v": np.arange(18.0)})
    doubled = pd.concat([frame, frame.tail(1).assign(v=99.0)]).sample(frac=1, random_state=0)  # any index, any order
    made = prophecy.forecast_many(doubled, 2, key="k", jobs=1)
    assert list(made.failures) == ["b"]
    assert "2024-01-09 comes twice, with " in str(made["b"].error)
    with pytest.raises(ValueError, match="comes twice"):
        prophecy.forecast_many(doubled[doubled.k == "b"], 2, key="k", jobs=1)


def test_a_table_of_too_many_columns_is_refused_at_once(tmp_path):
    path = tmp_path / "wide.csv"
    path.write_text(",".join(f"c{k}" for k in range(50_000)) + "\n" + ",".join("1" for _ in range(50_000)) + "\n")
    with pytest.raises(ValueError, match="50,000 columns, and at most 20,000 are read"):
        open_table(str(path))


def test_the_bundled_table_is_the_one_its_script_writes_and_is_read_as_it_is():
    folder = Path(__file__).parent.parent / "examples"
    assert (folder / "sensor.csv").read_text().splitlines() == make_sensor.rows()
    made, words = by_command_line(str(folder / "sensor.csv"))
    assert list(made) == ["temperature", "humidity"]
    assert "669 rows, every hour, 3 missing times filled as gaps" in words


def test_numbers_of_days_are_dates_to_the_second_and_come_out_as_they_were(tmp_path):
    path = tmp_path / "hours.csv"
    path.write_text(table("Date,v", *(f"{45292 + k / 24:.6f},{k * k % 7}" for k in range(48))))
    opened = open_table(str(path))
    times = opened.times
    assert str(times.values[25].astype("datetime64[s]")) == "2024-01-02T01:00:00"
    written = opened.roles.clock.numbers(times)
    assert written[25] == pytest.approx(45292 + 25 / 24, abs=1e-9)


@pytest.mark.parametrize(
    "beginning", ["<!DOCTYPE html>\n<html>", "\n  <html lang='de'>", "<?xml version='1.0'?>", "<table>"]
)
def test_a_page_saved_as_a_table_is_said_to_be_one(tmp_path, beginning):
    text = beginning + "\n<body>1,2\n3,4\n</body></html>\n"
    path = tmp_path / "download.csv"
    path.write_text(text)
    for source in (str(path), text.encode()):
        with pytest.raises(ValueError, match="is a page of HTML or XML, not a table"):
            open_table(source)


def test_a_cell_without_an_end_is_named(tmp_path):
    path = tmp_path / "open.csv"
    path.write_text(daily(PLAIN) + '2024-01-13,"' + "x " * 100_000 + "\n")
    with pytest.raises(
        ValueError, match=r"line 14 has a cell of more than 131,072 characters; perhaps a quotation mark"
    ):
        open_table(str(path))
    path.write_text(daily([str(k) for k in range(12)]) * 40_000 + "2024-01-13," + "x" * 20_000_000 + "\n")
    with pytest.raises(ValueError, match=r"line 520001 has a cell of more than 131,072 characters"):
        collect(open_table(str(path)), 10)


@pytest.mark.parametrize("cells", [[0, 1] * 6, [5] * 12, [0] * 9 + [3, 7, 20], [1, 2, 3, 4, 5, 6, 7, 8, 9, 30, 31, 30]])
def test_numbers_near_others_are_no_codes(tmp_path, cells):
    path = tmp_path / "plain.csv"
    path.write_text(daily([str(cell) for cell in cells]))
    assert "far from" not in words(collect(open_table(str(path)), 100))


def test_what_was_assumed_about_a_file_is_in_the_notes_of_its_forecast(tmp_path):
    path = tmp_path / "coded.csv"
    path.write_text(table("n,ok,v", *(f"{k},true,{-9999 if k % 9 == 4 else k * k % 7}" for k in range(40))))
    for made in (prophecy.forecast(str(path), 3), prophecy.forecast_many(str(path), 3)["v"]):
        assert "Column 'ok' left out: no numbers." in made.notes
        (code,) = (note for note in made.notes if note.startswith("-9999 comes 4 times in 'v'"))
        assert code.endswith("if it means 'no value', use prophecy.frames.collect.read_table(data, missing='-9999').")
    cleaned = prophecy.forecast(read_table(path, missing="-9999"), 3)
    assert not any("-9999" in note for note in cleaned.notes)


def test_a_stray_cell_at_the_end_of_a_sheet_costs_seconds_and_no_column(tmp_path):
    from openpyxl import Workbook

    book = Workbook()
    for row in [["day", "v"], *[[day, cell] for day, cell in zip(DAYS, NUMBERS, strict=True)]]:
        book.active.append(row)
    book.active["XFD1048576"] = "x"
    book.save(tmp_path / "x.xlsx")
    found = collect(open_table(str(tmp_path / "x.xlsx")), 10**6)
    assert len(found.table.layout.names) == 3
    assert found.sources[""].values.tolist() == NUMBERS
    assert "1 row without a time left out" in words(found)


SUMMER = pd.date_range("2024-03-20", periods=40, tz="Europe/Berlin")  # days of 24 and of 23 hours


@pytest.mark.parametrize("freq", ["D", "B", "MS", "h"])
def test_rows_with_two_offsets_are_moments_and_days_are_those_of_the_clock_that_wrote_them(tmp_path, freq):
    days = pd.date_range("2024-03-20", periods=40, tz="Europe/Berlin", freq=freq)
    later = pd.date_range(days[-1], periods=3, freq=freq)[1:]
    path = tmp_path / "x.csv"
    path.write_text(table("time,v", *(f"{day.isoformat()},{k * k % 7}" for k, day in enumerate(days))))
    assert len({day.utcoffset() for day in days}) == 2 or freq == "h"
    found = collect(open_table(str(path)), 10**6)
    series = found.sources[""].series
    assert (series.times.values == days.tz_convert("UTC").tz_localize(None).to_numpy()).all()
    assert (
        series.grid.words()
        == {"D": "every day", "B": "every business day", "MS": "every month", "h": "every hour"}[freq]
    )
    ahead = [day.isoformat(sep=" ")[:16] + day.isoformat()[-6:] for day in later]
    if days[-1].utcoffset() == later[-1].utcoffset():
        assert series.after(2).texts() == ahead
    if freq == "D":
        assert "'time' has several offsets (+01:00, +02:00), and rows to come keep the last of them" in words(found)
        assert "has several offsets" not in words(collect(open_table(str(path), _options.asked(time_zone="UTC")), 99))


def test_every_key_keeps_the_offsets_of_its_own_rows(tmp_path):
    zones = {"b": SUMMER, "n": pd.date_range("2024-03-01", periods=40, tz="America/New_York")}
    path = tmp_path / "x.csv"
    rows = (f"{key},{days[k].isoformat()},{k}" for k in range(40) for key, days in zones.items())
    path.write_text(table("sensor,time,v", *rows))
    sources = split(str(path), None)
    assert [source.series.after(1).texts() for source in sources.values()] == [
        ["2024-04-29 00:00+02:00"],
        ["2024-04-10 00:00-04:00"],
    ]
    assert {source.series.grid.words() for source in sources.values()} == {"every day"}


def test_durations_are_times_and_come_out_as_they_were(tmp_path, prophecy):
    path = tmp_path / "x.csv"
    path.write_text(table("elapsed,v", *(f"{k // 4}:{k % 4 * 15:02d}:00,{k * k % 7}" for k in range(120))))
    code, _, err = prophecy("forecast", path, "-H", 2, "--out", tmp_path / "o.csv")
    assert code == 0
    assert "'elapsed' read as hours, minutes and seconds since a start" in err
    assert [line.split(",")[0] for line in (tmp_path / "o.csv").read_text().split()] == [
        "elapsed",
        "30:00:00",
        "30:15:00",
    ]


def test_durations_of_a_frame_come_out_as_durations(tmp_path):
    frame = pd.DataFrame({"elapsed": pd.to_timedelta(np.arange(40) * 90.5, unit="s"), "v": np.arange(40) % 5})
    made = prophecy.forecast(frame, 2).to_frame()
    assert made["elapsed"].tolist() == [pd.Timedelta(seconds=90.5 * k) for k in (40, 41)]
    frame.to_csv(tmp_path / "x.csv", index=False)  # 0 days 00:01:30.500000
    assert read(str(tmp_path / "x.csv")).series.grid.words() == "in steps of 90.5"


@pytest.mark.parametrize(("pointed", "mark"), [(11, "."), (1, ","), (6, None)])
def test_a_decimal_mark_is_proposed_only_where_it_reads_nearly_all_cells(tmp_path, pointed, mark):
    cells = [f"{k}.25" if k < pointed else f"{k},5" for k in range(12)]
    path = tmp_path / "x.csv"
    path.write_text(daily(cells, "day;v", ";"))
    with pytest.raises(ValueError, match="writes numbers in two ways") as caught:
        by_command_line(str(path))
    assert ("--decimal" in str(caught.value)) == (mark is not None)
    if mark is not None:
        made, _ = by_command_line(str(path), decimal=mark)
        assert len(made["v"][1]) == 11


def test_a_table_melted_as_its_refusal_says_is_one_of_many_series():
    table = pd.DataFrame({"country": ["A", "B"], **{year: [year - 1990, year - 1980] for year in range(2000, 2012)}})
    with pytest.raises(ValueError, match=r"table.melt\(\['country'\], var_name='time'\)"):
        read(table)
    melted = table.melt(["country"], var_name="time")
    with pytest.raises(ValueError, match=r"use forecast_many\(data, horizon, key='country'\)"):
        read(melted)
    assert prophecy.forecast_many(melted, 2, key="country", jobs=1).to_frame()["time"].tolist() == [2012, 2013] * 2
