"""How far each idea moved the forecasts: the method as it is, and with one idea at a time taken away or put back.

    python benchmarks/forecast_ideas.py --data chaos.npz --out benchmarks/results/forecast_ideas.json

Two sets: trajectory 0 of every second system of the file (see forecast_dev.py), if one is given, and the systems of
`prophecy.chaos` at 15 and 30 samples per Lyapunov time without noise and at 30 with noise of 1 % of each spread.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import time
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any
from unittest import mock

os.environ.setdefault("OMP_NUM_THREADS", "1")

import numpy as np

from prophecy import chaos
from prophecy.dynamics import candidates, choice, context, fields, forecasting
from prophecy.dynamics.choice import Tier
from prophecy.evaluation import smape, valid_prediction_time

KINDS = {
    "repetition": ("copy", "mean", "repetition"),
    "linear": ("linear",),
    "waves": ("undamped",),
    "polynomial maps": ("polynomial map",),
    "kernel maps": ("kernel",),
    "polynomial fields": ("polynomial field of",),
    "rational fields": ("rational",),
    "functions": ("field of degree",),
}


@contextlib.contextmanager
def only(*kinds: str) -> Iterator[None]:
    """Candidates of these kinds alone; copying, the mean and repetition always stay."""
    starts = tuple(start for kind in ("repetition", *kinds) for start in KINDS[kind])
    real = candidates.tiers

    def filtered(*arguments: Any) -> Iterator[Tier]:
        for tier in real(*arguments):
            kept = [candidate for candidate in tier.candidates if candidate.name.startswith(starts)]
            if kept:
                yield Tier(kept, tier.finalists)

    with mock.patch.object(forecasting, "tiers", filtered):
        yield


def without(*kinds: str) -> Any:
    return only(*(kind for kind in KINDS if kind not in kinds))


def coarse() -> Any:
    """Sensitivities always in four substeps, however stiff the step."""
    real = fields.sensitivities
    return mock.patch.object(fields, "sensitivities", lambda field, gradients, x, substeps: real(field, gradients, x))


def first_start() -> Any:
    real = fields.ranked_starts
    return mock.patch.object(fields, "ranked_starts", lambda *arguments: real(*arguments)[:1])


def always_refit() -> Any:
    def final(trial: Any, ready: Any, rolling: Any, known: Any) -> Any:
        return trial.candidate.fit(ready.values, ready.rows, known) or trial.model

    return mock.patch.object(forecasting, "_final", final)


VARIANTS: dict[str, Any] = {
    "all ideas": contextlib.nullcontext,
    "repetition alone": lambda: only(),
    "and linear models": lambda: only("linear"),
    "and polynomial maps of a short memory": lambda: only("linear", "polynomial maps"),
    "and kernel maps": lambda: only("linear", "polynomial maps", "kernel maps"),
    "and polynomial fields": lambda: only("linear", "polynomial maps", "kernel maps", "polynomial fields"),
    "without kernel maps": lambda: without("kernel maps"),
    "without undamped waves": lambda: without("waves"),
    "without rational fields": lambda: without("rational fields"),
    "without sin, cos, tanh, |x|": lambda: without("functions"),
    "without hidden phases": lambda: mock.patch.object(
        context, "_hidden_phases", lambda values: np.empty((len(values), 0))
    ),
    "without finer sensitivities": coarse,
    "without a second start": first_start,
    "without teams": lambda: mock.patch.object(choice, "_TEAM", 1),
    "without checking the refit": always_refit,
}


def one(job: tuple[str, str, Any, Any, float]) -> dict[str, Any]:
    variant, case, seen, truth, rate = job
    began = time.process_time()
    with VARIANTS[variant]():
        answer = forecasting.forecast(seen, len(truth))
    seconds = time.process_time() - began
    inside = (np.asarray(answer.lower) <= truth) & (truth <= np.asarray(answer.upper))
    return {
        "variant": variant,
        "case": case,
        "vpt": float(valid_prediction_time(truth, answer.mean, samples_per_time=rate)),
        "smape": float(np.mean(smape(truth, answer.mean))),
        "coverage": float(inside.mean()),
        "seconds": seconds,
    }


def cases(data: Path | None) -> Iterator[tuple[str, Any, Any, float]]:
    if data is not None:
        with np.load(data) as systems:
            for name in systems.files[::2]:
                yield "file", systems[name][0, :512], systems[name][0, 512:], 30.0
    for rate, noise in ((15, 0.0), (30, 0.0), (30, 0.01)):
        for system in chaos.SYSTEMS:
            series = system.sample(512 + 10 * rate, rate, seed=1)
            seen = series[:512]
            seen = seen + noise * seen.std(axis=0) * np.random.default_rng(1).standard_normal(seen.shape)
            yield f"own, {rate} per Lyapunov time, noise {noise:g}", seen, series[512:], float(rate)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--data", type=Path)
    parser.add_argument("--variants", nargs="*", default=list(VARIANTS), choices=list(VARIANTS))
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    every = list(cases(options.data))
    jobs = [(variant, *case) for variant in options.variants for case in every]
    with ProcessPoolExecutor(options.jobs) as pool:
        rows = list(pool.map(one, jobs, chunksize=4))
    table = []
    for variant in options.variants:
        for case in dict.fromkeys(name for name, *_ in every):
            mine = [row for row in rows if (row["variant"], row["case"]) == (variant, case)]
            line: dict[str, Any] = {"variant": variant, "case": case, "forecasts": len(mine)}
            line |= {f"{m}_median": float(np.median([r[m] for r in mine])) for m in ("vpt", "smape", "seconds")}
            line |= {f"{m}_mean": float(np.mean([r[m] for r in mine])) for m in ("vpt", "smape", "coverage")}
            table.append(line)
            print(
                f"{variant:40} {case:42} vpt {line['vpt_median']:5.2f} {line['vpt_mean']:5.2f}"
                f" smape {line['smape_median']:6.1f} {line['smape_mean']:6.1f} cover {line['coverage_mean']:.2f}"
                f" {line['seconds_median']:.2f} s"
            )
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps({"rows": table}, indent=1) + "\n")


if __name__ == "__main__":
    main()
