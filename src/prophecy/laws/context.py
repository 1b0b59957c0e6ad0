"""A context made ready: checked, gaps filled, constant variables set aside, scaled, thinned."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray

from prophecy import _checks
from prophecy.forecasting.outliers import outliers
from prophecy.laws.features import Units
from prophecy.laws.settings import DEFAULT, ContextSettings, Settings

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]

LARGEST = _checks.largest(np.dtype(np.float64)) * 1e-10
"""Largest magnitude taken: squares of values ten decades beyond it are still numbers."""

_MOST_VARIABLES = 64  # beyond it the error asks whether the table is (variables, time)


@dataclass(frozen=True, eq=False)
class Rows:
    """Transitions from k to k + 1 that models are solved from. index: k; history: samples up to k without a gap."""

    index: Indices
    history: Indices

    def __len__(self) -> int:
        return len(self.index)

    def before(self, end: int) -> Rows:
        """Those within the first `end` samples."""
        inside = self.index < end - 1
        return Rows(self.index[inside], self.history[inside])

    def remembering(self, length: int) -> Indices:
        """The k whose last `length` samples were all observed; if those are few, all that have so many at all."""
        possible = self.index >= length - 1
        complete = possible & (self.history >= length)
        return self.index[complete if 3 * complete.sum() > possible.sum() else possible]


@dataclass(frozen=True, eq=False)
class Context:
    """values: (time, varying variables) in standard deviations around the mean, every `stride`-th up to the last.

    known: which of them were fully observed. rows: the fully observed transitions to solve from.
    pace: samples of `values` that the fastest period can do without between two.
    overdue: samples since the last fully observed one; they are forecast too.
    full: the filled context in its own units. seen: (time, variables) like `full`, thinned like `values`, observed or
    not.
    """

    values: Array
    known: Mask
    rows: Rows
    units: Units
    stride: int
    pace: int
    overdue: int
    varying: Mask
    full: Array
    seen: Mask
    notes: tuple[str, ...]

    @property
    def observed(self) -> Mask:
        """(time, variables) like `values`: which of them were observed. Partners of sinusoids are functions of time."""
        seen = self.seen[:, self.varying]
        return np.column_stack([seen, np.ones((len(seen), self.values.shape[1] - seen.shape[1]), dtype=np.bool_)])

    def only(self, kept: Mask) -> Context:
        """The same with some of its variables alone; `kept`: one for each that varies."""
        varying, columns = self.varying.copy(), np.nonzero(kept)[0]
        varying[np.nonzero(varying)[0][~kept]] = False
        units = Units(self.units.centre[columns], self.units.scale[columns])
        return replace(self, values=np.ascontiguousarray(self.values[:, columns]), units=units, varying=varying)


def read(context: ArrayLike, settings: Settings = DEFAULT) -> Context:
    """Check and prepare (time,) or (time, variables)."""
    raw, how = _checked(context), settings.context
    aside = outliers(raw, settings.ordinary)
    remarks = _set_aside(raw, aside)
    raw[aside] = np.nan
    glitches = int(_glitches(raw, how).sum())
    overdue = _overdue(np.isnan(raw), how)
    raw = raw[_empty_at_start(np.isnan(raw[: len(raw) - overdue])) : len(raw) - overdue]
    missing = np.isnan(raw)
    full = _filled(raw, missing)
    varying = full.max(axis=0) > full.min(axis=0)
    centre, scale = full[:, varying].mean(axis=0), _deviation(full[:, varying])
    varying[varying] = np.isfinite(scale) & (scale > 0)
    keep = np.isfinite(scale) & (scale > 0)
    centre, scale = centre[keep], scale[keep]
    scaled = (full[:, varying] - centre) / scale
    period = fastest_period(scaled, how)
    stride = int(np.clip(period / how.per_period, 1, max(len(scaled) // how.kept, 1)))
    pace = int(np.clip(period / stride / how.per_period_linear, 1, len(scaled) // stride // how.kept_linear + 1))
    values = scaled[(len(scaled) - 1) % stride :: stride]
    known = ~np.asarray(missing.any(axis=1))[(len(scaled) - 1) % stride :: stride]
    partners = _hidden_phases(values, known, how) if settings.hidden_phases else np.empty((len(values), 0))
    values = np.column_stack([values, partners])
    units = Units(np.append(centre, np.zeros(partners.shape[1])), np.append(scale, np.ones(partners.shape[1])))
    rows = _rows(known, how)
    notes = []
    if glitches:
        notes.append(f"{_count(glitches, 'value')} far from everything around; if that is an error, put NaN there.")
    if partners.shape[1]:
        notes.append(
            f"{_count(partners.shape[1], 'sinusoid')} among the variables: a quarter-period partner joined each."
        )
    notes += remarks
    lacking = int(missing.sum() - aside.sum())
    if lacking:
        bridged = bool((~known[rows.index]).any())
        use = (
            "hardly any two neighbours were complete, so the bridges were used" if bridged else "none was learned from"
        )
        notes.append(f"{_count(lacking, 'missing value')} bridged by straight lines; {use}.")
    if known.sum() < _checks.SHORTEST:
        notes.append(f"Only {_count(int(known.sum()), 'sample')} complete: the intervals say little.")
    if not varying.all():
        notes.append(f"{_count(int((~varying).sum()), 'constant variable')} continued unchanged.")
    if stride > 1:
        notes.append(f"The context is sampled finely: one sample in {stride} was used.")
    if len(rows) < len(values) - 1 and known.all():
        notes.append(f"Laws were looked for in {len(rows)} of {len(values) - 1} steps, half of them the latest.")
    seen = ~missing[(len(full) - 1) % stride :: stride]
    return Context(values, known, rows, units, stride, pace, overdue, varying, full, seen, tuple(notes))


def _set_aside(raw: Array, aside: Mask) -> list[str]:
    """Which values are left out of everything."""
    if not aside.any():
        return []
    several = raw.shape[1] > 1
    named = [
        f"{raw[place, variable]:.6g} at position {place}" + (f" of variable {variable}" if several else "")
        for place, variable in np.argwhere(aside)
    ]
    looks, were = ("looks like an outlier", "was") if len(named) == 1 else ("look like outliers", "were")
    return [
        f"{_count(len(named), 'value')} far from everything around {looks} and {were} set aside: {', '.join(named)}."
    ]


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" + ("" if number == 1 else "s")


def _deviation(values: Array) -> Array:
    """The standard deviation, also of values whose squares are too small for a float."""
    exponent = np.frexp(np.abs(values).max(axis=0, initial=0.0))[1]
    return np.asarray(np.ldexp(np.ldexp(values, -exponent).std(axis=0), exponent))


def check_variables(count: int) -> None:
    """Refuse so many variables that the table is rather (variables, time), or many series and no system."""
    if not 1 <= count <= _MOST_VARIABLES:
        raise ValueError(
            f"context must have 1 to {_MOST_VARIABLES} variables, got {count}; is it (variables, time)? Then transpose "
            "it; series that are no system go to forecast_many"
        )


def _checked(context: ArrayLike) -> Array:
    array = _checks.real_array("context", context)
    if array.ndim not in (1, 2):
        raise ValueError(
            f"context must be (time,) or (time, variables), got shape {array.shape}; forecast_many takes batches"
        )
    values = np.array(array, dtype=np.float64)
    values = values[:, None] if values.ndim == 1 else values
    check_variables(values.shape[1])
    if len(values) < _checks.SHORTEST:
        raise ValueError(
            f"context must hold at least {_checks.SHORTEST} samples, got {len(values)}; observe a little longer"
        )
    if np.isinf(values).any():
        bad = _checks.first_bad(np.where(np.isnan(values), 0.0, values))
        raise ValueError(f"context must be finite, or NaN where a value is missing, got {bad}")
    if np.nanmax(np.abs(values), initial=0.0) > LARGEST:
        raise ValueError(f"context holds magnitudes beyond {LARGEST:.3g}; rescale the data")
    empty = np.isnan(values).all(axis=0)
    if empty.any():
        raise ValueError(f"variable {int(np.argmax(empty))} of context has no value at all; leave it out")
    return values


def _glitches(raw: Array, how: ContextSettings) -> Mask:
    """Single values many interquartile ranges away from the median of the five around; growth has none."""
    found = np.zeros(raw.shape, dtype=np.bool_)
    for variable, column in enumerate(raw.T):
        some = column[:: max(1, len(column) // how.latest)]
        some = some[~np.isnan(some)]
        if not len(some):
            continue
        low, middle, high = np.quantile(some, [0.25, 0.5, 0.75])
        least = how.glitch * (high - low)
        far = np.nonzero(np.abs(column - middle) > least)[0]
        far = far[(far >= 2) & (far < len(column) - 2)]
        if least > 0:
            around = column[far[:, None] + np.arange(-2, 3)]
            found[far, variable] = np.abs(column[far] - np.median(around, axis=1)) > least
    return found


def _overdue(missing: Mask, how: ContextSettings) -> int:
    """How many samples at the end are to be forecast as well: all without any value, and those with some if few."""
    empty, late = (int(np.argmin(np.asarray(lacking)[::-1])) for lacking in (missing.all(axis=1), missing.any(axis=1)))
    late = late if late - empty <= int(how.overdue * len(missing)) else empty
    return late if len(missing) - late >= _checks.SHORTEST else 0


def _empty_at_start(missing: Mask) -> int:
    """How many samples at the beginning have no value at all."""
    early = int(np.argmin(np.asarray(missing.all(axis=1))))
    return early if len(missing) - early >= _checks.SHORTEST else 0


def _filled(raw: Array, missing: Mask) -> Array:
    full = raw.copy()
    times = np.arange(len(raw))
    for variable in np.nonzero(missing.any(axis=0))[0]:
        there = ~missing[:, variable]
        full[:, variable] = np.interp(times, times[there], raw[there, variable])
    return full


def _hidden_phases(values: Array, known: Mask, how: ContextSettings) -> Array:
    """For every variable that is a sinusoid, the same a quarter of a period later: (time, sinusoids).

    A system driven by a sinusoid and observed together with it is autonomous again once the phase is known.
    """
    none = np.empty((len(values), 0))
    if known.sum() < how.phased or values.shape[1] > how.driven:
        return none
    partners = [partner for column in values.T if (partner := _quarter_later(column, known, how)) is not None]
    # Both halves of a drive may be among the columns: |correlation| 1, up to what a sinusoid may be off.
    partners = [each for each in partners if np.abs(each @ values).max() < (1 - how.sinusoid**2) * len(values)]
    return np.column_stack([none, *partners]) if len(partners) < values.shape[1] else none


def _quarter_later(column: Array, known: Mask, how: ContextSettings) -> Array | None:
    """None where a sinusoid leaves more of the column than noise: an oscillation of the system itself has overtones."""
    recent = column[-how.latest :]
    frequency = _frequency(recent - recent.mean())
    times: Array = np.arange(len(column), dtype=np.float64) - len(column) / 2
    there = np.nonzero(known)[0]
    some = there[np.unique(np.linspace(0, len(there) - 1, min(len(there), how.latest)).astype(np.intp))]
    for _ in range(8):
        wave = _wave(frequency * times[some])
        a, b, c = np.linalg.lstsq(wave, column[some], rcond=None)[0]
        rest = column[some] - wave @ np.array([a, b, c])
        slope = times[some] * (b * wave[:, 0] - a * wave[:, 1])
        frequency += float(np.linalg.lstsq(np.column_stack([wave, slope]), rest, rcond=None)[0][3])
    left = float(np.sqrt(np.mean(rest**2)))
    if not 1e-3 < frequency < np.pi - 1e-3 or left > how.sinusoid:
        return None
    from prophecy.laws.weak_form import roughness

    if left > max(how.sinusoid_clean, how.sinusoid_noise * float(roughness(column[:, None], known)[0])):
        return None
    if left > how.sinusoid_clean and frequency * len(column) < 2 * np.pi * how.sinusoid_periods:
        return None  # through noise any rise that levels off is half a period of a sinusoid
    return np.asarray(_wave(frequency * times) @ np.array([b, -a, 0.0]) / np.sqrt((a * a + b * b) / 2))


def _frequency(recent: Array) -> float:
    """Radians a sample of a sinusoid: of neighbours where these agree with the spectrum, else of its highest peak.

    Neighbours are exact without noise and biased with it; the peak, refined by the parabola through the logarithms of
    three values, is good to a fraction of a period over the whole series either way.
    """
    middle, around = recent[1:-1], recent[2:] + recent[:-2]
    cosine = float(middle @ around) / max(float(2 * middle @ middle), 1e-300)
    near = float(np.arccos(np.clip(cosine, -1, 1)))
    power = np.abs(np.fft.rfft(recent * np.hanning(len(recent)))) ** 2
    peak = int(np.clip(np.argmax(power), 1, len(power) - 2))
    left, top, right = np.log(np.maximum(power[peak - 1 : peak + 2], 1e-300))
    bend = left - 2 * top + right
    far = 2 * np.pi / len(recent) * (peak + (0.5 * (left - right) / bend if bend < 0 else 0.0))
    return near if abs(near - far) * len(recent) < np.pi / 2 else float(far)


def _wave(phase: Array) -> Array:
    return np.column_stack([np.cos(phase), np.sin(phase), np.ones(len(phase))])


def fastest_period(scaled: Array, how: ContextSettings) -> float:
    """Samples of the period above which all but a small share of the variance of every variable lies."""
    recent = scaled[-how.spectrum :]
    if not recent.shape[1]:
        return 1.0
    times = np.linspace(-1, 1, len(recent))[:, None]
    flat = recent - recent.mean(axis=0) - times * (recent * times).mean(axis=0) / np.mean(times**2)
    power = np.abs(np.fft.rfft(flat * np.hanning(len(flat))[:, None], axis=0)) ** 2
    tail = 1 - np.cumsum(power, axis=0) / np.maximum(power.sum(axis=0), 1e-300)
    fastest = int(np.max(np.argmax(tail < how.quiet, axis=0)))
    return len(flat) / max(fastest, 1)


def _rows(known: Mask, how: ContextSettings) -> Rows:
    times = np.arange(len(known))
    history = times - np.maximum.accumulate(np.where(known, -1, times))
    index = np.nonzero(known[:-1] & known[1:])[0]
    if len(index) < min(_checks.SHORTEST, len(known) // 2):
        index = times[:-1]
    half = how.transitions // 2
    if len(index) > 2 * half:
        older = index[:-half]
        sparse = older[np.linspace(0, len(older) - 1, half).astype(np.intp)]
        index = np.concatenate([np.unique(sparse), index[-half:]])
    return Rows(index, history[index])
