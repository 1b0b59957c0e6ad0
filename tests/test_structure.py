"""Rules about the source itself: private names stay in their package, and nobody changes another module's names."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "prophecy"
SOURCES = sorted(PACKAGE.rglob("*.py"))
SCRIPTS = sorted(
    path for folder in ("benchmarks", "examples", "docs", "tools") for path in (ROOT / folder).rglob("*.py")
)
TESTS = sorted((ROOT / "tests").glob("*.py"))


def imported(tree: ast.AST) -> dict[str, list[str]]:
    """Names of a file that are ours: what each stands for, below `prophecy`."""
    found: dict[str, list[str]] = {}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "prophecy":
            for alias in node.names:
                found[alias.asname or alias.name] = [*node.module.split(".")[1:], alias.name]
        if isinstance(node, ast.Import):
            for alias in node.names:
                if alias.name.split(".")[0] == "prophecy":
                    found[alias.asname or "prophecy"] = alias.name.split(".")[1:] if alias.asname else []
    return found


def private(name: str) -> bool:
    return name.startswith("_") and not name.startswith("__")


def foreign(path: Path, text: str) -> Iterator[str]:
    """Private names of other packages that a file imports or reaches through a module. Files `_x.py` at the top level
    are for the whole of prophecy."""
    tree = ast.parse(text)
    own = path.relative_to(PACKAGE).parts[0] if path.is_relative_to(PACKAGE) else ""
    names = imported(tree)
    for name, target in names.items():
        if target[:1] != [own] and any(private(part) for part in target[1:]):
            yield f"{path.name} imports {'.'.join(target)} as {name}"
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name) and private(node.attr):
            target = names.get(node.value.id)
            if target is not None and target[:1] != [own] and target[-1:] and target[-1][:1].islower():
                yield f"{path.name}:{node.lineno} reaches {ast.unparse(node)}"


def _table(node: ast.expr) -> bool:
    """Whether this names a module's table of constants, such as `engine.PLANS`; arrays such as `system.A` are data."""
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return len(name) > 2 and name.isupper()


def changed(path: Path, text: str) -> Iterator[str]:
    """Where a file sets a name of one of our modules or classes."""
    tree = ast.parse(text)
    names = imported(tree)

    def ours(node: ast.expr) -> bool:
        while isinstance(node, ast.Attribute):
            node = node.value
        return isinstance(node, ast.Name) and node.id in names

    for node in ast.walk(tree):
        targets = (
            node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AugAssign) else []
        )
        for target in targets:
            assert isinstance(node, ast.stmt)
            if isinstance(target, ast.Attribute) and ours(target.value):
                yield f"{path.name}:{node.lineno} sets {ast.unparse(target)}"
            if isinstance(target, ast.Subscript) and ours(target.value) and _table(target.value):
                yield f"{path.name}:{node.lineno} sets {ast.unparse(target)}"
        if isinstance(node, ast.Call) and node.args:
            called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
            first = node.args[0]
            by_name = isinstance(first, ast.Constant) and str(first.value).startswith("prophecy")
            if called in ("setattr", "delattr", "setitem", "patch", "object") and (by_name or ours(first)):
                yield f"{path.name}:{node.lineno} sets {ast.unparse(first)}"


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_private_names_are_used_in_their_own_package_alone(path: Path) -> None:
    assert list(foreign(path, path.read_text())) == []


@pytest.mark.parametrize("path", [*SOURCES, *SCRIPTS, *TESTS], ids=lambda path: str(path.relative_to(ROOT)))
def test_nobody_changes_names_of_another_module(path: Path) -> None:
    """Tests and ablations hand over settings and functions; other libraries' names may be watched."""
    assert list(changed(path, path.read_text())) == []


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("from prophecy.laws.context import _lagged", foreign),
        ("from prophecy.laws import context\ncontext._lagged(3)", foreign),
        ("import prophecy.laws.context as c\nc.MOST = 3", changed),
        ("from prophecy.laws import context as c\ndef test(patch):\n    patch.setattr(c, 'MOST', 3)", changed),
        ("def test(monkeypatch):\n    monkeypatch.setattr('prophecy.laws.context.MOST', 3)", changed),
        ("from prophecy import Prophecy\nProphecy.predict = None", changed),
        ("from prophecy.engines import triton_engine as e\ne.PLANS['hopper', 16] = None", changed),
        ("from prophecy.engines import ENGINES\nENGINES['mine'] = None", changed),
    ],
)  # fmt: skip
def test_the_rules_find_what_they_forbid(text: str, rule) -> None:  # type: ignore[no-untyped-def]
    assert len(list(rule(PACKAGE / "tables" / "new.py", text))) == 1
