"""Which functions a field has besides powers: found by what a polynomial leaves unexplained.

Along a (smoothed) path the integral form of the equations is linear in the coefficients. What the powers leave of each
equation is compared with a dictionary of functions of single variables, of sums and differences of two, and of squares
and products: waves, steps, kinks, switches, exponentials, poles. The ones that explain most are moved (frequency,
slope, place) to where they explain still more; the best of them joins, and the rest is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from prophecy._arrays import Array, Indices, Mask
from prophecy.laws import flow
from prophecy.laws.context import Units
from prophecy.laws.damped import solve
from prophecy.laws.flow import (
    EXPONENTIAL,
    LOGARITHM,
    MODULUS,
    RECIPROCAL,
    ROOT,
    SIGN,
    SINE,
    STEEP,
    TANH,
    Function,
    SparseField,
    Terms,
    movable,
)
from prophecy.laws.settings import LAWS, FunctionSettings, LawSettings
from prophecy.laws.weak_form import WeakForm, alike, orthonormal

_SLOPE = {j: np.sign(j) * w / 60 for w, size in ((45, 1), (-9, 2), (1, 3)) for j in (-size, size)}  # by seven samples


class Proposal(NamedTuple):
    """Functions, the terms that a field with them may have, and the share of the worst explained variable's rises that
    these leave, root mean square."""

    functions: tuple[Function, ...]
    terms: Terms
    left: float


@dataclass(frozen=True)
class Library:
    """Terms of a user's own: functions of sums of the variables as they were given, each times the monomials below
    degree `reach`, beside all monomials up to `degree`. `replace(DEFAULT.laws, libraries=(Library(...),))`."""

    functions: tuple[Function, ...]
    degree: int = 2
    reach: int = 1

    def field(self, units: Units) -> SparseField:
        """The same of variables in their scaled units."""
        v = len(units.scale)
        for f in self.functions:
            if len(f.rates) != v or len(f.bends) not in (0, v * v):
                raise ValueError(f"functions of a library need a rate for each of {v} variables, got {f}")
        scaled = [f.scaled(units) for f in self.functions]
        return SparseField.of(flow.polynomial_terms(v, self.degree, scaled, self.reach))


def propose(
    path: Array, units: Units, degree: int = 2, noise: float = 0.0, laws: LawSettings = LAWS
) -> Iterator[tuple[list[Proposal], list[Proposal]]]:
    """Functions that explain what monomials up to `degree` leave of the rises along path (time, variables).

    Round after round, each with more functions than the one before, and beside them those with a function of another
    kind that explains nearly as much. noise: of the path, in standard deviations.
    """
    rises = WeakForm(path, noise)
    found = list[_Trial]()
    dictionary = list(_dictionary(path, units, laws.shapes))
    values = flow.features(flow.polynomial_terms(path.shape[1], 0, dictionary, 1), path)[:, 1:]
    single = np.flatnonzero([np.count_nonzero(f.rates) == 1 and not f.bends for f in dictionary])
    table = np.column_stack(
        [rises.integrated(values), *(rises.integrated(values[:, single] * each[:, None]) for each in path.T)]
    )
    owners = np.append(np.arange(len(dictionary)), np.tile(single, path.shape[1]))
    further = laws.further if noise < laws.clean else laws.further_noisy
    for _ in range(laws.functions):
        known = _beside(rises, degree, found)
        left = rises.left(known)
        fresh = table - known @ (known.T @ table)
        size = np.einsum("kc,kc->c", fresh, fresh)
        sound = size > 1e-18 * np.einsum("kc,kc->c", table, table)
        fresh /= np.sqrt(np.where(sound, size, np.inf))
        best: list[list[_Trial]] = []
        for i in np.argsort(-np.linalg.norm(left, axis=0) / (np.linalg.norm(rises.rise, axis=0) + 1e-300)):
            others = [trials[0].function for trials in best]
            trials = _best(rises, fresh, owners, known, left, int(i), dictionary, others, laws)
            if trials and not any(alike(trials[0].function, g) for g in (*_functions(found), *others)):
                best.append(trials)
        if not best or len(found) >= laws.functions:
            break
        worst = best[0][0].function
        bent = not found and worst.kind in (MODULUS, SIGN, TANH) and laws.kinks > 1
        best = sorted(best, key=lambda trials: trials[0].left)[: laws.functions - len(found)]
        proposals: list[Proposal] = []
        for trials in best:
            found = [*found, trials[0]]
            proposals += _proposals(rises, degree, _functions(found), further)
        least = min(each.left for each in proposals)
        at_most = laws.shapes.explains * len(rises.rise) * rises.floor**2
        if bent and least**2 * float(np.sum(rises.rise**2, axis=0).min()) >= at_most:
            broken = tuple(_broken_line(rises, degree, worst._replace(kind=MODULUS), laws))
            proposals = [each for each in _proposals(rises, degree, broken, further) if each.left < least] + proposals
        settled = _settled(rises, degree, found, laws)
        if len(settled) < len(found):
            proposals = list(_proposals(rises, degree, _functions(settled), further))
        elif len(found) > 1:
            proposals += _proposals(rises, degree, _functions(settled), further)
        rivals: list[Proposal] = []
        for rival in (each for trials in best for each in trials[1:]):
            kept = [each for each in settled if each.equation != rival.equation]
            rivals += _proposals(rises, degree, _functions([*kept, rival]), further)
        yield proposals, rivals
        found = settled


def _functions(trials: Sequence[_Trial]) -> tuple[Function, ...]:
    return tuple(each.function for each in trials)


def _beside(rises: WeakForm, degree: int, found: Sequence[_Trial]) -> Array:
    """A basis of monomials and functions, each times as many factors as it has."""
    functions, v = _functions(found), rises.path.shape[1]
    columns = flow.features(flow.polynomial_terms(v, degree, functions, 2), rises.path)
    count = columns.shape[1] - (v + 1) * len(found)
    kept = [*range(count), *(count + j * (v + 1) + k for j, each in enumerate(found) for k in range(each.factors))]
    return orthonormal(rises.integrated(columns[:, kept]))


def _settled(rises: WeakForm, degree: int, found: list[_Trial], laws: LawSettings) -> list[_Trial]:
    """Without functions that later ones made idle, each of the others moved to where it explains most beside them."""

    def left(functions: Sequence[_Trial]) -> tuple[Array, Array]:
        known = _beside(rises, degree, functions)
        return known, rises.left(known)

    for _ in range(laws.shapes.rounds if len(found) > 1 else 0):
        for each in list(found):
            others = [other for other in found if other is not each]
            known, rest = left(others)
            enough = laws.shapes.needed * np.sum(left(found)[1] ** 2, axis=0)
            if others and (np.sum(rest**2, axis=0) < enough).all():
                found = others
                continue
            function = rises.moved(each.function, rises.columns[:, : each.factors], known, rest[:, each.equation])[0]
            found = [each._replace(function=function) if other is each else other for other in found]
    return found


def of_one_variable(units: Units, positive: bool) -> SparseField:
    """The terms of x' = f(x): powers up to 3 and, where x is positive, x log x and the root of x in its own units.
    Few enough for short series, and all that growth, decay and approach to a level are written with."""
    kinds = (LOGARITHM, ROOT) if positive else ()
    field = SparseField.of(flow.polynomial_terms(1, 3, [Function(kind, (1.0,)).scaled(units) for kind in kinds], 2))
    mask, powers = field.mask.copy(), flow.powers(field.terms)
    for row in np.nonzero(powers[:, 1:].any(axis=1))[0]:
        mask[row] = powers[row, 0] == powers[row, 1]  # x log x and the root alone
    return field.with_mask(mask)


def waves(units: Units, pairs: bool = False) -> list[Function]:
    """Sines and cosines of the variables in their own units, and of differences of two."""
    rates = np.eye(len(units.scale))
    sums = [*rates, *(rates[i] - rates[j] for i in range(len(rates)) for j in range(i if pairs else 0))]
    return [Function(SINE, tuple(each), turn).scaled(units) for each in sums for turn in (0.0, np.pi / 2)]


def of_angles(units: Units, angles: Mask) -> SparseField:
    """Sines and cosines of angles in radians and of their differences, beside the other variables: what a field has
    that is the same a turn further on."""
    functions = [f for f in waves(units, True) if angles[np.flatnonzero(f.rates)].all()]
    field = SparseField.of(flow.polynomial_terms(len(angles), 1, functions))
    mask = field.mask.copy()
    mask[1 : 1 + len(angles)][angles] = False
    return replace(field.with_mask(mask), shaped=False)


def of_second_order(units: Units) -> SparseField:
    """The terms of x' = v, v' = f(x, v): powers up to 3."""
    terms = flow.polynomial_terms(2, 3)
    theta, mask = np.zeros((terms.size, 2)), np.zeros((terms.size, 2), dtype=np.bool_)
    mask[:, 1] = True
    rate = int(np.nonzero((flow.powers(terms) == [0, 1]).all(axis=1))[0][0])
    theta[rate, 0] = units.scale[1] / units.scale[0]
    return SparseField(terms, theta, mask, given=theta != 0)


def _broken_line(rises: WeakForm, degree: int, first: Function, laws: LawSettings) -> list[Function]:
    """As many kinks along the direction of the first as explain more: a piecewise linear field has one between any two
    pieces. After each that joins all are moved again, as the first of several stood for all of them."""
    found, before = [first], np.inf
    along = rises.path @ np.array(first.rates)
    places = np.quantile(along, np.linspace(0.02, 0.98, 49))
    while len(found) < laws.kinks:
        known = _known(rises, degree, found, 1)
        worst = rises.worst(known)
        cost = float(worst @ worst)
        if not 0.5 * len(worst) * np.log(before / cost) > laws.nats:
            return found[:-1] if len(found) > 1 else found
        trials = [first._replace(shift=-float(place)) for place in places]
        costs = rises.square_sums(trials, rises.columns[:, :1], known, worst)
        found, before = [*found, trials[int(np.argmin(costs))]], cost
        for _ in range(2):
            for j in range(len(found)):
                others = _known(rises, degree, [*found[:j], *found[j + 1 :]], 1)
                found[j] = rises.moved(found[j], rises.columns[:, :1], others, rises.worst(others))[0]
    return found


def _known(rises: WeakForm, degree: int, functions: Sequence[Function], reach: int = 2) -> Array:
    return rises.known(flow.polynomial_terms(rises.path.shape[1], degree, functions, reach))


def _proposals(rises: WeakForm, degree: int, functions: tuple[Function, ...], further: float) -> Iterator[Proposal]:
    """Functions alone, then with products as far as what is left of some equation falls by the factor `further`."""
    size = np.linalg.norm(rises.rise, axis=0) + 1e-300
    before: Array | None = None
    for reach in (1, 2, 3) if RECIPROCAL in (f.kind for f in functions) else (1, 2):
        terms = flow.polynomial_terms(rises.path.shape[1], degree, functions, reach)
        known = rises.known(terms)
        left = np.linalg.norm(rises.left(known), axis=0) / size + 1e-300
        if before is not None and (left > before / further).all():
            return
        yield Proposal(functions, terms, float(left.max()))
        before = left


def _dictionary(path: Array, units: Units, shapes: FunctionSettings) -> Iterator[Function]:
    """Every function that is tried: of variables in the data's units, of sums and differences of two, and of products;
    natural ones (rate 1) first, so that they win among equals."""
    unit = np.eye(path.shape[1])
    sums = [*unit, *(one + sign * unit[j] for i, one in enumerate(unit) for j in range(i) for sign in (1.0, -1.0))]
    products = [tuple(np.outer(one, other).reshape(-1)) for i, one in enumerate(unit) for other in unit[i:]]
    inside = [Function(SINE, tuple(each)) for each in sums]
    inside += [Function(SINE, tuple(0 * unit[0]), 0.0, each) for each in products]
    for each in inside:
        yield from _of(each.scaled(units), path, shapes)


def _of(inside: Function, path: Array, shapes: FunctionSettings) -> Iterator[Function]:
    """The functions of one sum, by the range that it has along the path: of products those that occur in equations."""
    along, bends = inside.sums(path), np.reshape(inside.bends, (-1, len(inside.rates) if inside.bends else 1))
    low, span = float(along.min()), float(np.ptp(along))
    if not span > 0:
        return

    def over(kind: int, size: float, shift: float) -> Function:
        """Of `size` times the sum as a share of its range, from 0 to 1, and `shift`."""
        return inside.of(kind, size / span, shift - size * low / span)

    def sizes(least: float, most: float) -> list[float]:
        """Powers of ten of the range: functions are moved from the nearest to where they are."""
        return [float(10.0**power) for power in np.arange(least, most + 1e-9, shapes.apart)]

    single = np.count_nonzero(inside.rates) == 1 and not inside.bends
    yield from (inside.of(SINE), inside.of(SINE, 1.0, np.pi / 2))
    yield from (inside.of(kind) for kind in ((TANH, MODULUS, SIGN) if single else ()))
    natural = (single or inside.bends) and np.abs(along).max() < 50
    yield from (inside.of(EXPONENTIAL, sign) for sign in ((1.0, -1.0) if natural else ()))
    for growth in sizes(0.3, 1.8):
        yield from (over(EXPONENTIAL, growth, -growth), over(EXPONENTIAL, -growth, 0.0))
    if inside.bends:
        yield from (inside.of(RECIPROCAL, 1 / span, half) for half in (sizes(-3, 0) if np.trace(bends) else ()))
        return
    for wave in np.geomspace(*shapes.waves):
        yield from (over(SINE, wave, 0.0), over(SINE, wave, np.pi / 2))
    places = np.linspace(*shapes.places)
    yield from (over(MODULUS, 1.0, -place) for place in places)
    yield from (over(SIGN, 1.0, -place) for place in places[::4])
    for slope in sizes(0, 2):
        outside = (-0.5, *places[::2], 1.5) if slope < STEEP else places[::2]
        yield from (over(TANH, slope, -slope * place) for place in outside)
    for away in sizes(-1.5, 0):
        yield from (over(RECIPROCAL, 1.0, away), over(RECIPROCAL, 1.0, -1 - away))


class _Trial(NamedTuple):
    """left: the square sum that a function leaves of an equation, times its handicap. factors: by how many of one and
    the variables it is multiplied."""

    left: float
    function: Function
    equation: int
    factors: int


def _best(
    rises: WeakForm,
    fresh: Array,
    owners: Indices,
    known: Array,
    rest: Array,
    equation: int,
    dictionary: list[Function],
    others: list[Function],
    laws: LawSettings,
) -> list[_Trial]:
    """The functions that explain most of what is left of an equation, alone or times the variables, if enough: the best
    and those of other kinds that leave little more.

    fresh: (steps, columns), of unit length, what each has beyond the known terms: of all functions, then of functions
    of one variable times each variable; owners: (columns,), which function. others: found for other equations
    a moment ago; where one of them explains this one as well, nothing more is needed.
    """
    left = rest[:, equation]
    total, products = float(left @ left), rises.columns.shape[1]
    if not total > 0:
        return []
    gains, several = (left @ fresh) ** 2, laws.shapes.movable ** (products - 1)
    alone, multiplied = gains[: len(dictionary)], np.zeros(len(dictionary))
    np.maximum.at(multiplied, owners[len(dictionary) :], gains[len(dictionary) :])
    first = np.union1d(*(_leading(gain, dictionary, laws.shapes) for gain in (alone, multiplied)))
    scores = rises.square_sums([dictionary[c] for c in first], rises.columns, known, left)
    scores = np.minimum(total - alone[first], several * scores)
    handicaps = np.array([_handicap(dictionary[c], laws.shapes) for c in first])
    found: dict[tuple[int, bool], _Trial] = {}
    for c in np.argsort(scores * handicaps)[: laws.shapes.moved]:
        function, score = rises.moved(dictionary[first[c]], rises.columns, known, left)
        single, plain = rises.moved(function, rises.columns[:, :1], known, left)
        enough = plain < laws.further * score  # with fewer terms its place is better determined
        function, score = (single, plain) if enough else (function, several * score)
        trial = _Trial(score * handicaps[c], function, equation, 1 if enough else products)
        kind = function.kind, bool(function.bends)
        if kind not in found or trial.left < 0.999 * found[kind].left:
            found[kind] = trial
    trials = sorted(found.values(), key=lambda each: each.left)
    if not 0.5 * len(left) * np.log(total / max(trials[0].left, 1e-300)) > laws.nats:
        return []
    shared = float(rises.square_sums(others, rises.columns, known, left).min()) if others else np.inf
    near = trials[0].left * np.exp(2 * laws.shapes.close)
    return [] if shared < 2 * trials[0].left else [each for each in trials if each.left <= near]


def _handicap(function: Function, shapes: FunctionSettings) -> float:
    factor = shapes.movable ** (len(movable(function.kind, np.array([*function.rates, *function.bends]))) - 1)
    if function.bends:
        return shapes.bent * factor
    return (shapes.pair if np.count_nonzero(function.rates) > 1 else 1.0) * factor


def _leading(gain: Array, dictionary: list[Function], shapes: FunctionSettings) -> list[int]:
    """The functions that explain most: few of a kind along one direction."""
    taken: dict[tuple[object, ...], int] = {}
    chosen: list[int] = []
    for c in np.argsort(-gain)[: 12 * shapes.tried]:
        f = dictionary[c]
        key = f.kind, *np.nonzero(f.rates)[0], *np.nonzero(f.bends)[0]
        taken[key] = taken.get(key, 0) + 1
        if taken[key] <= shapes.alike:
            chosen.append(int(c))
        if len(chosen) == shapes.tried:
            break
    return chosen


def quotients(values: Array, laws: LawSettings) -> Iterator[SparseField]:
    """Fields of cubic polynomials, those equations that ask for one over a denominator q = 1 + ... of degree 1, then 2;
    x' q(x) = p(x) is linear in the coefficients of both. Shapes of denominators are filled in, coefficients not."""
    v, degree = values.shape[1], laws.shapes.numerators
    if len(values) <= 16:
        return
    slopes = sum(w * values[3 + j : len(values) - 3 + j] for j, w in _SLOPE.items())
    form = WeakForm(np.ascontiguousarray(values[3:-3]))
    phi = form.integrated(flow.features(flow.polynomial_terms(v, degree), form.path))
    for lower in laws.quotients:
        below = flow.features(flow.polynomial_terms(v, lower), form.path)
        if v * (phi.shape[1] + below.shape[1]) > min(laws.most_parameters, values.size / 3):
            return
        found = [_denominator(phi, form, below[:, 1:], i, slopes[:, [i]], laws) for i in range(v)]
        there = [each for each in found if each is not None]
        if there:
            field = SparseField.of(flow.polynomial_terms(v, degree, there, degree + 1))
            shares, own = flow.powers(field.terms)[:, v:], iter(np.eye(len(there)))
            over = [(shares == (0 if each is None else next(own))).all(axis=1) for each in found]
            yield field.with_mask(np.column_stack(over))


def _denominator(phi: Array, form: WeakForm, below: Array, i: int, slope: Array, laws: LawSettings) -> Function | None:
    """1 / q of equation i; None where a polynomial alone, phi, leaves as little."""
    system, rise = np.column_stack([phi, -form.integrated(below * slope)]), form.rise[:, i]
    alone, v = rise - phi @ solve(phi, rise), form.path.shape[1]
    for damping in laws.shapes.dampings:
        solved = solve(system, rise, damping)
        left, shape = rise - system @ solved, solved[phi.shape[1] :]
        nats = 0.5 * len(rise) * np.log((alone @ alone + 1e-300) / (left @ left + 1e-300))
        if not nats > laws.spare * below.shape[1]:
            break
        under = 1 + below @ shape
        if np.abs(under).min() > laws.shapes.pole_free * np.abs(under).max() and (under > 0).all() == (under > 0).any():
            bends = np.zeros((v, v))
            bends[np.triu_indices(v)] = shape[v:] if len(shape) > v else 0.0
            return Function(RECIPROCAL, tuple(shape[:v]), 1.0, tuple(bends.reshape(-1)))
    return None
