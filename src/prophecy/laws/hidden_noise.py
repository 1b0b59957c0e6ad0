"""Hidden variables behind noisy samples: a search along the smoothed path, then assimilation with the samples.

With hidden variables free at every sample a field can follow noise, so that a search for one that misses nothing finds
none, and its misfit does not tell a law from another field. But the search along a smoothed path brings some starts
near one. From there the visible variable is an unknown too, near the samples up to the noise, and the model error is
tightened from the size of the noise to a hundredth of it (as in `assimilation.py`, hidden variables without
observations): what is no law can then no longer pass through the samples, and the noise it needs rises.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import CubicSpline

from prophecy.laws.hidden import Search, different, reached, starts
from prophecy.laws.hidden_guesses import Family
from prophecy.laws.problem import Problem
from prophecy.laws.settings import BEYOND, HiddenSettings
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import smoothed

Array = NDArray[np.float64]

_INTEGRATED = 1e-6  # standard deviations: what a step ahead may miss by, far below any noise looked at


@dataclass
class Track:
    """A field and the states of one trajectory near (time, seen) samples; noise: in standard deviations."""

    values: Array
    field: SparseField
    states: Array
    noise: float

    @np.errstate(all="ignore")  # steps too far overflow and are taken back
    def tighten(self, looseness: float, settings: HiddenSettings) -> None:
        """States and field with a model error of so much of the noise; the noise that this needs."""
        seen, v = self.values.shape[1], self.states.shape[1]
        search = Search(self.values, self.field, self.states)
        search.standardise()
        observed = np.zeros(self.states.shape)
        observed[:, :seen] = 1.0
        values = search.states.copy()
        values[:, :seen] = self.values
        problem = Problem(search.field, values, observed, np.full(v, self.noise), search.states)
        problem.at(looseness)
        problem.improve(settings.noise_steps, settings.noise_gain)
        problem.rescale()
        if np.isfinite(problem.states).all():
            self.field, self.states = problem.field, problem.states
        noise = float(np.sqrt(np.mean(problem.noise[:seen] ** 2)))
        self.noise = noise if np.isfinite(noise) else np.inf

    def extended(self, values: Array) -> None:
        """Over further samples, as the flow goes on. values: all from the beginning."""
        further = len(values) - len(self.values)
        ahead = self.ahead(self.states[-1:], [self.field], further)[0]
        self.states = np.concatenate([self.states, np.clip(np.nan_to_num(ahead), -BEYOND, BEYOND)])
        self.values = values

    def ahead(self, states: Array, fields: list[SparseField], steps: int) -> Array:
        return self.field.paths(np.ascontiguousarray(states), steps, _INTEGRATED, BEYOND, fields=fields)

    def leaves_noise(self, noise: float, settings: HiddenSettings) -> bool:
        """Whether what it leaves of the samples is as large as their noise and white."""
        if not self.noise < settings.noise_more * noise:
            return False
        left = self.values - self.states[:, : self.values.shape[1]]
        both = np.mean(left[1:] * left[:-1], axis=0) / (np.mean(left**2, axis=0) + 1e-300)
        return bool((both < settings.noise_white).all())

    @np.errstate(all="ignore")
    def draws(self, steps: int, settings: HiddenSettings) -> Array:
        """(draws, steps, seen): paths that the samples leave possible, noise of a measurement included.

        Hidden variables are held loosely where they are: an affine change of them says nothing, and far along it
        derivatives mean nothing.
        """
        seen, v = self.values.shape[1], self.states.shape[1]
        held = np.full(self.states.shape, self.noise / settings.noise_held)
        held[:, :seen] = 1.0
        problem = Problem(self.field, self.states, held, np.full(v, self.noise), self.states)
        problem.at(settings.noise_stages[-1][0])
        if not problem.linearise():
            return np.full((1, steps, seen), np.nan)
        generator, last = np.random.default_rng(0), problem.system.rows[-1]
        change = problem.freedom() @ generator.standard_normal((self.field.count, settings.draws))
        right = generator.standard_normal((v, settings.draws)) - last[:, 2 * v : -1] @ change
        states = self.states[-1] + np.linalg.lstsq(last[:, :v], right, rcond=1e-12)[0].T
        paths = self.ahead(states, [self.field.moved(each) for each in change.T], steps)[:, :, :seen]
        return np.asarray(paths + self.noise * generator.standard_normal(paths.shape))


def noise_of(values: Array, rough: float, settings: HiddenSettings) -> float:
    """The noise of (time, seen), in standard deviations; 0 where high differences are those of a smooth signal.

    White noise has the same size in differences of any order, once they are high; what is left of a signal falls or
    rises from one order to the next.
    """
    low, high = settings.noise_orders
    sizes = [float(_difference(values, order).max()) for order in (low, high)]
    return rough if abs(np.log(sizes[1] / sizes[0])) < settings.noise_even else 0.0


def _difference(values: Array, order: int) -> Array:
    """Standard deviation of the white noise whose differences of an order are as large, in the median."""
    weights = np.poly1d([1.0, -1.0]) ** order
    size = np.linalg.norm(weights.coeffs)
    return np.asarray(np.median(np.abs(np.diff(values, order, axis=0)), axis=0) / (0.6745 * size) + 1e-300)


def found(values: Array, centre: Array, noise: float, stride: int, settings: HiddenSettings) -> Track | None:
    """A trajectory of a field of degree 2 in three variables that leaves nothing but noise of (time, seen); or None.

    It is solved without the last samples, which its draws must then contain. stride: samples in one of the search's.
    """
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        early = len(values) - max(settings.noise_kept, len(values) // 8)
        tracks = _searched(values[:early], centre, noise, stride, settings)
        for looseness, kept in settings.noise_stages:
            for track in tracks:
                track.tighten(looseness, settings)
            tracks = sorted(tracks, key=lambda each: each.noise)[:kept]
        for track in tracks:
            if _polished(track, noise, settings) and _foretold(track, values[early:], settings):
                track.extended(values)
                for looseness, _ in settings.noise_stages[settings.noise_again :]:
                    track.tighten(looseness, settings)
                if _polished(track, noise, settings):
                    return track
    return None


def _polished(track: Track, noise: float, settings: HiddenSettings) -> bool:
    """Whether nothing but noise is left, after some further steps where it is nearly so."""
    for _ in range(settings.noise_polished):
        if track.leaves_noise(noise, settings) or not track.noise < settings.noise_nearly * noise:
            break
        track.tighten(settings.noise_stages[-1][0], settings)
    return track.leaves_noise(noise, settings)


def _searched(values: Array, centre: Array, noise: float, stride: int, settings: HiddenSettings) -> list[Track]:
    """Where tightening starts: searches along the smoothed path, every `stride`-th of its samples."""
    path = smoothed(values, np.full(values.shape[1], noise))
    thin = np.ascontiguousarray(path[(len(path) - 1) % stride :: stride])
    family = Family(3, 2, settings.noise_starts)
    pool = starts(thin, centre, family, settings)
    for _, steps, kept, _ in settings.rounds[: settings.noise_rounds]:
        for search in pool:
            search.improve(steps, settings.near, settings)
        pool = different(sorted(pool, key=reached), settings)[: max(kept, settings.noise_tracks)]
    return [_track(values, path, search, stride, noise) for search in pool if np.isfinite(search.reached)]


def _track(values: Array, path: Array, search: Search, stride: int, noise: float) -> Track:
    """A search with its hidden variables at every sample."""
    if stride == 1:
        return Track(values, search.field, search.states, noise)
    places = np.arange((len(path) - 1) % stride, len(path), stride)
    hidden = CubicSpline(places, search.hidden)(np.arange(len(path)))
    states = np.column_stack([path, np.clip(hidden, -BEYOND, BEYOND)])
    return Track(values, replace(search.field, theta=search.field.theta / stride), states, noise)


def _foretold(track: Track, later: Array, settings: HiddenSettings) -> bool:
    """Whether samples that the track has not seen lie where its draws are, as long as these are close together."""
    draws = track.draws(len(later), settings)
    if not np.isfinite(draws).all(axis=(1, 2)).mean() > settings.staying:
        return False
    path = track.ahead(track.states[-1:], [track.field], len(later))[0, :, : later.shape[1]]
    draws = draws[np.isfinite(draws).all(axis=(1, 2))]
    spread = np.sqrt(np.mean((draws - path) ** 2, axis=(0, 2)))
    known = np.logical_and.accumulate(spread < settings.noise_known)
    if known.sum() < settings.noise_foretold or not np.isfinite(path[known]).all():
        return False
    missed = np.sqrt(np.mean((path - later)[known] ** 2 / spread[known, None] ** 2))
    return bool(missed < settings.noise_missed)
