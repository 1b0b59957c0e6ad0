"""benchmarks/ordinary_data.py reads miniatures of the official files, and benchmarks/ordinary.py runs on the result."""

from __future__ import annotations

import bz2
import gzip
import json
import lzma
import runpy
import struct
import sys
from argparse import Namespace
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent / "benchmarks"


pytest.importorskip("rdata")
from benchmarks import ordinary as bench  # noqa: E402
from benchmarks import ordinary_data as data  # noqa: E402


class Writer:
    """R's XDR serialisation of what Mcomp's files hold, written from its description in the R internals manual."""

    def __init__(self, version: int) -> None:
        self.out = f"RDX{version}\nX\n".encode()
        self.out += struct.pack(">iii", version, 0x040300, 0x020300)
        if version == 3:
            self.out += struct.pack(">i", 5) + b"UTF-8"
        self.symbols: dict[str, int] = {}

    def integer(self, value: int) -> None:
        self.out += struct.pack(">i", value)

    def text(self, value: str) -> None:
        self.integer(0x00040009)
        self.integer(len(value.encode()))
        self.out += value.encode()

    def symbol(self, name: str) -> None:
        if name in self.symbols:
            self.integer((self.symbols[name] << 8) | 0xFF)
            return
        self.symbols[name] = len(self.symbols) + 1
        self.integer(1)
        self.text(name)

    def nil(self) -> None:
        self.integer(254)

    def reals(self, values, attributes=None) -> None:
        self.integer(14 | (0x200 if attributes else 0))
        self.integer(len(values))
        self.out += np.asarray(values, dtype=">f8").tobytes()
        self.pairs(attributes)

    def integers(self, values, attributes=None) -> None:
        self.integer(13 | (0x200 if attributes else 0))
        self.integer(len(values))
        self.out += np.asarray(values, dtype=">i4").tobytes()
        self.pairs(attributes)

    def strings(self, values) -> None:
        self.integer(16)
        self.integer(len(values))
        for value in values:
            self.text(value)

    def named(self, members: dict, classes=()) -> None:
        self.integer(19 | 0x200)
        self.integer(len(members))
        for write in members.values():
            write()
        attributes = {"names": lambda: self.strings(list(members))}
        if classes:
            attributes["class"] = lambda: self.strings(list(classes))
        self.pairs(attributes)

    def pairs(self, members) -> None:
        if not members:
            return
        for name, write in members.items():
            self.integer(2 | 0x400)
            self.symbol(name)
            write()
        self.nil()


SERIES = {
    "YAF2": ("YEARLY", np.array([1.5, 2.5, 4.0, 8.0]), np.array([9.0, 10.0])),
    "QAF1": ("QUARTERLY", np.arange(12.0), np.arange(12.0, 20.0)),
    "MNB7": ("MONTHLY", np.arange(30.0) % 12, np.arange(18.0)),
}


def r_file(version: int) -> bytes:
    writer = Writer(version)

    def clock(frequency):
        return {
            "tsp": lambda: writer.reals([1970.0, 1980.0, frequency]),
            "class": lambda: writer.strings(["ts"]),
        }

    def one(name, period, x, xx):
        return lambda: writer.named(
            {
                "st": lambda: writer.strings([name]),
                "n": lambda: writer.integers([len(x)]),
                "h": lambda: writer.reals([float(len(xx))]),
                "period": lambda: writer.strings([period]),
                "x": lambda: writer.reals(x, clock(1.0)),
                "xx": lambda: writer.integers(xx.astype(int), clock(1.0)),
            },
            ("Mdata",),
        )

    members = {name: one(name, *parts) for name, parts in SERIES.items()}
    writer.pairs({"M1": lambda: writer.named(members, ("Mcomp",))})
    return writer.out


@pytest.mark.parametrize("version", [2, 3])
@pytest.mark.parametrize("pack", [bytes, gzip.compress, bz2.compress, lzma.compress])
def test_m_series_are_read_from_r_data_however_it_was_compressed(tmp_path, version, pack):
    path = tmp_path / "M1.rda"
    path.write_bytes(pack(r_file(version)))
    for (context, future, season), (period, x, xx) in zip(data.m_competition(path), SERIES.values(), strict=True):
        np.testing.assert_array_equal(context, x)
        np.testing.assert_array_equal(future, xx)
        assert season == {"YEARLY": 1, "QUARTERLY": 4, "MONTHLY": 12}[period]


def test_a_damaged_r_file_is_refused_by_name(tmp_path):
    (tmp_path / "M1.rda").write_bytes(r_file(2)[:200])
    with pytest.raises(ValueError, match=r"M1\.rda cannot be read"):
        list(data.m_competition(tmp_path / "M1.rda"))


def test_m4_rows_of_any_length_are_read(tmp_path):
    (tmp_path / "train.csv").write_text('"V1","V2","V3","V4"\n"H1","1","2.5",""\n"H2","4","5","6"\n')
    (tmp_path / "test.csv").write_text('"V1","V2","V3"\n"H2","7","8"\n"H1","3",NA\n')
    found = list(data.m4(tmp_path / "train.csv", tmp_path / "test.csv", 24))
    assert [(c.tolist(), f.tolist(), s) for c, f, s in found] == [([1, 2.5], [3], 24), ([4, 5, 6], [7, 8], 24)]
    (tmp_path / "test.csv").write_text('"V1","V2"\n"H1","3"\n')
    with pytest.raises(ValueError, match=r"series H2 of train\.csv is missing in test\.csv"):
        list(data.m4(tmp_path / "train.csv", tmp_path / "test.csv", 24))


def test_ett_is_read_without_its_dates(tmp_path):
    path = tmp_path / "ETTh1.csv"
    path.write_text("date,HUFL,OT\n2016-07-01 00:00:00,5.8,30.5\n2016-07-01 01:00:00,5.7,27.8\n")
    assert data.ett(path).tolist() == [[5.8, 30.5], [5.7, 27.8]]
    path.write_text("time,HUFL\n1,2\n")
    with pytest.raises(ValueError, match="no time column 'date'"):
        data.ett(path)


def test_the_benchmark_runs_on_what_was_built(tmp_path, monkeypatch):
    (tmp_path / "M3.rda").write_bytes(gzip.compress(r_file(2).replace(b"YAF2", b"YAF3")))
    hours = 10 + np.sin(np.arange(200) / 24 * 2 * np.pi)
    for name, part in (("train", hours[:152]), ("test", hours[152:])):
        (tmp_path / f"{name}.csv").write_text("V1\nH1," + ",".join(map(str, part)) + "\n")
    out = tmp_path / "data.npz"
    arguments = ["--m4", str(tmp_path / "train.csv"), str(tmp_path / "test.csv")]
    monkeypatch.setattr(sys, "argv", ["x", str(out), *arguments])
    runpy.run_path(str(ROOT / "ordinary_data.py"), run_name="__main__")
    (case,) = bench.series(out)
    row = bench.one((bench.OURS, 1, case))
    assert row["mase"] < 1e-2 or row["smape"] < 1e-2
    options = Namespace(data=out, thin=1, sets=None, rivals=None, out=None)
    (found,) = bench.summary([row], options)["rows"]
    assert (found["set"], found["method"], found["series"], found["failed"]) == ("m4 hourly", bench.OURS, 1, 0)
    assert found["ours_same"]["mase"] == found["mase"] == row["mase"]


def test_scores_are_those_of_their_definitions():
    case = bench.Case("x", np.array([1.0, 2.0, 4.0]), np.array([5.0, 3.0]), 1)
    quantiles = np.array([[0.0, 4], [1, 4], [2, 4], [4, 4], [5, 5], [5, 6], [6, 7]])
    row = bench.scores(case, quantiles, 0.0)
    assert row["smape"] == pytest.approx((200 * 1 / 9 + 200 * 1 / 7) / 2)
    assert row["mase"] == pytest.approx(1 / 1.5)
    assert row["msis"] == pytest.approx(((6 + 0) + (3 + 40 * 1)) / 2 / 1.5)
    assert (row["coverage_95"], row["coverage_50"]) == (0.5, 0.5)


def test_the_committed_results_say_what_they_were_made_from():
    result = json.loads((ROOT / "results" / "ordinary.json").read_text())
    assert result["thin"] == 1
    assert {row["method"] for row in result["rows"]} >= {"prophecy", "seasonal naive", "Theta", "AutoETS"}
