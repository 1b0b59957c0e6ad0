"""`prophecy matrices` prints what the library computes, in every convention."""

from __future__ import annotations

import numpy as np
import pytest

pytest.importorskip("typer")

from prophecy import conventions, legs, legt, next_value
from prophecy.fading import foud, lagt


@pytest.fixture
def archived(prophecy, tmp_path):
    """What the command writes to an archive, and what it says."""

    def call(*arguments):
        code, _, err = prophecy("matrices", *arguments, "--out", tmp_path / "m.npz")
        assert code == 0
        with np.load(tmp_path / "m.npz") as file:
            return dict(file), err

    return call


def test_an_archive_holds_every_digit(archived, tmp_path):
    made, _ = archived("legt", "--order", 5, "--window", 3, "--dt", 0.01)
    system = next_value(legt(5, 3.0), 0.01)
    assert np.array_equal(made["A"], legt(5, 3.0).A)
    assert np.array_equal(made["B"], legt(5, 3.0).B)
    assert np.array_equal(made["A_discrete"], system.A)
    assert np.array_equal(made["C_discrete"], system.C)
    assert made["D_discrete"] == system.D
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


@pytest.mark.parametrize(
    ("family", "convention", "expected"),
    [
        ("legt", "lmu", conventions.to_lmu(legt(4, 2.0))),
        ("legt", "s4", conventions.to_s4(legt(4, 2.0))),
        ("legt", "hippo", conventions.to_hippo(legt(4, 2.0))),
    ],
)
def test_conventions_are_the_librarys(archived, family, convention, expected):
    made, err = archived(family, "--order", 4, "--window", 2, "--convention", convention)
    assert np.array_equal(made["A"], expected.A)
    assert f"the window is {expected.window:g}" in err


def test_legs_says_which_sign_it_has_and_whether_time_divides_it(archived):
    for convention, sign, equation in (
        ("ours", 1, "x'(t) = (-A x(t) + B u(t))/t"),
        ("hippo", -1, "x'(t) = (A x(t) + B u(t))/t"),
        ("s4", -1, "x'(t) = A x(t) + B u(t): s4 runs LegS without the 1/t"),
    ):
        made, err = archived("legs", "--order", 4, "--convention", convention)
        assert np.array_equal(made["A"], sign * legs(4).A)
        assert equation in " ".join(err.split())


def test_fading_memories_are_printed_with_their_timescale(archived):
    assert np.array_equal(archived("lagt", "--order", 4, "--window", 2)[0]["A"], lagt(4, 2.0).A)
    made, err = archived("foud", "--order", 5, "--window", 2, "--convention", "hippox")
    assert np.array_equal(made["A"], conventions.to_hippox(foud(5, 2.0)).A)
    assert "the timescale is 1" in err


def test_text_is_for_eyes(prophecy):
    _, out, _ = prophecy("matrices", "legt", "--order", 2, "--window", 1)
    assert out.startswith("A =\n[[-1.")
    assert "-0." not in prophecy("matrices", "legs", "--order", 3, "--convention", "s4")[1].replace("-0.0", "")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("fout", "--order", 4, "--window", 1), "odd"),
        (("legt", "--order", 4), "window must be given"),
        (("legs", "--order", 4, "--window", 1), "window must not be given"),
        (("legs", "--order", 4, "--dt", 1), "dt must not be given"),
        (("legs", "--order", 4, "--convention", "lmu"), "lmu has no legs"),
        (("fout", "--order", 5, "--window", 1, "--convention", "lmu"), "lmu has no FouT"),
        (("legt", "--order", 0, "--window", 1), "at least 1"),
        (("legt", "--order", 8, "--window", 32, "--dt", 1), "pole"),
        (("legt", "--order", 4, "--window", 1, "--out", "/nowhere/m.npz"), "does not exist"),
        (("lagrange", "--order", 4), "lagrange"),
        (("legt", "--window", 1), "order"),
    ],
)
def test_mistakes_are_usage_errors_without_a_traceback(prophecy, arguments, says):
    code, out, err = prophecy("matrices", *arguments)
    assert code == 2
    assert says in err
    assert "Traceback" not in err
    assert out == ""


def test_help_has_examples_and_completion_is_offered(prophecy):
    assert "prophecy matrices legt --order 64" in prophecy("matrices", "--help")[1]
    assert "--install-completion" in prophecy("--help")[1]
