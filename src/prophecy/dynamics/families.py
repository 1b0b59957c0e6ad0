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
from prophecy.dynamics.settings import LAWS, LawSettings

Array = NDArray[np.float64]

_TRIED = 24  # functions whose products with the variables are tried too
_MOVED = 8  # of these, how many are moved to where they explain most
_MOVES = 6  # Gauss-Newton steps on the way
_PAIR = 3.0  # a function of two variables must leave this much less (in squares) than one of a single variable
_MOVABLE = 1.15  # for every parameter beyond the first that it can be moved by it must leave this much less
_JUMP = 2.0  # one that jumps this much less than a smooth one: a steep rise looks like a jump through noise
_BENT = 1.5  # and one of a square or product this much less than one of a variable
_EXACT = 1e-3  # standard deviations of noise below which what is left is the functions' fault
_WAVES = np.geomspace(1.5, 60.0, 48)  # radians over the range of the variable
_SLOPES = (4.0, 12.0, 40.0, 150.0)  # of tanh, per range of the variable: from a bend to nearly a switch
_PLACES = np.linspace(0.1, 0.9, 17)  # of kinks and of the middle of tanh, in ranges from the lower end
_GROWTHS = tuple(sign * 2.0**p for sign in (-1, 1) for p in range(1, 7))  # exponents over the range
_POLES = (-1.0, -0.3, -0.1, -0.03, 1.03, 1.1, 1.3, 2.0)  # places, in ranges from the lower end
_HALVES = (0.001, 0.004, 0.015, 0.06, 0.25, 1.0)  # squares of half-saturations, in the range of the square
_OFF = 1.0 / 60  # of a sixth difference: the error of integrals over one step by six points, roughly


class _Rises:
    """The integral form of the equations along a path (time, variables), each step counted by how well it is known."""

    def __init__(self, path: Array, noise: float) -> None:
        self.path = path
        sixth = np.abs(np.diff(path, 6, axis=0)).max(axis=1) * _OFF
        error = np.append(sixth, sixth[-1])
        self._weight = 1 / np.maximum(error, max(float(np.quantile(error, 0.1)), noise, 1e-12))[:, None]
        self._weight /= self._weight.max()
        self.rise = self._weight * (path[3:-2] - path[2:-3])
        self.columns = np.column_stack([np.ones(len(path)), path])

    def integrated(self, columns: Array) -> Array:
        """(time, terms) -> (steps, terms): integrals over the middle one of every five steps, weighted."""
        inside = 11 * (columns[:-5] + columns[5:]) - 93 * (columns[1:-4] + columns[4:-1])
        return np.asarray(self._weight * (inside + 802 * (columns[2:-3] + columns[3:-2])) / 1440)

    def left(self, function: Function, known: Array, left: Array, alone: bool = False) -> Array:
        """What is left of an equation when the function and, unless alone, its products with the variables join."""
        value, _ = _value(function.kind, self._sum(function))
        basis = self._basis(value[:, None] * self.columns[:, : 1 if alone else None], known)[0]
        return np.asarray(left - basis @ (basis.T @ left))

    def left_and_slopes(
        self, function: Function, free: list[int], known: Array, left: Array, alone: bool
    ) -> tuple[Array, Array]:
        """The same, and its derivatives with what can be moved, (steps, free).

        Coefficients are solved for, not moved along, so that the derivatives are those of the function's values times
        the coefficients, less what known and added terms explain of them (Kaufman's approximation).
        """
        value, slope = _value(function.kind, self._sum(function))
        columns = self.columns[:, : 1 if alone else None]
        basis, triangle = self._basis(value[:, None] * columns, known)
        onto = basis.T @ left
        factor = columns @ np.linalg.lstsq(triangle, onto, rcond=1e-12)[0]
        changes = np.column_stack([self._by(place) for place in free])
        moved = self.integrated((slope * factor)[:, None] * changes)
        moved = np.where(np.isfinite(moved), moved, 0.0)
        moved -= known @ (known.T @ moved)
        return left - basis @ onto, -(moved - basis @ (basis.T @ moved))

    def _sum(self, function: Function) -> Array:
        at = self.path @ np.array(function.rates) + function.shift
        if function.bends:
            v = self.path.shape[1]
            at = at + np.einsum("ka,ab,kb->k", self.path, np.array(function.bends).reshape(v, v), self.path)
        return np.asarray(at)

    def _by(self, place: int) -> Array:
        """The derivative of a function's sum with what `_free` counts as `place`."""
        v = self.path.shape[1]
        if place >= v:
            return np.asarray(self.path[:, (place - v) // v] * self.path[:, (place - v) % v])
        return np.ones(len(self.path)) if place < 0 else self.path[:, place]

    def _basis(self, columns: Array, known: Array) -> tuple[Array, Array]:
        """An orthonormal basis of what columns add to the known terms, and the triangle that turns it into them."""
        added = self.integrated(columns)
        size = np.linalg.norm(added, axis=0)
        size = np.where(size > 0, size, 1.0)
        added = (added - known @ (known.T @ added)) / size
        basis, triangle = np.linalg.qr(np.where(np.isfinite(added), added, 0.0) + 1e-14)
        return basis, triangle * size


def _value(kind: int, at: Array) -> tuple[Array, Array]:
    """Value and slope of a function."""
    if kind == SINE:
        return np.sin(at), np.cos(at)
    if kind == TANH:
        value = np.tanh(at)
        return value, 1 - value**2
    if kind == MODULUS:
        return np.abs(at), np.sign(at)
    if kind == SIGN:
        # The mean over a sample, which moves with the place of the switch.
        passing = np.maximum(np.abs(np.gradient(at)), 1e-300)  # how far the sum goes from sample to sample
        inside = np.abs(2 * at) < passing
        return np.clip(2 * at / passing, -1.0, 1.0), np.where(inside, 2 / passing, 0.0)
    if kind == EXPONENTIAL:
        value = np.exp(np.minimum(at, 300.0))
        return value, value
    value = 1 / np.where(np.abs(at) > 1e-12, at, 1e-12)
    return value, -(value**2)


class Proposal(NamedTuple):
    """Functions, each times the monomials below degree `reach`, beside the monomials up to `degree`.

    left: the share of the worst explained variable's rises that they leave, root mean square.
    """

    functions: tuple[Function, ...]
    reach: int
    left: float
    degree: int = 2

    def terms(self, variables: int) -> Terms:
        return flow.polynomial_terms(variables, self.degree, self.functions, self.reach)


def propose(
    path: Array, units: Units, degree: int = 2, noise: float = 0.0, laws: LawSettings = LAWS
) -> Iterator[Proposal]:
    """Functions that explain what monomials up to `degree` leave of the rises along path (time, variables).

    One proposal after the other, each with more functions than the one before. noise: of the path, in standard
    deviations.
    """
    rises = _Rises(path, noise)
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
            if function is not None and not any(_alike(function, g) for g in (*found, *(g for _, g in best))):
                best.append((share, function))
        if not best:
            return
        if not found and best[0][1].kind in (MODULUS, SIGN, TANH) and laws.kinks > 1:
            broken = tuple(_broken_line(rises, path.shape[1], degree, best[0][1]._replace(kind=MODULUS), laws))
            yield from _proposals(rises, degree, broken, laws.further if noise < _EXACT else laws.further_noisy)
        for _, function in sorted(best)[: laws.functions - len(found)]:
            found = [*found, function]
            yield from _proposals(rises, degree, tuple(found), laws.further if noise < _EXACT else laws.further_noisy)


def _broken_line(rises: _Rises, variables: int, degree: int, first: Function, laws: LawSettings) -> list[Function]:
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
        costs = [float(np.sum(rises.left(each, known, worst, alone=True) ** 2)) for each in trials]
        found, before = [*found, trials[int(np.argmin(costs))]], cost
        for _ in range(2):
            for j in range(len(found)):
                others = _known(rises, variables, degree, [*found[:j], *found[j + 1 :]], 1)
                rest = rises.rise - others @ (others.T @ rises.rise)
                worst = rest[:, int(np.argmax(np.linalg.norm(rest, axis=0) / np.linalg.norm(rises.rise, axis=0)))]
                found[j] = _moved(rises, found[j], others, worst, alone=True)[0]
    return found


def _known(rises: _Rises, variables: int, degree: int, functions: Sequence[Function], reach: int = 2) -> Array:
    terms = flow.polynomial_terms(variables, degree, functions, reach)
    return _orthonormal(rises.integrated(flow.features(terms, rises.path)))


def _proposals(rises: _Rises, degree: int, functions: tuple[Function, ...], further: float) -> Iterator[Proposal]:
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
    variables = path.shape[1]
    for rates, shift in _directions(units, variables):
        along = path @ rates + shift
        low, span = float(along.min()), float(np.ptp(along))
        if not span > 0:
            continue
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
            for place in _PLACES[::2]:
                yield Function(TANH, tuple(slope * unit), slope * (origin - place))
        for growth in _GROWTHS:
            yield Function(EXPONENTIAL, tuple(growth * unit), growth * (origin - (growth > 0)))
        for pole in _POLES:
            yield Function(RECIPROCAL, tuple(unit), origin - pole)
    yield from _bent(path, units)


def _bent(path: Array, units: Units) -> Iterator[Function]:
    """Functions of squares and of products of two raw variables."""
    variables = path.shape[1]
    for a, b in combinations_with_replacement(range(variables), 2):
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


def _orthonormal(columns: Array) -> Array:
    norms = np.linalg.norm(columns, axis=0)
    u, s, _ = np.linalg.svd(columns / np.where(norms > 0, norms, 1.0), full_matrices=False)
    return np.asarray(u[:, s > 1e-10 * s[0]])


def _best(
    rises: _Rises,
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
    scores = np.array([float(np.sum(rises.left(dictionary[c], known, left) ** 2)) for c in first])
    handicaps = np.array([_handicap(dictionary[c]) for c in first])
    order = np.argsort(scores * handicaps)[:_MOVED]
    best, least = None, np.inf
    for c in order:
        function, score = _moved(rises, dictionary[first[c]], known, left)
        if not score * handicaps[c] < 0.999 * least:
            continue
        single, plain = _moved(rises, function, known, left, alone=True)
        if plain < laws.further * score:
            function, score = single, min(plain, score)  # fewer terms tell where it is
        best, least = function, score * handicaps[c]
    share = least / total
    if best is None or not (share < laws.share and -0.5 * count * np.log(max(share, 1e-300)) > laws.nats):
        return 1.0, None
    shared = min((float(np.sum(rises.left(other, known, left) ** 2)) for other in others), default=np.inf)
    return share, None if shared < 2 * least else best


def _handicap(function: Function) -> float:
    movable = _MOVABLE ** (len(_free(function)) - 1) * (_JUMP if function.kind == SIGN else 1.0)
    if function.bends:
        return _BENT * movable
    return (_PAIR if np.count_nonzero(function.rates) > 1 else 1.0) * movable


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


def _moved(rises: _Rises, function: Function, known: Array, left: Array, alone: bool = False) -> tuple[Function, float]:
    """The function moved to where it explains most, by damped Gauss-Newton steps, and the square sum it leaves."""
    free = _free(function)
    rest, slopes = rises.left_and_slopes(function, free, known, left, alone)
    cost, damping = float(rest @ rest), 1e-3
    for _ in range(2 * _MOVES if alone else _MOVES):
        before = cost
        if not np.isfinite(slopes).all():
            break
        normal, right = slopes.T @ slopes, slopes.T @ rest
        for _ in range(3):
            change = np.linalg.lstsq(normal + damping * np.diag(np.diag(normal)) + 1e-300, -right, rcond=None)[0]
            trial = function
            for place, by in zip(free, change, strict=True):
                trial = _put(trial, place, _get(trial, place) + by)
            there, turned = rises.left_and_slopes(trial, free, known, left, alone)
            if there @ there < cost:
                function, rest, slopes, cost = trial, there, turned, float(there @ there)
                damping /= 10
                break
            damping = max(30 * damping, 1e-2)
        if not cost < 0.99 * before:
            break
    return function, cost


def _free(function: Function) -> list[int]:
    """Places of what can be moved: of rates, then bends, -1 for the shift. The rest is a factor of the function."""
    shape = np.array([*function.rates, *function.bends])
    there = np.nonzero(shape)[0].tolist()
    if function.kind in (MODULUS, RECIPROCAL, SIGN):
        there.remove(int(np.argmax(np.abs(shape))))
    return there if function.kind == EXPONENTIAL else [*there, -1]


def _get(function: Function, place: int) -> float:
    return function.shift if place == -1 else (*function.rates, *function.bends)[place]


def _put(function: Function, place: int, value: float) -> Function:
    if place == -1:
        return function._replace(shift=float(value))
    shape = [*function.rates, *function.bends]
    shape[place] = float(value)
    v = len(function.rates)
    return function._replace(rates=tuple(shape[:v]), bends=tuple(shape[v:]))


def _alike(a: Function, b: Function) -> bool:
    """The same kind along the same direction with nearly the same rate: one of them can become the other."""
    if a.kind != b.kind or bool(a.bends) != bool(b.bends):
        return False
    x, y = np.array([*a.rates, *a.bends]), np.array([*b.rates, *b.bends])
    near = np.linalg.norm(x - y) < 0.15 * np.linalg.norm(x)
    apart = 0.02 if a.kind in (MODULUS, RECIPROCAL, SIGN) else 0.3  # of the range; radians, or of the width of a step
    return bool(near and (a.kind == SINE or abs(a.shift - b.shift) < apart))
