r"""Formulas for the page: a small part of TeX to MathML, which browsers set without any help from outside.

    mathml(r"\hat{u}_{k+1} = \bar{C} x_{k+1} + \bar{D} u_k")

Letters, numbers, operators, groups {…}, `^` and `_`, \frac, \sqrt, accents (\bar, \hat, \dot, \ddot), \text, sums with
limits, Greek letters and the few symbols of `SYMBOLS`. Anything else is an error: better a failed test than a formula
that says something else.
"""

from __future__ import annotations

import re
from html import escape

SYMBOLS = {
    **{name: chr(code) for name, code in zip(
        ("alpha", "beta", "gamma", "delta", "epsilon", "zeta", "eta", "theta"), range(0x3B1, 0x3B9), strict=True)},
    "lambda": "λ", "mu": "μ", "pi": "π", "rho": "ρ", "sigma": "σ", "tau": "τ", "phi": "φ", "omega": "ω", "Delta": "Δ",
    "Sigma": "Σ", "Phi": "Φ", "infty": "∞", "ell": "ℓ",
}  # fmt: skip
OPERATORS = {
    "le": "≤", "ge": "≥", "ne": "≠", "approx": "≈", "cdot": "·", "times": "×", "to": "→", "pm": "±", "in": "∈",
    "sum": "∑", "int": "∫", "prod": "∏", "dots": "…", "quad": "\u2003", ",": "\u2009", "langle": "⟨", "rangle": "⟩",
    "forall": "∀", "|": "‖", "{": "{", "}": "}", "ll": "≪", "sim": "∼",
}  # fmt: skip
ACCENTS = {"bar": "¯", "hat": "^", "dot": "˙", "ddot": "¨"}
COMBINING = {"bar": "\u0304", "hat": "\u0302", "dot": "\u0307", "ddot": "\u0308"}
FUNCTIONS = ("sin", "cos", "tanh", "exp", "log", "max", "min", "artanh")
LIMITS = ("∑", "∏", "∫")

_TOKEN = re.compile(r"\s*(\\[A-Za-z]+|\\.|[0-9]+(?:\.[0-9]+)?|.)", re.DOTALL)


def mathml(tex: str, display: bool = False) -> str:
    """`tex` as a `<math>` element; `display` sets it apart, on a line of its own."""
    tokens = [found.group(1) for found in _TOKEN.finditer(tex.strip())]
    body, rest = _row(tokens)
    if rest:
        raise ValueError(f"unbalanced braces in formula {tex!r}")
    kind = ' display="block"' if display else ""
    return f"<math{kind}><mrow>{body}</mrow></math>"


def _row(tokens: list[str]) -> tuple[str, list[str]]:
    made: list[str] = []
    while tokens and tokens[0] != "}":
        atom, tokens = _atom(tokens)
        under = over = None
        while tokens and tokens[0] in "_^":
            which = tokens[0]
            script, tokens = _atom(tokens[1:])
            under, over = (script, over) if which == "_" else (under, script)
        made.append(_scripts(atom, under, over))
    return "".join(made), tokens


def _scripts(atom: str, under: str | None, over: str | None) -> str:
    limits = any(f">{symbol}<" in atom for symbol in LIMITS[:2])
    if under is not None and over is not None:
        tag = "munderover" if limits else "msubsup"
        return f"<{tag}>{atom}{under}{over}</{tag}>"
    if under is not None:
        tag = "munder" if limits else "msub"
        return f"<{tag}>{atom}{under}</{tag}>"
    if over is not None:
        return f"<msup>{atom}{over}</msup>"
    return atom


def _atom(tokens: list[str]) -> tuple[str, list[str]]:
    if not tokens:
        raise ValueError("a formula ends where something has to follow")
    token, rest = tokens[0], tokens[1:]
    if token == "{":
        body, rest = _row(rest)
        if not rest:
            raise ValueError("a brace is not closed")
        return f"<mrow>{body}</mrow>", rest[1:]
    if token.startswith("\\"):
        return _command(token[1:], rest)
    if token[0].isdigit():
        return f"<mn>{token}</mn>", rest
    if token.isalpha():
        return f"<mi>{token}</mi>", rest
    return f"<mo>{escape({'-': '−', '*': '·'}.get(token, token))}</mo>", rest


def _command(name: str, rest: list[str]) -> tuple[str, list[str]]:
    if name in SYMBOLS:
        return f"<mi>{SYMBOLS[name]}</mi>", rest
    if name in OPERATORS:
        return f"<mo>{OPERATORS[name]}</mo>", rest
    if name in FUNCTIONS:
        return f"<mi>{name}</mi><mo>\u2061</mo><mspace width='0.17em'/>", rest
    if name in ACCENTS:
        body, rest = _atom(rest)
        letter = re.fullmatch(r"(?:<mrow>)?<mi>(\w)</mi>(?:</mrow>)?", body)
        if letter:
            # As one character: browsers without a mathematical font set an accent of its own into the letter.
            return f'<mi style="font-style:italic">{letter[1]}{COMBINING[name]}</mi>', rest
        return f'<mover accent="true">{body}<mo>{ACCENTS[name]}</mo></mover>', rest
    if name == "sqrt":
        body, rest = _atom(rest)
        return f"<msqrt>{body}</msqrt>", rest
    if name == "frac":
        above, rest = _atom(rest)
        below, rest = _atom(rest)
        return f"<mfrac>{above}{below}</mfrac>", rest
    if name == "text":
        end = rest.index("}")
        return f"<mtext>{escape(' '.join(''.join(rest[1:end]).split()))}</mtext>", rest[end + 1 :]
    raise ValueError(f"unknown command \\{name} in a formula")
