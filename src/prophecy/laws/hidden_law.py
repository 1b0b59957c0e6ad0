"""Forecasts of series whose field has hidden variables: the path after the last state, and how uncertain it is."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import hidden_noise
from prophecy.laws.context import Context, fastest_period
from prophecy.laws.hidden import Search, found
from prophecy.laws.hidden_guesses import Family, forcing
from prophecy.laws.problem import Problem
from prophecy.laws.settings import HiddenSettings, Settings
from prophecy.laws.trajectory import Decided, like_the_past
from prophecy.laws.weak_form import roughness

Array = NDArray[np.float64]


def decide(context: Context, steps: int, all_settings: Settings, promising: bool = True) -> Decided | None:
    """The forecast of a field with hidden variables that forecast the later part of the context; None elsewhere.

    Rough series are not searched, and where two rounds show that what makes them rough is noise, no further: then a
    trajectory near the samples is looked for instead of one through them. promising: whether a glance found a law
    (`tournament.promising`); noise of ordinary series is not looked through.
    """
    settings = all_settings.hidden
    visible = _complete(context, settings)
    rough = np.inf if visible is None else float(roughness(visible).max())
    if visible is None or rough > settings.rough:
        return None
    noise = hidden_noise.noise_of(visible, rough, settings) if visible.shape[1] < 3 else 0.0
    decided = None
    if noise < settings.noise_least or rough > settings.smooth:
        decided = _exact(context, visible, steps, rough, all_settings)
    if decided is None and noise >= settings.noise_least and promising:
        decided = _noisy(context, visible, steps, noise, all_settings)
    return decided


def _exact(context: Context, visible: Array, steps: int, rough: float, all_settings: Settings) -> Decided | None:
    """The forecast of a field whose trajectory passes through the samples."""
    settings = all_settings.hidden
    stride = thinning(visible, all_settings)
    seen, thin = visible.shape[1], np.ascontiguousarray(visible[(len(visible) - 1) % stride :: stride])
    uncertain = rough if rough > settings.smooth else 0.0
    law = found(thin, context.units.centre / context.units.scale, settings, uncertain)
    if law is None:
        return None
    search = law.search
    path = search.ahead(search.states[-1:], search.field.theta[None] / stride, steps)[0, :, :seen]
    draws = _draws(search, steps, stride, settings)
    method, note = _words(search, law.family, stride * context.stride, settings)
    note = f"{note} that passes through the context up to {search.misfit:.1g} standard deviations."
    return _staying(path, draws, method, note, settings)


def _noisy(context: Context, visible: Array, steps: int, noise: float, all_settings: Settings) -> Decided | None:
    """The forecast of a field whose trajectory leaves nothing but noise of the samples."""
    settings = all_settings.hidden
    visible = np.ascontiguousarray(visible[-settings.noise_most :])
    stride = thinning(visible, all_settings)
    track = hidden_noise.found(visible, context.units.centre / context.units.scale, noise, stride, settings)
    if track is None:
        return None
    path = track.ahead(track.states[-1:], [track.field], steps)[0, :, : visible.shape[1]]
    if not like_the_past(path, visible, np.full(visible.shape[1], track.noise), all_settings.laws):
        return None
    who, several, hidden = _who(visible.shape[1], track.states.shape[1] - visible.shape[1])
    note = f"{who} and {hidden} hidden obey a field of degree 2, up to noise of {track.noise:.2g} standard deviations."
    return _staying(path, track.draws(steps, settings), f"field with {several} by assimilation", note, settings)


def _staying(path: Array, draws: Array, method: str, note: str, settings: HiddenSettings) -> Decided | None:
    """The forecast, unless its path or most of the draws leave for good."""
    stay = np.isfinite(draws).all(axis=(1, 2))
    if not np.isfinite(path).all() or stay.mean() < settings.staying:
        return None
    return Decided(path, draws[stay], None, method, (note,), None)


def _words(search: Search, family: Family, stride: int, settings: HiddenSettings) -> tuple[str, str]:
    """Method and the beginning of a note. stride: samples of the context in one of the search's."""
    who, several, hidden = _who(search.seen, search.hidden.shape[1] - (2 if family.forced else 0))
    field = f"obey a field of degree {family.degree}"
    if not family.forced:
        return f"field with {several}", f"{who} and {hidden} hidden {field}"
    period = 2 * np.pi / forcing(np.ascontiguousarray(search.visible[:, 0]), settings)[0] * stride
    note = f"{who}, {hidden} hidden and a forcing with a period of {period:.6g} samples {field}"
    return f"field with hidden forcing and {several}", note


def _who(seen: int, hidden: int) -> tuple[str, str, int]:
    """What is seen and what is not, in words, and how many are not."""
    who = "The variable" if seen == 1 else f"The {seen} variables"
    return who, f"{hidden} hidden variable" + ("s" if hidden > 1 else ""), hidden


def _complete(context: Context, settings: HiddenSettings) -> Array | None:
    """The latest samples without a gap, where there are few enough variables and enough samples."""
    values = context.values
    if values.shape[1] >= max(each[0] for each in settings.families) or values.shape[1] > int(context.varying.sum()):
        return None
    gaps = np.nonzero(~context.known)[0]
    tail = values[gaps[-1] + 1 if len(gaps) else 0 :][-settings.most :]
    return np.ascontiguousarray(tail) if len(tail) >= settings.least else None


def thinning(visible: Array, all_settings: Settings) -> int:
    """Which samples are searched: one in so many, where the fastest period has more of them than needed."""
    settings = all_settings.hidden
    period = fastest_period(visible)
    return int(np.clip(period / settings.pace, 1, max(len(visible) // settings.kept, 1)))


def _draws(search: Search, steps: int, stride: int, settings: HiddenSettings) -> Array:
    """Paths, (draws, steps, seen), under parameters and last states drawn from what the series leaves open.

    The misfit, times `hidden_wider`, is taken as the error of every step and of every sample.
    """
    error = np.full(search.states.shape[1], max(search.misfit, settings.rounding))
    visible = np.zeros_like(search.states)
    visible[:, : search.seen] = 1.0
    problem = Problem(search.field, search.states, visible, error, search.states)
    problem.at(1.0)
    if not problem.linearise():
        return np.full((1, steps, search.seen), np.nan)
    v, last = search.states.shape[1], problem.system.rows[-1]
    generator = np.random.default_rng(0)
    size = settings.wider
    change = problem.freedom() @ (size * generator.standard_normal((search.field.count, settings.draws)))
    right = size * generator.standard_normal((v, settings.draws)) - last[:, 2 * v : -1] @ change
    starts = search.states[-1] + np.linalg.lstsq(last[:, :v], right, rcond=1e-12)[0].T
    thetas = np.stack([search.field.moved(each).theta for each in change.T])
    return search.ahead(np.ascontiguousarray(starts), thetas / stride, steps)[:, :, : search.seen]
