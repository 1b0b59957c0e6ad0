"""Compiled flows: steps of a field from sample to sample, and paths as exact as a tolerance."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel
from prophecy.dynamics.lanes import FEW, LANES, any_switches, choose_branches, features, lanes_of, put_field
from prophecy.dynamics.stepping import (
    EIGHTH,
    FOURTH,
    MOST_SWITCHES,
    Tableau,
    alike,
    look_for_switches,
    one_less,
    passed,
    step,
    until_switch,
    work_for,
)
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
    "Shapes",
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
Mask = NDArray[np.bool_]

#: For `paths` that follow the flow exactly.
NO_KICKS = np.zeros((0, 0, 0))


class Shapes(NamedTuple):
    """What functions are taken of, for each of several paths: the arrays of `Terms` with one axis more, the first."""

    rates: Array
    shifts: Array
    bends: Array


#: Of a sample: what is too fast for shorter steps is not worth following.
SHORTEST = 1 / 512


@kernel
def steps(terms: Terms, theta: Array, tableau: Tableau, points: Array, substeps: Indices) -> Array:
    """Every one of (points, variables) one sample later, each by as many substeps as (points,) says."""
    out, done, most = np.empty(points.shape), 0, 1
    while done < len(points):
        chosen = alike(substeps, most)
        if len(chosen) > 0:
            _step_all(terms, theta, tableau, points, substeps, chosen, out)
        done, most = done + len(chosen), 2 * most
    return out


@inner
def _step_all(
    terms: Terms, theta: Array, tableau: Tableau, points: Array, substeps: Indices, chosen: Indices, out: Array
) -> None:
    """The same for some of the points."""
    v, lanes, kinks = terms.variables, min(LANES, len(chosen)), len(tableau.fifth) > 0
    switching, field, work = any_switches(terms, kinks), lanes_of(terms, theta, lanes), work_for(terms, tableau, lanes)
    few, room = lanes_of(terms, theta, FEW), work_for(terms, tableau, FEW)
    left, todo, crossed = np.empty(lanes), np.empty(lanes, np.int64), np.empty(lanes, np.int64)
    for first in range(0, len(chosen), lanes):
        for lane in range(lanes):
            k = chosen[min(first + lane, len(chosen) - 1)]
            for i in range(v):
                work.x[i, lane] = points[k, i]
            choose_branches(terms, field, work.x, lane, kinks, work.branches)
            todo[lane], left[lane], crossed[lane] = substeps[k], 1.0 / substeps[k], 0
        going = lanes
        while going > 0:
            for lane in range(lanes):
                work.h[lane] = left[lane] if todo[lane] > 0 else 0.0
            work.start[:] = work.x
            step(terms, field, tableau, work.x, work.h, work)
            if switching:
                look_for_switches(field, todo, crossed, work)
                until_switch(terms, field, tableau, work, few, room)
            for lane in range(lanes):
                k = chosen[min(first + lane, len(chosen) - 1)]
                if not one_less(work, lane, todo, left, crossed, 1.0 / substeps[k]):
                    continue
                going -= 1
                for i in range(v):
                    out[k, i] = work.x[i, lane]


@inner
def _miss(tableau: Tableau, slopes: Array, lane: int, h: float) -> float:
    """What a step of order 8 misses by, estimated from its lower orders (Hairer, Norsett and Wanner's estimate)."""
    fifth, third = 0.0, 0.0
    for i in range(slopes.shape[1]):
        five, three = 0.0, 0.0
        for stage in range(len(tableau.weights)):
            five += tableau.fifth[stage] * slopes[stage, i, lane]
            three += tableau.third[stage] * slopes[stage, i, lane]
        fifth, third = fifth + five * five, third + three * three
    whole = fifth + 0.01 * third
    return h * fifth / np.sqrt(whole) if whole > 0.0 else h * whole


@kernel
def paths(
    terms: Terms,
    thetas: Array,
    shapes: Shapes,
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
    every sample, or empty. A lane whose path has ended takes the next one: half as many lanes seldom stand idle.
    """
    v, lanes = terms.variables, max(1, min(LANES // 2, len(starts)))
    out, work = np.full((len(starts), horizon, v), np.nan), work_for(terms, tableau, lanes)
    nothing = np.zeros((len(terms.parents), v))
    field, few, room = lanes_of(terms, nothing, lanes), lanes_of(terms, nothing, FEW), work_for(terms, tableau, FEW)
    left, h, length, miss = np.zeros(lanes), np.zeros(lanes), np.zeros(lanes), np.zeros(lanes)
    path, sample, crossed = np.full(lanes, -1), np.zeros(lanes, np.int64), np.zeros(lanes, np.int64)
    most, taken = MOST_SWITCHES if any_switches(terms, True) else 0, 0
    going = lanes if horizon > 0 else 0
    while going > 0:
        going = 0
        for lane in range(lanes):
            if path[lane] < 0 and taken < len(starts):
                s = taken
                taken += 1
                path[lane], sample[lane], left[lane], h[lane] = s, 0, 0.0, 1.0
                put_field(terms, thetas[s], shapes.rates[s], shapes.shifts[s], shapes.bends[s], field, lane)
                work.x[:, lane] = starts[s]
            if path[lane] >= 0 and not left[lane] > 0.0:
                left[lane], crossed[lane] = 1.0, 0
                choose_branches(terms, field, work.x, lane, True, work.branches)
            going += path[lane] >= 0
            work.h[lane] = min(h[lane], left[lane]) if path[lane] >= 0 else 0.0
        work.start[:] = work.x
        length[:] = work.h
        step(terms, field, tableau, work.x, work.h, work)
        for lane in range(lanes):
            miss[lane] = _miss(tableau, work.slopes, lane, length[lane])
            watched = path[lane] >= 0 and miss[lane] <= tolerance and crossed[lane] < most
            work.which[lane] = passed(field, work.x, lane, work.branches) if watched else -1
        until_switch(terms, field, tableau, work, few, room)
        for lane in range(lanes):
            s, which, inside = path[lane], work.which[lane], True
            if s < 0:
                continue
            factor = 0.9 * (tolerance / miss[lane]) ** 0.125 if miss[lane] > 0.0 else 4.0
            if which >= 0:
                work.branches[which, lane] *= -1.0
                left[lane], crossed[lane] = left[lane] - work.h[lane], crossed[lane] + 1
            elif miss[lane] <= tolerance:
                if length[lane] < left[lane] or factor < 1.0:
                    h[lane] = length[lane] * min(factor, 4.0)
                left[lane] = left[lane] - length[lane] if length[lane] < left[lane] else 0.0
            else:
                work.x[:, lane] = work.start[:, lane]
                h[lane] = length[lane] * (max(factor, 0.2) if miss[lane] < np.inf else 0.2)
                inside = h[lane] > SHORTEST
            if inside and left[lane] > 0.0:
                continue
            for i in range(v):
                if len(kicks) > 0:
                    work.x[i, lane] += kicks[s, sample[lane], i]
                inside = inside and abs(work.x[i, lane]) <= bound
            if inside:
                out[s, sample[lane]] = work.x[:, lane]
                sample[lane] += 1
            if not inside or sample[lane] == horizon:
                path[lane], left[lane] = -1, 0.0
    return out
