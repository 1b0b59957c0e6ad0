"""From a field that was found to equations in the data's own units, per unit of time, with standard errors.

A field is solved for in scaled variables less a centre, and per sample. Here it is turned back: powers are expanded,
functions are written as people write them, and what is not significant is left out.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import comb
from typing import TYPE_CHECKING

import numpy as np

from prophecy._arrays import Array, Counts
from prophecy.laws.context import Units
from prophecy.laws.equations import Argument, Equations, Term
from prophecy.laws.flow import EXPONENTIAL, LOGARITHM, MODULUS, RATE, RECIPROCAL, ROOT, SHIFT, SIGN, SINE, TANH
from prophecy.laws.flow import powers as powers_of
from prophecy.laws.select_terms import eliminated, relations

if TYPE_CHECKING:
    from prophecy.laws.trajectory import FittedFlow


# How each kind of function in `flow.py` is written.
_NAMES = {SINE: "sin", TANH: "tanh", MODULUS: "abs", EXPONENTIAL: "exp", RECIPROCAL: "1/", SIGN: "sign"}
_NAMES |= {LOGARITHM: "log", ROOT: "sqrt"}
_ODD = ("sin", "tanh")  # f(-z) = -f(z)
_FOLDED = 50.0  # exponents up to this become factors: exp(r x + s) is exp(s) exp(r x)
_NO_RATE = 1e-6  # of the largest rate in an argument: what is left of a centre by rounding is not printed
_ROUNDED = 0.02  # of the rates: what printed numbers may differ by; each by less than its error may add up to more
_MORE = 5  # digits that may be printed for it
_CANCELLED = 1e-9  # of the parts of a coefficient: what is left of their sum below this is rounding
_DRIVEN = "{}, {}: cosine and sine of a forcing that is not seen, period {:.6g}, 1 and 0 at the last row"
_HOMOGENEOUS = {"abs": 1, "sign": 0, "1/": -1}  # f(c z) = c^p f(z) for positive c


@dataclass(frozen=True, eq=False)
class FoundSystem:
    """What a forecast keeps of the field behind it: enough to write its equations in any unit of time.

    stride: samples of the series between two of the field's. columns: which of the series' variables it has.
    clocked: whether its last variable is time, in samples. drive: radians a sample of a forcing that is not seen, whose
    cosine and sine are the last two variables, and their standard error, 0 where exact samples give it. second: whether
    the last variable is the rate of the first, for each sample of the field. inputs: names of the last variables, where
    these are inputs.
    """

    model: FittedFlow
    units: Units
    stride: int
    columns: tuple[int, ...]
    clocked: bool = False
    drive: tuple[float, float] | None = None
    second: bool = False
    inputs: tuple[str, ...] = ()

    def scaled(self, exponent: int) -> FoundSystem:
        """The same of values times 2 ** exponent. Time, phases and inputs stay as they are."""
        centre, scale = self.units.centre, self.units.scale
        own = np.arange(len(scale)) < len(self.columns) + self.second
        larger = [np.where(own, np.ldexp(each, exponent), each) for each in (centre, scale)]
        return replace(self, units=Units(*larger))

    def equations(self, names: Sequence[str] | None = None, dt: float = 1.0) -> Equations:
        """names: of the variables, x0, x1, … if None. dt: time between two samples, in the unit wanted."""
        variables = len(self.units.scale)
        if names is None:
            names = "xyzw" if max(self.columns) < 4 else [f"x{i}" for i in range(max(self.columns) + 1)]
        if max(self.columns) >= len(names):
            raise ValueError(f"names must be {max(self.columns) + 1}, one for each variable, got {list(names)}")
        if len(set(map(str, names))) < len(names):
            raise ValueError(f"names must differ, one for each variable, got {list(names)}")
        names = [str(names[i]) for i in self.columns]
        dt *= self.stride
        scale, centre = self.units.scale.copy(), self.units.centre.copy()
        if self.clocked:
            names.append(next(name for name in ("t", "time", "elapsed_time") if name not in names))
            scale[-1], centre[-1] = scale[-1] * dt, centre[-1] * dt
        if self.second:
            names.append(next(name for name in ("v", "rate", "rate_of_change") if name not in names))
            scale[-1] /= dt
        names += [f"{name}_input" if name in names else name for name in self.inputs]
        names += [f"phase{i + 1}" for i in range(variables - len(names))]
        field, found, significant = self.model.field, self.model.found, self.model.laws.significant
        powers = powers_of(field.terms)
        centres = centre - self.model.offset * scale
        centres = np.where(np.abs(centres) < 1e-9 * scale, 0.0, centres)  # zero up to rounding
        functions = [self._function(j, scale, centres) for j in range(len(field.terms.kinds))]
        ratio = np.append(1 / scale, [factor for _, factor in functions])
        around = np.append(centres, np.zeros(len(functions)))
        whose, chosen = np.nonzero(field.there.T)
        freedom = np.zeros((len(chosen), found.freedom.shape[1]))  # what is given has no error
        freedom[field.mask[chosen, whose]] = found.freedom[: field.coefficients]
        terms: list[tuple[Term, ...]] = []
        for i in range(variables - len(self.inputs)):
            own = np.nonzero(whose == i)[0]
            factor = scale[i] / dt * np.prod(ratio ** powers[chosen[own]], axis=1)
            value, root = field.theta[chosen[own], i] * factor, freedom[own] * factor[:, None]
            made = _expanded(value, root, powers[chosen[own]], around, significant)
            if self.drive is not None and self.drive[1] and i >= variables - 2:
                made = tuple(replace(term, error=self.drive[1] / dt) for term in made)
            terms.append(made)
        whole = Equations(
            tuple(names),
            tuple(terms),
            tuple(argument for argument, _ in functions),
            dt / self.stride,
            tuple((found.noise * scale)[: len(terms)].tolist()),
            self._relations(len(names) + len(functions)),
            () if self.drive is None else (_DRIVEN.format(*names[-2:], 2 * np.pi / self.drive[0] * dt),),
        )
        whole = _needed(whole, len(names) if self.inputs else len(self.columns))
        path = (found.states * scale + centres)[:, [names.index(name) for name in whole.names]]
        return next((each for each in (replace(whole, digits=d) for d in range(_MORE)) if _true(each, path)), whole)

    def _relations(self, factors: int) -> tuple[tuple[int, tuple[Term, ...]], ...]:
        """Which of the variables seen are sums of others in every row."""
        seen, unit = len(self.columns), np.eye(factors, dtype=np.int64)
        values = ((self.model.end - self.model.offset) * self.units.scale + self.units.centre)[:, :seen]
        found = []
        for i, others, constant in relations(values):
            terms = [Term(factor, 0.0, tuple(unit[j].tolist())) for j, factor in others]
            found.append((i, (*([Term(constant, 0.0, (0,) * factors)] if constant else []), *terms)))
        return tuple(found)

    def _function(self, j: int, scale: Array, centres: Array) -> tuple[Argument, float]:
        """What a function is taken of, in the data's units, and what of it is a factor: 2 |x - 3| rather than
        |2 x - 6|."""
        field, root = self.model.field, self.model.found.freedom
        table, v = field.terms, field.terms.variables
        # Rates, bends and shift, one after the other: their values, and the square root of their covariance beside
        # them, zero where they are held. All that follows is linear in them.
        shape = np.zeros((v + v * v + 1, 1 + root.shape[1]))
        shape[:, 0] = [*table.rates[j], *table.bends[j].reshape(-1), table.shifts[j]]
        for p in range(field.coefficients, field.count):
            if field.parameters[0][p] == j:
                shape[-1 if field.parameters[1][p] == SHIFT else RATE - field.parameters[1][p], 1:] = root[p]
        rates, bends = shape[:v] / scale[:, None], shape[v:-1].reshape(v, v, -1) / np.outer(scale, scale)[..., None]
        both = bends + bends.swapaxes(0, 1)
        along = rates - np.einsum("abp,b->ap", both, centres)
        shift = shape[-1] - centres @ rates + np.einsum("a,b,abp->p", centres, centres, bends)
        pairs = [(a, b) for a in range(v) for b in range(a, v) if both[a, b, 0]]
        products = [both[a, b] / (1 + (a == b)) for a, b in pairs]
        parts = np.vstack([along, *products, shift])
        name, value, factor = _plain(_NAMES[int(table.kinds[j])], parts[:, 0].copy())
        most = np.abs(parts[:-1, 0])
        error = np.linalg.norm(parts[:, 1:], axis=1) * abs(value[np.argmax(most)]) / most.max()
        unit = np.eye(v, dtype=np.int64)
        powers = [*unit, *(unit[a] + unit[b] for a, b in pairs), np.zeros(v, dtype=np.int64)]
        least = np.full(len(value), _NO_RATE * np.abs(value[:-1]).max())
        size = min(1.0, float(np.abs(value[:v]).max()) or 1.0)
        span = np.ptp(table.functions[j].sums(self.model.found.states)) * abs(value[np.argmax(most)]) / most.max()
        # A shift that is not known is left out where that changes little along the samples.
        least[-1] = max(min(self.model.laws.significant * error[-1], _ROUNDED * span), _NO_RATE * size)
        kept = np.nonzero(np.abs(value) > least)[0]
        terms = tuple(Term(float(value[k]), float(error[k]), tuple(powers[k].tolist())) for k in kept)
        return Argument(name, terms), factor


def _plain(name: str, value: Array) -> tuple[str, Array, float]:
    """A function as people write it, and the factor that is taken out: the phase of a sine is within a quarter turn of
    its own or a cosine's, the first rate of an odd function is positive. value: of rates, products and shift."""
    lead, factor = float(value[np.argmax(np.abs(value[:-1]))]), 1.0
    if name in _HOMOGENEOUS:
        size = lead if name == "1/" else abs(lead)
        factor, value = size ** _HOMOGENEOUS[name], value / size
    elif name in _ODD and lead < 0:
        factor, value = -1.0, -value
    elif name == "exp" and abs(value[-1]) < _FOLDED:
        factor, value[-1] = float(np.exp(value[-1])), 0.0
    if name == "sin":
        turns = round(value[-1] / np.pi)
        value[-1], factor = value[-1] - turns * np.pi, factor * (-1.0) ** turns
        if abs(value[-1]) > np.pi / 4:
            name, factor = "cos", factor * float(np.sign(value[-1]))
            value[-1] -= np.sign(value[-1]) * np.pi / 2
    return name, value, float(factor)


def _true(equations: Equations, path: Array) -> bool:
    """Whether the rates along a path are those of the numbers as they are printed."""
    with np.errstate(all="ignore"):
        rates, printed = equations(path), equations.as_printed()(path)
    off = np.sqrt(np.mean((printed - rates) ** 2, axis=0))
    return bool((off <= _ROUNDED * np.sqrt(np.mean(rates**2, axis=0))).all())


def _needed(whole: Equations, seen: int) -> Equations:
    """Without functions that no term has, and without variables from number `seen` on (phases) that act on none of
    those before: they are not part of the law."""
    v, kept, factors = len(whole.names), set(range(seen)), set[int]()
    while True:
        inside = [term for j in factors if j >= v for term in whole.functions[j - v].terms]
        inside += [term for i in kept if i < len(whole.terms) for term in whole.terms[i]]
        more = factors | {j for term in inside for j, power in enumerate(term.powers) if power}
        if more == factors:
            break
        factors, kept = more, kept | {j for j in more if j < v}
    places = sorted(kept)
    columns, own = [*places, *sorted(j for j in factors if j >= v)], [j for j in places if j < len(whole.terms)]

    def chosen(terms: tuple[Term, ...], columns: list[int]) -> tuple[Term, ...]:
        return tuple(replace(t, powers=tuple(t.powers[c] for c in columns)) for t in terms)

    functions = [whole.functions[j - v] for j in columns if j >= v]
    return replace(
        whole,
        names=tuple(whole.names[j] for j in places),
        terms=tuple(chosen(whole.terms[j], columns) for j in own),
        noise=tuple(whole.noise[j] for j in own),
        relations=tuple((i, chosen(each, columns)) for i, each in whole.relations),
        functions=tuple(replace(each, terms=chosen(each.terms, places)) for each in functions),
    )


def _expanded(value: Array, root: Array, powers: Counts, centres: Array, significant: float) -> tuple[Term, ...]:
    """Terms in the variables themselves from those in variables less a centre, by the binomial theorem.

    value: (terms,), root: (terms, parameters), a square root of their covariance. Expanding is linear in the
    coefficients, so that errors follow; terms that it brought and that are not significant are left out.
    """
    places: dict[tuple[int, ...], list[tuple[int, float]]] = {}
    for c, row in enumerate(powers):
        ways: list[tuple[tuple[int, ...], float]] = [((), 1.0)]
        for power, centre in zip(row.tolist(), centres, strict=True):
            kept = range(power + 1) if centre else (power,)
            ways = [((*made, q), f * comb(power, q) * (-centre) ** (power - q)) for made, f in ways for q in kept]
        for made, factor in ways:
            places.setdefault(made, []).append((c, factor))
    original = {tuple(row.tolist()) for row in powers}
    products = list(places)
    parts = np.zeros((len(products), len(value)))
    for line, product in enumerate(products):
        for c, factor in places[product]:
            parts[line, c] += factor
    brought = [not (product in original and len(places[product]) == 1) for product in products]
    weak = np.array(brought, dtype=np.bool_)
    cancelled = weak & (np.abs(parts @ value) < _CANCELLED * (np.abs(parts) @ np.abs(value)))
    # Far from zero, y - x has a constant with an error of its own: leaving it out alone would be off by that.
    coefficients, roots, alive = eliminated(parts @ value, parts @ root, weak, significant**2, len(products))
    errors, needed = np.linalg.norm(roots, axis=1), (alive | ~weak) & ~cancelled
    return tuple(Term(float(coefficients[j]), float(errors[j]), products[j]) for j in np.nonzero(needed)[0])
