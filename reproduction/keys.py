"""Which code a page's numbers depend on, as one digest: the key under which its pieces are cached.

Starting from the page's class, names are followed through the packages without running anything; a class counts with
all its methods, a page without those that only show results. What is reached counts as its syntax tree, so comments,
docstrings and line breaks are free to change. Data the page names count byte for byte, and so do compiled kernels
(`.pyx`, `.pxd`), all those of a folder of which one is named.
Where a name cannot be followed (a module handed on as a value, a name made by `__getattr__`) its whole module counts.
"""

import ast
import functools
import hashlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

SHOWN = frozenset(
    {"draw", "pictures", "tables", "verdicts", "slips", "title", "reference", "introduction", "place", "early"}
    | {"question", "method", "doubts", "caption", "alt", "told"}
)
"""Methods of a page that only show what was computed, and attributes that no number depends on."""
WHOLE = "*"
"""In the place of a name: everything in the module."""

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef
Place = tuple[str, str]
"""A module and a name within it, or `WHOLE`."""
Root = tuple[Path, ...]
"""The folders of the packages that are followed, each called as its package."""


class Module(NamedTuple):
    """A module's syntax tree without docstrings, what it defines, what its imports mean, and what it does besides."""

    tree: ast.Module
    own: dict[str, list[ast.stmt]]
    imported: dict[str, Place]
    effects: list[ast.stmt]


def digest(root: Root, module: str, page: str, data: Iterable[Path] = ()) -> str:
    """Digest of what class `page` of `module` depends on; `data` are files and folders that the page reads."""
    total = hashlib.sha256()
    found = closure(root, module, page)
    for name, node in found:
        total.update(f"{name}\n{_text(node)}\n".encode())
    named = {path for place in data for path in (place, *place.rglob("*"))}
    for folder in {_path(root, name).parent for name, _ in found}:
        named |= {*folder.glob("*.pxd"), *folder.glob("*.pyx")}
    for path in sorted(named):
        if path.is_file():
            total.update(path.name.encode() + hashlib.sha256(path.read_bytes()).digest())
    return total.hexdigest()


def closure(root: Root, module: str, page: str) -> list[tuple[str, ast.stmt]]:
    """(module, statement) for everything the page reaches, in a fixed order."""
    waiting: list[Place] = [(module, page)]
    seen: set[Place] = set()
    found: dict[tuple[str, int], ast.stmt] = {}
    while waiting:
        place = waiting.pop()
        if place in seen:
            continue
        name, wanted = place
        here = _module(root, name)
        nodes = here.own.get(wanted) or here.tree.body
        if (name, "") not in seen:
            nodes = [*nodes, *here.effects]
        seen |= {place, (name, "")}
        for node in nodes:
            if (name, node.lineno) not in found and not isinstance(node, ast.Import | ast.ImportFrom):
                found[name, node.lineno] = _computing(node)
                waiting.extend(_named(root, name, found[name, node.lineno]))
    return [(name, found[name, line]) for name, line in sorted(found)]


@functools.cache
def _text(node: ast.stmt) -> str:
    return ast.dump(node)


@functools.cache
def _named(root: Root, module: str, node: ast.stmt) -> list[Place]:
    """The places that a statement names: own definitions, imported names, attributes of imported modules."""
    here, found, through = _module(root, module), list[Place](), set[ast.expr]()
    for part in ast.walk(node):
        if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name):
            target = here.imported.get(part.value.id)
            if target is not None and target[1] == WHOLE:
                through.add(part.value)
                found += _origin(root, target[0], part.attr)
    names = {part.id for part in ast.walk(node) if isinstance(part, ast.Name) and part not in through}
    found += [(module, name) for name in names & here.own.keys()]
    return found + [here.imported[name] for name in names & here.imported.keys() - here.own.keys()]


def _path(root: Root, module: str) -> Path:
    package, *names = module.split(".")
    inside = next(folder for folder in root if folder.name == package).joinpath(*names)
    return inside / "__init__.py" if inside.is_dir() else inside.with_suffix(".py")


def _exists(root: Root, module: str) -> bool:
    return any(folder.name == module.split(".")[0] for folder in root) and _path(root, module).is_file()


def _module(root: Root, name: str) -> Module:
    path = _path(root, name)
    return _read(root, name, path.stat().st_mtime_ns)


@functools.cache
def _read(root: Root, name: str, changed: int) -> Module:
    tree = ast.parse(_path(root, name).read_text())
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list):
            # A string that stands alone does nothing: docstrings, and notes below attributes.
            kept = [x for x in body if not (isinstance(x, ast.Expr) and isinstance(x.value, ast.Constant))]
            node.body = kept if kept or node is tree else [ast.Pass()]  # type: ignore[attr-defined]
    own: dict[str, list[ast.stmt]] = {}
    effects = []
    for statement in tree.body:
        defined = _defined(statement)
        for word in defined:
            own.setdefault(word, []).append(statement)
        if not defined and not isinstance(statement, ast.Import | ast.ImportFrom):
            effects.append(statement)
    return Module(tree, own, dict(_imports(root, name, tree)), effects)


def _defined(node: ast.stmt) -> list[str]:
    if isinstance(node, Definition):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []
    return [n.id for target in targets for n in ast.walk(target) if isinstance(n, ast.Name)]


def _imports(root: Root, module: str, tree: ast.AST) -> Iterator[tuple[str, Place]]:
    """What each imported name of the package means, imports inside functions included."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                if _exists(root, alias.name):
                    yield alias.asname or alias.name.split(".")[0], (alias.name, WHOLE)
        elif isinstance(node, ast.ImportFrom):
            source = _source(root, module, node)
            for alias in node.names:
                for place in _origin(root, source, alias.name):
                    yield alias.asname or alias.name, place


def _source(root: Root, module: str, node: ast.ImportFrom) -> str:
    if not node.level:
        return node.module or ""
    parts = module.split(".")
    inside = parts if _path(root, module).name == "__init__.py" else parts[:-1]
    return ".".join([*inside[: len(inside) - node.level + 1], *([node.module] if node.module else [])])


def _origin(root: Root, source: str, name: str) -> Iterator[Place]:
    """Where `from source import name` comes from; the version is in the key anyway."""
    if _exists(root, f"{source}.{name}"):
        yield f"{source}.{name}", WHOLE
    elif _exists(root, source) and name != "__version__":
        path = _path(root, source)
        for node in _import_nodes(path, path.stat().st_mtime_ns):
            for alias in node.names:
                if (alias.asname or alias.name) == name:
                    yield from _origin(root, _source(root, source, node), alias.name)
                    return
        yield source, name


@functools.cache
def _import_nodes(path: Path, changed: int) -> list[ast.ImportFrom]:
    return [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.ImportFrom)]


@functools.cache
def _computing(node: ast.stmt) -> ast.stmt:
    """A statement; a class without what only shows results."""
    if not isinstance(node, ast.ClassDef):
        return node
    body = [part for part in node.body if not (set(_defined(part)) & SHOWN)]
    kept = {name: getattr(node, name) for name in node._fields if name != "body"}
    return ast.ClassDef(**kept, body=body or [ast.Pass()], lineno=node.lineno, col_offset=node.col_offset)
