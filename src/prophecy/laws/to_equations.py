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
from numpy.typing import NDArray

from prophecy.laws.equations import NO_RATE, Argument, Equations, Term
from prophecy.laws.features import Units
from prophecy.laws.flow import EXPONENTIAL, LOGARITHM, MODULUS, RATE, RECIPROCAL, ROOT, SHIFT, SIGN, SINE, TANH
from prophecy.laws.flow import powers as powers_of
from prophecy.laws.select_terms import relations
from prophecy.laws.settings import LAWS

if TYPE_CHECKING:
    from prophecy.laws.fitted import FittedFlow

Array = NDArray[np.float64]

# How each kind of function in `flow.py` is written.
_NAMES = {SINE: "sin", TANH: "tanh", MODULUS: "abs", EXPONENTIAL: "exp", RECIPROCAL: "1/", SIGN: "sign"}
_NAMES |= {LOGARITHM: "log", ROOT: "sqrt"}
_ODD = ("sin", "tanh")  # f(-z) = -f(z)
_FOLDED = 50.0  # exponents up to this become factors: exp(r x + s) is exp(s) exp(r x)
_CANCELLED = 1e-9  # of the parts of a coefficient: what is left of their sum below this is rounding
_DRIVEN = "{}, {}: cosine and sine of a forcing that is not seen, period {:.6g}, 1 and 0 at the last row"
_HOMOGENEOUS = {"abs": 1, "sign": 0, "1/": -1}  # f(c z) = c^p f(z) for positive c


@dataclass(frozen=True, eq=False)
class FoundSystem:
    """What a forecast keeps of the field behind it: enough to write its equations in any unit of time.

    stride: samples of the series between two of the field's. columns: which of the series' variables it has.
    significant: standard errors that what expanding a power or a centre brings must differ from zero by. clocked:
    whether its last variable is time, in samples. drive: radians a sample of a forcing that is not seen, whose cosine
    and sine are the last two variables, and their standard error, 0 where exact samples give it. second: whether the
    last variable is the rate of the first, for each sample of the field. inputs: names of the last variables, where
    these are inputs.
    """

    model: FittedFlow
    units: Units
    stride: int
    columns: tuple[int, ...]
    significant: float = LAWS.significant
    clocked: bool = False
    drive: tuple[float, float] | None = None
    second: bool = False
    inputs: tuple[str, ...] = ()

    def scaled(self, exponent: int) -> FoundSystem:
        """The same of values times 2 ** exponent. Time, phases and inputs stay as they are."""
        centre, scale = self.units.centre.copy(), self.units.scale.copy()
        own = np.arange(len(scale)) < len(self.columns) + self.second
        units = Units(
            np.where(own, np.ldexp(centre, exponent), centre), np.where(own, np.ldexp(scale, exponent), scale)
        )
        return replace(self, units=units)

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
        field, found = self.model.field, self.model.found
        powers = powers_of(field.terms)
        centres = centre - self.model.offset * scale
        centres = np.where(np.abs(centres) < 1e-9 * scale, 0.0, centres)  # zero up to rounding
        functions, factors = self._functions(centres)
        ratio = np.append(1 / scale, factors)
        whose, chosen = np.nonzero(field.there.T)
        freedom = np.zeros((len(chosen), found.freedom.shape[1]))  # what is given has no error
        freedom[field.mask[chosen, whose]] = found.freedom[: field.coefficients]
        terms: list[tuple[Term, ...]] = []
        for i in range(variables - len(self.inputs)):
            own = np.nonzero(whose == i)[0]
            factor = scale[i] / dt * np.prod(ratio ** powers[chosen[own]], axis=1)
            value, root = field.theta[chosen[own], i] * factor, freedom[own] * factor[:, None]
            around = np.append(centres, np.zeros(len(ratio) - variables))
            made = _expanded(value, root, powers[chosen[own]], around, self.significant)
            if self.drive is not None and self.drive[1] and i >= variables - 2:
                made = tuple(replace(term, error=self.drive[1] / dt) for term in made)
            terms.append(made)
        whole = Equations(
            tuple(names),
            tuple(terms),
            functions,
            dt / self.stride,
            tuple((found.noise * scale)[: len(terms)].tolist()),
            self._relations(len(names) + len(functions)),
            () if self.drive is None else (_DRIVEN.format(*names[-2:], 2 * np.pi / self.drive[0] * dt),),
        )
        return _needed(whole, len(names) if self.inputs else len(self.columns))

    def _relations(self, factors: int) -> tuple[tuple[int, tuple[Term, ...]], ...]:
        """Which of the variables seen are sums of others in every row."""
        seen, unit = len(self.columns), np.eye(factors, dtype=np.int64)
        values = ((self.model.end - self.model.offset) * self.units.scale + self.units.centre)[:, :seen]
        found = []
        for i, others, constant in relations(values):
            terms = [Term(factor, 0.0, tuple(unit[j].tolist())) for j, factor in others]
            found.append((i, (*([Term(constant, 0.0, (0,) * factors)] if constant else []), *terms)))
        return tuple(found)

    def _functions(self, centres: Array) -> tuple[tuple[Argument, ...], list[float]]:
        """What the functions are taken of, and what of them is a factor: 2 |x - 3| rather than |2 x - 6|."""
        terms, scale = self.model.field.terms, self.units.scale
        out, factors = [], []
        for j, (kind, rates, bends) in enumerate(zip(terms.kinds, terms.rates, terms.bends, strict=True)):
            root_shift, root_rates, root_bends = self._roots(j)
            raw, bent = rates / scale, bends / np.outer(scale, scale)
            root_raw, root_bent = root_rates / scale[:, None], root_bends / np.outer(scale, scale)[..., None]
            along = raw - (bent + bent.T) @ centres
            root_along = root_raw - np.einsum("abp,b->ap", root_bent + root_bent.swapaxes(0, 1), centres)
            both = np.triu(bent) + np.tril(bent, -1).T
            root_both = root_bent + root_bent.swapaxes(0, 1) * (1 - np.eye(len(scale)))[..., None]
            pairs = tuple((int(a), int(b), float(both[a, b])) for a, b in zip(*np.nonzero(both), strict=True))
            shift = float(terms.shifts[j] - raw @ centres + centres @ bent @ centres)
            root_shift = root_shift - centres @ root_raw + np.einsum("a,b,abp->p", centres, centres, root_bent)
            products = [root_both[a, b] for a, b, _ in pairs]
            errors = np.linalg.norm(np.vstack([root_along, *products, root_shift]), axis=1)
            argument, factor = _plain(_NAMES[int(kind)], along, shift, pairs, errors, self.significant)
            out.append(argument)
            factors.append(factor)
        return tuple(out), factors

    def _roots(self, j: int) -> tuple[Array, Array, Array]:
        """Square roots of the covariance of a function's shift, rates and bends, zero where they are held."""
        field, root = self.model.field, self.model.found.freedom
        v, count = field.terms.variables, root.shape[1]
        shift, shape = np.zeros(count), np.zeros((v + v * v, count))
        chosen, whose = field.parameters
        for p in range(field.coefficients, field.count):
            if chosen[p] == j and whose[p] == SHIFT:
                shift = root[p]
            elif chosen[p] == j:
                shape[RATE - whose[p]] = root[p]
        return shift, shape[:v], shape[v:].reshape(v, v, count)


def _plain(
    name: str, along: Array, shift: float, pairs: tuple[tuple[int, int, float], ...], errors: Array, significant: float
) -> tuple[Argument, float]:
    """A function as people write it, and the factor that is taken out: the phase of a sine is within a quarter turn of
    its own or a cosine's, the first rate of an odd function is positive, what differs from zero by less than its error
    allows is not there."""
    lead = max((*along.tolist(), *(c for _, _, c in pairs)), key=abs)
    factor = 1.0
    if name in _HOMOGENEOUS:
        size = lead if name == "1/" else abs(lead)
        factor, along, shift, errors = size ** _HOMOGENEOUS[name], along / size, shift / size, errors / abs(size)
        pairs = tuple((a, b, c / size) for a, b, c in pairs)
    elif name in _ODD and lead < 0:
        factor, along, shift, pairs = -1.0, -along, -shift, tuple((a, b, -c) for a, b, c in pairs)
    elif name == "exp" and abs(shift) < _FOLDED:
        factor, shift = float(np.exp(shift)), 0.0
    if name == "sin":
        turns = round(shift / np.pi)
        shift, factor = shift - turns * np.pi, factor * (-1.0) ** turns
        if abs(shift) > np.pi / 4:
            name, factor, shift = "cos", factor * np.sign(shift), shift - np.sign(shift) * np.pi / 2
    along = np.where(np.abs(along) > NO_RATE * abs(lead if name not in _HOMOGENEOUS else 1.0), along, 0.0)
    reach = float(np.abs(along).max()) if along.any() else 1.0
    if abs(shift) < max(significant * float(errors[-1]), NO_RATE * min(1.0, reach)):
        shift = 0.0
    known = errors.tolist()
    rates, last = len(along), [known[-1] if shift else 0.0]
    argument = Argument(
        name, tuple(along.tolist()), float(shift), pairs, (*known[:rates], *last), tuple(known[rates:-1])
    )
    return argument, float(factor)


def _needed(whole: Equations, seen: int) -> Equations:
    """Without functions that no term has, and without variables from number `seen` on (phases) that act on none of
    those before: they are not part of the law."""
    v, functions = len(whole.names), whole.functions
    used = [j for j in range(len(functions)) if any(t.powers[v + j] for each in whole.terms for t in each)]
    places = {j for each in whole.terms[:seen] for term in each for j, power in enumerate(term.powers) if power}
    inside = [_inside(functions[j - v]) for j in places if j >= v]
    kept = sorted({j for j in range(v) if j < seen or j in places}.union(*inside))
    if any(not _inside(functions[j]) <= set(kept) for j in used):
        kept = list(range(v))
    columns, own = [*kept, *(v + j for j in used)], [j for j in kept if j < len(whole.terms)]

    def with_factors(terms: tuple[Term, ...]) -> tuple[Term, ...]:
        return tuple(replace(t, powers=tuple(t.powers[c] for c in columns)) for t in terms)

    return replace(
        whole,
        names=tuple(whole.names[j] for j in kept),
        terms=tuple(with_factors(whole.terms[j]) for j in own),
        noise=tuple(whole.noise[j] for j in own),
        relations=tuple((i, with_factors(each)) for i, each in whole.relations),
        functions=tuple(
            replace(
                functions[j],
                rates=tuple(functions[j].rates[i] for i in kept),
                bends=tuple((kept.index(a), kept.index(b), c) for a, b, c in functions[j].bends),
                errors=tuple(functions[j].errors[i] for i in (*kept, -1)),
            )
            for j in used
        ),
    )


def _inside(function: Argument) -> set[int]:
    """The variables that a function is taken of."""
    return {j for j, rate in enumerate(function.rates) if rate} | {j for a, b, _ in function.bends for j in (a, b)}


def _expanded(
    value: Array, root: Array, powers: NDArray[np.int64], centres: Array, significant: float
) -> tuple[Term, ...]:
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
    coefficients, roots, needed = _without_weak(parts @ value, parts @ root, weak, significant)
    errors, needed = np.linalg.norm(roots, axis=1), needed & ~cancelled
    return tuple(Term(float(coefficients[j]), float(errors[j]), products[j]) for j in np.nonzero(needed)[0])


def _without_weak(
    value: Array, root: Array, weak: NDArray[np.bool_], significant: float
) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Coefficients of which those marked `weak` are held at zero where they are not significant, the least first.

    The others follow as far as they are correlated with it: far from zero, y - x has a constant of its own error, and
    leaving it out without turning the rest would be off by all of that error. root: a square root of the covariance.
    """
    weak, kept = weak.copy(), np.ones(len(value), dtype=np.bool_)
    while weak.any():
        error = np.linalg.norm(root, axis=1)
        ratio = np.where(weak, np.abs(value) / np.maximum(error, 1e-300), np.inf)
        weakest = int(np.argmin(ratio))
        if not ratio[weakest] <= significant:
            break
        if error[weakest] > 0:
            share = root @ root[weakest] / error[weakest] ** 2
            value = value - share * value[weakest]
            root = root - np.outer(share, root[weakest])
        kept[weakest] = weak[weakest] = False
    return value, root, kept
