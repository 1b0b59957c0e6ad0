"""`prophecy forecast --dask`: a table in many Parquet files, on the workers of a Dask cluster."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import typer

from prophecy import _machine
from prophecy.adapters.dask import PartitionTask, forecast_partitions, partitions
from prophecy.commands._common import say
from prophecy.commands._progress import Progress

SHOWN = 5
"""Series that failed named on stderr; all are in the column `error`."""


@contextlib.contextmanager
def cluster(address: str, jobs: int | None) -> Iterator[Any]:
    """A client of the cluster at this address; "local" makes one of this machine's cores, for as long as it is used."""
    from distributed import Client, LocalCluster

    if address != "local":
        if "://" not in address:
            raise typer.BadParameter(f"--dask takes local or an address such as tcp://host:8786, got {address!r}")
        with Client(address, timeout="10s") as client:
            yield client
        return
    workers = jobs or _machine.cores()
    options = {"threads_per_worker": 1, "dashboard_address": "127.0.0.1:0", "silence_logs": logging.ERROR}
    with LocalCluster(n_workers=workers, **options) as local, Client(local) as client:
        yield client


def forecast_on(
    address: str, file: str, out: Path | None, asked: PartitionTask, jobs: int | None, resume: bool
) -> None:
    """Forecast the partitions under `file` into the folder `out`, and say how it went."""
    if out is None:
        raise typer.BadParameter("--dask writes partitions; name their folder with --out")
    sources = partitions(file)
    with cluster(address, jobs) as client, Progress("forecast", len(sources), "partitions", True) as progress:
        done = forecast_partitions(sources, out, client, asked, progress.after(0), resume)
    series = sum(len(part.keys) for part in done)
    errors = [found for part in done for found in part.errors.items()]
    for key, error in errors[:SHOWN]:
        say("forecast", f"series {key}: {error}")
    kept = f" ({len(sources) - len(done):,} were there already)" if len(done) < len(sources) else ""
    say("forecast", f"{series:,} series in {len(done):,} partitions{kept}, {len(errors):,} failed; written to {out}")
    if series and len(errors) == series:
        raise ValueError("no series could be forecast")
