"""The least squares behind every law: states, parameters and noise of one field, and Gauss-Newton steps on them.

`Problem` has the states at the samples as unknowns. Without noise they are the samples, the equations of single steps
are all there is, and `one_step` solves those: by order 8, and robustly, since a few steps may be too fast for a guess.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
from scipy.linalg import qr

from prophecy._arrays import Array, Counts, Mask
from prophecy.laws.damped import LEAST, Damped, descend
from prophecy.laws.flow import FOURTH, Tableau
from prophecy.laws.kernels import entry
from prophecy.laws.select_terms import exchanged
from prophecy.laws.settings import BEYOND, LAWS, LawSettings
from prophecy.laws.sparse import SparseField, eliminated
from prophecy.laws.weak_form import Budget

Point = tuple[SparseField, Array]  # a field, and the states at the samples or what it leaves of these


class Problem:
    """The nonlinear least-squares problem, and Gauss-Newton steps on it.

    values: (time, variables); seen: 1 where observed, 0 where not. budget: the work it may do.
    """

    def __init__(
        self, field: SparseField, values: Array, seen: Array, noise: Array, states: Array, laws: LawSettings = LAWS
    ) -> None:
        self.laws = laws
        self.field, self.values, self.seen, self.states, self.noise = field, values, seen, states, noise
        self.looseness, self.substeps = 1.0, np.ones(len(states) - 1, dtype=np.int64)
        self.budget = Budget()
        self.allow(field.mask)
        self._most, self._least = most_noise(noise, len(values), laws), least_noise(noise, laws)
        self._damping, self._cost = 1e-4, np.inf
        self._linear: tuple[object, ...] = ()
        self._sound = False

    def allow(self, mask: Mask) -> None:
        """Set the terms that equations may have. Each costs some nats because it was chosen among them."""
        self.allowed, terms = mask, mask.sum() / max(mask.any(axis=0).sum(), 1)
        self.choice = self.laws.choice * float(np.log(max(terms, 1.0)))

    def at(self, looseness: float) -> None:
        """Set the model error, as a share of the noise."""
        self.looseness = looseness
        most = self.laws.substeps if looseness <= self.laws.stages[2] else self.laws.substeps // 2
        tolerance = min(self.laws.converged, self.laws.below * looseness) * self.noise
        self.substeps = self.field.substeps(FOURTH, self.states[:-1], tolerance, most)
        self._cost = self._squares((self.field, self.states))

    def _squares(self, point: Point) -> float:
        """Sum of squares of all equations, in units of the noise."""
        field, states = point
        ends = field.steps(FOURTH, states[:-1], self.substeps)
        seen = self.seen / self.noise * (self.values - states)
        tight = (ends - states[1:]) * self._tightness
        total = float(np.sum(seen**2) + np.sum(tight**2))
        return total if np.isfinite(total) else np.inf

    @property
    def _tightness(self) -> Array:
        """(variables,): 1 / model error; inputs have no equation to keep."""
        return np.asarray(np.where(self.field.own, 1 / (self.looseness * self.noise), 0.0))

    @property
    def _spare(self) -> float:
        """Equations less unknowns."""
        own = self.field.own
        return max(1.0, float(self.seen[:, own].sum() - own.sum() - self.field.count))

    def improve(self, iterations: int, enough: float = 1e-3) -> None:
        """Damped Gauss-Newton steps until the cost falls by less than the share `enough`."""
        (self.field, self.states), self._cost, self._damping = descend(
            (self.field, self.states), self._squares, self._moves, iterations, enough, self._damping
        )

    def _moves(self, point: Point) -> Callable[[float], Iterator[Point]] | None:
        self.field, self.states = point
        return self._moved if self.budget.left >= 0 and self.linearise() else None

    def linearise(self) -> bool:
        """Eliminate the states; whether everything stayed finite. Nothing is done where it was done before."""
        here = self.field, self.states, self.noise, self.looseness, self.substeps
        if not self._linear or any(a is not b for a, b in zip(here, self._linear, strict=True)):
            self._linear, self._sound = here, self._linearised()
        return self._sound

    def _linearised(self) -> bool:
        self.budget.left -= float(self.substeps.mean()) * (self.field.count + self.values.shape[1])
        ends, tangent = self.field.tangents(FOURTH, self.states[:-1], self.substeps)
        self.system = entry.eliminate(
            self.values - self.states, self.seen / self.noise, ends - self.states[1:], tangent, self._tightness,
            self.laws.first_state,
        )  # fmt: skip
        rest = self.system.rest
        if not np.isfinite(rest).all():
            return False
        count = rest.shape[1] - 1
        triangle = qr(rest, mode="r", check_finite=False)[0]
        self._triangle = np.asarray(triangle[:count, :count])
        self._solved = Damped(self._triangle, triangle[:count, count])
        return True

    def freedom(self) -> Array:
        """A square root of the covariance of the parameters; directions that nothing determines are held."""
        return self._solved.root(self.laws.held)

    def _moved(self, damping: float) -> Iterator[Point]:
        """Where the step of that damping leads, and a third of it."""
        change = self._solved(max(damping, LEAST))
        shift = entry.substitute(self.system.rows, change)
        for share in (1.0, 0.3):
            yield self.field.moved(share * change), self.states + share * shift

    def rescale(self) -> None:
        """The noise level at which the equations have the spread they should have.

        While the states may leave the flow, what they leave of a variable says nothing about that variable's noise:
        the shares of the variables are only looked at under a tight flow. Never far above the first estimate: what a
        field cannot explain is the field's fault, not noise.
        """
        noise = self.noise * np.sqrt(self._cost / self._spare)
        observed = self.seen.any(axis=0) & self.field.own
        if self.looseness <= self.laws.stages[2]:
            left = self.seen * (self.values - self.states)
            ratio = np.sqrt((left**2).sum(axis=0) / np.maximum(self.seen.sum(axis=0), 1)) / self.noise
            noise = noise * np.where(observed, ratio / np.sqrt(np.mean(ratio[observed] ** 2)), 1.0)
        self.noise = np.clip(noise, self._least, self._most)
        self._cost = self._squares((self.field, self.states))

    def evidence(self) -> float:
        """Log marginal likelihood of the values under noise and model error, less what parameters cost: half log(n)
        each, and the choice of each term."""
        if not self.linearise():
            return -np.inf
        own = self.field.own
        tight = -np.log(self.looseness * self.noise)[own].sum() * (len(self.values) - 1)
        seen = -(np.log(self.noise) * self.seen)[:, own].sum()
        likelihood = -0.5 * self._cost + seen + tight - self.system.logarithm
        cost = 0.5 * self.field.count * np.log(self.seen[:, own].sum()) + self.choice * self.field.coefficients
        return float(likelihood - cost)

    def select(self, again: bool) -> None:
        """Remove terms that are not worth what they cost; then, if `again`, choose anew among all that are allowed: as
        far as the evidence does not suffer."""
        evidence = self.evidence()
        for anew in (False, True) if again else (False,):
            if self.budget.left < 0:
                return
            kept, mask = (self.field, self.states, self.noise, self._cost, self._damping), self.field.mask
            self.field = self.field.with_mask(self.allowed) if anew else self.field
            if self._prune(anew) and (self.field.mask != mask).any():
                self.improve(5, 1e-2)
                self.rescale()
                if (now := self.evidence()) >= evidence:
                    evidence = now
                    continue
            self.field, self.states, self.noise, self._cost, self._damping = kept

    def _prune(self, anew: bool) -> bool:
        """Backward elimination in the quadratic approximation: terms whose loss costs less than log(n). Whether any
        went. anew: first take the Gauss-Newton step; then exchange terms for others that cost less.
        """
        count = self.field.coefficients
        if not self.linearise() or not count:
            return False
        value = self.field.vector + (self._solved(self.laws.held) if anew else 0.0)
        terms = np.arange(len(value)) < count
        limit = float(np.log(self.seen.sum())) + 2 * self.choice
        aim, triangle = self._triangle @ value, self._triangle
        choices = [eliminated(value, self._solved.root(), terms, limit, count)[::2]]
        if anew:
            whose = self.field.parameters[1][:count]
            own = [np.nonzero(whose == i)[0] for i in range(self.field.terms.variables)]
            choices.append(exchanged(triangle, aim, choices[0][1] | ~terms, own, limit))

        def cost(choice: tuple[Array, Mask]) -> float:
            return float(np.sum((aim - triangle @ choice[0]) ** 2) + limit * choice[1][:count].sum())

        value, alive = min(choices, key=cost)
        if alive[:count].all():
            return False
        self.field = self.field.only(alive, value)
        self._cost = self._squares((self.field, self.states))
        return True


def most_noise(noise: Array, rows: int, laws: LawSettings) -> Array:
    """The most noise a variable is taken to have, from its first estimate: an upper bound but for its own error, which
    few rows make large. A median of differences over ten rows counts one value in ten."""
    return noise * max(laws.coarser, 1 + 2.5 * float(np.sqrt(10 / rows)))


def least_noise(noise: Array, laws: LawSettings) -> float:
    """The least noise a variable is taken to have: with less, errors of integration would count for more than noise."""
    return max(laws.noiseless, laws.quiet * float(noise.max()))


class Steps(NamedTuple):
    """Samples and the ones after them, (steps, variables) each."""

    before: Array
    after: Array

    @classmethod
    def of(cls, values: Array, known: Mask | None = None) -> Steps:
        """All steps of (time, variables) between samples that are known."""
        both = slice(None) if known is None else known[:-1] & known[1:]
        return cls(values[:-1][both], values[1:][both])

    def missed(self, field: SparseField, tableau: Tableau, substeps: int | Counts) -> Array:
        """What the field's flow misses each step by; inputs, which jump, are missed by nothing."""
        return np.asarray(np.where(field.own, self.after - field.steps(tableau, self.before, substeps), 0.0))


def one_step(
    field: SparseField,
    steps: Steps,
    tableau: Tableau,
    substeps: int | Counts,
    iterations: int = 8,
    robust: bool = False,
    far: float = BEYOND,
    budget: Budget | None = None,
) -> tuple[SparseField, Array]:
    """The field whose flow takes each value to the next, in least squares, and the errors it leaves, (steps, v).

    robust: least roots of absolute errors instead, so that a few steps that are far off do not pull at the others.
    far: an error, in standard deviations, that is as bad as any; steps ten times as far off are left out.
    budget: the work it may do.
    """
    budget = budget or Budget()

    def cost(point: Point) -> float:
        size = np.minimum(np.nan_to_num(np.abs(point[1]), nan=far), far)
        return float(np.mean(np.sqrt(size))) if robust else float(np.sqrt(np.mean(size**2)))

    def linearise(point: Point) -> Callable[[float], Iterator[Point]] | None:
        here, rest = point
        budget.left -= float(np.mean(substeps)) * len(tableau.weights) / 4 * (here.count + rest.shape[1])
        if budget.left < 0 or not here.count:
            return None
        tangent = here.tangents(tableau, steps.before, substeps)[1][:, :, here.terms.variables :]
        system, target = tangent.reshape(-1, tangent.shape[2]), rest.reshape(-1)
        sound = np.isfinite(system).all(axis=1) & (np.abs(target) < 10 * far)
        weight = np.where(sound, _weights(target) if robust else 1.0, 0.0)
        system = np.where(sound[:, None], system, 0.0) * weight[:, None]
        solved = Damped(system, np.where(sound, target, 0.0) * weight, long=True)

        def moved(damping: float) -> Iterator[Point]:
            trial = here.moved(solved(max(damping, LEAST)))
            yield trial, steps.missed(trial, tableau, substeps)

        return moved

    # Shapes of functions make narrow valleys.
    enough = 0.0 if field.count > field.coefficients else 0.05
    start = field, steps.missed(field, tableau, substeps)
    return descend(start, cost, linearise, iterations, enough, 1e-6)[0]


def _weights(rest: Array) -> Array:
    """Under which least squares minimises the sum of square roots of absolute errors: most of them small, a few not."""
    size = np.nan_to_num(np.abs(rest), nan=np.inf)
    return np.asarray(np.maximum(size, np.median(size) + 1e-12) ** -0.75)
