"""Seasons: which periods a series has, and its profile over each of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from prophecy import _checks
from prophecy._arrays import Array, Indices, Mask
from prophecy._periods import autocorrelation, less_line
from prophecy.forecasting.series import Ahead, Fit, Fitted
from prophecy.forecasting.settings import Settings

_WEEK = 7  # days
# Quarters, business days, weekdays, months, hours, half hours, weeks of a year, quarter hours, ten and five minutes.
_CALENDAR = (4, 5, 7, 12, 24, 48, 52, 96, 144, 168, 288, 365)
_ROUNDS = 8  # of means and weights in turn, each from the other
_PARTS = (1, 2, 3, 4)  # of a period: a multiple looks as alike as the period itself


@dataclass(frozen=True, eq=False)
class Profile:
    """The deviation of each phase from the trend, one value per sample of the season; phase 0 is sample 0.

    strength: the variance between phases relative to what noise alone would leave between them (the F statistic of a
    one-way analysis of variance).
    """

    deviations: Array
    strength: float

    def at(self, times: Indices) -> Array:
        return np.asarray(self.deviations[times % len(self.deviations)])


def profile(x: Array, season: int, settings: Settings) -> Profile | None:
    """Phase means of x less its moving average over one season, of noise with Student's distribution, so that a few bad
    months do not count. They are shrunk by the share of noise in them, 1 / strength (James and Stein). None where
    nothing is kept or the series is shorter than `season_cycles` seasons."""
    if season < 2 or len(x) < settings.season_cycles * season + 2:
        return None
    total = np.concatenate([[0.0], np.cumsum(x)])
    trend = (total[season:] - total[:-season]) / season
    if season % 2 == 0:
        trend = (trend[1:] + trend[:-1]) / 2
    first = season // 2
    left = x[first : first + len(trend)] - trend
    phase = (np.arange(len(left)) + first) % season
    count = np.bincount(phase, minlength=season)
    if (count == 0).any() or not np.isfinite(left).all():
        return None
    weight, nu = np.ones(len(left)), settings.tails
    for _ in range(_ROUNDS):
        total = np.bincount(phase, weights=weight, minlength=season)
        means = np.bincount(phase, weights=weight * left, minlength=season) / total
        off = left - means[phase]
        squares = off**2 / (float(np.mean(weight * off**2)) + 1e-300)
        weight = (nu + 1) / (nu + squares)
    bend = float(np.mean(weight * (nu - squares) / (nu + squares)))  # the slope of weight · off, as in M-estimates
    noise = float(np.sum((weight * off) ** 2)) / max(len(left) - season, 1) * float(np.mean(1 / count)) / bend**2
    means -= means.mean()
    strength = float(np.sum(means**2)) / (season - 1) / max(noise, 1e-300)
    return Profile(means * (1 - 1 / strength), strength) if strength > 1 else None


def profiles(x: Array, seasons: Sequence[int], settings: Settings) -> tuple[list[Profile], Array]:
    """One profile after the other, the shortest season first, and what is left of x."""
    found = []
    for season in sorted(seasons):
        one = profile(x, season, settings)
        if one is not None:
            found.append(one)
            x = x - one.at(np.arange(len(x)))
    return found, x


@dataclass(frozen=True, eq=False)
class Seasonal:
    """What a candidate says of the rest of a series, with its seasons put back."""

    found: list[Profile]
    rest: Fitted

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        locations, deviations = self.rest.predictive(x - self._season(np.arange(len(x))), seen, origins, steps)
        return np.asarray(locations + self._season(origins[:, None] + np.arange(steps))), deviations

    def _season(self, times: Indices) -> Array:
        return np.asarray(sum((one.at(times) for one in self.found), np.zeros(times.shape)))


@dataclass(frozen=True)
class MeanProfile:
    """The mean of the last `cycles` seasons, phase by phase."""

    season: int
    cycles: int

    def fit(self, x: Array, seen: Mask, steps: int) -> Fitted | None:
        return self if len(x) >= self.cycles * self.season else None

    def predictive(self, x: Array, seen: Mask, origins: Indices, steps: int) -> Ahead:
        back = origins[:, None, None] - self.season * np.arange(1, self.cycles + 1)[:, None] + np.arange(self.season)
        return np.asarray(x[back].mean(axis=1)[:, np.arange(steps) % self.season]), None


def seasonal(fit: Fit, seasons: Sequence[int], settings: Settings) -> Fit:
    """The same candidate for series with these seasons: fitted to what their profiles leave."""

    def fit_rest(x: Array, seen: Mask, steps: int) -> Fitted | None:
        found, rest = profiles(x, seasons, settings)
        made = fit(rest, seen, steps)
        return Seasonal(found, made) if made is not None and found else made

    return fit_rest if seasons else fit


def chosen(season: object, x: Array, settings: Settings) -> tuple[int, ...]:
    """Periods, in samples, worth looking at: those given, or those found, and multiples of the longest."""
    if season is None:
        return tuple(sorted({*_found(x[-settings.longest :], _CALENDAR, settings), *_longer(x, settings)}))
    values = np.atleast_1d(np.asarray(season, dtype=np.float64)).ravel()
    periods = {round(float(_checks.positive("season", value))) for value in values}
    return _with_multiple(x, tuple(sorted(periods - {0, 1})), settings)


def _longer(x: Array, settings: Settings) -> tuple[int, ...]:
    """Periods too long for the latest samples: found in a few means of all samples, sharpened in many."""
    if len(x) <= settings.longest:
        return ()
    wide, narrow = (-(-len(x) // count) for count in (settings.kept, settings.longest))
    few, many = (x[len(x) % size :].reshape(-1, size).mean(axis=1) for size in (wide, narrow))
    flat, sharp = less_line(many), []
    for period in _found(few, (), settings):
        low, high = (period - 1) * wide / narrow, (period + 1) * wide / narrow
        near = {part for k in _PARTS for part in range(max(int(low / k), 2), int(high / k) + 2)}
        best = min(near, key=lambda p: len(flat) * np.log(np.sum((flat - _phase_means(flat, p)) ** 2) + 1e-300) + 2 * p)
        sharp.append(narrow * best)
    return tuple(period for period in sharp if period > settings.longest / settings.season_cycles)


def _found(x: Array, calendar: Sequence[int], settings: Settings) -> tuple[int, ...]:
    """The period whose phase means explain the detrended series best, by Akaike's criterion: of clocks and calendars,
    or, at a handicap, where the autocorrelation peaks, since any number of such periods could be looked at."""
    longest = int(len(x) / (settings.season_cycles + 0.5))
    if longest < 2:
        return ()
    flat = less_line(x)
    trials = dict.fromkeys((period for period in calendar if period <= longest), 0.0)
    for period in _peaks(autocorrelation(_less_memory(flat, flat), longest + 2), settings):
        trials.setdefault(period, settings.season_handicap)
    merit = {period: _explained(flat, period) - handicap for period, handicap in trials.items()}
    best = max(merit, key=lambda period: merit[period], default=0)
    if not best or not merit[best] > np.log(len(trials)):  # the best of so many pays for the choice
        return ()
    if best % _WEEK == 0 and merit.get(best // _WEEK, -1.0) > 0.0:
        return best // _WEEK, best
    return _with_multiple(x, (best,), settings)


def _peaks(likeness: Array, settings: Settings) -> list[int]:
    """The periods at which the autocorrelation has its highest local maxima."""
    peaks = 2 + np.nonzero((likeness[2:-1] >= likeness[1:-2]) & (likeness[2:-1] >= likeness[3:]))[0]
    highest = peaks[np.argsort(-likeness[peaks])][: settings.season_peaks]
    parts = {round(peak / k) for peak in highest for k in _PARTS}
    return sorted(part for part in parts if part >= 2)


def _explained(flat: Array, period: int) -> float:
    """Half of what Akaike's criterion gains by the means of `period` phases, in nats, where the rest is noise with a
    memory (an autoregression of order 1): phase means of noise that wanders are no season."""
    white = _less_memory(flat, flat - _phase_means(flat, period))
    before, after = (float(np.sum((white - _phase_means(white, k)) ** 2)) for k in (1, period))
    n, cost = len(white), [k * len(white) / max(len(white) - k - 1, 1) for k in (3, period + 2)]
    return -0.5 * n * float(np.log(max(after, 1e-300) / max(before, 1e-300))) - cost[1] + cost[0]


def _less_memory(x: Array, noise: Array) -> Array:
    """x less what the value before says of it, where the noise has a memory of one value."""
    memory = float(noise[1:] @ noise[:-1]) / max(float(noise @ noise), 1e-300)
    return np.asarray(x[1:] - np.clip(memory, 0.0, 1.0) * x[:-1])


def _phase_means(x: Array, period: int) -> Array:
    phase = np.arange(len(x)) % period
    return np.asarray((np.bincount(phase, weights=x) / np.bincount(phase))[phase])


def _with_multiple(x: Array, periods: tuple[int, ...], settings: Settings) -> tuple[int, ...]:
    """Weeks beside days: the multiple of the longest period that explains best what is left, if any does."""
    if not periods:
        return ()
    x, base = x[-settings.longest :], max(periods)
    multiples = range(2 * base, int(len(x) / (settings.season_cycles + 0.5)) + 1, base)
    flat = less_line(profiles(x, periods, settings)[1])
    merit = {period: _explained(flat, period) for period in multiples}
    best = max(merit, key=lambda period: merit[period], default=0)
    return (*periods, best) if best and merit[best] > np.log(len(merit)) else periods
