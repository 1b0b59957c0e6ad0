"""How far long work is: a bar on a terminal, lines now and then elsewhere, nothing of what is over at once."""

from __future__ import annotations

import os
import pty
import subprocess
import sys

import pytest

pytest.importorskip("typer")
pytest.importorskip("rich")

from prophecy.commands._common import EVERY, FIRST, Progress


@pytest.mark.parametrize(
    ("unit", "total", "said"),
    [
        ("series", 200, ["10 of 200 series, about 2 min left", "50 of 200 series, about 75 s left"]),
        ("values", 20_000, ["10 of 20,000 values, about 2.8 h left", "50 of 20,000 values, about 2.8 h left"]),
    ],
)
def test_elsewhere_a_line_comes_first_after_some_seconds_and_then_now_and_then(capsys, unit, total, said):
    seconds = iter([0.0, *(k / 2 for k in range(1, 60))])
    with Progress("forecast", total, unit, clock=lambda: next(seconds)) as progress:
        for done in range(1, 60):
            progress.update(done)
    lines = capsys.readouterr().err.splitlines()
    assert (FIRST, EVERY) == (5.0, 20.0)  # so that these are the 10th and the 50th of two a second
    assert lines == [f"prophecy forecast: {text}" for text in said]


@pytest.mark.parametrize(("total", "show"), [(100, False), (0, True)])
def test_nothing_is_said_of_what_is_not_worth_it(capsys, total, show):
    seconds = iter(range(1000))
    with Progress("forecast", total, "series", show, clock=lambda: float(next(seconds))) as progress:
        for done in range(50):
            progress.update(done)
    assert capsys.readouterr().err == ""


def test_on_a_terminal_there_is_a_bar_that_leaves_nothing_behind():
    code = (
        "import time\n"
        "from prophecy.commands._common import Progress\n"
        "with Progress('forecast', 40, 'series') as progress:\n"
        "    for done in range(40):\n"
        "        progress.update(done)\n"
        "        time.sleep(0.02)\n"
    )
    ours, theirs = pty.openpty()
    environment = {**os.environ, "TERM": "xterm"}
    child = subprocess.Popen([sys.executable, "-c", code], stderr=theirs, stdout=theirs, env=environment)
    os.close(theirs)
    seen = b""
    while True:
        try:
            part = os.read(ours, 4096)
        except OSError:  # Linux: the other end is closed
            break
        if not part:
            break
        seen += part
    os.close(ours)
    assert child.wait() == 0
    assert b"40 series" in seen
    assert b"%" in seen
    assert b"\x1b[2K" in seen  # the line is erased at the end
