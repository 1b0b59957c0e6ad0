"""Functions of single variables, found by drawing them: x_i' = powers + sum of curves g(x_j) times powers of the rest.

Whatever their form, curves are sums of B-splines, and the integral equations are linear in these: which variables an
equation has a curve of, and times what, is asked of splines, curve by curve. Each curve is then read: which function
of its variable, moved to where it fits best, does as well as the splines, all other curves staying splines? One that
is imitated by none is left to others.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline

from prophecy.laws import flow
from prophecy.laws.families import Proposal
from prophecy.laws.features import Units
from prophecy.laws.flow import Function
from prophecy.laws.readings import Curve, Reader, added, joined, unexplained
from prophecy.laws.settings import FunctionSettings, LawSettings
from prophecy.laws.weak_form import Rises, alike

Array = NDArray[np.float64]


class Read(NamedTuple):
    """A function times the variables in `times`; None and those alone where the curve is a power."""

    function: Function | None
    times: tuple[int, ...]


def drawn(rises: Rises, units: Units, laws: LawSettings) -> Iterator[Proposal]:
    """The field of powers and functions of single variables that curves are read as; then, for each variable in turn,
    with the function of another kind that does nearly as well."""
    if laws.functions == 0 or laws.curves == 0:
        return
    path = rises.path
    powers = rises.known(flow.polynomial_terms(path.shape[1], 2))
    curves = list(_curves(rises, path, laws.shapes))
    equations = [_Equation(rises, powers, curves, rise, units, laws) for rise in rises.rise.T]
    for again in (False, True):
        for each in equations:
            each.read([other for equation in equations for other in equation.reads()], again)
        if not again:
            for variable in range(path.shape[1]):
                _agree(variable, equations)
    if not any(each.reads() for each in equations):
        return
    left = max(each.drop_idle() for each in equations)
    yield _proposal([each.reads() for each in equations], path.shape[1], left)
    others = [_other(variable, equations) for variable in range(path.shape[1])]
    for gap, variable, function in sorted((each for each in others if each is not None), key=lambda each: each[0]):
        if gap < laws.shapes.close:
            reads = [each.reads_with(variable, function) for each in equations]
            yield _proposal(reads, path.shape[1], left)


def _curves(rises: Rises, path: Array, shapes: FunctionSettings) -> Iterator[Curve]:
    variables = path.shape[1]
    for of in range(variables):
        splines = _splines(path[:, of], shapes)
        others = [k for k in range(variables) if k != of]
        for degree in range(3 if variables <= shapes.multiplied else 2):
            for times in combinations_with_replacement(others, degree):
                factor = np.prod(path[:, list(times)], axis=1)[:, None]
                yield Curve(of, times, rises.integrated(splines * factor))


def _splines(along: Array, shapes: FunctionSettings) -> Array:
    """Cubic B-splines, their knots half even and half as the samples lie: (time, splines)."""
    low, high = float(along.min()), float(along.max())
    places = np.linspace(0, 1, shapes.splines - 2)
    inner = (np.quantile(along, places[1:-1]) + low + places[1:-1] * (high - low)) / 2
    knots = np.concatenate([[low] * 4, inner, [high] * 4])
    inside = np.clip(along, low, high - 1e-12 * (high - low))
    return np.asarray(BSpline.design_matrix(inside, knots, 3).toarray())


class _Equation:
    """The curves of one equation, and what they have been read as.

    singles: for each curve, the best function of every kind. allowed: the square sum that a function may leave.
    """

    def __init__(
        self, rises: Rises, powers: Array, curves: list[Curve], rise: Array, units: Units, laws: LawSettings
    ) -> None:
        self._rises, self._powers, self._rise, self._units = rises, powers, rise, units
        self._shapes = laws.shapes
        self._floor = len(rise) * rises.floor**2
        self._chosen = self._choose(curves, laws)
        self._found: list[tuple[list[Read], Array] | None] = [None] * len(self._chosen)
        self.singles: list[list[Function]] = [[] for _ in self._chosen]
        self.allowed = [0.0] * len(self._chosen)

    def reads(self) -> list[Read]:
        return [read for found in self._found if found is not None for read in found[0]]

    def read(self, known: Sequence[Read], again: bool) -> None:
        """Read each curve: at first while those not yet read are splines, again where it took several functions or
        other equations (`known`) read a curve of the same variable differently."""
        for place, curve in enumerate(self._chosen):
            offered = [f for f, _ in known if again and f is not None and _variable(f) == curve.of]
            before = self._found[place]
            if again and before is not None:
                own = [f for f, _ in before[0] if f is not None]
                if (len(own) == 1 and all(alike(own[0], each) for each in offered)) or not (own or offered):
                    continue
            others = self._others(place)
            spline = self._left(self._with(others, [curve.columns if before is None else before[1]]))
            enough = max(self._shapes.beyond * float(spline @ spline), self._shapes.explained * self._floor)
            reader = Reader(self._rises, curve, others, self._left(others), enough, self._units, self._shapes)
            functions = reader.functions(offered)
            self.singles[place] += [*offered, *reader.singles]
            self.allowed[place] = enough
            self.take(place, functions)

    def allowed_more(self, place: int) -> float:
        """The square sum that a function which other equations have too may leave in the place of a curve."""
        return self._shapes.needed * self.allowed[place]

    def places(self, variable: int) -> list[int]:
        return [place for place, curve in enumerate(self._chosen) if curve.of == variable]

    def take(self, place: int, functions: Sequence[Function | None]) -> None:
        """Read a curve as these functions, None for the power that is left."""
        curve = self._chosen[place]
        columns = np.column_stack([curve.column(self._rises, each) for each in functions])
        self._found[place] = [Read(f, curve.times if f else curve.monomial) for f in functions], columns

    def reads_with(self, variable: int, function: Function) -> list[Read]:
        """What has been read, with another function for the curves of a variable."""
        kept = [read for read in self.reads() if read.function is None or _variable(read.function) != variable]
        return [*kept, *(Read(function, self._chosen[place].times) for place in self.places(variable))]

    def moved(self, place: int, function: Function) -> Function:
        """A function in the place of a curve moved to where it leaves least, all others being as they were read."""
        known = self._others(place)
        factor = np.prod(self._rises.path[:, list(self._chosen[place].times)], axis=1)[:, None]
        return self._rises.moved(function, factor, known, self._left(known))[0]

    def cost(self, place: int, function: Function | None) -> float:
        """The square sum that is left where a curve is that function, or what it has been read as where None."""
        found = self._found[place]
        if function is None and found is not None:
            columns = found[1]
        else:
            columns = self._chosen[place].column(self._rises, function)
        there = self._left(self._with(self._others(place), [columns]))
        return float(there @ there) + self._shapes.at_floor**2 * self._floor

    def drop_idle(self) -> float:
        """Drop what was read and is not needed; the share of the rises that is left."""
        left = self._left(self._others(-1))
        for place in range(len(self._found))[::-1]:
            there = self._left(self._others(place))
            if float(there @ there) < max(
                self._shapes.needed * float(left @ left), self._shapes.at_floor * self._floor
            ):
                del self._found[place], self._chosen[place]
                left = there
        return float(np.linalg.norm(left) / (np.linalg.norm(self._rise) + 1e-300))

    def _others(self, place: int) -> Array:
        """A basis of powers and all curves but one, as functions where they have been read."""
        columns = [
            curve.columns if found is None else found[1]
            for j, (curve, found) in enumerate(zip(self._chosen, self._found, strict=True))
            if j != place
        ]
        return self._with(self._powers, columns)

    def _with(self, known: Array, further: Sequence[Array]) -> Array:
        return joined(known, further, self._shapes.determined)

    def _left(self, known: Array) -> Array:
        return unexplained(known, self._rise)

    def _choose(self, curves: list[Curve], laws: LawSettings) -> list[Curve]:
        """Curves that explain what powers leave: the best one after the other, then none that is idle."""
        known, chosen = self._powers, list[Curve]()
        left, floor = self._left(known), self._shapes.at_floor * self._floor
        while float(left @ left) > floor and len(chosen) < laws.curves:
            scores = []
            for each in curves:
                basis = added(each.columns, known, laws.shapes.determined)
                there = float(left @ left) - float(np.sum((basis.T @ left) ** 2))
                scores.append(there * laws.shapes.times ** len(each.times))
            best = curves[int(np.argmin(scores))]
            after = self._with(known, [best.columns])
            rest = self._left(after)
            nats = 0.5 * len(left) * np.log(float(left @ left) / (float(rest @ rest) + 1e-300))
            if any(best is each for each in chosen) or not nats > laws.nats + laws.shapes.splines:
                break
            known, left, chosen = after, rest, [*chosen, best]
        for each in chosen[:-1]:
            fewer = [other for other in chosen if other is not each]
            rest = self._left(self._with(self._powers, [other.columns for other in fewer]))
            if float(rest @ rest) < max(laws.shapes.needed * float(left @ left), floor):
                chosen, left = fewer, rest
        return chosen


def _agree(variable: int, equations: list[_Equation]) -> None:
    """Where several equations have a curve of one variable: the one function that explains all of them best."""
    curves = [(each, place) for each in equations for place in each.places(variable)]
    offered = [function for each, place in curves for function in each.singles[place]]
    if len(curves) < 2 or not offered:
        return
    costs = np.array([[each.cost(place, function) for each, place in curves] for function in offered])
    best = int(np.argmin(np.log(costs).sum(axis=1)))
    if (costs[best] < [each.allowed_more(place) for each, place in curves]).all():
        for each, place in curves:
            each.take(place, [offered[best]])


def _other(variable: int, equations: list[_Equation]) -> tuple[float, int, Function] | None:
    """The best function of another kind for the curves of a variable, and by how many nats a step it is behind."""
    curves = [(each, place) for each in equations for place in each.places(variable)]
    kinds = {f.kind for each in equations for f, _ in each.reads() if f is not None and _variable(f) == variable}
    offered = [f for each, place in curves for f in each.singles[place] if f.kind not in kinds and not f.bends]
    if not offered:
        return None
    costs = np.array([[each.cost(place, function) for each, place in curves] for function in offered])
    best = offered[int(np.argmin(np.log(costs).sum(axis=1)))]
    offered = [each.moved(place, best) for each, place in curves]
    costs = np.array([[each.cost(place, function) for each, place in curves] for function in offered])
    here = np.array([each.cost(place, None) for each, place in curves])
    gaps = 0.5 * np.log(costs / here).mean(axis=1)
    return float(gaps.min()), variable, offered[int(np.argmin(gaps))]


def _variable(function: Function) -> int:
    """The one variable that a function is of."""
    v = len(function.rates)
    return (
        int(np.argmax(np.abs(np.array(function.rates))))
        if any(function.rates)
        else int(np.argmax(np.abs(np.array(function.bends)))) // v
    )


def _proposal(found: list[list[Read]], variables: int, left: float) -> Proposal:
    """One field of all equations' functions, each times what its own equation multiplies it by."""
    functions: list[Function] = []
    places = []
    for i, own in enumerate(found):
        for function, times in own:
            same = [j for j, other in enumerate(functions) if function is not None and alike(function, other)]
            if function is not None and not same:
                functions.append(function)
            places.append((None if function is None else same[0] if same else len(functions) - 1, times, i))
    degree = 3 if any(j is None for j, _, _ in places) else 2
    powers = flow.powers(flow.polynomial_terms(variables, degree, functions, 3))
    plain = (powers[:, variables:].sum(axis=1) == 0) & (powers.sum(axis=1) <= 2)
    mask = np.repeat(plain[:, None], variables, axis=1)
    for j, times, i in places:
        wanted = np.bincount(times, minlength=powers.shape[1])
        if j is not None:
            wanted[variables + j] = 1
        mask[(powers == wanted).all(axis=1), i] = True
    return Proposal(tuple(functions), 3, left, degree, mask)
