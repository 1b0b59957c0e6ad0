"""Fields of which only some variables are seen: the hidden ones are unknowns at every sample, solved with the field.

In delays or derivatives of one variable the field of a system is no short formula; with hidden variables as unknowns it
is (`Family`). Minimised is the distance between the flow from each state and the next state, over the hidden part of
all states and the coefficients; the visible part is the data, exactly. Hidden variables are known up to an affine
change only, so they are kept uncorrelated and of unit variance. Through noise the visible variables are unknowns too,
near the samples (`Search.tighten`).

The problem has many minima and long curved valleys. Several starts (`hidden_starts.py`) take a few steps each, the
better half goes on with twice as many, and so on; steps are Levenberg-Marquardt with the second-order correction along
the step (geodesic acceleration, Transtrum and Sethna 2012), which follows a curved valley several times faster.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from itertools import product

import numpy as np
from scipy.linalg import LinAlgError

from prophecy._arrays import Array, Counts
from prophecy.laws.damped import descend
from prophecy.laws.flow import EIGHTH, FOURTH, SparseField, Tableau, features
from prophecy.laws.hidden_starts import FAMILIES, Family, guesses
from prophecy.laws.kernels import entry
from prophecy.laws.problem import Assimilated, Point, Problem
from prophecy.laws.settings import BEYOND, LAWS, HiddenSettings, Settings
from prophecy.laws.weak_form import regression

_EXACT = 1e6  # 1 / standard deviations: the weight of the visible part of a state, which is the sample
_INTEGRATED = 1e-10  # standard deviations: what a step ahead may miss by
_ROUNDING = 1e-9  # standard deviations: misfits below it are those of the integrator
_PACE = (2.0, 3.0)  # of the damping: slow, as the valleys are long and curved
HELD = 0.01  # of the weight of a sample: that of each hidden variable at each, where it is


def damped_step(tangent: Array, defects: Array, seen: int, damping: float) -> tuple[Array, Array]:
    """The change of the states, (time, v), and of the parameters that removes the defects, (time - 1, v), in least
    squares. The visible part of a state is an observation without noise, the hidden one is observed where it is, up to
    1 / damping; parameters, scaled, are damped less, which makes their normal equations sound."""
    steps, v = defects.shape
    weights = np.broadcast_to(np.where(np.arange(v) < seen, _EXACT, damping), (steps + 1, v))
    rows, rest, _ = entry.eliminate(np.zeros((steps + 1, v)), weights, defects, tangent, np.ones(v), 0.0)
    normal = rest.T @ rest
    norms = np.sqrt(np.maximum(np.diag(normal)[:-1], 1e-300))
    own = normal[:-1, :-1] / np.outer(norms, norms) + ((0.4 * damping) ** 2 + 1e-14) * np.eye(len(norms))
    change = np.linalg.solve(own, normal[:-1, -1] / norms) / norms
    shift = entry.substitute(rows, change)
    shift[:, :seen] = 0.0
    return shift, change


@dataclass
class Search:
    """One start and what has become of it. visible: (time, seen); states: (time, seen + hidden).

    noise: of the visible variables, in standard deviations. errors: root mean square errors of its forecasts of the
    stretches on the way, each made before the stretch was used.
    """

    visible: Array
    field: SparseField
    states: Array
    noise: float = 0.0
    tableau: Tableau = FOURTH
    tolerance: float = 0.0  # standard deviations that a step may miss by; 0: one step a sample
    damping: float = 0.3  # of hidden variables against the equations; as large as the equations' own errors at first
    reached: float = np.inf  # the misfit after the last steps
    errors: tuple[float, ...] = ()

    @property
    def seen(self) -> int:
        return int(self.visible.shape[1])

    @property
    def hidden(self) -> Array:
        return self.states[:, self.seen :]

    @property
    def misfit(self) -> float:
        """Root mean square distance between the flow's ends and the next states, in standard deviations."""
        return self._misfit(self._counts(), (self.field, self.states))

    def improve(self, steps: int, enough: float, least_gain: float = 0.0) -> float:
        """At most that many steps, until the misfit is below `enough` or falls by no more than a share; the misfit."""
        self.reached = np.inf
        for first in range(0, steps, 4):
            self.standardise()
            counts, before, count = self._counts(), self.reached, min(4, steps - first)
            misfit, linearise = partial(self._misfit, counts), partial(self._linearised, counts, enough)
            (self.field, self.states), self.reached, self.damping = descend(
                (self.field, self.states), misfit, linearise, count, least_gain, self.damping, _PACE, 1e-6
            )
            if not enough <= self.reached < (1 - least_gain) * before:
                break
        self.standardise()
        return self.reached

    def _linearised(self, counts: Counts, enough: float, point: Point) -> Callable[[float], list[Point]] | None:
        """Where steps from here lead, for any damping; None where the field leads nowhere, or the misfit is low enough.

        With each step goes its second-order correction, tried first where it is small against the step.
        """
        field, states = point
        ends, tangent = field.tangents(self.tableau, states[:-1], counts)
        defects, v = ends - states[1:], states.shape[1]
        size = float(np.sqrt(np.mean(defects**2)))
        if not (enough <= size < BEYOND and np.isfinite(tangent).all()):
            return None

        def trials(damping: float) -> list[Point]:
            damping, ahead = max(damping, 1e-6), 0.1
            shift, change = damped_step(tangent, defects, self.seen, damping)
            found = [(field.moved(change), states + shift)]
            nearby = self._defects(counts, field.moved(ahead * change), states + ahead * shift)
            along = (tangent[:, :, :v] @ shift[:-1, :, None])[..., 0] + tangent[:, :, v:] @ change - shift[1:]
            bend = 2 / ahead * ((nearby - defects) / ahead - along)
            if np.isfinite(bend).all():
                more, further = damped_step(tangent, bend, self.seen, damping)
                if np.sum(more**2) < 1.5**2 * np.sum(shift**2):
                    found.insert(0, (field.moved(change + further / 2), states + shift + more / 2))
            return found

        return trials

    def _counts(self) -> Counts:
        """Substeps of every sample."""
        if not self.tolerance:
            return np.ones(len(self.states) - 1, dtype=np.int64)
        return self.field.substeps(self.tableau, self.states[:-1], self.tolerance)

    def _misfit(self, counts: Counts, point: Point) -> float:
        size = float(np.sqrt(np.mean(self._defects(counts, *point) ** 2)))
        return size if np.isfinite(size) else np.inf

    def _defects(self, counts: Counts, field: SparseField, states: Array) -> Array:
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

    def polish(self, settings: HiddenSettings) -> None:
        """Steps by order 8 as long as they help."""
        self.tableau, self.tolerance = EIGHTH, LAWS.exact.rounding / 100
        self.improve(24, _ROUNDING, settings.least_gain)

    def extended(self, visible: Array) -> float:
        """Go on over further samples, as the flow forecasts them. visible: all samples from the beginning. Returns the
        root mean square error of that forecast."""
        further, latest = len(visible) - len(self.visible), visible[len(self.visible) :]
        ahead = self.ahead(further)
        error = float(np.sqrt(np.mean((ahead[:, : self.seen] - latest) ** 2)))
        ahead = np.clip(np.nan_to_num(ahead), -BEYOND, BEYOND)
        if not self.noise:
            ahead[:, : self.seen] = latest
        self.visible, self.states = visible, np.concatenate([self.states, ahead])
        return error

    def ahead(self, steps: int) -> Array:
        """The path after the last state: (steps, variables)."""
        return np.asarray(self.field.paths(self.states[-1:], steps, _INTEGRATED, BEYOND)[0])

    @np.errstate(all="ignore")  # steps too far overflow and are taken back
    def tighten(self, looseness: float) -> None:
        """States and field with a model error of so much of the noise; the noise that this needs."""
        self.standardise()
        values = np.column_stack([self.visible, self.hidden])
        problem = self._problem(values, 0.0)
        problem.at(looseness)
        problem.improve(8, 0.01)
        problem.rescale()
        if np.isfinite(problem.states).all():
            self.field, self.states = problem.field, problem.states
        noise = float(np.sqrt(np.mean(problem.noise[: self.seen] ** 2)))
        self.noise = noise if np.isfinite(noise) else np.inf

    def _problem(self, values: Array, held: float) -> Problem:
        """held: the weight of hidden variables against what is seen."""
        noise = self.noise or max(self.misfit, _ROUNDING)
        weights = np.broadcast_to(np.where(np.arange(values.shape[1]) < self.seen, 1.0, held), values.shape)
        return Problem(self.field, values, weights, np.full(values.shape[1], noise), self.states)

    @np.errstate(all="ignore")
    def known(self, looseness: float) -> Assimilated | None:
        """What the samples leave open of field and last state. Hidden variables are held loosely where they are: an
        affine change of them says nothing, and far along it derivatives mean nothing."""
        problem = self._problem(self.states, HELD)
        problem.at(looseness)
        return problem.known() if problem.linearise() else None

    def finer(self, visible: Array, stride: int) -> Search:
        """The same through all samples, of which it has seen every `stride`-th up to the last: its flow leads through
        those between."""
        field = replace(self.field, theta=self.field.theta / stride)
        first = (len(visible) - 1) % stride
        between = field.paths(self.states[:-1], stride, _INTEGRATED, BEYOND)
        between = np.clip(np.nan_to_num(between), -BEYOND, BEYOND)
        between[:, -1] = self.states[1:]
        states = np.concatenate([self.states[:1], between.reshape(-1, self.states.shape[1])])
        return replace(self, visible=visible[first:], field=field, states=states)


def searched(visible: Array, family: Family, settings: Settings) -> tuple[list[Search], bool]:
    """The searches on an early stretch that came close to a law, closest first, often none; and whether more samples
    may help. All starts take some steps, the better half goes on with twice as many, and so on."""
    how, exact = settings.hidden, settings.laws.exact
    pool = starts(visible, family, settings, how.hopeless)
    for number in range(4):
        if number == 2:  # order 4 was enough to choose the starts
            for start in pool:
                start.tableau, start.tolerance = EIGHTH, exact.rounding / 10
        for start in pool:
            start.improve(how.steps * 2**number, exact.rounding / 10, how.least_gain / 2 if number == 3 else 0.0)
        pool = sorted(pool, key=lambda each: each.reached)[: max(len(pool) // 2, 2)]
        limit = exact.close if number > 1 else how.coarse / 4 ** (family.variables - 3)
        if number:
            pool = [start for start in pool if start.reached < limit]
        if not pool or pool[0].reached < exact.rounding:
            break
    return pool, number > 1


def starts(visible: Array, family: Family, settings: Settings, worst: float = np.inf) -> list[Search]:
    """Searches of a family that have not yet made a step, from guesses that leave less than `worst` open."""
    how = settings.hidden
    found = [hidden for share, hidden in guesses(visible, family, how) if share < worst]
    pool = [Search(visible, SparseField.of(family.terms), np.column_stack([visible, each])) for each in found]
    for start in pool:
        start.standardise()
        start.field = regression(start.field, start.states, np.inf, how.ridge)
    return pool


def found(visible: Array, settings: Settings, rough: float = 0.0) -> Search | None:
    """A field that passes through all of (time, seen), in standard deviations; None if none comes close.

    rough: the roughness of samples far apart: then three variables alone are looked for, which cost least.
    A law is found on an early stretch and has to forecast the rest, a stretch at a time, before that is used. The first
    family with an exact one has it; otherwise the field with the best forecasts, if these are good.
    """
    how, best = settings.hidden, None
    early = [each for each in how.stretches if each <= 0.75 * len(visible)] or [3 * len(visible) // 4]
    families = [each for each in FAMILIES if each.variables > visible.shape[1]]
    hopeless = {each for each in families if rough and each != (3, 2)}
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        for stretch, family in product(early, families):
            if family in hopeless:
                continue
            pool, onward = searched(visible[:stretch], family, settings)
            hopeless |= set() if onward else {family}
            for search in pool:
                if not _continued(search, visible, settings):
                    continue
                if search.reached < settings.laws.noiseless and search.errors[-1] < how.trusted:
                    return search  # it passes through all samples, and forecast the last ones
                if max(search.errors) < min(how.trusted, max(best.errors) if best else np.inf):
                    best = search
    return best


def _continued(search: Search, visible: Array, all_settings: Settings) -> bool:
    """Whether the search goes on to the end of the series: no forecast of a stretch fails."""
    settings = all_settings.hidden
    while (length := len(search.visible)) < len(visible):
        search.errors += (search.extended(visible[: length + settings.stretch]),)
        if not search.errors[-1] < all_settings.laws.foretold_close:
            return False
        search.improve(10, all_settings.laws.exact.rounding / 10, settings.least_gain)
    search.polish(settings)
    return True
