"""Sizes of the members that use the seasons (`kernels.seasonal`): features, readouts and their factors."""

from __future__ import annotations

from prophecy.streams.members import padded

LAGS = 6
"""Newest differences among the features: more did not help on hourly readings (ETTh1, first 8 000 values)."""

FEATURES = LAGS + 2 * 9
MEMBERS = 6
"""The bank's forecast, three solved readouts, and the seasonal difference of each period."""

SOLVED = 3
"""Readouts solved in context."""


def _subset(lags: int, seasons: int, kinds: tuple[int, ...]) -> tuple[int, ...]:
    around = [LAGS + 9 * s + 3 * kind + j for s in range(seasons) for kind in kinds for j in range(3)]
    return (*range(lags), *around)


_SUBSETS = (_subset(6, 2, (0, 1, 2)), _subset(3, 2, (0, 2)), _subset(2, 1, (0, 2)))
WIDTHS = tuple(len(subset) for subset in _SUBSETS)
STRIDES = tuple(padded(width) for width in WIDTHS)
STARTS = tuple(sum(w * s for w, s in zip(WIDTHS[:m], STRIDES[:m], strict=True)) for m in range(SOLVED + 1))
"""Numbers of each readout, of a row of its factor (eight at a time), and where its factor starts."""

INDEX = tuple((*subset, *[0] * (FEATURES - len(subset))) for subset in _SUBSETS)
"""The features of each."""
