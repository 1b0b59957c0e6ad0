"""benchmarks/nab_data.py packs NAB's own files so that benchmarks/nab.py reads the rows and windows that are in them;
no benchmark looks for data where a user has none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from benchmarks import nab, nab_data

ROOT = Path(__file__).parent.parent


@pytest.fixture
def checkout(tmp_path):
    """Two files in the layout of numenta/NAB: one with a window and a time that goes back, one without labels."""
    source = tmp_path / "NAB"
    for kind in ("one", "two"):
        (source / "data" / kind).mkdir(parents=True)
    (source / "labels").mkdir()
    rows = [f"1970-01-02 00:{minute:02d}:00,{value}" for minute, value in [(0, 1.5), (5, -2), (4, 3e2), (15, 4)]]
    (source / "data" / "one" / "a.csv").write_text("\n".join(["timestamp,value", *rows]) + "\n")
    (source / "data" / "two" / "b.csv").write_text("timestamp,value\r\n2014-04-01 00:00:00,7.25\r\n")
    labels = {"one/a.csv": [["1970-01-02 00:04:00.000000", "1970-01-02 00:10:00.000000"]], "two/b.csv": []}
    (source / "labels" / "combined_windows.json").write_text(json.dumps(labels))
    return source


def test_what_is_packed_is_what_the_benchmark_reads(checkout, tmp_path):
    out = tmp_path / "deep" / "packed"
    assert nab_data.pack(checkout, out, ("one", "two")) == ["one/a", "two/b"]
    data = np.load(out / "nab_dev.npz")
    assert data["one/a/time"].tolist() == [86400, 86700, 86640, 87300]
    assert data["one/a/time"].dtype == np.int64
    assert data["two/b/time"].tolist() == [1396310400]
    read = nab.files(out)
    assert [(name, values.tolist(), windows) for name, (values, windows) in read.items()] == [
        ("one/a", [1.5, -2.0, 300.0, 4.0], [(1, 2)]),
        ("two/b", [7.25], []),
    ]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda at: (at / "labels" / "combined_windows.json").unlink(), "checkout of numenta/NAB"),
        (lambda at: (at / "labels" / "combined_windows.json").write_text("{}"), "no entry one/a.csv"),
        (lambda at: (at / "data" / "two" / "b.csv").unlink(), "holds no CSV files"),
        (lambda at: (at / "data" / "one" / "a.csv").write_text("time,value\n1,2\n"), "no time column 'timestamp'"),
        (lambda at: (at / "data" / "one" / "a.csv").write_text("timestamp,value\nnow,1\n"), "as dates: 'now'"),
        (
            lambda at: (at / "data" / "one" / "a.csv").write_text(
                "timestamp,value\n" + "".join(f"1970-01-01 00:{k:02},{k if k != 7 else 'x'}\n" for k in range(60))
            ),
            "a.csv: .*x",
        ),
    ],
)
def test_a_folder_that_is_not_nab_is_refused_and_nothing_is_written(checkout, tmp_path, change, message):
    change(checkout)
    with pytest.raises(SystemExit, match=message):
        nab_data.pack(checkout, tmp_path / "out", ("one", "two"))
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("command", "way_out"),
    [
        (["nab"], "--data"),
        (["nab", "--data", "nowhere"], "benchmarks.nab_data"),
        (["streams", "etth1"], "benchmarks.ordinary_data"),
        (["streams", "levels", "jitter", "--data", "nowhere.npz"], "benchmarks.ordinary_data"),
    ],
)
def test_data_that_is_not_given_is_asked_for_before_anything_runs(command, way_out, tmp_path):
    script, *options = command
    places = os.pathsep.join([str(ROOT), *filter(None, [os.environ.get("PYTHONPATH")])])
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.harness", f"benchmarks.{script}", *options],
        cwd=tmp_path, env={**os.environ, "PYTHONPATH": places}, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2
    assert way_out in done.stderr
    assert "Traceback" not in done.stderr
    assert list(tmp_path.iterdir()) == []
