"""Ctrl-C stops at once, keeps what is finished, and is never taken for the failure of one series.

No test here waits for a moment: what is interrupted sends the signal itself, and would otherwise never end.
`benchmarks/interrupts.py` tries random moments.
"""

import fcntl
import multiprocessing
import os
import signal
import struct
import subprocess
import sys
import termios
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from prophecy import _interrupts, _workers, forecast_many
from prophecy.forecasting import batch
from prophecy.forecasting.batch import Stopped

FOREVER = threading.Event()
ROOT = Path(__file__).parent.parent


@pytest.fixture(autouse=True)
def _python_handles_ctrl_c():
    """Where tests run in the background Ctrl-C may be ignored from the start."""
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def endless(number):
    """Never comes back from 2 on."""
    return number if number < 2 else FOREVER.wait()


@pytest.mark.parametrize("method", ["fork", "spawn"])
def test_ctrl_c_ends_processes_that_would_work_for_ever(method):
    kept = {}

    def work():
        with _workers.shared(endless, range(40), 2, method) as answers:
            for place, answer in answers:
                kept[place] = answer
                if len(kept) == 2:
                    signal.raise_signal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        work()
    assert kept == {0: 0, 1: 1}
    assert not multiprocessing.active_children()


def test_ctrl_c_waits_for_the_threads_under_way_and_starts_no_other():
    begun = []

    def work(number):
        begun.append(number)
        if number == 2:
            os.kill(os.getpid(), signal.SIGINT)

    with pytest.raises(KeyboardInterrupt), _workers.shared(work, range(4000), 2, "threads") as answers:
        for _ in answers:
            pass
    assert 2 < len(begun) < 4000


def test_a_stop_in_the_middle_of_large_results_does_not_wait_for_their_rest():
    for _ in range(3):
        with _workers.shared(bytes, [80_000_000] * 9, 2, "spawn") as answers:
            next(answers)
        assert not multiprocessing.active_children()


def test_an_error_of_the_work_comes_out_with_the_place_it_came_from():
    with pytest.raises(TypeError, match="no len") as caught, _workers.shared(len, [3], 1, "spawn") as answers:
        next(answers)
    assert "_attempt" in caught.value.__notes__[0]


def test_a_worker_that_dies_is_named():
    with pytest.raises(_workers.WorkerDied, match="fewer jobs"), _workers.shared(os._exit, [1], 1, "spawn") as answers:
        next(answers)


def press_after_two(done, total):
    if done == 2:
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("jobs", [1, 2])
def test_ctrl_c_in_a_batch_hands_over_the_forecasts_that_were_made(jobs):
    frame = pd.DataFrame({name: np.arange(first, first + 20.0) for first, name in enumerate("abcdef")})
    with pytest.raises(Stopped, match="of 6 series, which are in") as caught:
        forecast_many(frame, 3, jobs=jobs, progress=press_after_two)
    kept = caught.value.finished
    assert 2 <= len(kept) < 6
    for name, made in kept.items():
        assert np.allclose(made.point, frame[name].iloc[-1] + np.arange(1, 4))


def test_a_program_with_a_handler_of_its_own_stays_in_charge():
    presses = []
    before = signal.signal(signal.SIGINT, lambda *_: presses.append(1))
    try:
        with _interrupts.held():
            signal.raise_signal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)
    assert presses == [1]


def test_held_back_ctrl_c_comes_at_the_end_and_no_later():
    steps = []

    def pressed(error=None):
        with _interrupts.held():
            signal.raise_signal(signal.SIGINT)
            steps.append("went on")
            if error is not None:
                raise error

    with pytest.raises(KeyboardInterrupt):
        pressed()
    with pytest.raises(ZeroDivisionError):
        pressed(ZeroDivisionError())
    with _interrupts.held():
        assert steps == ["went on"] * 2


COMMAND = """
import signal, sys, threading, time
from prophecy import _interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
class Loud:
    def __del__(self):
        signal.raise_signal(signal.SIGINT)
def work():
    with _interrupts.last_words(lambda: "stopped; go on like this"):
        Loud()
        {}
_interrupts.command(work)
"""


def commanded(work):
    done = subprocess.run([sys.executable, "-c", COMMAND.format(work)], capture_output=True, text=True, check=False)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize("work", ["threading.Event().wait()", "[time.sleep(1) for _ in iter(int, 1)]"])
def test_a_command_that_never_asks_is_ended_with_its_last_words(work):
    assert commanded(work) == (130, "", "stopped; go on like this\n")


@pytest.mark.parametrize("call", ["forecast - -H 3", "anomalies -", "stream"])
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_every_command_ends_soon_and_with_a_sentence(call, how):
    words = [sys.executable, "-m", "prophecy.cli", *call.split()]
    child = subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    child.stdin.write("v\n")
    child.stdin.flush()
    while struct.unpack("i", fcntl.ioctl(child.stdin, termios.FIONREAD, b"\0" * 4))[0]:  # bytes it has not read
        assert child.poll() is None
        time.sleep(0.01)
    child.send_signal(how)
    said = child.stderr.read()
    assert child.wait(timeout=60) == 130
    assert said.splitlines()[-1].endswith("stopped")
    assert "Traceback" not in said


def test_a_command_that_has_noticed_may_take_its_time():
    work = f"""try: _interrupts.check()
        except KeyboardInterrupt: time.sleep({_interrupts.GRACE + 0.5}); print("kept")"""
    assert commanded(work) == (0, "kept\n", "")


def test_an_interrupt_that_nothing_met_ends_a_command_with_a_sentence():
    assert commanded("_interrupts.check()") == (130, "", "stopped\n")


def test_a_stopped_command_leaves_without_what_the_interpreter_does_at_its_end():
    work = """import atexit; atexit.register(print, "late"); print("kept")
        try: _interrupts.check()
        except KeyboardInterrupt: sys.exit(130)"""
    assert commanded(work) == (130, "kept\n", "")


@pytest.mark.parametrize(
    ("module", "words"),
    [
        ("reproduction.__main__", ["--list"]),
        ("benchmarks.__main__", ["--list"]),
        ("prophecy.cli", ["forecast", "examples/sensor.csv", "--horizon", "3"]),
    ],
)
def test_ctrl_c_while_a_command_is_loaded_leaves_no_traceback(module, words):
    """The first heavy import presses it."""
    code = f"""
import builtins, runpy, signal, sys
signal.signal(signal.SIGINT, signal.default_int_handler)
plain = builtins.__import__
def loading(name, *rest, **named):
    if name == "numpy":
        signal.raise_signal(signal.SIGINT)
    return plain(name, *rest, **named)
builtins.__import__ = loading
sys.argv = ["{module}", *{words}]
runpy.run_module("{module}", run_name="__main__")
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False, cwd=ROOT)
    assert (done.returncode, done.stdout) == (130, "")
    assert "stopped" in done.stderr.splitlines()[-1].lower()
    assert "Traceback" not in done.stderr


def test_threads_share_a_batch_off_the_main_thread():
    found = []
    thread = threading.Thread(target=lambda: found.append(batch._method()))
    thread.start()
    thread.join()
    assert found == ["threads"]


@pytest.mark.parametrize("code", ["print('x' * 100_000)", "print('x')", "print('x'); sys.exit(0)"])
def test_a_command_whose_reader_leaves_ends_without_a_word(code):
    run = f"import os, sys, prophecy._interrupts as i\ndef run():\n    sys.stdin.read(); {code}\ni.command(run)"
    pipe = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", run], **pipe) as child:
        child.stdout.close()
        child.stdin.close()
        said = child.stderr.read()
    assert (child.returncode, said) == (141, b"")
