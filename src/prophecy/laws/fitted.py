"""A field and where a series is on its flow: the model that a search for fields ends with."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri, stdtrit

from prophecy.laws.assimilation import Assimilated
from prophecy.laws.flow import EXPONENTIAL, FOURTH, NO_KICKS, features, powers
from prophecy.laws.kernels import entry
from prophecy.laws.problem import Problem
from prophecy.laws.settings import BEYOND, LAWS, LawSettings
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import LEAST_NOISE, smoothed

Array = NDArray[np.float64]
Indices = NDArray[np.intp]
Mask = NDArray[np.bool_]


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
        columns = features(self.field.terms, self.found.states)
        rates = (columns @ self.field.theta)[:, :variables]
        drawn = [
            features(each.terms, self.found.states) @ each.theta
            for each in self.found.draws(self.laws.draws // 4, 0)[0]
        ]
        size = np.mean(rates**2, axis=0)
        away = np.mean((np.stack(drawn)[:, :, :variables] - rates) ** 2, axis=(0, 1))
        return float(np.sqrt(np.mean(away[size > 0] / size[size > 0])))

    @property
    def steepest(self) -> float:
        """By how much the exponent of an exponential in some equation changes along the path, at most."""
        terms, path = self.field.terms, self.found.states
        kept = powers(terms)[self.field.there.any(axis=1), terms.variables :].any(axis=0)
        spans = [float(np.ptp(terms.sums(int(j), path))) for j in np.nonzero(kept & (terms.kinds == EXPONENTIAL))[0]]
        return max(spans, default=0.0)

    def rollout(self, values: Array, origins: Indices, horizon: int) -> Array:
        """Follow the flow from the state at each origin: (origins, horizon, variables)."""
        x = values + self.offset
        states = x[origins - 1] if self.exact else self._located(x, origins)
        kicks = self._jumps(origins, horizon)
        return self.field.paths(states, horizon, self._tolerance, self._bound, kicks) - self.offset

    def _jumps(self, origins: Indices, horizon: int) -> Array:
        """By how much the inputs change at each sample after an origin: (origins, horizon, variables)."""
        if self.inputs is None:
            return NO_KICKS
        at = origins[:, None] + np.arange(horizon)
        out = np.zeros((*at.shape, self.field.terms.variables))
        out[..., ~self.field.own] = self.inputs[at] - self.inputs[at - 1]
        return out

    @property
    def _bound(self) -> float:
        """Standard deviations beyond which a path is lost: an exact law may grow, of one variable without end."""
        if self.exact and self.conclusive:
            return np.inf if self.field.terms.variables == 1 else self.laws.growth
        return BEYOND + float(np.abs(self.offset).max())

    def ensemble(
        self,
        steps: int,
        count: int,
        seed: int,
        wider: float = 1.0,
        values: Array | None = None,
        origins: Indices | None = None,
    ) -> Array:
        """Paths from the end of the series, (count, steps, variables), under drawn parameters, last states and errors
        of the field at every step, all of them `wider` times as large as they are known to be; or, each from an
        origin of its own, from the samples before these, as far away as last states are."""
        fields, states = self.found.draws(count, seed, wider)
        if values is not None and origins is not None:
            states = states - self.found.states[-1] + (values + self.offset)[origins - 1]
        kicks = np.random.default_rng(seed + 1).standard_normal((count, steps, states.shape[1])) * (
            wider * self.found.missed * self.field.own
        )
        if self.inputs is not None:
            kicks = kicks + self._jumps(np.array([len(self.end)]) if origins is None else origins, steps)
        loose = 10 * self._tolerance  # draws are kicked by more at every step
        return self.field.paths(states, steps, loose, self._bound, kicks, fields) - self.offset

    def stray(self, values: Array, known: Mask) -> float:
        """How far paths inside the series are from it, as a share of what draws from the same moments say.

        What single steps miss by may add up (errors of whoever integrated the series) or not (rounding of each sample):
        paths show which, as long as they are followed while draws are still close to each other. A series has few
        stretches that do not overlap: the share is as much larger as a quantile of Student's distribution with so many
        degrees of freedom is than a normal one. Their tails are compared: few stretches are missed by far more than
        others, and the one to come may be such.
        """
        laws = self.laws
        steps = min(laws.stray_steps, len(values) // 4)
        there = 1 + np.flatnonzero(known[: len(values) - steps])
        if not len(there):
            return 1.0
        origins = there[np.linspace(0, len(there) - 1, laws.draws // 2).astype(np.intp)]
        ahead = np.tile(self.rollout(values, origins, steps), (2, 1, 1))
        drawn = self.ensemble(steps, len(ahead), 2, values=values, origins=np.tile(origins, 2))
        apart = np.nan_to_num(np.abs(drawn - ahead), nan=np.inf)
        small = np.median(apart, axis=(0, 2)) < laws.stray_small
        last = int(np.argmin(small)) if not small.all() else steps
        late = slice(last // 2, max(last, 1))
        at = origins[:, None] + np.arange(steps)[late]
        missed = np.where(known[at][..., None], np.abs(ahead[: len(at), late] - values[at]), np.nan)
        few = float(stdtrit(len(values) / steps, 0.95) / ndtri(0.95))
        share = few * float(np.nanquantile(missed, laws.stray_tail) / np.quantile(apart[:, late], laws.stray_tail))
        return share if np.isfinite(share) else 1.0

    def _located(self, x: Array, origins: Indices) -> Array:
        """The state before each origin, from the samples before it alone. Origins close to each other share a pass."""
        out, window = np.empty((len(origins), x.shape[1])), self.laws.located
        order = np.argsort(origins)
        groups = np.split(order, np.nonzero(np.diff(origins[order]) > window)[0] + 1)
        for group in groups:
            first, last = int(origins[group].min()), int(origins[group].max())
            if len(group) == 1 and last == len(self.end) and np.array_equal(x[:last], self.end):
                out[group] = self.found.states[-1]
                continue
            start = max(0, first - window)
            out[group] = self._states(x[start:last], self._observed(start, last, x.shape[1]), origins[group] - start)
        return out

    def _observed(self, start: int, stop: int, variables: int) -> Array:
        """1 for each value from `start` up to `stop` that was observed."""
        out = np.ones((len(self.end), variables))
        if self.seen is not None:
            out[len(out) - len(self.seen) :] = self.seen
        return out[start:stop] if stop <= len(out) else np.ones((stop - start, variables))

    def _states(self, x: Array, seen: Array, counts: Indices) -> Array:
        """The state after so many samples, estimated from these alone along the smoothed trajectory of all."""
        noise = self.found.noise
        path = np.where(self.field.own, smoothed(x, noise), x)
        problem = Problem(self.field, x, seen, noise, path, fixed=True, laws=self.laws)
        last = self.found.looseness
        for looseness in (*(each for each in self.laws.stages[:2] if each > last), last):
            problem.at(looseness)
            problem.improve(4, 1e-2)
        ends, tangent = self.field.tangents(FOURTH, problem.states[:-1], problem.substeps, False)
        tight = np.where(self.field.own, 1 / (problem.looseness * noise), 0.0)
        rest, missed = x - problem.states, ends - problem.states[1:]
        out, first = problem.states[counts - 1], self.laws.first_state
        for k, n in enumerate(counts):
            rows = entry.eliminate(rest[:n], seen[:n] / noise, missed[: n - 1], tangent[: n - 1], tight, first).rows
            out[k] += entry.substitute(rows, np.zeros(0))[-1]
        return np.asarray(out)


def nats(left: Array, there: Array, price: float) -> float:
    """Length of a description that leaves (rows, variables) of the samples, where these are there, and whose parameters
    cost `price`."""
    count = there.sum(axis=0)
    noise = np.log(np.maximum((left**2 * there).sum(axis=0) / count, LEAST_NOISE**2))
    return float(0.5 * (count * noise).sum() + price)
