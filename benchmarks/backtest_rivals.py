"""Airline passengers and carbon dioxide through `prophecy.backtest`, beside AutoETS and AutoTheta of statsforecast.

statsforecast needs pandas < 3, so this runs in an environment of its own (`make statsforecast` makes it):

    python -m benchmarks.backtest_rivals --out OUT.json

The tutorial for forecasters shows the table of the committed run, benchmarks/results/backtest_rivals.json.
"""

from __future__ import annotations

import platform
from importlib import metadata
from typing import Any

import numpy as np
import pandas as pd
from statsforecast.models import AutoETS, AutoTheta
from statsforecast.utils import AirPassengers
from statsmodels.datasets import co2

import prophecy
from benchmarks.harness import Options, single


def series() -> dict[str, pd.Series]:
    """Monthly passengers 1949–1960, and monthly means of the weekly carbon dioxide record of Mauna Loa from 1958 on."""
    months = pd.date_range("1949-01-01", periods=len(AirPassengers), freq="MS")
    weekly = co2.load_pandas().data["co2"]
    return {
        "airline passengers": pd.Series(np.asarray(AirPassengers, dtype=float), index=months, name="passengers"),
        "carbon dioxide": weekly.resample("MS").mean().rename("co2"),
    }


def measured(_: Options) -> dict[str, Any]:
    made = {}
    for name, data in series().items():
        rivals = {"AutoETS": AutoETS(season_length=12), "AutoTheta": AutoTheta(season_length=12)}
        result = prophecy.backtest(
            data, horizon=12, folds=5, against={"seasonal naive": "seasonal naive", **rivals}, jobs=1
        )
        print(f"{name}\n{result.table()}\n", flush=True)
        rows = {
            model: {key: value if np.isfinite(value) else None for key, value in row.items()}
            for model, row in result.overall().items()
        }
        made[name] = {"rows": len(data), "horizon": 12, "folds": 5, "level": result.level, "overall": rows}
    versions = {name: metadata.version(name) for name in ("statsforecast", "pandas", "numpy")}
    about = {"made_by": "benchmarks/backtest_rivals.py", "python": platform.python_version(), "versions": versions}
    return {**about, "series": made}


if __name__ == "__main__":
    single(__doc__, measured)
