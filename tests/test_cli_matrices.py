"""`prophecy matrices` prints what the library computes, in every format and convention."""

from __future__ import annotations

import csv
import io
import re

import numpy as np
import pytest

pytest.importorskip("typer")

from prophecy import conventions, fout, legs, legt, next_value
from prophecy.fading import foud, lagt


def read_csv(text):
    made: dict[str, dict[tuple[int, int], float]] = {}
    for row in csv.DictReader(io.StringIO(text)):
        made.setdefault(row["matrix"], {})[int(row["row"]), int(row["column"])] = float(row["value"])
    shaped = {}
    for name, cells in made.items():
        shaped[name] = np.full(tuple(np.max(list(cells), axis=0) + 1), np.nan)
        for where, value in cells.items():
            shaped[name][where] = value
    return shaped


def test_csv_holds_every_digit(prophecy):
    code, out, _ = prophecy("matrices", "legt", "--order", 5, "--window", 3, "--dt", 0.01, "--format", "csv")
    made, system = read_csv(out), next_value(legt(5, 3.0), 0.01)
    assert code == 0
    assert np.array_equal(made["A"], legt(5, 3.0).A)
    assert np.array_equal(made["B"][:, 0], legt(5, 3.0).B)
    assert np.array_equal(made["A_discrete"], system.A)
    assert np.array_equal(made["C_discrete"][:, 0], system.C)
    assert made["D_discrete"][0, 0] == system.D


@pytest.mark.parametrize(
    ("family", "convention", "expected"),
    [
        ("legt", "lmu", conventions.to_lmu(legt(4, 2.0))),
        ("legt", "s4", conventions.to_s4(legt(4, 2.0))),
        ("legt", "hippo", conventions.to_hippo(legt(4, 2.0))),
    ],
)
def test_conventions_are_the_librarys(prophecy, family, convention, expected):
    arguments = ("matrices", family, "--order", 4, "--window", 2, "--convention", convention, "--format", "csv")
    code, out, err = prophecy(*arguments)
    assert code == 0
    assert np.array_equal(read_csv(out)["A"], expected.A)
    assert f"the window is {expected.window:g}" in err


def test_legs_says_which_sign_it_has_and_whether_time_divides_it(prophecy):
    for convention, sign, equation in (
        ("ours", 1, "x'(t) = (-A x(t) + B u(t))/t"),
        ("hippo", -1, "x'(t) = (A x(t) + B u(t))/t"),
        ("s4", -1, "x'(t) = A x(t) + B u(t): s4 runs LegS without the 1/t"),
    ):
        _, out, err = prophecy("matrices", "legs", "--order", 4, "--convention", convention, "--format", "csv")
        assert np.array_equal(read_csv(out)["A"], sign * legs(4).A)
        assert equation in " ".join(err.split())


def test_fading_memories_are_printed_with_their_timescale(prophecy):
    arguments = ("matrices", "lagt", "--order", 4, "--window", 2, "--format", "csv")
    assert np.array_equal(read_csv(prophecy(*arguments)[1])["A"], lagt(4, 2.0).A)
    _, out, err = prophecy("matrices", "foud", "--order", 5, "--window", 2, "--convention", "hippox", "--format", "csv")
    assert np.array_equal(read_csv(out)["A"], conventions.to_hippox(foud(5, 2.0)).A)
    assert "the timescale is 1" in err


def test_npz_goes_to_a_file_whole(prophecy, tmp_path):
    assert prophecy("matrices", "fout", "--order", 5, "--window", 1, "--out", tmp_path / "m.npz")[0] == 0
    with np.load(tmp_path / "m.npz") as file:
        assert np.array_equal(file["A"], fout(5, 1.0).A)
    assert [path.name for path in tmp_path.iterdir()] == ["m.npz"]


def test_latex_is_balanced_and_complete(prophecy):
    _, out, _ = prophecy("matrices", "legt", "--order", 3, "--window", 1e6, "--dt", 1, "--format", "latex")
    assert out.count(r"\begin{pmatrix}") == out.count(r"\end{pmatrix}") == 5
    assert len(re.findall(r"\\bar\{[ABCD]\}", out)) == 4
    assert "e-" not in out


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
        (("legt", "--order", 4, "--window", 1, "--format", "npz"), "--out"),
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
