"""The report is one file that opens offline, says what it found, and is made from the results alone."""

import json
import re
import sys
from html.parser import HTMLParser
from pathlib import Path

import pytest

pytest.importorskip("matplotlib")
pytest.importorskip("jinja2")
typer = pytest.importorskip("typer")

from typer.testing import CliRunner  # noqa: E402

from prophecy import cli  # noqa: E402
from reproduction import (  # noqa: E402
    command,
    page,
    progress,
    registry,
    report,
    runner,
)
from reproduction.framework import Ask, Cell, OpenQuestion, Table  # noqa: E402
from reproduction.rows import mean_and_deviation, number  # noqa: E402

# One worker draws the report for all tests of this file.
pytestmark = pytest.mark.xdist_group("report")

VOID = {"meta", "hr", "br", "img", "link", "input"}
PAPER = [
    "reconstruction", "trained", "further-signals", "solvers", "gating", "several-steps", "convolution",
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
    trained = {"fig-training", "trained", "solvers", "gating", "convolution"}
    names = PAPER if _has_torch() else [name for name in PAPER if name not in trained]
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


def test_a_report_of_two_pages_is_well_formed_and_needs_nothing_from_outside(tmp_path: Path) -> None:
    runner.reproduce(["fig-van-der-pol", "table-odes"], Ask(), tmp_path)
    report.write(tmp_path)
    checker = Checker()
    checker.feed((tmp_path / "report.html").read_text())
    assert checker.open == []
    assert len(checker.ids) == len(set(checker.ids))
    assert {link[1:] for link in checker.links} <= set(checker.ids)
    assert {"fig-van-der-pol", "table-odes"} <= set(checker.ids)
    assert all(link.startswith("data:") for link in checker.outside)


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


def test_every_verdict_stands_there_once(text: str, folder: Path) -> None:
    pages = text.count('<span class="tag ')
    total = 0
    for name, experiment in registry.experiments().items():
        if (folder / f"{name}.json").exists():
            total += len(experiment.verdicts(json.loads((folder / f"{name}.json").read_text())))
    assert pages == total


def test_three_figures_come_before_the_first_verdict_table_or_section(text: str) -> None:
    if not _has_torch():
        pytest.skip("two of the three need torch")
    top = text.split('<div class="numbers">')[0]
    assert top.count("<figure>") == 3
    assert "<table" not in top
    assert 'class="tag' not in top


def test_a_figure_shown_twice_is_drawn_once(text: str) -> None:
    assert text.count('<svg id="figure-table-signals"') == 1
    assert text.count('<use href="#figure-table-signals"/>') == 1


def test_every_figure_says_what_is_to_be_seen(text: str, folder: Path) -> None:
    assert text.count('role="img"') == text.count("<figure>")
    for name, experiment in registry.experiments().items():
        if (folder / f"{name}.json").exists():
            for picture in experiment.pictures(json.loads((folder / f"{name}.json").read_text())):
                assert len(picture.alt) > 20, picture.name
                assert picture.alt != picture.caption


def test_every_colour_of_the_figures_has_a_dark_form_that_can_be_read(text: str) -> None:
    used = set(re.findall(r"var\(--c([0-9a-f]{6}),", text))
    night = text.split("@media(prefers-color-scheme:dark){:root{--c")[1].split("}}")[0]
    for colour in used:
        assert f"--c{colour}:" in "--c" + night
        if f"#{colour}" not in page.NEUTRAL:
            assert page.contrast(page.dark(f"#{colour}"), "#14171c") >= 4.5
    assert not re.findall(r"(?:fill|stroke): ?#[0-9a-f]{6}", text), "no colour is fixed"


def test_formulas_are_set_by_the_browser(text: str) -> None:
    assert "<i>C<sub>k</sub> = −2√2 π n</i>" in text
    assert "$" not in re.sub(r"<svg.*?</svg>|<style>.*?</style>", "", text, flags=re.DOTALL)


def test_means_and_deviations_share_one_exponent_in_parentheses(text: str) -> None:
    assert re.search(r"\(\d\.\d ± \d\.\d\)e[-−]\d", text)
    assert not re.search(r"[^(]\d\.\d ± \d\.\de[-−]\d", text)


def test_open_questions_have_a_question_five_lines_one_figure_and_a_doubt(text: str, folder: Path) -> None:
    asked = [e for e in registry.experiments().values() if isinstance(e, OpenQuestion)]
    assert [e.name for e in asked] == ["solvers", "gating", "layers", "several-steps", "convolution"]
    for experiment in asked:
        assert experiment.question.strip().endswith("?")
        assert len(experiment.method) == 5
        assert len(experiment.doubts) > 80
        path = folder / f"{experiment.name}.json"
        if path.exists():
            result = json.loads(path.read_text())
            assert len(experiment.pictures(result)) == 1
            assert all(re.search(r"\d", verdict.evidence) for verdict in experiment.verdicts(result))


def test_the_report_can_be_written_while_pages_are_still_to_come(folder: Path, tmp_path: Path) -> None:
    (tmp_path / "theory.json").write_bytes((folder / "theory.json").read_bytes())
    growing = report.Report(tmp_path)
    first = growing.write("3 pages to come, about 2 min left").read_text()
    assert "Report in the making: 3 pages to come, about 2 min left" in first
    (tmp_path / "legs.json").write_bytes((folder / "legs.json").read_bytes())
    second = growing.write().read_text()
    assert "in the making" not in second
    assert '<section id="legs">' in second


def test_every_verdict_and_every_slip_carries_a_number(folder: Path) -> None:
    for name, experiment in registry.experiments().items():
        path = folder / f"{name}.json"
        if path.exists():
            result = json.loads(path.read_text())
            said = [x.evidence for x in experiment.verdicts(result)] + [x.evidence for x in experiment.slips(result)]
            for evidence in said:
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
    assert "full run (GPU): 8000 steps, 3 seeds, NVIDIA H200" in section
    assert "cycles (GPU): 8000 steps" in section


def test_the_summary_names_its_command_its_machine_and_its_time(text: str, folder: Path) -> None:
    top = text.split('<section id="summary">')[1].split("</header>")[0]
    assert "--functions 1" in top
    pages = text.count('<section id="') - sum(f'<section id="{n}"' in text for n in ("summary", "cells", "slips"))
    short = [n for n, e in registry.experiments().items() if e.functions or n in ("fig-training", "trained")]
    short = [n for n in short if (folder / f"{n}.json").exists()]
    assert f"A quick look, not the reproduction: {len(short)} of these {pages} pages" in top
    assert f"In part, {pages} of {len(registry.experiments())} pages" in top
    assert "Every figure and table" not in top
    assert "our mean lies within the paper's mean ± std" in text.replace("&#39;", "'")
    assert "NumPy" in top
    assert re.search(r"\d\.\d minutes of work", top)


def test_the_papers_statements_stand_apart_from_ours(text: str, folder: Path) -> None:
    order = [
        text.index(f'<div class="part">{title}') for title in ("The paper", "Against the obvious", "Open questions")
    ]
    assert order == sorted(order)
    assert text.index('<section id="table-signals">') < order[1] < text.index('<section id="baselines">')
    theirs = [
        verdict
        for name, experiment in registry.experiments().items()
        if experiment.place < report.BEYOND and (folder / f"{name}.json").exists()
        for verdict in experiment.verdicts(json.loads((folder / f"{name}.json").read_text()))
        if not verdict.ours
    ]
    as_printed = sum(verdict.mark == "good" for verdict in theirs)
    assert f"<strong>{as_printed} of {len(theirs)}</strong>" in text
    assert any(verdict.mark == "condition" for verdict in theirs), "what needs a condition of ours is counted apart"


def test_what_the_paper_never_states_is_marked_and_not_counted_as_its_own(text: str, folder: Path) -> None:
    ours = {
        verdict.statement: name
        for name, experiment in registry.experiments().items()
        if experiment.place < report.BEYOND and (folder / f"{name}.json").exists()
        for verdict in experiment.verdicts(json.loads((folder / f"{name}.json").read_text()))
        if verdict.ours
    }
    assert {"Table 1 can be reproduced.", "Table 2 can be reproduced."} <= set(ours)
    assert "The proof's tail of ideal Fourier coefficients bounds the error of the SSM, too." in ours
    if _has_torch():
        stored = json.loads((folder / "trained.json").read_text())
        assert {v.statement for v in registry.experiments()["trained"].verdicts(stored)} <= set(ours)
    assert text.count("(our statement, not the paper's)") + text.count("(our statement, not the paper&#39;s)") == len(
        ours
    )


def test_text_from_results_cannot_break_the_page() -> None:
    table = page.lines(Table("<b>", ["<script>"], [[Cell("<i>", "good"), "a & b"]]))
    shown = {
        "name": "x",
        "title": "<u>",
        "reference": "",
        "introduction": [],
        "question": "",
        "method": (),
        "doubts": "",
    }
    shown |= {"verdicts": [], "tally": "", "pictures": [], "tables": [table], "provenance": ""}
    html = page.render(
        title="t", state="", headline="<em>", origin=[], leads=[], facts=[], cells=None, slips=[], colours="",
        parts=[{"title": "p", "pages": [shown]}],
    )  # fmt: skip
    body = html.split("<main>")[1]
    assert "<script>" not in body
    assert "&lt;i&gt;" in body
    assert "a &amp; b" in body
    assert "&lt;em&gt;" in body
    assert "<h2>&lt;u&gt;</h2>" in body


def test_time_left_counts_down_and_follows_the_machine() -> None:
    clock = iter([0.0, *[50.0] * 20])
    known = registry.experiments()
    seconds = {"theory": 20.0, "legs": 20.0}
    told = progress.Estimate([known["theory"], known["legs"]], Ask(), 2, seconds, lambda: next(clock))
    assert told.words() == "about 20 s left", "forty seconds of work on two processes"
    told.begin("theory", 4, 0)
    for _ in range(4):
        told.step()
    told.end("theory")
    assert told.seconds() == pytest.approx(50.0), "twenty expected seconds took fifty, so will the rest"
    told.begin("legs", 2, 2)
    told.end("legs")
    assert told.words() == "nearly done"


def test_results_of_other_code_are_named_and_left_out(folder: Path, tmp_path: Path) -> None:
    for name in ("table-odes", "theory"):
        stored = json.loads((folder / f"{name}.json").read_text())
        stored["code"] = stored["code"] if name == "theory" else "older"
        (tmp_path / f"{name}.json").write_text(json.dumps(stored))
    text = report.write(tmp_path).read_text()
    assert "Left out, made by other code: table-odes" in text
    assert '<section id="table-odes">' not in text


def test_no_results_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="run `python -m reproduction` first"):
        report.write(tmp_path)


@pytest.mark.parametrize(
    ("value", "shown"), [(1.25e-7, "1.2e-7"), (0.5, "0.5"), (123.4, "123"), (None, "–"), (2e5, "2.0e5")]
)
def test_numbers_are_short(value: float | None, shown: str) -> None:
    assert number(value) == shown


def test_spreads_share_an_exponent() -> None:
    assert mean_and_deviation(2.8e-3, 3e-4) == "(2.8 ± 0.3)e-3"
    assert mean_and_deviation(9.97e-6, 3.4e-6) == "(1.0 ± 0.3)e-5", "normalised after rounding"
    assert mean_and_deviation(-0.996, 0.1) == "-1.0 ± 0.1"


def invoke(*arguments: str):  # type: ignore[no-untyped-def]
    return CliRunner().invoke(command.application(), arguments)


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


def test_the_installed_command_says_where_the_reproduction_lives(prophecy) -> None:  # type: ignore[no-untyped-def]
    code, out, errors = prophecy("reproduce", "table-signals", "--jobs", 2)
    assert (code, out) == (2, "")
    assert "python -m reproduction" in errors


def test_without_the_extra_the_command_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "typer", None)
    with pytest.raises(SystemExit, match=r"pip install 'hippo-prophecy\[cli\]'"):
        cli.main()
