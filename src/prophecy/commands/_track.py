"""One series through a file: its model, what it said, how wrong that was, and the last stretch for a picture."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from typing import Any, NamedTuple, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive import Prophecy
from prophecy.commands import _plots, _times

Array: TypeAlias = NDArray[np.float64]

SHOWN = 300  # rows drawn
BINS = 256  # stretches an error curve is kept in, at most
POINTS = 20  # of them drawn: fewer are not a curve, more are noise


class Said(NamedTuple):
    """About each row, before it was seen: mean and interval; and when it was, its residual and surprise."""

    mean: Array
    lower: Array
    upper: Array
    residual: Array
    surprise: Array


class Model(Protocol):
    """Anything that says something about rows as they come; `times` is an Arrow column of their times, or None."""

    def advance(self, values: Array, times: Any) -> Said: ...


class Full:
    """The whole bank, each row predicted from those at least `horizon` rows above it."""

    def __init__(self, level: float, horizon: int = 1) -> None:
        from prophecy.commands._far import Far  # here and not above: it loads Numba

        self._level = level
        self._far = Far(horizon, level) if horizon > 1 else None
        self._model = Prophecy(context=1)

    def advance(self, values: Array, times: Any) -> Said:
        if self._far is not None:
            mean, half, score = self._far.advance(np.ascontiguousarray(values))
            rows = np.stack([mean, mean - half, mean + half, score])
        else:
            rows = np.stack(self._model.follow(values, self._level))
        mean, lower, upper, score = np.where(np.isfinite(rows) & np.isfinite(rows[0]), rows, np.nan)
        return Said(mean, lower, upper, values - mean, score)


class Timed:
    """The whole bank for rows at irregular times: each is predicted for the time it came at."""

    def __init__(self, level: float) -> None:
        self._model, self._level = Prophecy(context=1), level

    def advance(self, values: Array, times: Any) -> Said:
        rows = np.full((4, len(values)), np.nan)
        for k, (value, time) in enumerate(zip(values.tolist(), _times.seconds(times).tolist(), strict=True)):
            if self._model.count:
                ahead = self._model.predict(self._level, time=time)
                rows[:, k] = ahead.mean, ahead.lower, ahead.upper, self._model.score(value, time=time)
            self._model.observe(value, time=time)
        mean, lower, upper, surprises = np.where(np.isfinite(rows), rows, np.nan)
        return Said(mean, lower, upper, values - mean, surprises)


class Baselines:
    """Copy and straight line, `horizon` rows ahead: what any prediction has to beat."""

    def __init__(self, horizon: int) -> None:
        self._horizon = horizon
        self._past = np.full(horizon + 1, np.nan)

    def errors(self, values: Array) -> dict[str, Array]:
        joint = np.concatenate([self._past, values])
        self._past = joint[-self._horizon - 1 :]
        newest, before = joint[1 : 1 + len(values)], joint[: len(values)]
        return {"copy": values - newest, "line": values - newest - self._horizon * (newest - before)}


class Curve:
    """Root mean square errors over a file of unknown length, in at most `BINS` equal stretches."""

    def __init__(self) -> None:
        self._width, self._rows = 1, 0
        self._sums, self._counts = np.zeros(BINS), np.zeros(BINS)

    def add(self, errors: Array) -> None:
        while self._rows + len(errors) > BINS * self._width:
            for name in ("_sums", "_counts"):
                halves = getattr(self, name).reshape(-1, 2).sum(axis=1)
                setattr(self, name, np.concatenate([halves, np.zeros(BINS - len(halves))]))
            self._width *= 2
        first, known = self._rows % self._width, np.isfinite(errors)
        cuts = np.arange(0, len(errors) + first, self._width) - first
        cuts[0] = 0
        place = self._rows // self._width
        self._sums[place : place + len(cuts)] += np.add.reduceat(np.where(known, errors, 0.0) ** 2, cuts)
        self._counts[place : place + len(cuts)] += np.add.reduceat(known.astype(np.float64), cuts)
        self._rows += len(errors)

    def points(self) -> tuple[Array, Array]:
        """Row numbers and errors, some twenty of each."""
        used = -(-self._rows // self._width)
        cuts = np.arange(0, used, max(1, -(-used // POINTS)))
        sums, counts = np.add.reduceat(self._sums[:used], cuts), np.add.reduceat(self._counts[:used], cuts)
        ends = np.append(cuts[1:], used) * self._width
        where = (cuts * self._width + np.minimum(ends, self._rows)) / 2
        filled = counts > 0
        return np.asarray(where[filled]), np.asarray(np.sqrt(sums[filled] / counts[filled]))


class Tracker:
    """A model with its score sheet."""

    def __init__(self, title: str, model: Model, horizon: int) -> None:
        self.title = title
        self._model, self._baselines = model, Baselines(horizon)
        self.rows = self.compared = 0
        self.totals = dict.fromkeys(("prophecy", "copy", "line"), 0.0)
        self._curves = {name: Curve() for name in self.totals}
        self._tail: deque[tuple[Array, list[Any]]] = deque()
        self._held = 0

    def advance(self, values: Array, times: Any) -> Said:
        """Take in rows; `times` is an Arrow column of their times, or None."""
        try:
            said = self._model.advance(values, times)
        except ValueError as problem:
            rows = f"rows {self.rows + 1} to {self.rows + len(values)}"
            raise ValueError(f"series {self.title}, {rows}: {problem}") from None
        errors = {"prophecy": said.residual, **self._baselines.errors(values)}
        fair = np.isfinite(errors["prophecy"]) & np.isfinite(errors["line"])
        for name, error in errors.items():
            self.totals[name] += float(np.abs(error[fair]).sum())
            self._curves[name].add(error)
        self.rows += len(values)
        self.compared += int(fair.sum())
        self._keep(np.stack([part[-SHOWN:] for part in (values, said.mean, said.lower, said.upper)]), times)
        return said

    def _keep(self, last: Array, times: Any) -> None:
        cells = times[len(times) - last.shape[1] :].to_pylist() if times is not None else []
        self._tail.append((last, cells))
        self._held += last.shape[1]
        while self._held - self._tail[0][0].shape[1] >= SHOWN:
            self._held -= self._tail.popleft()[0].shape[1]

    def mean_errors(self) -> dict[str, float]:
        """Mean absolute errors over the rows all three could predict."""
        return {name: total / self.compared if self.compared else np.nan for name, total in self.totals.items()}

    def panel(self) -> _plots.Panel:
        """The last rows and the error curves, ready to draw."""
        rows = np.concatenate([part for part, _ in self._tail], axis=1)[:, -SHOWN:]
        cells = [cell for _, part in self._tail for cell in part][-SHOWN:]
        where = _times.axis(cells, rows.shape[1]) if cells else np.arange(self.rows - rows.shape[1], self.rows) + 0.0
        errors = {name: curve.points() for name, curve in self._curves.items()}
        truth, mean, lower, upper = rows
        return _plots.Panel(self.title, where, truth, mean, lower, upper, errors=errors)


def summary(trackers: Sequence[Tracker], most: int = 12) -> list[list[str]]:
    """A table, header first: mean absolute errors of each series, and how they compare with the better baseline."""
    table = [["series", "rows", "prophecy", "copy", "line", "against the better"]]
    for tracker in trackers[:most]:
        errors = tracker.mean_errors()
        best = min(errors["copy"], errors["line"])
        sizes = (f"{errors[name]:.4g}" for name in ("prophecy", "copy", "line"))
        table.append([tracker.title, f"{tracker.rows:,}", *sizes, _ratio(errors["prophecy"], best)])
    return table


def _ratio(ours: float, best: float) -> str:
    if not (np.isfinite(ours) and np.isfinite(best)):
        return "too few rows"
    if best == 0 or ours == 0:
        return "equal" if best == ours else "exact" if ours == 0 else "worse: it is exact"
    if abs(best / ours - 1) < 0.005:
        return "equal"
    return f"{best / ours:.3g} times smaller" if ours <= best else f"{ours / best:.3g} times larger"
