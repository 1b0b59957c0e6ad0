"""A page is computed again when, and only when, code or data that its numbers depend on has changed (defect 35)."""

import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest

from reproduction import keys, registry, runner

PAGE = '''
"""A page."""

from package import helper
from package.numerics import add, LIMIT
from package import exported

WORDS = "shown"


class Page:
    title = "A title"

    def compute(self):
        """Adds."""
        return add(1, 2) + helper.twice(3) + exported() + _inner()

    def pictures(self):
        return draw(WORDS)


def _inner():
    return LIMIT


def draw(words):
    from package import plots

    return plots.show(words)
'''
FILES = {
    "__init__.py": "from package.deep.core import exported\nfrom package.unrelated import other\n",
    "page.py": PAGE,
    "numerics.py": "from package import checks\nLIMIT = 3\n\n\ndef add(a, b):\n    checks.number(a)\n    return a + b\n\n\ndef unused():\n    return 0\n",  # noqa: E501
    "checks.py": "def number(x):\n    return float(x)\n",
    "helper.py": "import package.native as native\n\n\ndef twice(x):\n    return native.call(x)\n\n\ndef idle():\n    return 1\n",  # noqa: E501
    "types.pxd": "ctypedef double real",
    "kernel.pyx": "cdef void run(): pass",
    "native.py": "def call(x):\n    return 2 * x\n",
    "plots.py": "def show(words):\n    return words\n",
    "unrelated.py": "def other():\n    return 5\n",
    "deep/__init__.py": "",
    "deep/core.py": "def exported():\n    return 7\n",
    "data/run.json": "{}",
}


@pytest.fixture
def package(tmp_path: Path) -> Path:
    root = tmp_path / "package"
    for name, text in FILES.items():
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(textwrap.dedent(text))
    return root


def key(root: Path) -> str:
    keys._read.cache_clear()
    keys._import_nodes.cache_clear()
    return keys.digest((root,), "package.page", "Page", [root / "data" / "run.json"])


def change(name: str, old: str, new: str) -> Callable[[Path], None]:
    def made(root: Path) -> None:
        path = root / name
        text = path.read_text()
        assert old in text
        path.write_text(text.replace(old, new))

    return made


@pytest.mark.parametrize(
    "edit",
    [
        change("checks.py", "float(x)", "int(x)"),
        change("numerics.py", "a + b", "b + a"),
        change("numerics.py", "LIMIT = 3", "LIMIT = 4"),
        change("native.py", "2 * x", "x * 2"),
        change("deep/core.py", "7", "8"),
        change("page.py", "add(1, 2)", "add(2, 2)"),
        change("page.py", "return LIMIT", "return LIMIT + 0"),
        change("data/run.json", "{}", "[]"),
        change("types.pxd", "double", "float"),
        change("kernel.pyx", "pass", "return"),
    ],
    ids=["checks", "function", "constant", "module", "through-a-package", "page", "inner", "data", "c-types", "cython"],
)
def test_what_the_numbers_depend_on_changes_the_key(package: Path, edit: Callable[[Path], None]) -> None:
    before = key(package)
    edit(package)
    assert key(package) != before


@pytest.mark.parametrize(
    "edit",
    [
        change("unrelated.py", "5", "6"),
        change("plots.py", "return words", "return words.upper()"),
        change("page.py", "return draw(WORDS)", "return draw(WORDS + '!')"),
        change("page.py", 'WORDS = "shown"', 'WORDS = "other"'),
        change("page.py", '"""Adds."""', '"""Adds numbers."""'),
        change("page.py", 'title = "A title"', 'title = "Another"'),
        change("numerics.py", "LIMIT = 3", "LIMIT = 3  # a comment"),
        change("numerics.py", "return 0", "return 1"),
        change("helper.py", "return 1", "return 2"),
        change("numerics.py", "def add(a, b):", "def add(\n    a,\n    b,\n):"),
    ],
    ids=["unrelated", "plots", "drawing", "words", "docstring", "title", "comment", "unused", "idle", "layout"],
)
def test_nothing_else_does(package: Path, edit: Callable[[Path], None]) -> None:
    before = key(package)
    edit(package)
    assert key(package) == before


def test_pages_of_the_paper_do_not_hang_on_the_rest_of_the_package() -> None:
    table = registry.experiments()["table-signals"]
    reached = {name for name, _ in keys.closure(runner.SOURCES, type(table).__module__, type(table).__name__)}
    assert {"prophecy.bases", "prophecy._checks", "prophecy.signals", "prophecy.engines.lifting"} <= reached
    assert not any(name.startswith(("prophecy.streams", "prophecy.forecasting", "prophecy.tables")) for name in reached)


def test_every_page_reaches_its_own_computation_and_has_a_key_of_its_own() -> None:
    found = {}
    for name, experiment in registry.experiments().items():
        closure = keys.closure(runner.SOURCES, type(experiment).__module__, type(experiment).__name__)
        assert any(module == "reproduction.framework" for module, _ in closure), name
        found[name] = runner.code(experiment)
    assert len(set(found.values())) == len(found)


def test_the_committed_runs_a_page_shows_are_in_its_key() -> None:
    for experiment in registry.experiments().values():
        for place in experiment.data:
            if "perceptron" not in place:
                assert (runner.HERE / place).exists(), (experiment.name, place)


def test_what_is_no_page_is_there_and_compiled_sources_are_python_with_their_c_types_beside_them() -> None:
    assert set(registry.NOT_PAGES) <= {path.stem for path in runner.HERE.iterdir()}
    # `keys` follows Python and counts `.pxd` and `.pyx`: a source in another language would have to count too.
    others = {".c", ".cc", ".cpp", ".cu", ".h", ".f90"}
    assert not [path for root in runner.SOURCES for path in root.rglob("*") if path.suffix in others]
