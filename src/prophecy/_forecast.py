"""What a forecast is: a distribution for every value ahead, and where it came from."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cache, cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy._arrays import Array

Values = float | NDArray[np.floating[Any]]

#: Probabilities at which distributions are kept: close in the middle, and out to one in 2 000 on either side.
_LOW = (0.0005, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45)
PROBABILITIES: Array = np.array([*_LOW, 0.5, *(1 - q for q in reversed(_LOW))])
_MIDDLE = len(_LOW)


class Distribution(Protocol):
    """The distribution of every value ahead: mean, median, quantiles and samples of a `Forecast` are all read here."""

    def quantile(self, q: Array) -> Array:
        """(q, *shape of the forecast), for a 1-D array of probabilities."""

    def mean(self) -> Array:
        """The expected value at every step, of the shape of the forecast."""

    def samples(self, n: int, seed: int) -> Array:
        """(n, *shape of the forecast)."""


@dataclass(frozen=True, eq=False)
class QuantileGrid:
    """Quantiles at `PROBABILITIES`, (probabilities, *shape); the first axis of shape is time.

    Between them values are straight lines over the normal score of q, which is exact for a normal distribution; beyond
    the outermost they go on along the last such line, that is, with normal tails. Never decreasing in q.
    next_step: (steps - 1, ...), the correlation of the normal scores of consecutive steps; given one step, the next
    does not depend on those before. between: correlation of the variables, or None where they are independent.

    >>> grid = QuantileGrid.of(np.stack([np.linspace(-1, 1, 29), np.linspace(-2, 2, 29)], axis=1))
    >>> [round(float(v), 6) for v in grid.quantile(np.array([0.25, 0.5]))[:, 1]]
    [-0.714286, 0.0]
    """

    values: Array
    next_step: Array | None = None
    between: Array | None = None

    @classmethod
    def split_normal(cls, median: Values, lower: Values, upper: Values, level: float) -> QuantileGrid:
        """Half a normal distribution on either side of the median, as wide as the interval."""
        middle, edge = np.asarray(median, dtype=np.float64), _normal_score(np.array(0.5 + level / 2))
        scores = (_normal_score(PROBABILITIES) / edge).reshape(-1, *[1] * middle.ndim)
        width = np.where(scores < 0, middle - lower, np.asarray(upper) - middle)
        return cls(middle + scores * np.where(scores == 0, 0.0, width))

    @classmethod
    def of(cls, values: Array, next_step: Array | None = None, between: Array | None = None) -> QuantileGrid:
        """Sorted outwards from the median, so that no two quantiles cross and the median stays as it is."""
        above = np.maximum.accumulate(values[_MIDDLE:], axis=0)
        below = np.minimum.accumulate(values[_MIDDLE::-1], axis=0)[::-1]
        return cls(np.concatenate([below[:-1], above]), next_step, between)

    def quantile(self, q: Array) -> Array:
        shape = self.values.shape[1:]
        return self._at(np.broadcast_to(_normal_score(q).reshape(-1, *[1] * len(shape)), (len(q), *shape)))

    def mean(self) -> Array:
        """The integral of the quantiles over q, exact for the lines between them and the tails beyond; the median where
        it differs by rounding alone, or where the quantiles are infinite."""
        middle, rounding = self.values[_MIDDLE], 4 * np.finfo(np.float64).eps * np.abs(self.values).max(axis=0)
        with np.errstate(invalid="ignore"):
            lean = np.tensordot(_mean_weights(), self.values - middle, 1)
        return np.asarray(middle + np.where(np.abs(lean) > rounding, lean, 0.0))

    def samples(self, n: int, seed: int) -> Array:
        """Paths whose marginals are those of `quantile`: a Gaussian copula over time and variables."""
        shape = self.values.shape[1:]
        scores = np.random.default_rng(seed).standard_normal((n, *shape))
        if self.between is not None:
            scores = scores @ np.linalg.cholesky(self.between + 1e-9 * np.eye(len(self.between))).T
        if self.next_step is not None:
            for k, rho in enumerate(np.clip(self.next_step, -1.0, 1.0), start=1):
                scores[:, k] = rho * scores[:, k - 1] + np.sqrt(1 - rho**2) * scores[:, k]
        return self._at(scores)

    def _at(self, scores: Array) -> Array:
        """The values at (n, *shape) normal scores; those kept at `PROBABILITIES` come back as they are."""
        knots = _normal_score(PROBABILITIES)
        right = np.clip(np.searchsorted(knots, scores), 1, len(knots) - 1)
        low, high = (np.take_along_axis(self.values, place, axis=0) for place in (right - 1, right))
        share = (scores - knots[right - 1]) / (knots[right] - knots[right - 1])
        with np.errstate(invalid="ignore"):
            between = low + share * (high - low)
        return np.where(share == 1, high, np.where(np.isinf(low), low, between))


@dataclass(frozen=True, eq=False, repr=False)
class Forecast:
    """A distribution for every value ahead, and one path through it.

    point: the path to use where one number is wanted: of a law its trajectory, otherwise the median.
    mean, median: of the distribution at each step. lower, upper: its quantiles that leave (1 - level) / 2 outside on
    either side. Each is a float (one value), (horizon,) or (horizon, variables). Far ahead of a chaotic system `point`
    is one of many possible paths and may leave the interval; `mean` and `median` settle.
    method: what made the forecast. notes: what was assumed or found, one sentence each.
    index: the times of the values, names: those of the variables, where they are known.
    distribution: what `mean`, `median`, `quantile` and `samples` are read from; without one a normal distribution on
    each side of the point.

    >>> made = Forecast(point=0.5, lower=0.4, upper=0.7, level=0.9, method="straight line")
    >>> print(made.explain())
    straight line: 0.5, with probability 0.9 between 0.4 and 0.7
    >>> made.median, round(made.mean, 3)
    (0.5, 0.524)
    """

    point: Values
    lower: Values
    upper: Values
    level: float
    method: str
    notes: tuple[str, ...] = ()
    index: Any = None
    names: Sequence[str] | None = None
    distribution: Distribution | None = None
    source: Any = field(default=None, repr=False)  # history and kind of frame, for tables and pictures alone
    system: Any = field(default=None, repr=False)  # the field behind the point, where one was found
    channels: bool = field(default=False, repr=False)  # whether the values are channels at one moment, not steps

    @classmethod
    def of_one(cls, point: float, lower: float, upper: float, level: float, method: str) -> Forecast:
        """One value, made in a third of the time: the other fields keep their defaults, which are the class's."""
        made = object.__new__(cls)
        made.__dict__.update(point=point, lower=lower, upper=upper, level=level, method=method)
        return made

    @classmethod
    def from_grid(
        cls, grid: QuantileGrid, level: float, method: str, notes: tuple[str, ...] = (), point: Array | None = None
    ) -> Forecast:
        """Interval read off the quantiles, and the point too where none is given."""
        lower, median, upper = grid.quantile(np.array([0.5 - level / 2, 0.5, 0.5 + level / 2]))
        return cls(median if point is None else point, lower, upper, level, method, notes, distribution=grid)

    @cached_property
    def mean(self) -> Any:
        """The expected value at every step."""
        return _as_number(self._distribution().mean())

    @cached_property
    def median(self) -> Any:
        """The value at every step that the truth exceeds as often as not."""
        return self.quantile(0.5)

    def __repr__(self) -> str:
        return f"<Forecast by {self.method}: {self._interval()}; explain() says more>"

    def _repr_html_(self) -> str | None:
        from prophecy.tables.pictures import of_forecasts

        return None if np.ndim(self.point) == 0 else of_forecasts(repr(self).strip("<>").partition(";")[0], {"": self})

    def quantile(self, q: ArrayLike) -> Any:
        """The value below which the truth lies with probability q; q a number or (n,) -> (n, *shape of the point)."""
        asked = _checks.real_array("q", q).astype(np.float64)
        if asked.ndim > 1 or not ((asked > 0) & (asked < 1)).all():
            raise ValueError(f"q must lie strictly between 0 and 1, a number or (n,), got {q!r}")
        found = self._distribution().quantile(np.atleast_1d(asked))
        return found if asked.ndim else _as_number(found[0])

    def samples(self, n: int, seed: int = 0) -> Array:
        """n paths, (n, *shape of the point), whose values at every step have the quantiles of `quantile`."""
        return self._distribution().samples(_checks.whole("n", n), _checks.whole("seed", seed, least=0))

    def to_frame(self, quantiles: Sequence[float] = ()) -> Any:
        """A frame of the kind the series came in: a row for each time, columns point, lower, upper, and q0.1 … for the
        quantiles asked for. Several variables make a long frame with a column `variable`."""
        from prophecy.tables.forecasting import to_frame

        return to_frame(self, quantiles)

    def plot(self, path: str | os.PathLike[str] | None = None, *, interactive: bool = False, **options: Any) -> Any:
        """The past, the point and its fan: a matplotlib figure, or (interactive) one of Plotly's.

        path: a file to save to instead: .png, .svg or .html (a page to zoom into, which needs no network).
        history: rows of the past to show; dark: for a dark background; width: inches.
        """
        from prophecy.tables.pictures import plot_forecasts

        if np.ndim(self.point) == 0:
            raise ValueError("one value makes no picture; draw the track that follow() returns, or forecast more steps")
        return plot_forecasts({"": self}, path, interactive, **options)

    def _distribution(self) -> Distribution:
        return self.distribution or QuantileGrid.split_normal(self.point, self.lower, self.upper, self.level)

    def equations(self, dt: float | None = None, names: Sequence[str] | None = None) -> Any:
        """The differential equations behind the point (`prophecy.laws.equations`); None where none were found.

        dt: time between two samples, in the unit of time that derivatives refer to. By default it is read from the
            times: in their own unit, for dates in the longest of days, hours, minutes and seconds that is no longer
            than a row. Without times derivatives are per sample.
        names: of the variables, in place of the forecast's own.
        """
        own = 1.0 if self.source is None else self.source.spacing()[0]
        spacing = own if dt is None else _checks.positive("dt", dt)
        if self.system is None:
            return None
        return self.system.equations(names if names is not None else self.names, spacing)

    def explain(self) -> str:
        """Describe in sentences what was predicted, by which method, and how wide the interval is."""
        return "\n  ".join([f"{self.method}: {self._interval()}", *self.notes])

    def _interval(self) -> str:
        if np.ndim(self.point) == 0:
            return f"{self.point:.6g}, with probability {self.level:g} between {self.lower:.6g} and {self.upper:.6g}"
        width = np.asarray(self.upper) - np.asarray(self.lower)
        if self.channels:
            wide = f"{width.min():.3g} to {width.max():.3g} wide"
            return f"one value ahead in each of {len(width)} channels, intervals of level {self.level:g} are {wide}"
        shape = " x ".join(str(size) for size in width.shape)
        first, last = float(np.mean(width[0])), float(np.mean(width[-1]))
        return f"{shape} values, intervals of level {self.level:g} are {first:.3g} wide at first and {last:.3g} at last"


@dataclass(frozen=True, eq=False)
class Failure:
    """In place of a forecast that could not be made: `index`, which series of the batch; `error`, why."""

    index: int
    error: Exception

    def explain(self) -> str:
        """Why there is no forecast."""
        return str(self)

    def __str__(self) -> str:
        return f"series {self.index}: {self.error}"


def _as_number(found: Any) -> Any:
    return float(found) if np.ndim(found) == 0 else found


@cache
def _mean_weights() -> Array:
    """What each quantile counts for in the mean: integrals of the lines between them over the normal density."""
    from scipy.special import ndtr

    at = _normal_score(PROBABILITIES)
    cuts = np.concatenate([[-np.inf], at[1:-1], [np.inf]])
    mass, density = np.diff(ndtr(cuts)), np.exp(-(cuts**2) / 2) / np.sqrt(2 * np.pi)
    right = (-np.diff(density) - at[:-1] * mass) / np.diff(at)
    weights = np.zeros(len(at))
    weights[1:] += right
    weights[:-1] += mass - right
    return weights


def _normal_score(q: Array) -> Array:
    from scipy.special import ndtri

    return np.asarray(ndtri(q))
