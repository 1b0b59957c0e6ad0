"""Fields of which only some variables are seen: the hidden ones are unknowns at every sample, solved with the field.

One variable of a system of three still determines all of it, but in coordinates made of its delays or derivatives the
field is no short formula, and 512 samples do not determine a long one. With the hidden variables themselves as unknowns
it is short again: powers up to degree 2 of three variables or four, and up to degree 3 of two of three (`Family`). Four
are also what a variable needs that has the same values in different states of three: z of Lorenz' system and x y, x^2
and y^2 obey a quadratic field of their own. What is minimised is the distance between the flow from each state
and the next state, over the hidden part of all states and the coefficients; the visible part is the data, exactly.
Hidden variables are known up to an affine change only, so they are kept uncorrelated and of unit variance.

The problem has many minima and long curved valleys. Several starts (`hidden_starts.py`) take a few steps each, the
best go on; steps are Levenberg-Marquardt with the second-order correction along the step (geodesic acceleration,
Transtrum and Sethna 2012), which follows a curved valley several times faster.
The law found from an early stretch is accepted once it has forecast the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from prophecy.laws.flow import EIGHTH, FOURTH, Tableau, Terms, features
from prophecy.laws.hidden_starts import FAMILIES, Family, alike, derivatives, driven, guesses, unit
from prophecy.laws.kernels.smoother import eliminate, substitute
from prophecy.laws.settings import BEYOND, HiddenSettings, Settings
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import regression

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_EXACT = 1e6  # 1 / standard deviations: the weight of the visible part of a state, which is the sample
_LOST = 1e4  # square standard deviations: defects beyond it are those of a field that leads nowhere
_INTEGRATED = 1e-10  # standard deviations: what a step ahead may miss by
_ROUNDING = 1e-9  # standard deviations: misfits below it are those of the integrator


@dataclass
class Search:
    """One start and what has become of it. visible: (time, seen); states: (time, seen + hidden)."""

    visible: Array
    field: SparseField
    states: Array
    tableau: Tableau = FOURTH
    tolerance: float = 0.0  # standard deviations that a step may miss by; 0: one step a sample
    damping: float = 0.3  # of hidden variables against the equations; as large as the equations' own errors at first
    reached: float = np.inf  # the misfit after the last steps

    @property
    def seen(self) -> int:
        return int(self.visible.shape[1])

    @property
    def hidden(self) -> Array:
        return self.states[:, self.seen :]

    @property
    def misfit(self) -> float:
        """Root mean square distance between the flow's ends and the next states, in standard deviations."""
        size = float(np.sqrt(np.mean(self._defects(self.field, self.states, self._counts()) ** 2)))
        return size if np.isfinite(size) else np.inf

    def improve(self, steps: int, enough: float, least_gain: float = 0.0) -> float:
        """At most that many steps, until the misfit is below `enough` or falls by no more than a share; the misfit."""
        self.reached, before = np.inf, np.inf
        for done in range(steps):
            if done % 4 == 0:
                self.standardise()
                counts = self._counts()
            before, self.reached = self._step(counts)
            if not enough <= self.reached < (1 - least_gain) * before:
                break
        self.standardise()
        return self.reached

    def _step(self, counts: Counts) -> tuple[float, float]:
        """One step that lowers the misfit, with its second-order correction where this is small against the step and
        helps; the damping that it takes. Returns the misfit before and after, infinite where the field leads nowhere.
        """
        ends, tangent = self.field.tangents(self.tableau, self.states[:-1], counts)
        defects = ends - self.states[1:]
        cost = float(np.sum(defects**2))
        if not (cost < _LOST * len(defects) and np.isfinite(tangent).all()):
            return np.inf, np.inf
        before = float(np.sqrt(cost / defects.size))
        for tried in range(8):
            for field, states in self._trials(tangent, defects, counts):
                there = float(np.sum(self._defects(field, states, counts) ** 2))
                if there < cost:
                    self.field, self.states = field, states
                    self.damping = max(self.damping / 3, 1e-6)
                    return before, float(np.sqrt(there / defects.size))
            self.damping *= 2
        return before, before

    def _trials(self, tangent: Array, defects: Array, counts: Counts) -> list[tuple[SparseField, Array]]:
        """Where the step of the present damping leads with the correction, if that is trusted, and without."""
        ahead, (shift, change) = 0.1, self._solved(tangent, defects)
        nearby = self._defects(*self._moved(ahead * change, ahead * shift), counts)
        along = np.einsum("kij,kj->ki", tangent, np.column_stack([shift[:-1], np.tile(change, (len(defects), 1))]))
        bend = 2 / ahead * ((nearby - defects) / ahead - (along - shift[1:]))
        trials = [self._moved(change, shift)]
        if np.isfinite(bend).all():
            more, further = self._solved(tangent, bend)
            if np.sum(more**2) < 1.5**2 * np.sum(shift**2):
                trials.insert(0, self._moved(change + further / 2, shift + more / 2))
        return trials

    def _solved(self, tangent: Array, defects: Array) -> tuple[Array, Array]:
        """The damped least-squares change of the states, (time, v), and of the parameters: the visible part of a state
        is an observation without noise, the hidden one is observed where it is, up to 1 / damping."""
        weights = np.broadcast_to(np.where(np.arange(self.states.shape[1]) < self.seen, _EXACT, self.damping), self.states.shape)
        system = eliminate(np.zeros_like(self.states), weights, defects, tangent, np.ones(self.states.shape[1]), 0.0)
        by, right = system.rest[:, :-1], system.rest[:, -1]
        norms = np.maximum(np.linalg.norm(by, axis=0), 1e-150)
        normal = by.T @ by / np.outer(norms, norms)
        # Scaled parameters are damped less than hidden variables are.
        normal += ((0.4 * self.damping) ** 2 + 1e-14) * np.eye(len(norms))
        try:
            change = cho_solve(cho_factor(normal, check_finite=False), by.T @ right / norms, check_finite=False) / norms
        except LinAlgError:
            change = np.full(len(norms), np.nan)
        shift = substitute(system.rows, change)
        shift[:, : self.seen] = 0.0
        return shift, change

    def _moved(self, change: Array, shift: Array) -> tuple[SparseField, Array]:
        return self.field.moved(change), self.states + shift

    def _counts(self) -> Counts:
        """Substeps of every sample."""
        if not self.tolerance:
            return np.ones(len(self.states) - 1, dtype=np.int64)
        return self.field.substeps(self.tableau, self.states[:-1], self.tolerance)

    def _defects(self, field: SparseField, states: Array, counts: Counts) -> Array:
        return np.asarray(field.steps(self.tableau, states[:-1], counts) - states[1:])

    def standardise(self) -> None:
        """Hidden variables uncorrelated with all others, mean 0, variance 1; the field expressed in them, as it is
        where a variable is an affine function of the others."""
        v, spread = self.states.shape[1], np.cov(self.states.T, bias=True).reshape(self.states.shape[1], -1)
        try:
            root = np.linalg.cholesky(spread + 1e-14 * np.trace(spread) * np.eye(v))
        except LinAlgError:
            return
        change = np.eye(v)
        change[self.seen :] = np.linalg.inv(root)[self.seen :]
        centre = np.where(np.arange(v) < self.seen, 0.0, change @ self.states.mean(axis=0))
        points = np.random.default_rng(0).standard_normal((4 * self.field.terms.size, v))
        before = np.linalg.solve(change, (points + centre).T).T
        slopes = features(self.field.terms, np.ascontiguousarray(before)) @ self.field.theta @ change.T
        theta = np.linalg.lstsq(features(self.field.terms, points), slopes, rcond=None)[0]
        self.field, self.states = replace(self.field, theta=theta), self.states @ change.T - centre

    def extended(self, visible: Array) -> float:
        """Go on over further samples, hidden variables first as the flow forecasts them.

        visible: all samples from the beginning. Returns the root mean square error of that forecast.
        """
        further = len(visible) - len(self.visible)
        ahead = self.ahead(self.states[-1:], self.field.theta[None], further)[0]
        error = float(np.sqrt(np.mean((ahead[:, : self.seen] - visible[-further:]) ** 2)))
        self.visible = visible
        self.states = np.concatenate([self.states, np.column_stack([visible[-further:], ahead[:, self.seen :]])])
        return error

    def ahead(self, starts: Array, thetas: Array, steps: int) -> Array:
        return self.field.paths(
            starts, steps, _INTEGRATED, BEYOND, fields=[replace(self.field, theta=each) for each in thetas]
        )


def searched(
    visible: Array, centre: Array, family: Family, settings: Settings, rough: float = 0.0
) -> tuple[list[Search], bool]:
    """The searches on an early stretch that came close to a law, closest first, often none; and whether more samples
    may help.

    All starts take some steps, the better half goes on, and so on. rough: the roughness of samples that may be far
    apart or noisy; noise leaves a misfit of its size.
    """
    how = settings.hidden
    pool = starts(visible, centre, family, settings, how.hopeless)
    for number, (order, steps) in enumerate(how.rounds):
        for start in pool:
            if order == 8:  # order 4 was enough to choose the starts
                start.tableau, start.tolerance = EIGHTH, how.near / 10
            start.improve(steps, how.near / 10, how.least_gain / 2 if number == len(how.rounds) - 1 else 0.0)
        pool = different(sorted(pool, key=reached), how)[: max(len(pool) // 2, 2)]
        limit = how.close if order == 8 else how.coarse / 4 ** (family.variables - 3)
        if order == 4 and rough:
            limit = min(limit, how.noisy * rough)
        if number and not family.forced:
            pool = [start for start in pool if start.reached < limit]
        if not pool:
            return [], number > 1
        if pool[0].reached < how.near:
            break
    return pool, True


def starts(visible: Array, centre: Array, family: Family, settings: Settings, worst: float = np.inf) -> list[Search]:
    """Searches of a family that have not yet made a step, from guesses that leave less than `worst` open."""
    how, count = settings.hidden, family.variables - visible.shape[1]
    if family.forced:
        hidden = [driven(visible, settings)[1]] if visible.shape[1] == 1 else []
        return [_started(visible, family.terms, each, how) for each in hidden if each.shape[1]]
    found = [hidden for share, hidden in guesses(visible, centre, family, how) if share < worst]
    if found and family.variables == 3:
        found.append(derivatives(visible, count))
    if found and family.degree == 3 and visible.shape[1] == 1:  # parameters of x'' = f(x, x') that drift
        found.append(np.column_stack([derivatives(visible, 1), unit(np.arange(float(len(visible))))]))
    return [_started(visible, family.terms, each, how) for each in found]


def _started(visible: Array, terms: Terms, guess: Array, settings: HiddenSettings) -> Search:
    start = Search(visible, SparseField.of(terms), np.concatenate([visible, guess], axis=1))
    start.standardise()
    start.field = regression(start.field, start.states, settings.ridge)
    return start


def different(pool: list[Search], settings: HiddenSettings) -> list[Search]:
    """Without those that have come to the same place as a better one, up to an affine change."""
    found: list[Search] = []
    for search in pool:
        if not alike(search.visible, search.hidden, [other.hidden for other in found], settings.same).any():
            found.append(search)
    return found


def reached(search: Search) -> float:
    return search.reached


@dataclass(frozen=True, eq=False)
class Law:
    """A search that went on to the end.

    errors: root mean square errors, in standard deviations, of its forecasts of the stretches on the way, each made
    before the stretch was used.
    """

    search: Search
    family: Family
    errors: tuple[float, ...]

    @property
    def worst(self) -> float:
        return max(self.errors, default=np.inf)

    def exact(self, settings: HiddenSettings) -> bool:
        """Whether it is the law: it passes through all samples, and forecast the last ones."""
        return self.search.reached < settings.exact and self.errors[-1] < settings.certain


def found(visible: Array, centre: Array, settings: Settings, rough: float = 0.0) -> Law | None:
    """A field that passes through all of (time, seen), in standard deviations; None if none comes close.

    rough: the roughness, where it may be that of noise: then three variables alone are looked for, which cost least.
    A law is found on an early stretch and has to forecast the rest, a stretch at a time, before that is used. The first
    family with an exact one has it; otherwise the field with the best forecasts, if these are good.
    """
    how, best = settings.hidden, None
    early = [each for each in how.stretches if each <= 0.75 * len(visible)] or [3 * len(visible) // 4]
    families = [each for each in FAMILIES if each.variables > visible.shape[1]]
    hopeless = {each for each in families if rough and each != (3, 2) and not each.forced}
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        for stretch in early:
            for family in families:
                if family in hopeless:
                    continue
                pool, onward = searched(visible[:stretch], centre, family, settings, 0.0 if family.forced else rough)
                if not onward:
                    hopeless.add(family)
                for search in pool:
                    law = _continued(search, family, visible, how)
                    if law is not None and law.exact(how):
                        return law
                    if law is not None and law.worst < min(how.trusted, best.worst if best else np.inf):
                        best = law
    return best


def _continued(search: Search, family: Family, visible: Array, settings: HiddenSettings) -> Law | None:
    """The search gone on to the end of the series; None where its forecast of a stretch fails."""
    errors: list[float] = []
    while (known := len(search.visible)) < len(visible):
        errors.append(search.extended(visible[: known + settings.stretch]))
        if not errors[-1] < settings.lost:
            return None
        search.improve(10, settings.near / 10, settings.least_gain)
    search.tableau, search.tolerance = EIGHTH, settings.near / 100
    search.improve(24, _ROUNDING, settings.least_gain)
    return Law(search, family, tuple(errors))
