"""The report is one file that opens offline, says what it found, and is made from the results alone."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
typer = pytest.importorskip("typer")

from typer.testing import CliRunner  # noqa: E402

from prophecy import cli  # noqa: E402
from prophecy.commands import reproduce as command  # noqa: E402
from prophecy.reproduce import page, registry, report, runner  # noqa: E402
from prophecy.reproduce.framework import Ask, Cell, Table, number, spread  # noqa: E402

# One worker draws the report for all tests of this file.
pytestmark = pytest.mark.xdist_group("report")

VOID = {"meta", "hr", "br", "img", "link", "input"}
PAPER = [
    "fig-van-der-pol", "fig-order-filtered", "fig-order-white", "fig-training", "fig-context", "fig-signals",
    "table-signals", "table-odes", "theory", "discretisation", "legs", "baselines",
    "fout-search",
]  # fmt: skip


class Checker(HTMLParser):
    """Well-formedness, ids and links."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.ids: list[str] = []
        self.links: list[str] = []
        self.outside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag not in VOID:
            self.open.append(tag)
        for name, value in attrs:
            if name == "id" and value:
                self.ids.append(value)
            if name in ("href", "xlink:href", "src") and value:
                (self.links if value.startswith("#") else self.outside).append(value)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.handle_starttag(tag, attrs)
        if tag not in VOID:
            self.open.pop()


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("report")
    names = PAPER if _has_torch() else [name for name in PAPER if name != "fig-training"]
    runner.reproduce(names, Ask(functions=1), out)
    report.write(out)
    return out


def _has_torch() -> bool:
    try:
        import torch  # noqa: F401
    except ModuleNotFoundError:
        return False
    return True


@pytest.fixture(scope="module")
def text(folder: Path) -> str:
    return (folder / "report.html").read_text()


def test_the_report_is_well_formed_and_every_link_leads_somewhere(text: str) -> None:
    checker = Checker()
    checker.feed(text)
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids)), "ids are unique although every figure brings its own"
    assert {link[1:] for link in checker.links} <= set(checker.ids)


def test_the_report_needs_nothing_from_outside(text: str) -> None:
    checker = Checker()
    checker.feed(text)
    assert all(link.startswith("data:") for link in checker.outside)
    assert "@import" not in text
    assert "<script" not in text
    assert not re.findall(r"url\((?!#)(?!data:)", text)


def test_every_experiment_has_its_page_with_verdicts_figures_and_tables(text: str, folder: Path) -> None:
    for name, experiment in registry.experiments().items():
        if not (folder / f"{name}.json").exists():
            continue
        section = text.split(f'<section id="{name}">')[1].split("</section>")[0]
        result = json.loads((folder / f"{name}.json").read_text())
        assert section.count("<figure>") == len(experiment.pictures(result))
        assert section.count("<table>") == len(experiment.tables(result))
        assert section.count('class="tag') == len(experiment.verdicts(result)) > 0


def test_every_verdict_and_every_slip_carries_a_number(folder: Path) -> None:
    for name, experiment in registry.experiments().items():
        path = folder / f"{name}.json"
        if path.exists():
            result = json.loads(path.read_text())
            for evidence in [x.evidence for x in (*experiment.verdicts(result), *experiment.slips(result))]:
                assert re.search(r"\d", evidence), (name, evidence)


def test_figures_are_kept_for_talks(folder: Path) -> None:
    drawn = {path.stem for path in (folder / "figures").glob("*.svg")}
    assert drawn == {path.stem for path in (folder / "figures").glob("*.png")}
    assert drawn >= {"fig-van-der-pol", "fig-order-white", "legs", "baselines", "theory"}


def test_the_report_is_the_same_when_made_again_from_the_same_results(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "theory.json").write_bytes((folder / "theory.json").read_bytes())
    assert report.write(tmp_path).read_bytes() == report.write(tmp_path).read_bytes()


def test_the_full_training_run_stands_beside_the_short_one(text: str) -> None:
    if not _has_torch():
        pytest.skip("the short run needs torch")
    section = text.split('<section id="fig-training">')[1].split("</section>")[0]
    assert "short run" in section
    assert "full run: 8000 steps, batch 128" in section


def test_the_summary_names_its_command_its_machine_and_its_time(text: str, folder: Path) -> None:
    top = text.split('<section id="summary">')[1].split("</header>")[0]
    assert "--functions 1" in top
    assert "A quick look" in top
    assert "NumPy" in top
    assert re.search(r"\d\.\d minutes of work", top)


def test_the_papers_statements_stand_apart_from_ours(text: str) -> None:
    theirs, ours = text.split("<h3>The paper's statements</h3>")[1].split("<h3>What anyone would ask next</h3>")
    assert 'href="#table-signals"' in theirs
    assert 'href="#baselines"' not in theirs
    assert 'href="#baselines"' in ours.split("</section>")[0]


def test_text_from_results_cannot_break_the_page() -> None:
    html = page.table(Table("<b>", ["<script>"], [[Cell("<i>", "good"), "a & b"]]))
    assert "<script>" not in html
    assert "&lt;i&gt;" in html
    assert "a &amp; b" in html


def test_results_of_other_code_are_named_and_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("table-odes", "theory"):
        stored = json.loads((folder / f"{name}.json").read_text())
        stored["code"] = stored["code"] if name == "theory" else "older"
        (tmp_path / f"{name}.json").write_text(json.dumps(stored))
    text = report.write(tmp_path).read_text()
    assert "Left out, made by other code: table-odes" in text
    assert '<section id="table-odes">' not in text


def test_no_results_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run `prophecy reproduce` first"):
        report.write(tmp_path)


@pytest.mark.parametrize(
    ("value", "shown"), [(1.25e-7, "1.2e-7"), (0.5, "0.5"), (123.4, "123"), (None, "–"), (2e5, "2.0e5")]
)
def test_numbers_are_short(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_spreads_share_an_exponent() -> None:
    assert spread(2.8e-3, 3e-4) == "2.8 ± 0.3e-3"


def invoke(*arguments: str):  # type: ignore[no-untyped-def]
    app = typer.Typer()
    app.callback()(cli._root)
    command.register(app)
    return CliRunner().invoke(app, ["reproduce", *arguments])


def test_the_command_lists_the_experiments() -> None:
    result = invoke("--list")
    assert result.exit_code == 0
    assert all(name in result.output for name in PAPER)


def test_the_command_ends_with_the_reports_path(tmp_path: Path) -> None:
    result = invoke("table-odes", "--out", str(tmp_path / "a b"), "--jobs", "1")
    assert result.exit_code == 0, result.output
    last = result.output.strip().splitlines()[-1]
    assert Path(last) == (tmp_path / "a b" / "report.html").resolve()
    assert Path(last).is_file()
    assert "table-odes: done" in result.output


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nonsense"], "unknown experiment 'nonsense'"),
        (["--functions", "0"], "functions must be at least 1, got 0"),
        (["--device", "tpu"], "device must be 'cpu' or 'cuda', got 'tpu'"),
        (["--jobs", "0"], "jobs must be at least 1"),
        (["table-odes", "--out", "/dev/null/x"], "cannot write to '/dev/null/x'"),
    ],
)
def test_the_command_says_what_is_wrong_and_how_to_go_on(tmp_path: Path, arguments: list[str], message: str) -> None:
    place = [] if "--out" in arguments else ["--out", str(tmp_path / "out")]
    result = invoke(*arguments, *place)
    assert result.exit_code == 2
    assert message in result.output.replace("\n", " ")
    assert "Traceback" not in result.output


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"pip install 'hippo-prophecy\[cli\]'"):
        cli.main()
