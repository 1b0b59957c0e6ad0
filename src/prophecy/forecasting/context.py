"""A context made ready: checked, outliers set aside, gaps filled, constant variables set aside, scaled, thinned."""

from collections import Counter

import numpy as np
from numpy.typing import ArrayLike

from prophecy import _checks
from prophecy._arrays import Array, Mask
from prophecy.forecasting.of_time import frequencies
from prophecy.forecasting.outliers import outliers
from prophecy.forecasting.settings import DEFAULT, Settings
from prophecy.laws.context import Context, Rows, Units, fastest_period

LARGEST = _checks.largest(np.dtype(np.float64)) * 1e-10
"""Largest magnitude taken: squares of values ten decades beyond it are still numbers."""

_MARK = 3  # times that the same wild value stands there: no coincidence
_MOST_VARIABLES = 64  # beyond it the error asks whether the table is (variables, time)


def read(context: ArrayLike, settings: Settings = DEFAULT, beside: Array | None = None) -> Context:
    """Check and prepare (time,) or (time, variables). beside: (time, regressors), what is known."""
    raw = _checked(context)
    aside = outliers(raw, settings, beside)
    remarks = _set_aside(raw, aside)
    raw[aside] = np.nan
    overdue = _overdue(np.isnan(raw), settings)
    used = slice(_empty_at_start(np.isnan(raw[: len(raw) - overdue])), len(raw) - overdue)
    raw, aside = raw[used], aside[used]
    missing = np.isnan(raw)
    full = _filled(raw, missing)
    deviation = _deviation(full)
    varying = (full.max(axis=0) > full.min(axis=0)) & np.isfinite(deviation) & (deviation > 0)
    centre, scale = full[:, varying].mean(axis=0), deviation[varying]
    scaled = (full[:, varying] - centre) / scale
    period = fastest_period(scaled)
    stride = int(np.clip(period / settings.per_period, 1, max(len(scaled) // settings.kept, 1)))
    pace = int(np.clip(period / stride / settings.per_period, 1, len(scaled) // stride // (2 * settings.least) + 1))
    values = scaled[(len(scaled) - 1) % stride :: stride]
    known = ~np.asarray(missing.any(axis=1))[(len(scaled) - 1) % stride :: stride]
    partners = _hidden_phases(values, known, settings)
    values = np.column_stack([values, partners])
    units = Units(np.append(centre, np.zeros(partners.shape[1])), np.append(scale, np.ones(partners.shape[1])))
    rows = Rows.of(known)
    notes = []
    if partners.shape[1]:
        notes.append(
            f"{_count(partners.shape[1], 'sinusoid')} among the variables: each got a copy a quarter period later."
        )
    notes += remarks
    lacking = int(missing.sum() - aside.sum())
    if lacking:
        bridged = bool((~known[rows.index]).any())
        use = "used for fitting, since hardly any two neighbours are complete" if bridged else "not used for fitting"
        notes.append(f"{_count(lacking, 'missing value')} interpolated by straight lines; {use}.")
    if known.sum() < _checks.SHORTEST:
        notes.append(f"Complete samples: {int(known.sum())}. The intervals say little.")
    if not varying.all():
        notes.append(f"{_count(int((~varying).sum()), 'constant variable')} continued unchanged.")
    if stride > 1:
        notes.append(f"The context is sampled finely: one sample in {stride} was used.")
    if len(rows) < len(values) - 1 and known.all():
        notes.append(f"Laws were looked for in {len(rows)} of {len(values) - 1} steps, half of them the latest.")
    seen = ~missing[(len(full) - 1) % stride :: stride]
    return Context(values, known, rows, units, stride, pace, overdue, varying, full, seen, tuple(notes))


def _set_aside(raw: Array, aside: Mask) -> list[str]:
    """Which values are left out of everything: a mark for missing by how often it stands there, others one by one."""
    found, several = list(zip(np.argwhere(aside), raw[aside], strict=True)), raw.shape[1] > 1
    often = Counter(float(value) for _, value in found)
    marks = {value: times for value, times in often.items() if times >= _MARK}
    notes = [
        f"{value:.6g} looks like a mark for missing and was treated as missing, {n} times."
        for value, n in marks.items()
    ]
    named = [
        f"{value:.6g} at position {place}" + (f" of variable {variable}" if several else "")
        for (place, variable), value in found
        if value not in marks
    ]
    if named:
        looks, were = ("looks like an outlier", "was") if len(named) == 1 else ("look like outliers", "were")
        far = f"{_count(len(named), 'value')} far from everything around {looks} and {were} set aside"
        notes.append(f"{far}: {', '.join(named)}.")
    return notes


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


def _overdue(missing: Mask, settings: Settings) -> int:
    """How many samples at the end are to be forecast as well: all without any value, and those with some if few."""
    empty, late = (int(np.argmin(np.asarray(lacking)[::-1])) for lacking in (missing.all(axis=1), missing.any(axis=1)))
    late = late if late - empty <= int(settings.overdue * len(missing)) else empty
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


def _hidden_phases(values: Array, known: Mask, settings: Settings) -> Array:
    """For every variable that is a sinusoid, the same a quarter of a period later: (time, sinusoids).

    A system driven by a sinusoid and observed together with it is autonomous again once the phase is known.
    """
    none = np.empty((len(values), 0))
    if "PHASES" in settings.without or known.sum() < settings.least or not 1 < values.shape[1] <= settings.laws.widest:
        return none
    partners = [each for column in values.T if (each := _quarter_later(column, known, settings)) is not None]
    # Both halves of a drive may be among the columns: |correlation| 1, up to what a sinusoid may be off.
    partners = [each for each in partners if np.abs(each @ values).max() < (1 - settings.sinusoid**2) * len(values)]
    return np.column_stack([none, *partners]) if len(partners) < values.shape[1] else none


def _quarter_later(column: Array, known: Mask, settings: Settings) -> Array | None:
    """None where a sinusoid leaves more of the column than noise: an oscillation of the system itself has overtones."""
    from prophecy.laws.weak_form import roughness

    latest, seen = column[-settings.longest :], known[-settings.longest :]
    frequency = frequencies(latest, seen, 1)
    if not len(frequency):
        return None
    phase = 2 * np.pi * frequency[0] * (np.arange(len(column)) - len(column) + len(latest))
    wave = np.column_stack([np.cos(phase), np.sin(phase), np.ones(len(phase))])
    there = np.nonzero(seen)[0] - len(latest)
    a, b, c = np.linalg.lstsq(wave[there], column[there], rcond=None)[0]
    left = float(np.sqrt(np.mean((column[there] - wave[there] @ np.array([a, b, c])) ** 2)))
    if left > max(settings.sinusoid_clean, settings.sinusoid_noise * float(roughness(column[:, None], known)[0])):
        return None
    if left > settings.sinusoid or (left > settings.sinusoid_clean and frequency[0] * len(column) < 1.5):
        return None  # through noise any rise that levels off is half a period of a sinusoid
    return np.asarray(wave @ np.array([b, -a, 0.0]) / np.sqrt((a * a + b * b) / 2))
