"""Forecasts of series whose field has hidden variables: the path after the last state, and how uncertain it is.

Exact samples are searched for a field whose trajectory passes through them (`hidden.py`). With hidden variables free at
every sample a field can follow noise, so that of noisy samples such a search finds nothing. But along a smoothed path
it brings some starts near a law. From there the visible variable is an unknown too, near the samples up to the noise,
and the model error is tightened from the size of the noise to a hundredth of it (`problem.py`, hidden variables without
observations): what is no law can then no longer pass through the samples, and the noise it needs rises.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from prophecy.laws.context import Context, fastest_period
from prophecy.laws.flow import powers
from prophecy.laws.hidden import DRAWS, Search, different, found, reached, starts
from prophecy.laws.hidden_starts import Family, driven
from prophecy.laws.settings import BEYOND, HiddenSettings, LawSettings, Settings
from prophecy.laws.trajectory import Decided, like_the_past
from prophecy.laws.weak_form import roughness, smoothed

Array = NDArray[np.float64]

_STAGES = np.geomspace(1.0, 0.01, 5).tolist()  # model error as a share of the noise, up to one trajectory
_LATEST = 48  # samples that are not used at first, or an eighth of all


def decide(context: Context, steps: int, all_settings: Settings, promising: bool = True) -> Decided | None:
    """The forecast of a field with hidden variables that forecast the later part of the context; None elsewhere.

    Rough series are not searched. promising: whether a glance found a law (`tournament.promising`); noise of ordinary
    series is not looked through.
    """
    settings, clean = all_settings.hidden, all_settings.laws.clean
    visible = _complete(context, all_settings)
    rough = np.inf if visible is None else float(roughness(visible).max())
    if visible is None or rough > settings.rough:
        return None
    noise = noise_of(visible, rough, settings) if visible.shape[1] < 3 else 0.0
    decided = None
    try:
        if noise < clean or rough > settings.smooth:
            decided = _exact(context, visible, steps, rough, all_settings)
        if decided is None and noise >= clean and promising:
            decided = _noisy(context, visible, steps, noise, all_settings)
    except np.linalg.LinAlgError:  # a decomposition without an end: no law was found
        return None
    return decided


def _exact(context: Context, visible: Array, steps: int, rough: float, settings: Settings) -> Decided | None:
    """The forecast of a field whose trajectory passes through the samples."""
    stride, how = thinning(visible, settings), settings.hidden
    seen, thin = visible.shape[1], np.ascontiguousarray(visible[(len(visible) - 1) % stride :: stride])
    search = found(thin, context.units.centre / context.units.scale, settings, rough if rough > how.smooth else 0.0)
    if search is None:
        return None
    # The misfit is taken as the error of every step and of every sample.
    draws = search.draws(steps, 1.0, how.wider, stride)
    slower = replace(search, field=replace(search.field, theta=search.field.theta / stride))
    path = slower.ahead(steps)[:, :seen]
    who, several, hidden = _who(seen, search.hidden.shape[1] - (2 if search.forced else 0))
    method, note = f"field with {several}", f"{who} and {hidden} hidden"
    if search.forced:
        period = 2 * np.pi / driven(search.visible, settings)[0] * stride * context.stride
        method = f"field with hidden forcing and {several}"
        note = f"{who}, {hidden} hidden and a forcing with a period of {period:.6g} samples"
    degree = int(powers(search.field.terms).sum(axis=1).max())
    note += f" obey a field of degree {degree} that passes through the context up to {search.misfit:.1g}"
    return _staying(path, draws, method, f"{note} standard deviations.")


def _noisy(context: Context, visible: Array, steps: int, noise: float, settings: Settings) -> Decided | None:
    """The forecast of a field whose trajectory leaves nothing but noise of the samples."""
    visible = np.ascontiguousarray(visible[-settings.laws.latest // 2 :])
    stride = thinning(visible, settings)
    track = through_noise(visible, context.units.centre / context.units.scale, noise, stride, settings)
    if track is None:
        return None
    path = track.ahead(steps)[:, : visible.shape[1]]
    if not like_the_past(path, visible, np.full(visible.shape[1], track.noise), settings.laws):
        return None
    who, several, hidden = _who(visible.shape[1], track.states.shape[1] - visible.shape[1])
    note = f"{who} and {hidden} hidden obey a field of degree 2, up to noise of {track.noise:.2g} standard deviations."
    return _staying(path, track.draws(steps, _STAGES[-1]), f"field with {several} by assimilation", note)


def _staying(path: Array, draws: Array, method: str, note: str) -> Decided | None:
    """The forecast, unless its path or most of the draws leave for good."""
    stay = np.isfinite(draws).all(axis=(1, 2))
    if not np.isfinite(path).all() or stay.mean() < 0.5:
        return None
    return Decided(path, draws[stay], None, method, (note,), None)


def _who(seen: int, hidden: int) -> tuple[str, str, int]:
    """What is seen and what is not, in words, and how many are not."""
    who = "The variable" if seen == 1 else f"The {seen} variables"
    return who, f"{hidden} hidden variable" + ("s" if hidden > 1 else ""), hidden


def _complete(context: Context, settings: Settings) -> Array | None:
    """The latest samples without a gap, where there are few enough variables and enough samples."""
    values = context.values
    if values.shape[1] > 3 or values.shape[1] > int(context.varying.sum()):
        return None
    gaps = np.nonzero(~context.known)[0]
    tail = values[gaps[-1] + 1 if len(gaps) else 0 :][-settings.laws.latest :]
    return np.ascontiguousarray(tail) if len(tail) >= settings.hidden.least else None


def thinning(visible: Array, settings: Settings) -> int:
    """Which samples are searched: one in so many, where the fastest period has more of them than needed."""
    how, period = settings.hidden, fastest_period(visible)
    return int(np.clip(period / how.pace, 1, max(len(visible) // how.kept, 1)))


def leaves_noise(track: Search, noise: float, settings: HiddenSettings) -> bool:
    """Whether what it leaves of the samples is as large as their noise and white."""
    left = track.visible - track.states[:, : track.seen]
    both = np.mean(left[1:] * left[:-1], axis=0) / (np.mean(left**2, axis=0) + 1e-300)
    return bool(track.noise < settings.noise_more * noise and (both < settings.white).all())


def _foretold(track: Search, later: Array, laws: LawSettings) -> bool:
    """Whether samples that it has not seen lie where its draws are, as long as these are close together, and those of a
    straight line do not: what any smooth path does confirms nothing."""
    draws, path = track.draws(len(later), _STAGES[-1]), track.ahead(len(later))[:, : track.seen]
    draws = draws[np.isfinite(draws).all(axis=(1, 2))]
    if not len(draws) > DRAWS // 2:
        return False
    spread = np.sqrt(np.mean((draws - path) ** 2, axis=(0, 2)))
    known = np.logical_and.accumulate(spread < laws.foretold_close)
    latest = track.states[-2:, : track.seen]
    line = latest[1] + np.arange(1, len(later) + 1)[:, None] * (latest[1] - latest[0])
    missed, straight = (np.sqrt(np.mean(((one - later) / spread[:, None])[known] ** 2)) for one in (path, line))
    return bool(known.sum() >= 6 and missed < laws.astray < straight)


def noise_of(values: Array, rough: float, settings: HiddenSettings) -> float:
    """The noise of (time, seen), in standard deviations; 0 where high differences are those of a smooth signal.

    White noise has the same size in differences of any order, once they are high; what is left of a signal falls or
    rises from one order to the next.
    """
    sizes = []
    for order in (7, 10):
        weights = np.linalg.norm((np.poly1d([1.0, -1.0]) ** order).coeffs)
        sizes.append(float(np.median(np.abs(np.diff(values, order, axis=0)), axis=0).max() / weights + 1e-300))
    return rough if abs(np.log(sizes[1] / sizes[0])) < settings.noise_even else 0.0


def through_noise(values: Array, centre: Array, noise: float, stride: int, settings: Settings) -> Search | None:
    """A trajectory of a field of degree 2 in three variables that leaves nothing but noise of (time, seen); or None.

    It is solved without the last samples, which its draws must then contain. stride: samples in one of the search's.
    """
    how, early = settings.hidden, len(values) - max(_LATEST, len(values) // 8)
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        tracks = _tracks(values[:early], centre, noise, stride, settings)
        for looseness in _STAGES:
            for track in tracks:
                track.tighten(looseness)
            tracks = sorted(tracks, key=lambda each: each.noise)[: max(2 * len(tracks) // 3, 2)]
        for track in tracks:
            if _polished(track, noise, how) and _foretold(track, values[early:], settings.laws):
                track.extended(values)
                for looseness in _STAGES[2:]:
                    track.tighten(looseness)
                if _polished(track, noise, how):
                    return track
    return None


def _polished(track: Search, noise: float, settings: HiddenSettings) -> bool:
    """Whether nothing but noise is left, after some further steps where it is nearly so."""
    for _ in range(4):
        if leaves_noise(track, noise, settings) or not track.noise < 1.4 * noise:
            break
        track.tighten(_STAGES[-1])
    return leaves_noise(track, noise, settings)


def _tracks(values: Array, centre: Array, noise: float, stride: int, settings: Settings) -> list[Search]:
    """Where tightening starts: searches along the smoothed path, every `stride`-th of its samples."""
    how, path = settings.hidden, smoothed(values, np.full(values.shape[1], noise))
    places = np.arange((len(path) - 1) % stride, len(path), stride)
    pool = starts(np.ascontiguousarray(path[places]), centre, Family(3, 2), settings)
    for steps in (3, 4, 4):
        for search in pool:
            search.improve(steps, how.near)
        pool = different(sorted(pool, key=reached), how)[: how.starts // 2]
    found = []
    for search in (each for each in pool if np.isfinite(each.reached)):
        hidden = CubicSpline(places, search.hidden)(np.arange(len(path))) if stride > 1 else search.hidden
        states = np.column_stack([path, np.clip(hidden, -BEYOND, BEYOND)])
        found.append(Search(values, replace(search.field, theta=search.field.theta / stride), states, noise))
    return found
