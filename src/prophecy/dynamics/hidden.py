"""Fields of which only some variables are seen: the hidden ones are unknowns at every sample, solved with the field.

One variable of a system of three still determines all of it, but in coordinates made of its delays or derivatives the
field is no short formula, and 512 samples do not determine a long one. With the hidden variables themselves as unknowns
it is short again: powers up to degree 2 of three variables or four, and up to degree 3 of two of three (`Family`). Four
are also what a variable needs that has the same values in different states of three: z of Lorenz' system and x y, x^2
and y^2 obey a quadratic field of their own. What is minimised is the distance between the flow from each state
and the next state, over the hidden part of all states and the coefficients; the visible part is the data, exactly.
Hidden variables are known up to an affine change only, so they are kept uncorrelated and of unit variance.

The problem has many minima and long curved valleys. Several starts (`hidden_guesses.py`) take a few steps each, the
best go on; steps are Levenberg-Marquardt with the second-order correction along
the step (geodesic acceleration, Transtrum and Sethna 2012), which follows a curved valley several times faster.
The law found from an early stretch is accepted once it has forecast the rest.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.flow import EIGHTH, FOURTH, Tableau, Terms
from prophecy.dynamics.guesses import regression
from prophecy.dynamics.hidden_descent import Tuning, descend
from prophecy.dynamics.hidden_guesses import Family, alike, drifting, guesses, plain
from prophecy.dynamics.settings import BEYOND, HiddenSettings
from prophecy.dynamics.sparse import SparseField

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_LOST = 1e4  # square standard deviations: defects beyond it are those of a field that leads nowhere
_INTEGRATED = 1e-10  # standard deviations: what a step ahead may miss by


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
        size = float(np.sqrt(np.mean(self._defects(self.field, self.states) ** 2)))
        return size if np.isfinite(size) else np.inf

    def improve(self, steps: int, enough: float, settings: HiddenSettings, least_gain: float = 0.0) -> float:
        """At most that many steps, until the misfit is below `enough` or falls by no more than a share; the misfit."""
        misfit, onward = np.inf, True
        for done in range(0, steps, settings.restandardised):
            self.standardise()
            most = min(settings.restandardised, steps - done)
            theta, self.states, self.damping, misfit, onward = descend(
                self.field.terms, self.field.theta, self.tableau, self.states, self._counts(),
                self.seen, self.damping, most, enough, least_gain, _tuning(settings),
            )  # fmt: skip
            self.field = replace(self.field, theta=theta)
            if not onward:
                break
        self.standardise()
        self.reached = misfit
        return misfit

    def _counts(self) -> Counts:
        """Substeps of every sample."""
        if not self.tolerance:
            return np.ones(len(self.states) - 1, dtype=np.int64)
        return self.field.substeps(self.tableau, self.states[:-1], self.tolerance)

    def _defects(self, field: SparseField, states: Array) -> Array:
        return np.asarray(field.steps(self.tableau, states[:-1], self._counts()) - states[1:])

    def standardise(self) -> None:
        """Hidden variables uncorrelated with all others, mean 0, variance 1; the field expressed in them."""
        seen, variables = self.seen, self.states.shape[1]
        covariance = np.cov(self.states.T, bias=True).reshape(variables, variables)
        try:
            root = np.linalg.cholesky(covariance + 1e-14 * np.trace(covariance) * np.eye(variables))
        except np.linalg.LinAlgError:
            return
        matrix = np.linalg.inv(root)
        matrix[:seen] = np.eye(seen, variables)
        centre = matrix @ self.states.mean(axis=0)
        centre[:seen] = 0.0
        terms = self.field.terms
        points = np.random.default_rng(0).standard_normal((4 * terms.size, variables))
        before = np.ascontiguousarray(np.linalg.solve(matrix, (points + centre).T).T)
        slopes = flow.features(terms, before) @ self.field.theta @ matrix.T
        theta = np.linalg.lstsq(flow.features(terms, points), slopes, rcond=None)[0]
        self.field = self.field.with_mask(self.field.mask, np.asarray(theta, dtype=np.float64))
        self.states = np.ascontiguousarray(self.states @ matrix.T - centre)

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


def _tuning(settings: HiddenSettings) -> Tuning:
    return Tuning(
        settings.relaxed, settings.tightened, settings.least_damping, settings.stiffness,
        settings.accelerated, settings.ahead, settings.rejections, _LOST,
    )  # fmt: skip


def searched(
    visible: Array, centre: Array, family: Family, settings: HiddenSettings, rough: float = 0.0
) -> list[Search]:
    """The searches on an early stretch that came close to a law, closest first; often none.

    rough: the roughness of samples that may be far apart or noisy; none where the misfit shows that they are noisy.
    """
    best = guesses(visible, centre, family, settings)
    worst = settings.forcing_left if family.forced else settings.hopeless
    starts = [guess.hidden for guess in best if guess.share < worst]
    if not starts:
        return []
    if family.variables == 3 and family.degree == 2:
        starts += plain(visible, centre, settings)
    if family.variables == 3 and family.degree == 3 and visible.shape[1] == 1:
        starts.append(drifting(visible))
    pool = _best([_started(visible, family.terms, start, settings) for start in starts], settings, rough)
    return _different(sorted(pool, key=_reached), settings)


def _started(visible: Array, terms: Terms, guess: Array, settings: HiddenSettings) -> Search:
    start = Search(visible, SparseField.of(terms), np.concatenate([visible, guess], axis=1), damping=settings.damping)
    start.standardise()
    start.states = np.clip(start.states, -settings.farthest, settings.farthest)
    start.states[:, : visible.shape[1]] = visible
    start.field = regression(start.field, start.states, settings.ridge)
    return start


def _best(pool: list[Search], settings: HiddenSettings, rough: float) -> list[Search]:
    """What is left of some starts after all rounds: those that came close to a law."""
    for number, (order, steps, kept, worst, behind) in enumerate(settings.rounds):
        for start in pool:
            if order == 8:  # order 4 was enough to choose the starts
                start.tableau, start.tolerance = EIGHTH, settings.near / 10
            start.improve(steps, settings.near / 10, settings)
        pool = _different(sorted(pool, key=_reached), settings)[:kept]
        if number == 1 and rough and pool and pool[0].reached > settings.noisy * rough:
            return []
        limit = max(worst, settings.coarse * rough)
        pool = [start for start in pool if start.reached < min(limit, behind * pool[0].reached)]
        if not pool or pool[0].reached < settings.near:
            break
    return pool


def _different(pool: list[Search], settings: HiddenSettings) -> list[Search]:
    """Without those that have come to the same place as a better one, up to an affine change."""
    found: list[Search] = []
    for search in pool:
        if not any(alike(search.visible, search.hidden, other.hidden, settings.same) for other in found):
            found.append(search)
    return found


def _reached(search: Search) -> float:
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


def found(visible: Array, centre: Array, settings: HiddenSettings, rough: float = 0.0) -> Law | None:
    """A field that passes through all of (time, seen), in standard deviations; None if none comes close.

    rough: the roughness, where it may be that of noise. A law is found on an early stretch and has to forecast the
    rest, a stretch at a time, before that is used. The first family with an exact one has it; otherwise the field with
    the best forecasts, if these are good.
    """
    early = min(settings.early, int(settings.early_share * len(visible)))
    best: Law | None = None
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        for family in (Family(*each) for each in settings.families if each[0] > visible.shape[1]):
            pool = searched(visible[:early], centre, family, settings, 0.0 if family.forced else rough)
            for search in pool:
                law = _continued(search, family, visible, settings)
                if law is not None and law.exact(settings):
                    return law
                if law is not None and law.worst < min(settings.trusted, best.worst if best else np.inf):
                    best = law
            if rough and not family.forced:  # larger families found no law behind coarse samples, and noise costs less
                return best
    return best


def _continued(search: Search, family: Family, visible: Array, settings: HiddenSettings) -> Law | None:
    """The search gone on to the end of the series; None where its forecast of a stretch fails."""
    errors: list[float] = []
    while (known := len(search.visible)) < len(visible):
        errors.append(search.extended(visible[: known + settings.stretch]))
        if not errors[-1] < settings.lost:
            return None
        search.improve(settings.extended, settings.near / 10, settings, settings.least_gain)
    search.tableau, search.tolerance = EIGHTH, settings.near / 100
    search.improve(settings.polished, settings.rounding, settings, settings.least_gain)
    return Law(search, family, tuple(errors))
