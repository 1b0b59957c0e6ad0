"""Shared set-up: Ctrl-C, the command line, the service; hypothesis draws the same examples everywhere."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

from prophecy import cli

# A shell starts what runs in the background with Ctrl-C ignored, and processes inherit that; tests press it anyway.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The suite draws the same examples everywhere; PROPHECY_HYPOTHESIS=long draws new ones, fifty times as many.
settings.register_profile("suite", deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("long", deadline=None, max_examples=5000, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile(os.environ.get("PROPHECY_HYPOTHESIS", "suite"))


SLOW = Path(__file__).parent / "slow.txt"
"""Functions, or whole files, that `make test-all` runs and `make test` does not."""


def pytest_collection_modifyitems(items):
    slow = {line for line in SLOW.read_text().split("\n") if line and not line.startswith("#")}
    for item in items:
        name = item.nodeid.partition("[")[0]
        if name in slow or name.partition("::")[0] in slow:
            item.add_marker(pytest.mark.slow)


@pytest.fixture(autouse=True)
def _ctrl_c_as_before():
    """A command called in this process takes Ctrl-C over for good."""
    before = signal.getsignal(signal.SIGINT)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def prophecy(monkeypatch, capsys):
    """The command line in this process: its exit status, what it printed, and what it said on stderr."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["prophecy", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out, printed.err

    return call


class Serving:
    """A running `prophecy serve`: its address, its process, what it has said."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.process, self.said = process, []
        for line in process.stderr:
            self.said.append(line)
            found = re.search(r"http://\S+", line)
            if found:
                self.url = found[0]
                return
        raise RuntimeError("prophecy serve did not start: " + "".join(self.said))

    def stop(self, how: int = signal.SIGTERM) -> int:
        self.process.send_signal(how)
        return self.process.wait(120)


@contextlib.contextmanager
def _starting():
    with contextlib.ExitStack() as stack:

        def start(*arguments: object, **environment: str) -> Serving:
            options = [] if "--port" in arguments else ["--port", "0"]
            command = [sys.executable, "-m", "prophecy.cli", "serve", *options, *map(str, arguments)]
            process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env={**os.environ, **environment})
            stack.callback(process.stderr.close)
            stack.callback(process.wait)
            stack.callback(process.kill)
            return Serving(process)

        yield start


@pytest.fixture
def serving():
    """Start `prophecy serve` with some arguments, on a port of its own; ended with the test."""
    with _starting() as start:
        yield start


@pytest.fixture(scope="module")
def serving_all():
    """The same, ended with the last test of a file."""
    with _starting() as start:
        yield start
