"""Differential equations as people write them: lines with names and standard errors, a callable, SymPy expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import prod
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

Array = NDArray[np.float64]

_DIGITS = 5  # digits of a coefficient at most: an error of one in 100 000 is printed as exact
NO_RATE = 1e-6  # of the largest rate in an argument: what is left of a centre by rounding is not printed
_PLAIN = (1e-4, 1e6)  # coefficients outside are printed with an exponent: nobody counts zeros
_EQUAL = 2.0  # standard errors within which two coefficients are written as one


@dataclass(frozen=True)
class Argument:
    """What a function is taken of: the sum of rates times variables, of bends times their products, and a shift.

    bends: ((a, b, coefficient of the product of variables a and b), ...). errors: standard errors of rates and shift,
    () where they are not known; bend_errors: of bends. What is held, as a factor that was taken out, has 0.
    """

    function: str
    rates: tuple[float, ...]
    shift: float
    bends: tuple[tuple[int, int, float], ...] = ()
    errors: tuple[float, ...] = ()
    bend_errors: tuple[float, ...] = ()


@dataclass(frozen=True)
class Term:
    """coefficient * product of powers: powers[j] of variable j, then of function j. error: standard error."""

    coefficient: float
    error: float
    powers: tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Equations:
    """d(variable)/dt as sums of terms, in the data's units.

    names: of the variables, then of inputs. terms: for each variable. functions: what further factors powers speak of.
    dt: time between samples that t is measured by.
    noise: standard deviation of what was left of each variable.
    relations: variables that are sums of others in every row: (which, terms). remarks: what else is to be said of them.

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
        number = "-" * (constant < 0) + _number(abs(constant), 0.0)
        return f"{' + '.join([*map(self._product, others), self._name(i)])} = {number}"

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
        factors = list(variables)
        for function in self.functions:
            at = sum((rate * x for rate, x in zip(function.rates, variables, strict=True) if rate), function.shift)
            at = at + sum(c * variables[a] * variables[b] for a, b, c in function.bends)
            factors.append(known[function.function](at))
        return [
            sum((t.coefficient * prod(f**p for f, p in zip(factors, t.powers, strict=True) if p) for t in each), 0.0)
            for each in self.terms
        ]

    def _sum(self, terms: Sequence[Term], errors: bool) -> str:
        if not terms:
            return "0"
        order = sorted(terms, key=lambda t: (sum(t.powers), [-p for p in t.powers]))
        if not errors and len(terms) == 2 and _same(*terms):
            return self._pair(*order)
        out = ""
        for term in order:
            number = _number(abs(term.coefficient), term.error)
            if errors:
                number = f"({number} ± {term.error:.1g})"
            product = self._product(term, errors)
            body = product if number == "1" and product else f"{number} {product}".strip()
            sign = "-" if term.coefficient < 0 else "+"
            out += f" {sign} {body}" if out else (f"-{body}" if sign == "-" else body)
        return out

    def _pair(self, first: Term, second: Term) -> str:
        """Two terms whose coefficients agree up to the sign: 10 (y - x)."""
        if first.coefficient < 0 < second.coefficient:
            first, second = second, first
        factor = _number(abs(first.coefficient), max(first.error, second.error))
        sign = "-" if first.coefficient < 0 else ""
        joint = "+" if (second.coefficient < 0) == (first.coefficient < 0) else "-"
        inner = f"{self._product(first) or '1'} {joint} {self._product(second) or '1'}"
        if factor == "1":
            return f"-({inner})" if sign else inner
        return f"{sign}{factor} ({inner})"

    def _name(self, j: int) -> str:
        """A name as it stands in an equation: in brackets where it would not read as one word."""
        name = self.names[j]
        return name if name.isidentifier() else f"[{name}]"

    def _product(self, term: Term, shown: bool = False) -> str:
        parts = []
        for j, power in enumerate(term.powers):
            if power:
                parts.append(self._factor(j, shown) + (f"^{power}" if power > 1 else ""))
        return " ".join(parts)

    def _factor(self, j: int, shown: bool) -> str:
        """A variable, or a function of what it is taken of; shown: with standard errors."""
        if j < len(self.names):
            return self._name(j)
        function = self.functions[j - len(self.names)]
        names = [*map(self._name, range(len(self.names)))]
        names += [f"{names[a]}^2" if a == b else f"{names[a]} {names[b]}" for a, b, _ in function.bends]
        rates = [*function.rates, *(c for _, _, c in function.bends)]
        errors = function.errors or (0.0,) * (len(self.names) + 1)
        bent = function.bend_errors or (0.0,) * len(function.bends)
        inside, largest = "", max(map(abs, rates))
        for rate, name, error in zip(rates, names, (*errors[:-1], *bent), strict=True):
            if abs(rate) > NO_RATE * largest:
                number = _number(abs(rate), error, shown)
                sign = ("-" if rate < 0 else "") if not inside else (" - " if rate < 0 else " + ")
                inside += f"{sign}{'' if number == '1' else number + ' '}{name}"
        if function.shift:
            inside += f" {'-' if function.shift < 0 else '+'} {_number(abs(function.shift), errors[-1], shown)}"
        return f"/({inside})" if function.function == "1/" else f"{function.function}({inside})"


def _same(first: Term, second: Term) -> bool:
    gap = abs(abs(first.coefficient) - abs(second.coefficient))
    scale = abs(first.coefficient) + abs(second.coefficient)
    return gap <= max(_EQUAL * np.hypot(first.error, second.error), 1e-6 * scale) and gap < 0.05 * scale


def _number(value: float, error: float, shown: bool = False) -> str:
    """The value with the digits that its error allows; shown: with the error, where there is one."""
    if shown and error > 0:
        return f"({_number(value, error)} ± {error:.1g})"
    if value == 0 or not np.isfinite(value):
        return f"{value:g}"
    digits = int(np.clip(np.floor(np.log10(value)) - np.floor(np.log10(max(error, 1e-300))) + 1, 1, _DIGITS))
    rounded = float(f"{value:.{digits}g}")
    if not _PLAIN[0] <= rounded < _PLAIN[1]:
        mantissa, exponent = f"{rounded:.{digits - 1}e}".split("e")
        return f"{mantissa}e{int(exponent)}"
    return f"{rounded:g}" if digits == _DIGITS else f"{rounded:.{_places(value, digits)}f}"


def _places(value: float, digits: int) -> int:
    """Decimal places of that many significant digits."""
    return max(0, digits - 1 - int(np.floor(np.log10(value))))
