"""How far long work is: a line now and then, nothing of what is over at once."""

from __future__ import annotations

import pytest

pytest.importorskip("typer")

from prophecy.commands._common import EVERY, FIRST, Progress


@pytest.mark.parametrize(
    ("unit", "total", "said"),
    [
        ("series", 200, ["10 of 200 series, about 2 min left", "50 of 200 series, about 75 s left"]),
        ("values", 20_000, ["10 of 20,000 values, about 2.8 h left", "50 of 20,000 values, about 2.8 h left"]),
    ],
)
def test_a_line_comes_first_after_some_seconds_and_then_now_and_then(capsys, unit, total, said):
    seconds = iter([0.0, *(k / 2 for k in range(1, 60))])
    progress = Progress(total, unit, clock=lambda: next(seconds))
    for done in range(1, 60):
        progress.update(done)
    lines = capsys.readouterr().err.splitlines()
    assert (FIRST, EVERY) == (5.0, 20.0)  # so that these are the 10th and the 50th of two a second
    assert lines == [f"prophecy: {text}" for text in said]


@pytest.mark.parametrize(("total", "show"), [(100, False), (0, True)])
def test_nothing_is_said_of_what_is_not_worth_it(capsys, total, show):
    seconds = iter(range(1000))
    progress = Progress(total, "series", show, clock=lambda: float(next(seconds)))
    for done in range(50):
        progress.update(done)
    assert capsys.readouterr().err == ""
