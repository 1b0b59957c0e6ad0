"""docs/reproduction.md lists all the paper says, each with a page of the report that exists."""

import re
from pathlib import Path

import pytest

from reproduction import registry, report

DOCS = Path(__file__).parents[1] / "docs" / "reproduction.md"
NUMBERED = [
    *(f"Eq. ({n})" for n in range(1, 6)), "Prop. 1", "Prop. 2", "Prop. 3", "Lemma 1", "Theorem 1", "Corollary 1",
    "Footnote 2",
    *(f"Fig. 1{letter}" for letter in "abcdef"), "Fig. 2", "Fig. 3", "Table 1", "Table 2",
    "App. A.1", "App. A.2", "App. A.3", "App. B.1", "App. B.2", "App. C.1", "App. C.2", "App. D",
]  # fmt: skip
CLAIMS = [
    "any dynamical system", "up to first order", "lower curvature", "helps up to a point", "first worsens", "copies",
    "high-frequency", "resolution", "random start", "does not improve", "hold-out", "trade-off", "best generalising",
    "initialisation", "falls with context", "oscillate longer", "easier than Filtered Noise",
    "order of magnitude on Bernoulli",
    "comparable at N = 33", "square wave", "easier by an order", "works better than twice", "works for all", "gating",
    "non-linearities", "several steps", "converge absolutely", "for small Δt", "Lipschitz",
]  # fmt: skip


@pytest.fixture(scope="module")
def rows() -> list[tuple[str, str, list[str]]]:
    if not DOCS.exists():
        pytest.skip("the docs are not beside the tests")
    text = DOCS.read_text().split("## Inventory")[1].split("\n## ")[0]
    lines = [line.strip("|").split("|") for line in text.splitlines() if line.startswith("|")][2:]
    return [(where.strip(), what.strip(), re.findall(r"`([^`]+)`", page)) for where, what, page in lines]


def test_no_entry_is_without_a_page_and_every_page_named_exists(rows: list[tuple[str, str, list[str]]]) -> None:
    known = set(registry.experiments())
    for where, what, pages in rows:
        assert pages, (where, what)
        assert set(pages) <= known, (where, set(pages) - known)


def test_everything_with_a_number_is_listed(rows: list[tuple[str, str, list[str]]]) -> None:
    places = {part.strip() for where, _, _ in rows for part in where.split(",")}
    assert [name for name in NUMBERED if name not in places] == []


@pytest.mark.parametrize("words", CLAIMS)
def test_every_textual_claim_is_listed(rows: list[tuple[str, str, list[str]]], words: str) -> None:
    assert any(words in what for _, what, _ in rows)


def test_every_page_about_the_paper_is_in_the_inventory(rows: list[tuple[str, str, list[str]]]) -> None:
    named = {page for _, _, pages in rows for page in pages}
    theirs = {name for name, experiment in registry.experiments().items() if experiment.place < report.BEYOND}
    assert theirs <= named
