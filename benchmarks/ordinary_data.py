"""Build the series that benchmarks/ordinary.py runs on, from the official files.

    python -m benchmarks.ordinary_data OUT.npz --m1 M1.rda --m3 M3.rda --m4 Hourly-train.csv Hourly-test.csv
        --m4-weekly Weekly-train.csv Weekly-test.csv --etth1 ETTh1.csv --etth2 ETTh2.csv

M1 and M3: the data of the R package Mcomp (data/M1.rda, data/M3.rda), read by the package rdata. M4: the competition's
CSV files. ETT: the CSV files of the Electricity Transformer Dataset. Any of them may be left out.

OUT holds, per group, `context` and `future` (all series one after the other), `context_lengths`, `horizons` and
`seasons`; and `etth1`, `etth2` as (time, 7).
"""

import argparse
import csv
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from prophecy.frames.columns import Hints
from prophecy.frames.table import open_table

Series = tuple[Any, Any, int]  # context, future, samples in a season
PERIODS = {"YEARLY": 1, "QUARTERLY": 4, "MONTHLY": 12, "OTHER": 1}


def m_competition(path: Path) -> Iterator[Series]:
    """The series of M1 or M3: each a list with x (the past), xx (what came) and period."""
    import rdata

    try:
        with warnings.catch_warnings(action="ignore"):  # classes of R that have no meaning here
            found = rdata.read_rda(path)
    except Exception as error:
        raise ValueError(f"{path.name} cannot be read as R's data: {error}") from error
    for collection in found.values():
        for one in collection.values():
            season = PERIODS[str(np.ravel(one["period"])[0]).upper()]
            yield np.asarray(one["x"], dtype=np.float64), np.asarray(one["xx"], dtype=np.float64), season


def m4(train: Path, test: Path, season: int) -> Iterator[Series]:
    """Rows of different lengths: a name, then values; empty cells at the end."""
    futures = dict(_rows(test))
    for name, context in _rows(train):
        if name not in futures:
            raise ValueError(f"series {name} of {train.name} is missing in {test.name}")
        yield context, futures[name], season


def _rows(path: Path) -> Iterator[tuple[str, Any]]:
    with path.open(newline="") as lines:
        reader = csv.reader(lines)
        next(reader, None)
        for row in reader:
            values = [float(cell) for cell in row[1:] if cell.strip() and cell.strip().upper() != "NA"]
            yield row[0], np.array(values)


def ett(path: Path) -> Any:
    """(time, variables): all columns but the date."""
    return open_table(str(path), Hints(time="date", decimal=".")).values


def packed(series: Iterator[Series]) -> dict[str, Any]:
    found = list(series)
    return {
        "context": np.concatenate([context for context, _, _ in found]),
        "context_lengths": np.array([len(context) for context, _, _ in found]),
        "future": np.concatenate([future for _, future, _ in found]),
        "horizons": np.array([len(future) for _, future, _ in found]),
        "seasons": np.array([season for _, _, season in found]),
    }


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    for name in ("m1", "m3", "etth1", "etth2"):
        parser.add_argument(f"--{name}", type=Path)
    for name in ("m4", "m4-weekly"):
        parser.add_argument(f"--{name}", type=Path, nargs=2, metavar=("TRAIN", "TEST"))
    options = parser.parse_args()
    groups = {name: packed(m_competition(path)) for name in ("m1", "m3") if (path := getattr(options, name))}
    fours = (("m4_hourly", options.m4, 24), ("m4_weekly", options.m4_weekly, 1))
    groups |= {name: packed(m4(*pair, season=season)) for name, pair, season in fours if pair}
    arrays = {f"{group}/{part}": value for group, parts in groups.items() for part, value in parts.items()}
    arrays |= {name: ett(getattr(options, name)) for name in ("etth1", "etth2") if getattr(options, name)}
    np.savez_compressed(options.out, **arrays)
    counts = [f"{group} {len(parts['horizons'])} series" for group, parts in groups.items()]
    print(f"{options.out}: {', '.join(counts)}")
