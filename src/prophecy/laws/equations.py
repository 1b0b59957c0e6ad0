"""Differential equations as people write them: lines with names and standard errors, a callable, SymPy expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from prophecy._arrays import Array

_DIGITS = 5  # digits of a coefficient: an error of one in 100 000 is printed as exact
_PLAIN = (1e-4, 1e6)  # coefficients outside are printed with an exponent: nobody counts zeros
_EQUAL = 2.0  # standard errors within which two coefficients are written as one


@dataclass(frozen=True)
class Term:
    """coefficient * product of powers: powers[j] of variable j, then of function j. error: standard error."""

    coefficient: float
    error: float
    powers: tuple[int, ...]


@dataclass(frozen=True)
class Argument:
    """A function and the sum that it is taken of: terms of the variables, their products and a constant."""

    function: str
    terms: tuple[Term, ...]


@dataclass(frozen=True, eq=False)
class Equations:
    """d(variable)/dt as sums of terms, in the data's units.

    names: of the variables, then of inputs. terms: for each variable. functions: what further factors powers speak of.
    dt: time between samples that t is measured by.
    noise: standard deviation of what was left of each variable.
    relations: variables that are sums of others in every row: (which, terms). remarks: what else is to be said of them.
    digits: that are printed beyond those that standard errors allow, where terms nearly cancel.

    >>> from prophecy.forecasting import forecast
    >>> from prophecy import chaos
    >>> series = chaos.lorenz.sample(512)
    >>> dt = 1 / (30 * chaos.lorenz.exponent)
    >>> print(forecast(series, 10).equations(dt=dt, names=("x", "y", "z")))
    x' = 10 (y - x)
    y' = 28 x - y - x z
    z' = -2.6667 z + x y
    """

    names: tuple[str, ...]
    terms: tuple[tuple[Term, ...], ...]
    functions: tuple[Argument, ...]
    dt: float
    noise: tuple[float, ...]
    relations: tuple[tuple[int, tuple[Term, ...]], ...] = ()
    remarks: tuple[str, ...] = ()
    digits: int = 0

    def __str__(self) -> str:
        return "\n".join(self.lines())

    def lines(self, errors: bool = False) -> list[str]:
        """One line for each variable; with errors, the standard error behind each coefficient. Then one for each
        variable that is a sum of others in every row, and one for a forcing that is not seen."""
        fields = [f"{self._name(i)}' = {self._sum(terms, errors)}" for i, terms in enumerate(self.terms)]
        return fields + [f"{self._relation(*each)} in every row" for each in self.relations] + [*self.remarks]

    def _relation(self, i: int, terms: Sequence[Term]) -> str:
        """w = 32 + 1.8 x, or S + I + R = 1000 where all count alike."""
        others = [t for t in terms if any(t.powers)]
        if any(not -1 - 1e-6 < t.coefficient < -1 + 1e-6 for t in others):
            return f"{self._name(i)} = {self._sum(terms, False)}"
        constant = sum(t.coefficient for t in terms if not any(t.powers))
        return f"{' + '.join([*map(self._product, others), self._name(i)])} = {self._number(constant, 0.0)}"

    def __call__(self, state: ArrayLike) -> Array:
        """The time derivative of the variables at (names,) or (points, names), inputs included."""
        x = np.asarray(state, dtype=np.float64)
        if x.shape[-1] != len(self.names):
            raise ValueError(f"state must have {len(self.names)} values, {', '.join(self.names)}, got shape {x.shape}")
        known = {name: getattr(np, name) for name in ("sin", "cos", "tanh", "abs", "exp", "sign", "log", "sqrt")}
        out = self._rates([x[..., j] for j in range(len(self.names))], known | {"1/": np.reciprocal})
        return np.stack(np.broadcast_arrays(*out, np.zeros(x.shape[:-1]))[:-1], axis=-1)

    def sympy(self) -> dict[Any, Any]:
        """{symbol of the variable: its time derivative as an expression}. Needs SymPy."""
        try:
            import sympy
        except ImportError:
            raise ImportError("expressions need SymPy: pip install sympy") from None
        symbols = [sympy.Symbol(name) for name in self.names]
        known = {name: getattr(sympy, name) for name in ("sin", "cos", "tanh", "exp", "sign", "log", "sqrt")}
        rates = self._rates(symbols, known | {"abs": sympy.Abs, "1/": lambda z: 1 / z})
        return {symbol: sympy.sympify(rate) for symbol, rate in zip(symbols, rates, strict=False)}  # not of inputs

    def _rates(self, variables: Sequence[Any], known: dict[str, Any]) -> list[Any]:
        """The time derivatives, of numbers or symbols; known: the functions of these."""

        def value(terms: Sequence[Term], factors: Sequence[Any]) -> Any:
            products = (prod(f**p for f, p in zip(factors, t.powers, strict=False) if p) for t in terms)
            return sum((t.coefficient * each for t, each in zip(terms, products, strict=True)), 0.0)

        inside = [known[each.function](value(each.terms, variables)) for each in self.functions]
        return [value(each, [*variables, *inside]) for each in self.terms]

    def as_printed(self) -> Equations:
        """The same with the numbers that are printed."""

        def printed(terms: Sequence[Term]) -> tuple[Term, ...]:
            error = max(t.error for t in terms) if (paired := self._paired(terms)) else 0.0
            size = abs(terms[0].coefficient) if paired else 0.0
            signed = [np.copysign(size or t.coefficient, t.coefficient) for t in terms]
            numbers = [self._number(one, error or t.error) for one, t in zip(signed, terms, strict=True)]
            return tuple(replace(t, coefficient=float(n)) for t, n in zip(terms, numbers, strict=True))

        functions = tuple(replace(each, terms=printed(each.terms)) for each in self.functions)
        return replace(self, terms=tuple(map(printed, map(_ordered, self.terms))), functions=functions)

    def _sum(self, terms: Sequence[Term], errors: bool) -> str:
        """Terms as they stand in an equation; two whose coefficients agree up to the sign as 10 (y - x)."""
        order = _ordered(terms)
        if errors or not self._paired(order):
            return self._joined(order, errors) or "0"
        first, second = order
        if first.coefficient < 0 < second.coefficient:
            first, second = second, first
        factor = self._number(first.coefficient, max(first.error, second.error))
        joint = "+" if (second.coefficient < 0) == (first.coefficient < 0) else "-"
        inner = f"{_alone(self._product(first))} {joint} {_alone(self._product(second))}"
        return inner if factor == "1" else f"{factor.removesuffix('1') if factor == '-1' else factor + ' '}({inner})"

    def _joined(self, terms: Sequence[Term], errors: bool) -> str:
        """a x - b y + c; errors: with the standard error of each number that has one."""
        out = ""
        for term in terms:
            number = self._number(abs(term.coefficient), term.error)
            if errors and term.error > 0:
                number = f"({number} ± {term.error:.1g})"
            product, sign = self._product(term, errors), "-" if term.coefficient < 0 else "+"
            body = _alone(product) if number == "1" else f"{number} {product}".strip()
            out += f" {sign} {body}" if out else f"{sign}{body}".removeprefix("+")
        return out

    def _paired(self, terms: Sequence[Term]) -> bool:
        """Whether the coefficients of two terms agree up to the sign."""
        if len(terms) != 2:
            return False
        one, other = (abs(term.coefficient) for term in terms)
        allowed = 0.0 if self.digits else _EQUAL * np.hypot(terms[0].error, terms[1].error)
        return bool(abs(one - other) <= max(allowed, 1e-6 * (one + other)) and abs(one - other) < 0.05 * (one + other))

    def _name(self, j: int) -> str:
        """A name as it stands in an equation: in brackets where it would not read as one word."""
        name = self.names[j]
        return name if name.isidentifier() else f"[{name}]"

    def _product(self, term: Term, shown: bool = False) -> str:
        return " ".join(
            self._factor(j, shown) + (f"^{power}" if power > 1 else "") for j, power in enumerate(term.powers) if power
        )

    def _factor(self, j: int, shown: bool) -> str:
        """A variable, or a function of what it is taken of; shown: with standard errors."""
        if j < len(self.names):
            return self._name(j)
        function = self.functions[j - len(self.names)]
        inside = self._joined(function.terms, shown)
        return f"/({inside})" if function.function == "1/" else f"{function.function}({inside})"

    def _number(self, value: float, error: float) -> str:
        """The value with the digits that its error allows."""
        size, sign = abs(value), "-" if value < 0 else ""
        if size == 0 or not np.isfinite(size):
            return f"{value:g}"
        place = int(np.floor(np.log10(size)))
        known = place - int(np.floor(np.log10(max(error, 1e-300)))) + 1
        digits = min(max(known, 1), _DIGITS) + self.digits
        rounded = float(f"{size:.{digits}g}")
        if not _PLAIN[0] <= rounded < _PLAIN[1]:
            mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
            return f"{sign}{mantissa}e{int(exponent)}"
        if digits >= _DIGITS:
            return f"{sign}{rounded:.{digits + 1}g}"
        return f"{sign}{rounded:.{max(0, digits - 1 - place)}f}"


def _alone(product: str) -> str:
    """A product without a number before it: 1 where there is nothing, or nothing above a fraction's bar."""
    return f"1 {product}".strip() if not product or product.startswith("/") else product


def _ordered(terms: Sequence[Term]) -> list[Term]:
    """By degree, then by variable."""
    return sorted(terms, key=lambda t: (sum(t.powers), [-p for p in t.powers]))
