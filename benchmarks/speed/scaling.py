"""How the time grows with series, samples and order on the CPU: one of them at a time, each point checked."""

from __future__ import annotations

from typing import Any

import numpy as np

import prophecy
from benchmarks.speed import peers
from benchmarks.speed.cpu import system_of
from benchmarks.speed.measure import in_turns, relative_error

# (series, samples, order): each in turn from small to large, the others as in the middle of the first two.
POINTS = (
    [(2**k, 4096, 64) for k in range(12)]
    + [(64, 2**k, 64) for k in range(6, 18)]
    + [(256, 4096, order) for order in (8, 16, 32, 64, 128, 256)]
)


def scaling(rounds: int = 3, quick: bool = False) -> list[dict[str, Any]]:
    """Rows {series, samples, order, dtype, error, seconds, "SciPy FFT", "copy"}."""
    rows = []
    for series, samples, order in POINTS[:: 7 if quick else 1]:
        system = system_of(order)
        u = np.random.default_rng(0).standard_normal((series, samples))
        y = np.full_like(u, np.nan)
        prophecy.run(system, u, engine="lifted", out=y)
        expected, _ = prophecy.run(system, u[:2, :600], engine="step")
        error = relative_error(y[:2, :600], expected) if np.isfinite(y).all() else float("inf")
        row: dict[str, Any] = {"series": series, "samples": samples, "order": order, "dtype": "float64"}
        if error <= 1e-12:
            took = in_turns(
                {
                    "seconds": lambda s=system, v=u, o=y: prophecy.run(s, v, engine="lifted", out=o),  # type: ignore[misc]
                    "SciPy FFT": peers.scipy_fft(system, u),
                    "copy": lambda v=u, o=y: np.copyto(o, v),  # type: ignore[misc]
                },
                rounds,
            )
            row |= {"error": error, **took}
        rows.append(row)
    return rows
