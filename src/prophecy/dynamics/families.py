"""Which functions a field has besides powers: found by what a polynomial leaves unexplained.

Along a (smoothed) path the integral form of the equations is linear in the coefficients. What the powers leave of each
equation is compared with a dictionary of functions of single variables, of sums and differences of two, and of squares
and products: waves, steps, kinks, switches, exponentials, poles. The ones that explain most are moved (frequency,
slope, place) to where they explain still more; the best of them joins, and the rest is looked at again.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy.dynamics import flow
from prophecy.dynamics.features import Units
from prophecy.dynamics.flow import EXPONENTIAL, MODULUS, RECIPROCAL, SIGN, SINE, TANH, Function, Terms
from prophecy.dynamics.rises import Rises, alike, movable
from prophecy.dynamics.settings import LAWS, LawSettings

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]

_TRIED = 24  # functions whose products with the variables are tried too
_MOVED = 8  # of these, how many are moved to where they explain most
_PAIR = 3.0  # a function of two variables must leave this much less (in squares) than one of a single variable
_MOVABLE = 1.15  # for every parameter beyond the first that it can be moved by it must leave this much less
_JUMP = 2.0  # one that jumps this much less than a smooth one: a steep rise looks like a jump through noise
_BENT = 1.5  # and one of a square or product this much less than one of a variable
_EXACT = 1e-3  # standard deviations of noise below which what is left is the functions' fault
_WAVES = np.geomspace(1.5, 60.0, 48)  # radians over the range of the variable
_SLOPES = (1.5, 4.0, 12.0, 40.0, 150.0)  # of tanh, per range of the variable: from a bend to nearly a switch
_FLAT = 6.0  # slopes below which only one end of tanh may lie in the range
_PLACES = np.linspace(0.1, 0.9, 17)  # of kinks and of the middle of tanh, in ranges from the lower end
_GROWTHS = tuple(sign * 2.0**p for sign in (-1, 1) for p in range(1, 7))  # exponents over the range
_POLES = (-1.0, -0.3, -0.1, -0.03, 1.03, 1.1, 1.3, 2.0)  # places, in ranges from the lower end
_HALVES = (0.001, 0.004, 0.015, 0.06, 0.25, 1.0)  # squares of half-saturations, in the range of the square


class Proposal(NamedTuple):
    """Functions, each times the monomials below degree `reach`, beside the monomials up to `degree`.

    left: the share of the worst explained variable's rises that they leave, root mean square. mask: (terms,
    variables), which equation may have which term; None for all.
    """

    functions: tuple[Function, ...]
    reach: int
    left: float
    degree: int = 2
    mask: Mask | None = None

    def terms(self, variables: int) -> Terms:
        return flow.polynomial_terms(variables, self.degree, self.functions, self.reach)


def propose(
    path: Array, units: Units, degree: int = 2, noise: float = 0.0, laws: LawSettings = LAWS
) -> Iterator[Proposal]:
    """Functions that explain what monomials up to `degree` leave of the rises along path (time, variables).

    One proposal after the other, each with more functions than the one before. noise: of the path, in standard
    deviations.
    """
    rises = Rises(path, noise)
    found: list[Function] = []
    dictionary = list(_dictionary(path, units))
    table = rises.integrated(flow.features(flow.polynomial_terms(path.shape[1], 0, dictionary, 1), path)[:, 1:])
    while len(found) < laws.functions:
        known = _known(rises, path.shape[1], degree, found)
        left = rises.rise - known @ (known.T @ rises.rise)
        fresh = table - known @ (known.T @ table)
        size = np.einsum("kc,kc->c", fresh, fresh)
        sound = size > 1e-18 * np.einsum("kc,kc->c", table, table)
        fresh /= np.sqrt(np.where(sound, size, np.inf))
        best: list[tuple[float, Function]] = []
        for i in np.argsort(-np.linalg.norm(left, axis=0) / (np.linalg.norm(rises.rise, axis=0) + 1e-300)):
            share, function = _best(rises, fresh, known, left[:, i], dictionary, [g for _, g in best], laws)
            if function is not None and not any(alike(function, g) for g in (*found, *(g for _, g in best))):
                best.append((share, function))
        if not best:
            return
        if not found and best[0][1].kind in (MODULUS, SIGN, TANH) and laws.kinks > 1:
            broken = tuple(_broken_line(rises, path.shape[1], degree, best[0][1]._replace(kind=MODULUS), laws))
            yield from _proposals(rises, degree, broken, laws.further if noise < _EXACT else laws.further_noisy)
        for _, function in sorted(best)[: laws.functions - len(found)]:
            found = [*found, function]
            yield from _proposals(rises, degree, tuple(found), laws.further if noise < _EXACT else laws.further_noisy)


def _broken_line(rises: Rises, variables: int, degree: int, first: Function, laws: LawSettings) -> list[Function]:
    """As many kinks along the direction of the first as explain more: a piecewise linear field has one between any two
    pieces. After each that joins all are moved again, as the first of several stood for all of them."""
    found, before = [first], np.inf
    along = rises.path @ np.array(first.rates)
    places = np.quantile(along, np.linspace(0.02, 0.98, 49))
    while len(found) < laws.kinks:
        known = _known(rises, variables, degree, found, 1)
        left = rises.rise - known @ (known.T @ rises.rise)
        worst = left[:, int(np.argmax(np.linalg.norm(left, axis=0) / np.linalg.norm(rises.rise, axis=0)))]
        cost = float(worst @ worst)
        if cost > laws.share * before:
            return found[:-1] if len(found) > 1 else found
        trials = [first._replace(shift=-float(place)) for place in places]
        costs = rises.square_sums(trials, rises.columns[:, :1], known, worst)
        found, before = [*found, trials[int(np.argmin(costs))]], cost
        for _ in range(2):
            for j in range(len(found)):
                others = _known(rises, variables, degree, [*found[:j], *found[j + 1 :]], 1)
                rest = rises.rise - others @ (others.T @ rises.rise)
                worst = rest[:, int(np.argmax(np.linalg.norm(rest, axis=0) / np.linalg.norm(rises.rise, axis=0)))]
                found[j] = rises.moved(found[j], rises.columns[:, :1], others, worst)[0]
    return found


def _known(rises: Rises, variables: int, degree: int, functions: Sequence[Function], reach: int = 2) -> Array:
    return rises.known(flow.polynomial_terms(variables, degree, functions, reach))


def _proposals(rises: Rises, degree: int, functions: tuple[Function, ...], further: float) -> Iterator[Proposal]:
    """Functions alone, then with products as far as what is left of some equation falls by the factor `further`."""
    size = np.linalg.norm(rises.rise, axis=0) + 1e-300
    before: Array | None = None
    for reach in (1, 2, 3) if RECIPROCAL in (f.kind for f in functions) else (1, 2):
        known = _known(rises, rises.path.shape[1], degree, functions, reach)
        left = np.linalg.norm(rises.rise - known @ (known.T @ rises.rise), axis=0) / size + 1e-300
        if before is not None and (left > before / further).all():
            return
        yield Proposal(functions, reach, float(left.max()), degree)
        before = left


def _dictionary(path: Array, units: Units) -> Iterator[Function]:
    """Every function that is tried; natural ones (rate 1 in raw units) first, so that they win among equals."""
    for rates, shift in _directions(units, path.shape[1]):
        yield from _along(path, rates, shift)
    yield from _bent(path, units)


def functions_of(path: Array, units: Units, variable: int) -> Iterator[Function]:
    """Those of one variable alone, and of its square."""
    rates, shift = list(_directions(units, path.shape[1]))[variable]
    yield from _along(path, rates, shift)
    yield from _bent(path, units, variable)


def _along(path: Array, rates: Array, shift: float) -> Iterator[Function]:
    along = path @ rates + shift
    low, span = float(along.min()), float(np.ptp(along))
    if not span > 0:
        return
    yield Function(SINE, tuple(rates), shift)
    yield Function(SINE, tuple(rates), shift + np.pi / 2)
    if np.count_nonzero(rates) == 1:
        yield Function(TANH, tuple(rates), shift)
        yield Function(MODULUS, tuple(rates), shift)
        yield Function(SIGN, tuple(rates), shift)
        if np.abs(along).max() < 50:
            yield Function(EXPONENTIAL, tuple(rates), shift)
            yield Function(EXPONENTIAL, tuple(-rates), -shift)
    unit = rates / span
    origin = (shift - low) / span  # the lower end of the range is at 0, the upper one at 1
    for wave in _WAVES:
        yield Function(SINE, tuple(wave * unit), wave * origin)
        yield Function(SINE, tuple(wave * unit), wave * origin + np.pi / 2)
    for place in _PLACES:
        yield Function(MODULUS, tuple(unit), origin - place)
    for place in _PLACES[::4]:
        yield Function(SIGN, tuple(unit), origin - place)
    for slope in _SLOPES:
        for place in (-0.5, *_PLACES[::2], 1.5) if slope < _FLAT else _PLACES[::2]:
            yield Function(TANH, tuple(slope * unit), slope * (origin - place))
    for growth in _GROWTHS:
        yield Function(EXPONENTIAL, tuple(growth * unit), growth * (origin - (growth > 0)))
    for pole in _POLES:
        yield Function(RECIPROCAL, tuple(unit), origin - pole)


def _bent(path: Array, units: Units, variable: int | None = None) -> Iterator[Function]:
    """Functions of squares and of products of two raw variables; of the square of one alone where that is given."""
    variables = path.shape[1]
    for a, b in combinations_with_replacement(range(variables) if variable is None else [variable], 2):
        rates, bends = np.zeros(variables), np.zeros((variables, variables))
        bends[a, b] = units.scale[a] * units.scale[b]
        rates[a] += units.scale[a] * units.centre[b]
        rates[b] += units.scale[b] * units.centre[a]
        shift = float(units.centre[a] * units.centre[b])
        along = np.einsum("ka,ab,kb->k", path, bends, path) + path @ rates + shift
        low, high = float(along.min()), float(along.max())
        span = high - low
        if not span > 0:
            continue

        def bent(
            kind: int, factor: float, extra: float, r: Array = rates, q: Array = bends, s: float = shift
        ) -> Function:
            return Function(kind, tuple(factor * r), factor * s + extra, tuple((factor * q).reshape(-1)))

        for sign in (1.0, -1.0):
            if max(abs(low), abs(high)) < 50:
                yield bent(EXPONENTIAL, sign, 0.0)
        yield bent(SINE, 1.0, 0.0)
        yield bent(SINE, 1.0, np.pi / 2)
        for growth in _GROWTHS:
            yield bent(EXPONENTIAL, growth / span, -growth * (high if growth > 0 else low) / span)
        for half in _HALVES if a == b else ():
            yield bent(RECIPROCAL, 1 / span, half)


def _directions(units: Units, variables: int) -> Iterator[tuple[Array, float]]:
    """Raw variables, then raw sums and differences of two: weights and shift in scaled units."""
    for i in range(variables):
        rates = np.zeros(variables)
        rates[i] = units.scale[i]
        yield rates, float(units.centre[i])
    for i in range(variables):
        for j in range(i):
            for sign in (1.0, -1.0):
                rates = np.zeros(variables)
                rates[i], rates[j] = units.scale[i], sign * units.scale[j]
                yield rates, float(units.centre[i] + sign * units.centre[j])


def _best(
    rises: Rises,
    fresh: Array,
    known: Array,
    left: Array,
    dictionary: list[Function],
    others: list[Function],
    laws: LawSettings,
) -> tuple[float, Function | None]:
    """The function that explains most of what is left of an equation, alone or times the variables, if enough.

    With it the share of the square sum that it leaves.

    fresh: (steps, functions), of unit length, what each has beyond the known terms. others: found for other equations
    a moment ago; where one of them explains this one as well, nothing more is needed.
    """
    total, count = float(left @ left), len(left)
    if not total > 0:
        return 1.0, None
    gain = (left @ fresh) ** 2
    # Poles and switches may explain nothing alone and all of it times a variable.
    factors = [c for c, f in enumerate(dictionary) if f.kind in (RECIPROCAL, SIGN) and np.count_nonzero(f.rates) == 1]
    first = np.unique([*_leading(gain, dictionary), *factors])
    scores = rises.square_sums([dictionary[c] for c in first], rises.columns, known, left)
    handicaps = np.array([_handicap(dictionary[c]) for c in first])
    order = np.argsort(scores * handicaps)[:_MOVED]
    best, least = None, np.inf
    for c in order:
        function, score = rises.moved(dictionary[first[c]], rises.columns, known, left)
        if not score * handicaps[c] < 0.999 * least:
            continue
        single, plain = rises.moved(function, rises.columns[:, :1], known, left)
        if plain < laws.further * score:
            function, score = single, min(plain, score)  # fewer terms tell where it is
        best, least = function, score * handicaps[c]
    share = least / total
    if best is None or not (share < laws.share and -0.5 * count * np.log(max(share, 1e-300)) > laws.nats):
        return 1.0, None
    shared = float(rises.square_sums(others, rises.columns, known, left).min()) if others else np.inf
    return share, None if shared < 2 * least else best


def _handicap(function: Function) -> float:
    factor = _MOVABLE ** (len(movable(function)) - 1) * (_JUMP if function.kind == SIGN else 1.0)
    if function.bends:
        return _BENT * factor
    return (_PAIR if np.count_nonzero(function.rates) > 1 else 1.0) * factor


def _leading(gain: Array, dictionary: list[Function]) -> list[int]:
    """The functions that explain most alone: no more than three of a kind along one direction."""
    taken: dict[tuple[object, ...], int] = {}
    chosen: list[int] = []
    for c in np.argsort(-gain)[: 12 * _TRIED]:
        f = dictionary[c]
        key = f.kind, *np.nonzero(f.rates)[0], *np.nonzero(f.bends)[0]
        taken[key] = taken.get(key, 0) + 1
        if taken[key] <= 3:
            chosen.append(int(c))
        if len(chosen) == _TRIED:
            break
    return chosen
