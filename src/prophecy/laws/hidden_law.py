"""Forecasts of series whose field has hidden variables: the path after the last state, and how uncertain it is.

Exact samples are searched for a field whose trajectory passes through them (`hidden.py`). Through noise the same search
along the smoothed path brings some starts near a law. From there the visible variables are unknowns too, near the
samples up to the noise, and the model error is tightened from the size of the noise to a hundredth of it: what is no
law can then no longer pass through the samples, and the noise it needs rises. What passes is followed like any other
law (`trajectory.decide`).
"""

from dataclasses import replace

import numpy as np

from prophecy._arrays import Array
from prophecy.laws import trajectory
from prophecy.laws.context import Context, Units, fastest_period
from prophecy.laws.flow import powers
from prophecy.laws.flows import finished
from prophecy.laws.hidden import HELD, Search, found, starts
from prophecy.laws.hidden_starts import Family
from prophecy.laws.settings import BEYOND, HiddenSettings, Settings
from prophecy.laws.trajectory import Decided, FittedFlow
from prophecy.laws.weak_form import roughness, smoothed

# Model error as a share of the noise, up to one trajectory
_STAGES = (1.0, 0.3, 0.1, 0.03, 0.01, 0.01, 0.01)


def decide(context: Context, steps: int, settings: Settings, promising: bool = True) -> Decided | None:
    """The forecast of a field with hidden variables that forecast the later part of the context; None elsewhere.

    Rough series are not searched. promising: whether another candidate of all variables leads; noise of ordinary series
    is not looked through.
    """
    how, clean, gaps = settings.hidden, settings.laws.clean, np.nonzero(~context.known)[0]
    values = context.values[gaps[-1] + 1 if len(gaps) else 0 :][-settings.laws.latest :]
    if len(values) < how.least or not values.shape[1] <= min(3, int(context.varying.sum())):
        return None
    visible = np.ascontiguousarray(values)
    rough = float(roughness(visible).max())
    if rough > how.rough:
        return None
    noise = noise_of(visible, rough, how) if visible.shape[1] < 3 else 0.0
    try:
        if noise < clean:
            return _exact(context, visible, steps, rough, settings)
        return through_noise(context, visible, steps, noise, settings) if promising else None
    except np.linalg.LinAlgError:  # a decomposition without an end: no law was found
        return None


def _exact(context: Context, visible: Array, steps: int, rough: float, settings: Settings) -> Decided | None:
    """The forecast of a field whose trajectory passes through the samples."""
    stride, how = thinning(visible, settings), settings.hidden
    thin = np.ascontiguousarray(visible[(len(visible) - 1) % stride :: stride])
    search = found(thin, settings, rough if rough > how.smooth else 0.0)
    if search is None:
        return None
    if stride > 1:
        search = search.finer(visible, stride)
        search.states[:, : search.seen] = search.visible
        search.polish(how)
    degree = int(powers(search.field.terms).sum(axis=1).max())
    passes = f"a field of degree {degree} that passes through the context up to {search.misfit:.1g}"
    # The misfit is taken as the error of every step and of every sample.
    known = search.known(1.0)
    if known is None:
        return None
    offset = np.zeros(len(known.noise))
    model = FittedFlow(known, offset, True, True, search.states, settings.laws)
    return _followed(context, search, model, steps, passes, how.wider)


def through_noise(context: Context, visible: Array, steps: int, noise: float, settings: Settings) -> Decided | None:
    """The forecast of a field whose trajectory leaves nothing but noise of the samples."""
    visible = np.ascontiguousarray(visible[-settings.laws.latest // 2 :])
    stride = thinning(visible, settings)
    for track in _tightened(visible, noise, stride, settings):
        known = track.known(_STAGES[-1])
        if known is None:
            continue
        values = np.column_stack([track.visible, track.hidden])
        seen = np.broadcast_to(np.where(np.arange(values.shape[1]) < track.seen, 1.0, HELD), values.shape)
        model = finished(known, values, track.visible, seen, np.zeros(values.shape[1]), values, settings.laws)
        obeyed = f"a field of degree 2, up to noise of {track.noise:.2g}"
        decided = _followed(context, track, model, steps, obeyed) if model.conclusive else None
        if decided is not None:
            return decided
    return None


def _followed(
    context: Context, search: Search, model: FittedFlow, steps: int, obeyed: str, wider: float = 1.0
) -> Decided | None:
    """The forecast, unless its path leaves for good. obeyed: what is said of the field."""
    count = model.field.terms.variables - search.seen
    units = Units(np.append(context.units.centre, np.zeros(count)), np.append(context.units.scale, np.ones(count)))
    known = np.ones(len(model.end), dtype=np.bool_)
    joined = replace(context, values=model.end, known=known, units=units)
    decided = trajectory.decide(joined, model, steps, wider)
    if decided is None or np.abs(decided.path[:, : search.seen]).max() > BEYOND:
        return None
    if not decided.foretold:  # many fields with hidden variables pass through noise
        return None
    who, obey = ("The variable", "obeys") if search.seen == 1 else (f"The {search.seen} variables", "obey")
    hidden, way = f"{count} hidden variable{'s'[: count - 1]}", " by assimilation" if search.noise else ""
    note = f"{who}, together with {hidden}, {obey} {obeyed} standard deviations."
    path, draws = decided.path[:, : search.seen], decided.draws[:, :, : search.seen]
    return Decided(path, draws, None, f"field with {hidden}{way}", (note,), None)


def thinning(visible: Array, settings: Settings) -> int:
    """Which samples are searched: one in so many, where the fastest period has more of them than needed."""
    how, period = settings.hidden, fastest_period(visible)
    return int(np.clip(period / how.pace, 1, max(len(visible) // how.kept, 1)))


def noise_of(values: Array, rough: float, settings: HiddenSettings) -> float:
    """The noise of (time, seen), in standard deviations; 0 where high differences are those of a smooth signal.

    White noise has the same size in differences of any order, once they are high; what is left of a signal falls or
    rises from one order to the next.
    """
    sizes = []
    for order in (7, 10, 12):
        weights = np.linalg.norm((np.poly1d([1.0, -1.0]) ** order).coeffs)
        sizes.append(float(np.median(np.abs(np.diff(values, order, axis=0)), axis=0).max() / weights + 1e-300))
    return rough if np.ptp(np.log(sizes)) < settings.noise_even else 0.0


def _tightened(values: Array, noise: float, stride: int, settings: Settings) -> list[Search]:
    """Trajectories of fields of degree 2 in three variables through (time, seen), up to noise.

    Those that leave nothing but noise of an early stretch go on to the rest. stride: samples in one of the search's.
    """
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        early = (7 * len(values) // 8 - 1) // stride * stride + 1
        tracks = _tracks(values[:early], noise, stride, settings)
        for looseness in _STAGES:
            for track in tracks:
                track.tighten(looseness)
            tracks = sorted(tracks, key=lambda each: each.noise)[: max(2 * len(tracks) // 3, 2)]
        close = [track for track in tracks if track.noise < settings.laws.coarser * noise]
        for track in close:
            track.extended(values)
            for looseness in _STAGES[2:]:
                track.tighten(looseness)
    return [track for track in close if track.noise < settings.laws.coarser * noise]


def _tracks(values: Array, noise: float, stride: int, settings: Settings) -> list[Search]:
    """Where tightening starts: searches along the smoothed path, every `stride`-th of its samples."""
    how, path = settings.hidden, smoothed(values, np.full(values.shape[1], noise))
    pool = starts(np.ascontiguousarray(path[::stride]), Family(3, 2), settings)
    for steps in (3, 4, 4):
        for search in pool:
            search.improve(steps, settings.laws.exact.rounding)
        pool = sorted(pool, key=lambda each: each.reached)[: how.starts // 4]
    return [replace(search.finer(values, stride), noise=noise) for search in pool if np.isfinite(search.reached)]
