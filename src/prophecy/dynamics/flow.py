"""Compiled flows: steps of a field from sample to sample, and paths as exact as a tolerance.

Where a modulus or a sign switches, a step is taken on the branch it began on (on which the field is smooth) up to the
moment at which the sum of the function is zero, and goes on from there on the other branch: steps across kinks and
jumps have the order of all others.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.integrate import DOP853

from prophecy._compiled import inner, kernel
from prophecy.dynamics.terms import (
    EXPONENTIAL,
    MODULUS,
    RATE,
    RECIPROCAL,
    SHIFT,
    SIGN,
    SINE,
    TANH,
    Function,
    Terms,
    any_switches,
    argument,
    choose_branches,
    evaluate,
    features,
    polynomial_terms,
    powers,
)

__all__ = [
    "EIGHTH",
    "EXPONENTIAL",
    "FOURTH",
    "MODULUS",
    "NO_KICKS",
    "RATE",
    "RECIPROCAL",
    "SHIFT",
    "SIGN",
    "SINE",
    "TANH",
    "Function",
    "Tableau",
    "Terms",
    "features",
    "paths",
    "polynomial_terms",
    "powers",
    "steps",
]

Array = NDArray[np.float64]
Indices = NDArray[np.int64]

#: For `paths` that follow the flow exactly.
NO_KICKS = np.zeros((0, 0, 0))


class Tableau(NamedTuple):
    """An explicit Runge-Kutta method: stages from earlier slopes, the weights of the slopes, and those of the two
    estimates of what a step misses by (empty where there are none)."""

    stages: Array
    weights: Array
    fifth: Array
    third: Array


#: Order 4 for noisy samples, order 8 (Dormand and Prince) for exact ones.
FOURTH = Tableau(
    np.array([[0, 0, 0, 0], [0.5, 0, 0, 0], [0, 0.5, 0, 0], [0, 0, 1.0, 0]]),
    np.array([1, 2, 2, 1]) / 6,
    np.zeros(0),
    np.zeros(0),
)
EIGHTH = Tableau(
    *(np.array(a, dtype=np.float64) for a in (DOP853.A[:12, :12], DOP853.B, DOP853.E5[:12], DOP853.E3[:12]))
)
#: Of a sample: what is too fast for shorter steps is not worth following.
SHORTEST = 1 / 512


#: Switches within one step (of `steps`) or one sample (of `paths`): where both branches lead back to the switch there
#: is no end to them.
MOST_SWITCHES = 8
_ROOT = 1e-14  # of a step's length: the moment of a switch is found to rounding
_MOST_HALVINGS = 60  # of a step: enough for that accuracy were each of them only a halving


@inner
def step(
    terms: Terms,
    theta: Array,
    tableau: Tableau,
    x: Array,
    h: float,
    branches: Array,
    phi: Array,
    slopes: Array,
    there: Array,
) -> None:
    """One Runge-Kutta step on the given branches, in place. slopes: (stages, variables), there: (variables,) to work
    in."""
    v, stages = terms.variables, len(tableau.weights)
    for stage in range(stages):
        for i in range(v):
            there[i] = x[i]
        for before in range(stage):
            weight = h * tableau.stages[stage, before]
            if weight != 0.0:
                for i in range(v):
                    there[i] += weight * slopes[before, i]
        evaluate(terms, there, branches, phi)
        for i in range(v):
            slopes[stage, i] = 0.0
        for p in range(len(phi)):
            for i in range(v):
                slopes[stage, i] += theta[p, i] * phi[p]
    for stage in range(stages):
        for i in range(v):
            x[i] += h * tableau.weights[stage] * slopes[stage, i]


@inner
def _passed(terms: Terms, x: Array, branches: Array, known: int) -> int:
    """A function other than `known` whose sum has passed zero at x, -1 if none has."""
    for j in range(len(terms.kinds)):
        if j != known and branches[j] != 0.0 and branches[j] * argument(terms, j, x) < 0.0:
            return j
    return -1


@inner
def until_switch(
    terms: Terms,
    theta: Array,
    tableau: Tableau,
    start: Array,
    x: Array,
    h: float,
    branches: Array,
    phi: Array,
    slopes: Array,
    there: Array,
) -> tuple[float, int]:
    """How far a step from `start` may go, at most h, and the function that switches there, -1 if none does; x: where
    the step of length h ends, on entry, and the one of the length returned, on exit.

    The sum is a smooth function of the length as long as the branch stays: false position with halved ends (Illinois).
    """
    which, found = _passed(terms, x, branches, -1), -1
    for _ in range(len(branches)):  # functions that switch together could take turns for ever
        if which < 0:
            break
        found = which
        low, high, side = 0.0, h, 0
        at_low, at_high = branches[found] * argument(terms, found, start), branches[found] * argument(terms, found, x)
        if at_low <= 0.0:  # it switched a moment ago and turns back at once
            x[:] = start
            return 0.0, found
        for _ in range(_MOST_HALVINGS):
            if high - low <= _ROOT * h:
                break
            length = high - at_high * (high - low) / (at_high - at_low)
            x[:] = start
            step(terms, theta, tableau, x, length, branches, phi, slopes, there)
            value = branches[found] * argument(terms, found, x)
            if value > 0.0:
                low, at_low = length, value
                at_high = 0.5 * at_high if side == 1 else at_high
                side = 1
            else:
                high, at_high = length, value
                at_low = 0.5 * at_low if side == -1 else at_low
                side = -1
            if value == 0.0:
                break
        h = high
        x[:] = start
        step(terms, theta, tableau, x, h, branches, phi, slopes, there)
        which = _passed(terms, x, branches, found)
    return h, found


@kernel
def steps(terms: Terms, theta: Array, tableau: Tableau, points: Array, substeps: Indices) -> Array:
    """Every one of (points, variables) one sample later, each by as many substeps as (points,) says."""
    out = points.copy()
    phi, there, start = np.empty(len(terms.parents)), np.empty(terms.variables), np.empty(terms.variables)
    slopes, branches = np.empty((len(tableau.weights), terms.variables)), np.empty(len(terms.kinds))
    kinks = len(tableau.fifth) > 0
    switching = any_switches(terms, kinks)
    for k in range(len(points)):
        x = out[k]
        choose_branches(terms, x, kinks, branches)
        for _ in range(substeps[k]):
            left = 1.0 / substeps[k]
            for switch in range(MOST_SWITCHES + 1):
                start[:] = x
                step(terms, theta, tableau, x, left, branches, phi, slopes, there)
                if not switching or switch == MOST_SWITCHES:
                    break
                length, which = until_switch(terms, theta, tableau, start, x, left, branches, phi, slopes, there)
                if which < 0:
                    break
                branches[which] = -branches[which]
                left -= length
    return out


@inner
def _miss(tableau: Tableau, slopes: Array, h: float) -> float:
    """What a step of order 8 misses by, as its lower orders tell (Hairer, Norsett and Wanner's estimate)."""
    fifth, third = 0.0, 0.0
    for i in range(slopes.shape[1]):
        five, three = 0.0, 0.0
        for stage in range(len(tableau.weights)):
            five += tableau.fifth[stage] * slopes[stage, i]
            three += tableau.third[stage] * slopes[stage, i]
        fifth, third = fifth + five * five, third + three * three
    whole = fifth + 0.01 * third
    return h * fifth / np.sqrt(whole) if whole > 0.0 else h * whole


@inner
def _sample(
    terms: Terms,
    theta: Array,
    tableau: Tableau,
    x: Array,
    h: float,
    tolerance: float,
    phi: Array,
    branches: Array,
    slopes: Array,
    there: Array,
    before: Array,
) -> float:
    """One sample onwards in place, by steps as long as the tolerance allows; the length to go on with, 0 where even
    the shortest will not do."""
    left, switched, most = 1.0, 0, MOST_SWITCHES if any_switches(terms, True) else 0
    while left > 0.0:
        whole = h >= left
        length = left if whole else h
        before[:] = x
        step(terms, theta, tableau, x, length, branches, phi, slopes, there)
        miss = _miss(tableau, slopes, length)
        factor = 0.9 * (tolerance / miss) ** 0.125 if miss > 0.0 else 4.0
        if miss <= tolerance:
            if switched < most:
                shorter, which = until_switch(terms, theta, tableau, before, x, length, branches, phi, slopes, there)
                if which >= 0:
                    branches[which], switched = -branches[which], switched + 1
                    left -= shorter
                    continue
            left = 0.0 if whole else left - length
            if not whole or factor < 1.0:
                h = length * min(factor, 4.0)
            continue
        x[:] = before
        h = length * max(factor, 0.2) if miss < np.inf else 0.2 * length
        if not h > SHORTEST:
            return 0.0
    return h


@kernel
def paths(
    terms: Terms,
    thetas: Array,
    tableau: Tableau,
    starts: Array,
    horizon: int,
    tolerance: float,
    bound: float,
    kicks: Array,
) -> Array:
    """The next samples from each of (starts, variables) under its own parameters: (starts, horizon, variables).

    NaN from where a path is farther from zero than `bound`: it has left for good. tolerance: what a step of order 8 may
    miss by; the steps are as long as it allows. kicks: (starts, horizon, variables), by how much the flow is missed at
    every sample, or empty.
    """
    out = np.full((len(starts), horizon, terms.variables), np.nan)
    phi, there, before = np.empty(len(terms.parents)), np.empty(terms.variables), np.empty(terms.variables)
    slopes, branches = np.empty((len(tableau.weights), terms.variables)), np.empty(len(terms.kinds))
    for s in range(len(starts)):
        x, h = starts[s].copy(), 1.0
        for k in range(horizon):
            choose_branches(terms, x, True, branches)
            h = _sample(terms, thetas[s], tableau, x, h, tolerance, phi, branches, slopes, there, before)
            inside = h > 0.0
            for i in range(terms.variables):
                if len(kicks) > 0:
                    x[i] += kicks[s, k, i]
                inside = inside and abs(x[i]) <= bound
            if not inside:
                break
            out[s, k] = x
    return out
