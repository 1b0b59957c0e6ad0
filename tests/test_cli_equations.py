"""`prophecy equations` prints what `Forecast.equations` says."""

from __future__ import annotations

import numpy as np
import pytest

pd = pytest.importorskip("pandas")
pytest.importorskip("pyarrow")
pytest.importorskip("typer")

from prophecy import chaos, forecast  # noqa: E402
from prophecy.commands.equations import slopes  # noqa: E402

STEP = 1 / (30 * chaos.lorenz.exponent)


@pytest.fixture
def lorenz(tmp_path):
    path = tmp_path / "lorenz.csv"
    frame = pd.DataFrame(chaos.lorenz.sample(512, seed=1), columns=["x", "y", "z"])
    frame.insert(0, "t", STEP * np.arange(512))
    frame.to_csv(path, index=False)
    return path


def test_the_equations_of_a_file_are_printed_in_its_own_time(prophecy, lorenz):
    code, out, _ = prophecy("equations", lorenz, "--joint", "--time", "t")
    assert code == 0
    assert out.splitlines() == ["x' = 10 (y - x)", "y' = 28 x - y - x z", "z' = -2.6667 z + x y"]


def test_a_step_of_our_own_changes_the_unit_of_time(prophecy, lorenz):
    _, out, _ = prophecy("equations", lorenz, "--joint", "--time", "t", "--dt", 2 * STEP)
    assert out.startswith("x' = 5 (y - x)")


@pytest.mark.parametrize(("spacing", "unit"), [("1D", "per day, 1 between"), ("30min", "per minute, 30 between")])
def test_rates_of_dated_rows_are_per_the_longest_unit_that_rows_are_not_closer_than(prophecy, tmp_path, spacing, unit):
    path = tmp_path / "dated.csv"
    frame = pd.DataFrame(chaos.lorenz.sample(512, seed=1), columns=["x", "y", "z"])
    frame.insert(0, "date", pd.date_range("2026-01-01", periods=512, freq=spacing))
    frame.to_csv(path, index=False)
    _, out, err = prophecy("equations", path, "--joint")
    assert unit in err
    rate = float(out.split("x' = ")[1].split()[0])
    assert rate == pytest.approx(10 * STEP / float(unit.split()[2]), rel=1e-3)


@pytest.mark.parametrize(
    ("times", "dt"),
    [
        (0.1 * np.arange(512) + np.random.default_rng(1).uniform(-0.01, 0.01, 512), 0.1),
        (pd.date_range("1980-01-01", periods=512, freq="MS"), 30.44),
    ],
    ids=["jitter", "months"],
)
def test_the_time_between_rows_is_that_of_all_rows(prophecy, tmp_path, times, dt):
    path = tmp_path / "rows.csv"
    frame = pd.DataFrame(chaos.lorenz.sample(512, seed=1), columns=["x", "y", "z"])
    frame.insert(0, "time", times)
    frame.to_csv(path, index=False)
    _, out, _ = prophecy("equations", path, "--joint")
    assert float(out.split("x' = ")[1].split()[0]) == pytest.approx(10 * STEP / dt, rel=5e-4)


def test_errors_are_printed_when_asked_for_and_the_field_is_drawn(prophecy, lorenz, tmp_path):
    picture = tmp_path / "field.png"
    code, out, _ = prophecy("equations", lorenz, "--joint", "--time", "t", "--errors", "--plot", picture)
    assert code == 0
    assert "±" in out
    assert picture.read_bytes().startswith(b"\x89PNG")


def test_times_of_a_column_with_a_unit_in_its_name_are_named_with_the_rates(prophecy, lorenz):
    frame = pd.read_csv(lorenz).rename(columns={"t": "t_ms"})
    again = frame.assign(series="other")
    pd.concat([frame.assign(series="one"), again]).to_csv(lorenz, index=False)
    _, out, err = prophecy("equations", lorenz, "--joint", "--key", "series")
    assert out.count("x' = 10 (y - x)") == 2
    assert err.count("derivatives are per unit of t_ms") == 2


@pytest.mark.parametrize(("thinned", "noise"), [(1, 0.0), (4, 0.0), (1, 0.02)])
def test_points_of_the_picture_lie_on_its_diagonal_however_far_apart_rows_are(thinned, noise):
    """Slopes between rows far apart bend away from the field at the first of them, not from those of its path."""
    values = chaos.lorenz.sample(512, seed=1)[::thinned]
    answer = forecast(values, 1).equations(thinned * STEP)
    seen = values + noise * values.std(axis=0) * np.random.default_rng(2).standard_normal(values.shape)
    apart, field, data = slopes(answer, seen)
    assert field.shape == data.shape
    assert 1 <= apart <= 8
    assert np.std(field - data, axis=0) == pytest.approx(
        0, abs=(1e-3 if not noise else 0.1) * np.std(data, axis=0).min()
    )


def test_a_column_in_another_unit_is_said_and_drawn_like_the_others(prophecy, lorenz, tmp_path):
    frame = pd.read_csv(lorenz)
    frame["w"] = 1.8 * frame["x"] + 32
    frame.to_csv(lorenz, index=False)
    code, out, _ = prophecy("equations", lorenz, "--joint", "--plot", tmp_path / "field.png")
    assert code == 0
    assert out.splitlines()[-1] == "w = 32 + 1.8 x in every row"
    assert (tmp_path / "field.png").read_bytes().startswith(b"\x89PNG")


def test_columns_are_one_system_only_when_the_user_says_so(prophecy, lorenz):
    code, _, err = prophecy("equations", lorenz)
    assert code == 2
    assert "--joint" in err


def test_a_file_without_a_field_is_told_apart(prophecy, tmp_path):
    path = tmp_path / "walk.csv"
    walk = np.cumsum(np.random.default_rng(0).standard_normal((300, 2)), axis=0)
    pd.DataFrame(walk, columns=["a", "b"]).to_csv(path, index=False)
    code, out, err = prophecy("equations", path, "--joint")
    assert code == 1
    assert out == ""
    assert "no equations fit these rows" in err


def test_the_field_can_be_a_page_and_other_endings_are_refused(prophecy, lorenz, tmp_path):
    assert prophecy("equations", lorenz, "--joint", "--plot", tmp_path / "field.html")[0] == 0
    assert "slopes of data over those of the field" in (tmp_path / "field.html").read_text()
    code, _, err = prophecy("equations", lorenz, "--joint", "--plot", tmp_path / "field.pdf")
    assert code == 2
    assert "--plot must end in .png, .svg, .html, got 'field.pdf'" in " ".join(err.replace("│", " ").split())


def test_the_help_says_when_joint_is_needed(prophecy):
    code, out, _ = prophecy("equations", "--help")
    text = " ".join(out.replace("│", " ").split())
    assert code == 0
    assert "needed where there are several" in text
    assert "All columns are variables of one system." not in text
    assert "to predict" not in text
