"""A field and where a series is on its flow: the model that a search for fields ends with."""

from dataclasses import dataclass

import numpy as np

from prophecy._arrays import Array
from prophecy.laws.assimilation import Assimilated
from prophecy.laws.flow import EXPONENTIAL, NO_KICKS, features, powers
from prophecy.laws.settings import BEYOND, LAWS, LawSettings
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import LEAST_NOISE


@dataclass(frozen=True, eq=False)
class FittedFlow:
    """A field and where the series is on its flow. The field's variables are values + offset, in standard deviations.

    residual: what it left of the series. exact: the samples are taken as they are. end: the series it was found in, up
    to its end; seen: 1 for each of the latest of its values that was observed, None where all were. inputs: (time,
    inputs), from the first row of the series on and as far ahead as they are known.
    """

    found: Assimilated
    offset: Array
    residual: float
    exact: bool
    conclusive: bool
    end: Array
    laws: LawSettings = LAWS
    seen: Array | None = None
    inputs: Array | None = None

    @property
    def field(self) -> SparseField:
        return self.found.field

    @property
    def short(self) -> bool:
        """Whether it is a law of few terms: a law of powers with more may be an imitation of functions."""
        return self.conclusive and self.field.count <= self.laws.short * self.field.terms.variables

    @property
    def _tolerance(self) -> float:
        laws = self.laws
        if self.exact:
            return max(laws.exact.least, laws.integrated_exact * self.residual)
        return laws.integrated_noisy * self.residual

    def nats(self, variables: int) -> float:
        """Length of a description of the first `variables` by this law: what it leaves of them, and each parameter
        with the choice of its term among all of the family."""
        left = self.end[-len(self.found.states) :, :variables] - self.found.states[:, :variables]
        there = np.ones_like(left) if self.seen is None else self.seen[:, :variables]
        return nats(left, there, self.field.count * (0.5 * np.log(there.sum()) + np.log(self.field.terms.size)))

    def doubt(self, variables: int) -> float:
        """How little the samples determine the first `variables` rates: by how much those under drawn parameters differ
        along the path, as a share of their size, root mean square."""
        fields = self.field, *self.found.draws(self.laws.draws // 4, 0)[0]
        rates, *drawn = [(features(f.terms, self.found.states) @ f.theta)[:, :variables] for f in fields]
        size, away = np.mean(rates**2, axis=0), np.mean((np.stack(drawn) - rates) ** 2, axis=(0, 1))
        return float(np.sqrt(np.mean(away[size > 0] / size[size > 0])))

    @property
    def steepest(self) -> float:
        """By how much the exponent of an exponential in some equation changes along the path, at most."""
        terms = self.field.terms
        kept = np.flatnonzero(powers(terms)[self.field.there.any(axis=1), terms.variables :].any(axis=0))
        rises = [terms.functions[i] for i in kept if terms.kinds[i] == EXPONENTIAL]
        return max((float(np.ptp(f.sums(self.found.states))) for f in rises), default=0.0)

    def path(self, steps: int) -> Array:
        """The flow from the last state: (steps, variables)."""
        there = self.field.paths(self.found.states[-1:], steps, self._tolerance, self._bound, self._jumps(steps))[0]
        return np.asarray(there - self.offset)

    def _jumps(self, steps: int) -> Array:
        """By how much the inputs change at each sample to come: (1, steps, variables)."""
        if self.inputs is None:
            return NO_KICKS
        at = len(self.end) + np.arange(steps)
        out = np.zeros((1, steps, self.field.terms.variables))
        out[..., ~self.field.own] = self.inputs[at] - self.inputs[at - 1]
        return out

    @property
    def _bound(self) -> float:
        """Standard deviations beyond which a path is lost: an exact law may grow, of one variable without end."""
        if self.exact and self.conclusive:
            return np.inf if self.field.terms.variables == 1 else self.laws.growth
        return BEYOND + float(np.abs(self.offset).max())

    def ensemble(self, steps: int, count: int, seed: int, wider: float = 1.0) -> Array:
        """Paths from the end of the series, (count, steps, variables), under drawn parameters, last states and errors
        of the field at every step, all of them `wider` times as large as they are known to be."""
        fields, states = self.found.draws(count, seed, wider)
        kicks = np.random.default_rng(seed + 1).standard_normal((count, steps, states.shape[1])) * (
            wider * self.found.missed * self.field.own
        )
        if self.inputs is not None:
            kicks = kicks + self._jumps(steps)
        loose = 10 * self._tolerance  # draws are kicked by more at every step
        return self.field.paths(states, steps, loose, self._bound, kicks, fields) - self.offset


def nats(left: Array, there: Array, price: float) -> float:
    """Length of a description that leaves (rows, variables) of the samples, where these are there, and whose parameters
    cost `price`."""
    count = there.sum(axis=0)
    noise = np.log(np.maximum((left**2 * there).sum(axis=0) / count, LEAST_NOISE**2))
    return float(0.5 * (count * noise).sum() + price)
