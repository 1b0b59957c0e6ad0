"""Fields of which only some variables are seen: the hidden ones are unknowns at every sample, solved with the field.

One variable of a system of three still tells everything, but in coordinates made of its delays or derivatives the field
is no short formula, and 512 samples do not tell a long one. With the hidden variables themselves as unknowns it is
short again: powers up to degree 2 of all variables. What is minimised is the distance between the flow from each state
and the next state, over the hidden part of all states and the coefficients; the visible part is the data, exactly.
Hidden variables are known up to an affine change only, so they are kept uncorrelated and of unit variance.

The problem has many minima and long curved valleys. Several starts (derivatives, quotients, random quadratic functions
of both) take a few steps each, the best go on; steps are Levenberg-Marquardt with the second-order correction along
the step (geodesic acceleration, Transtrum and Sethna 2012), which follows a curved valley several times faster.
The law found from an early stretch must then foretell the rest before it is believed.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.linalg import cho_factor, cho_solve

from prophecy.dynamics import flow, hidden_steps
from prophecy.dynamics.flow import EIGHTH, FOURTH, Tableau
from prophecy.dynamics.guesses import regression
from prophecy.dynamics.settings import Settings
from prophecy.dynamics.sparse import SparseField

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_FAR = 8.0  # standard deviations: derivatives at the ends of a spline are cut there
_ACCELERATED = 1.5  # largest second-order correction, as a share of the step, that is trusted
_AHEAD = 0.1  # share of the step at which its curvature is measured
_REJECTIONS = 8  # steps in a row that may fail to improve before a search ends
_LOST = 1e4  # square standard deviations: defects beyond it are those of a field that leads nowhere
_INTEGRATED = 1e-10  # standard deviations: what a step ahead may miss by
_BOUND = 30.0  # standard deviations: a path that far out does not come back


@dataclass
class Search:
    """One start and what has become of it. visible: (time, seen); states: (time, seen + hidden)."""

    visible: Array
    field: SparseField
    states: Array
    tableau: Tableau = FOURTH
    substeps: int | Counts = 2
    damping: float = 0.3  # of hidden variables against the equations; as large as the equations' own errors at first

    @property
    def seen(self) -> int:
        return int(self.visible.shape[1])

    @property
    def misfit(self) -> float:
        """Root mean square distance between the flow's ends and the next states, in standard deviations."""
        size = float(np.sqrt(np.mean(self._defects(self.field, self.states) ** 2)))
        return size if np.isfinite(size) else np.inf

    def improve(self, steps: int, enough: float, settings: Settings, least_gain: float = 0.0) -> None:
        """At most that many steps, until the misfit is below `enough` or falls by no more than a share."""
        for k in range(steps):
            if k % settings.hidden_restandardised == 0:
                self.standardise()
            before, after = self._step(settings)
            if after < enough or not after < (1 - least_gain) * before:
                break
        self.standardise()

    def _defects(self, field: SparseField, states: Array) -> Array:
        return np.asarray(field.steps(self.tableau, states[:-1], self.substeps) - states[1:])

    def _moved(self, change: Array, shift: Array) -> tuple[SparseField, Array]:
        states = self.states.copy()
        states[:, self.seen :] += shift
        return self.field.moved(change), states

    def _step(self, settings: Settings) -> tuple[float, float]:
        """One damped Gauss-Newton step: the misfit before and after it, the same where nothing improved."""
        ends, tangent = self.field.tangents(self.tableau, self.states[:-1], self.substeps)
        defects = ends - self.states[1:]
        cost = float(np.sum(defects**2))
        if not (cost < _LOST * len(defects) and np.isfinite(tangent).all()):
            return np.inf, np.inf
        before = float(np.sqrt(cost / defects.size))
        for _ in range(_REJECTIONS):
            for change, shift in self._proposals(tangent, defects, settings):
                field, states = self._moved(change, shift)
                there = float(np.sum(self._defects(field, states) ** 2))
                if there < cost:
                    self.field, self.states = field, states
                    self.damping = max(self.damping / settings.hidden_relaxed, settings.hidden_least_damping)
                    return before, float(np.sqrt(there / defects.size))
            self.damping *= settings.hidden_tightened
        return before, before

    def _proposals(self, tangent: Array, defects: Array, settings: Settings) -> list[tuple[Array, Array]]:
        """Changes of parameters and hidden states worth trying, the best guess first."""
        seen = self.seen
        reduced = hidden_steps.reduce(tangent, seen, self.damping)
        norms = np.sqrt(np.maximum(np.diag(reduced.matrix), 1e-300))
        matrix = reduced.matrix / np.outer(norms, norms)
        matrix[np.diag_indices_from(matrix)] += (settings.hidden_stiffness * self.damping) ** 2 + 1e-14
        try:
            factor = cho_factor(matrix)
        except (np.linalg.LinAlgError, ValueError):  # not positive, or not finite: damp more
            return []

        def solved(right: Array) -> tuple[Array, Array]:
            states, parameters = hidden_steps.right_side(tangent, right, seen, reduced)
            change = cho_solve(factor, parameters / norms, check_finite=False) / norms
            return change, hidden_steps.substituted(reduced, states, change)

        change, shift = solved(defects)
        there = self._defects(*self._moved(_AHEAD * change, _AHEAD * shift))
        bend = 2 / _AHEAD * ((there - defects) / _AHEAD - hidden_steps.along(tangent, shift, change, seen))
        proposals = [(change, shift)]
        if np.isfinite(bend).all():
            further, more = solved(bend)
            if np.linalg.norm(more) < _ACCELERATED * np.linalg.norm(shift):
                proposals.insert(0, (change + 0.5 * further, shift + 0.5 * more))
        return proposals

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
        """Go on over further samples, hidden variables first as the flow foretells them.

        visible: all samples from the beginning. Returns the root mean square error of the visible part foretold.
        """
        further = len(visible) - len(self.visible)
        ahead = self.ahead(self.states[-1:], self.field.theta[None], further)[0]
        error = float(np.sqrt(np.mean((ahead[:, : self.seen] - visible[-further:]) ** 2)))
        self.visible = visible
        self.states = np.concatenate([self.states, np.column_stack([visible[-further:], ahead[:, self.seen :]])])
        return error

    def ahead(self, starts: Array, thetas: Array, steps: int) -> Array:
        return self.field.paths(starts, steps, _INTEGRATED, _BOUND, thetas=thetas)


def guesses(visible: Array, centre: Array, hidden: int, count: int) -> list[Array]:
    """Hidden variables to start from, (time, hidden) each, not standardised.

    centre: the mean of the data in standard deviations, so that visible + centre is in proportion to the data itself.
    Where x' = h(x) y, y is a quotient by a function of x: that is what the quotients are for.
    """
    times = np.arange(len(visible))
    spline = make_interp_spline(times, visible, k=7)
    first, second = (_cut(spline.derivative(order)(times)) for order in (1, 2))
    bent = _without(second, [visible, first])
    raw = visible + np.where(np.abs(centre) < 3, centre, 0.0)
    rest = _without(first, [visible])
    plain = [[first, second], [first, bent * _over(raw)]]
    if visible.shape[1] > 1:
        quotients = rest * _over(raw[:, ::-1])
        plain = [[column] for each in (rest, quotients) for column in np.split(each, each.shape[1], axis=1)]
    found = [np.concatenate(each, axis=1)[:, :hidden] for each in plain]
    base = np.ascontiguousarray(np.concatenate([visible, first, second], axis=1))
    powers = flow.features(flow.polynomial_terms(base.shape[1], 2), base)[:, 1:]
    powers = (powers - powers.mean(axis=0)) / (powers.std(axis=0) + 1e-300)
    generator = np.random.default_rng(0)
    found += [powers @ generator.standard_normal((powers.shape[1], hidden)) for _ in range(count - len(plain))]
    return found


def _cut(values: Array) -> Array:
    return np.asarray(np.clip(values / np.median(np.abs(values), axis=0), -_FAR, _FAR))


def _over(values: Array) -> Array:
    """1 / values, without the pole."""
    return np.asarray(values / (values**2 + 0.1))


def _without(values: Array, others: list[Array]) -> Array:
    columns = np.column_stack([np.ones(len(values)), *others])
    return np.asarray(values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0])


def searched(visible: Array, centre: Array, hidden: int, settings: Settings) -> Search | None:
    """The best of several starts on an early stretch; None where none of them comes close to a law."""
    terms = flow.polynomial_terms(visible.shape[1] + hidden, 2)
    pool: list[Search] = []
    for guess in guesses(visible, centre, hidden, settings.hidden_starts):
        start = Search(visible, SparseField.of(terms), np.concatenate([visible, guess], axis=1))
        start.standardise()
        start.states = np.clip(start.states, -_FAR, _FAR)
        start.states[:, : visible.shape[1]] = visible
        start.field = regression(start.field, start.states, 1e-2)
        pool.append(start)
    for steps, kept, worst in settings.hidden_rounds:
        for start in pool:
            start.improve(steps, settings.hidden_close, settings)
        pool = sorted(pool, key=_misfit)[:kept]
        if not pool[0].misfit < worst:
            return None
        if pool[0].misfit < settings.hidden_close:
            break
    for search in pool:
        search.tableau, search.substeps = EIGHTH, 1
        search.improve(settings.hidden_polished, settings.hidden_exact / 10, settings, settings.hidden_least_gain)
        if search.misfit < settings.hidden_exact:
            break
    return min(pool, key=_misfit)


def _misfit(search: Search) -> float:
    return search.misfit


@dataclass(frozen=True, eq=False)
class Foretold:
    """A search that went on to the end, and the root mean square errors of the stretches it foretold on the way."""

    search: Search
    errors: tuple[float, ...]


def found(visible: Array, centre: Array, hidden: int, settings: Settings) -> Foretold | None:
    """A field that passes through all of (time, seen), in standard deviations; None if none comes close.

    It is found on an early stretch and has to foretell the rest, a stretch at a time, before it may learn from it.
    """
    early = min(settings.hidden_early, int(0.6 * len(visible)))
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        return _found(visible, early, centre, hidden, settings)


def _found(visible: Array, early: int, centre: Array, hidden: int, settings: Settings) -> Foretold | None:
    search = searched(visible[:early], centre, hidden, settings)
    errors: list[float] = []
    while search is not None and early < len(visible):
        early = min(early + settings.hidden_stretch, len(visible))
        errors.append(search.extended(visible[:early]))
        if not errors[-1] < settings.hidden_foretold:
            return None
        search.improve(settings.hidden_extended, settings.hidden_exact / 10, settings, settings.hidden_least_gain)
    if search is None:
        return None
    search.tableau, search.substeps = EIGHTH, search.field.substeps(EIGHTH, search.states[:-1], 1e-8)
    search.improve(2 * settings.hidden_polished, 1e-9, settings, settings.hidden_least_gain)
    return Foretold(search, tuple(errors))
