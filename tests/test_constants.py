"""Every number that steers the code stands beside its unit or reason, or in a frozen `Settings`."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import pytest

import prophecy
from prophecy.laws import settings as laws
from prophecy.streams import settings as streams

SOURCES = sorted(Path(prophecy.__file__).parent.rglob("*.py"))


def _bare(text: str) -> list[str]:
    """Names of module constants made of literal numbers without a word beside, above or below them."""
    lines, body = text.splitlines(), ast.parse(text).body
    found = []
    for place, node in enumerate(body):
        if not isinstance(node, ast.Assign | ast.AnnAssign) or node.value is None or not _literal(node.value):
            continue
        last = place
        while last + 1 < len(body) and _follows(body[last], body[last + 1]):
            last += 1
        after = body[last + 1] if last + 1 < len(body) else None
        documented = (
            isinstance(after, ast.Expr)
            and isinstance(after.value, ast.Constant)
            and after.lineno == (body[last].end_lineno or 0) + 1
        )
        first = node.lineno
        while first > 1 and lines[first - 2].strip() and not lines[first - 2].startswith(("#", " ", ")", '"')):
            first -= 1
        above = first > 1 and lines[first - 2].startswith("#")
        beside = any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
        if not (documented or above or beside):
            found.append(lines[node.lineno - 1])
    return found


def _follows(one: ast.stmt, other: ast.stmt) -> bool:
    return isinstance(other, ast.Assign | ast.AnnAssign) and other.lineno == (one.end_lineno or 0) + 1


def _literal(value: ast.expr) -> bool:
    """Numbers and containers of them, written out: what follows from other names has its reason there."""
    numbers = [
        part
        for part in ast.walk(value)
        if isinstance(part, ast.Constant) and isinstance(part.value, int | float) and not isinstance(part.value, bool)
    ]
    words = any(isinstance(part, ast.Constant) and isinstance(part.value, str) for part in ast.walk(value))
    names = {part.id for part in ast.walk(value) if isinstance(part, ast.Name)}
    return bool(numbers) and not words and names <= {"np"} and not _empty(value)


def _empty(value: ast.expr) -> bool:
    return isinstance(value, ast.Call) and isinstance(value.func, ast.Attribute) and value.func.attr == "zeros"


def test_every_constant_says_what_it_is() -> None:
    assert len(SOURCES) > 100
    assert {file.name: bare for file in SOURCES if (bare := _bare(file.read_text()))} == {}


def test_a_constant_without_a_word_is_noticed() -> None:
    explained = "B = 4  # samples\nC = 2 * B\n# seconds\nD = 1.5\nE = (1, 2)\n\nF = 7\n'rows'\n"
    assert _bare(f"A = 3\n\n{explained}") == ["A = 3"]


@pytest.mark.parametrize("module", [streams, laws], ids=["streams", "laws"])
def test_settings_are_frozen_and_every_value_has_its_reason(module) -> None:
    with pytest.raises(dataclasses.FrozenInstanceError):
        module.DEFAULT.rate = 1
    file = Path(module.__file__)
    texts = [each.read_text() for each in (sorted(file.parent.glob("*.py")) if file.stem == "__init__" else [file])]
    kinds = [(node, text) for text in texts for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
    assert kinds
    for kind, text in kinds:
        assert _unexplained(kind, text.splitlines()) == []


def _unexplained(kind: ast.ClassDef, lines: list[str]) -> list[str]:
    """Fields of a class without a comment beside or above them and without a sentence below."""
    found = []
    for place, node in enumerate(kind.body):
        if not isinstance(node, ast.AnnAssign) or ast.unparse(node.annotation).startswith("ClassVar"):
            continue
        last = place
        while last + 1 < len(kind.body) and _follows(kind.body[last], kind.body[last + 1]):
            last += 1
        below = last + 1 < len(kind.body) and isinstance(kind.body[last + 1], ast.Expr)
        beside = any("#" in line for line in lines[node.lineno - 1 : node.end_lineno])
        if not (below or beside or lines[node.lineno - 2].strip().startswith("#")):
            found.append(lines[node.lineno - 1].strip())
    return found
