"""What is known in advance is used where it helps, ignored with a word where it does not, and its size is told."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

import prophecy
from prophecy.forecasting import forecast
from prophecy.forecasting.known import Known, solved
from prophecy.forecasting.settings import DEFAULT

DAYS = np.arange(130)


def shop(seed=0, effect=30.0, rows=130):
    """Sales with a week, a drift, and promotions on days nobody could guess."""
    rng = np.random.default_rng(seed)
    promotion = (rng.random(rows) < 0.25).astype(float)
    sales = 100 + 0.2 * np.arange(rows) + 8 * np.sin(2 * np.pi * np.arange(rows) / 7) + rng.standard_normal(rows)
    return sales + effect * promotion, promotion


def test_an_effect_that_is_there_is_found_used_and_told():
    sales, promotion = shop()
    with_it = forecast(sales[:120], 10, season=7, known=promotion)
    without = forecast(sales[:120], 10, season=7)
    truth = sales[120:]
    assert np.abs(with_it.point - truth).mean() < 0.4 * np.abs(without.point - truth).mean()
    note = next(note for note in with_it.notes if note.startswith("Known in advance"))
    size = float(note.split("regressor 1 ")[1].split(" ")[0])
    assert abs(size - 30) < 2
    assert note in with_it.explain()
    assert np.allclose(with_it.quantile(0.5), with_it.point)
    assert (with_it.lower <= with_it.point).all()


def test_noise_is_ignored_and_said_to_be():
    sales, _ = shop(1, effect=0.0)
    noise = np.random.default_rng(5).standard_normal((130, 3))
    made = forecast(sales[:120], 10, season=7, known=noise)
    plain = forecast(sales[:120], 10, season=7)
    assert np.array_equal(made.point, plain.point)
    assert any("was not used: it explains too little" in note for note in made.notes)


def test_a_trend_of_both_is_not_taken_for_an_effect():
    rng = np.random.default_rng(2)
    rising = np.arange(130) + rng.standard_normal(130)
    sales = 2.0 * np.arange(130) + rng.standard_normal(130)
    future = rising.copy()
    future[120:] = 0.0  # the regressor collapses; the sales know nothing of it
    made = forecast(sales[:120], 10, known=future)
    assert np.abs(made.point - sales[120:]).mean() < 10


def test_effects_are_solved_alike_with_gaps_and_in_any_unit():
    sales, promotion = shop(3)
    regressor, seen = promotion[:, None] - promotion.mean(), np.ones(130, dtype=bool)
    found = solved(sales, seen, regressor, (7,), DEFAULT)
    assert abs(found.size[0] - 30) < 1.5
    assert abs(found.size[0] - 30) < 4 * np.sqrt(found.doubt[0, 0])
    scaled = solved(1e6 * sales, seen, 1e-3 * regressor, (7,), DEFAULT)
    assert np.isclose(scaled.size[0], 1e9 * found.size[0], rtol=1e-6)
    assert abs(solved(sales, np.arange(130) % 9 > 0, regressor, (7,), DEFAULT).size[0] - 30) < 2
    assert solved(sales, seen, np.zeros((130, 1)), (7,), DEFAULT).size[0] == 0


def test_bounds_hold_after_the_effect_is_added():
    sales, promotion = shop(4)
    made = forecast(sales[:120], 10, season=7, known=promotion, bounds=(0.0, 140.0))
    assert made.upper.max() <= 140.0
    assert made.point.max() <= 140.0


@pytest.mark.parametrize(
    ("known", "says"),
    [
        (np.ones(125), r"\(time \+ horizon, regressors\) = \(120 \+ 10"),
        (np.ones((130, 2, 2)), "got shape"),
        (np.where(np.arange(130) == 124, np.nan, 1.0), "missing 5 steps ahead"),
    ],
)
def test_what_cannot_be_known_is_refused(known, says):
    with pytest.raises(ValueError, match=says):
        forecast(shop()[0][:120], 10, known=known)


def test_frames_carry_names_and_times():
    pd = pytest.importorskip("pandas")
    sales, promotion = shop()
    days = pd.date_range("2024-01-01", periods=130)
    data = pd.DataFrame({"sales": sales[:120]}, index=days[:120])
    known = pd.DataFrame({"promotion": promotion}, index=days).sample(frac=1, random_state=0)
    made = prophecy.forecast(data, 10, known=known)
    assert any(note.startswith("Known in advance: promotion +") for note in made.notes)
    expected = forecast(sales[:120], 10, season=(7,), known=Known(promotion[:, None], ("promotion",)))
    assert np.array_equal(made.point, expected.point)
    with pytest.raises(ValueError, match="known has no row for 2024-05-05"):
        prophecy.forecast(data, 10, known=known.drop(index=days[125]))
    result = prophecy.backtest(
        pd.DataFrame({"sales": sales}, index=days), 10, folds=2, known=pd.DataFrame({"p": promotion}, index=days)
    )
    plain = prophecy.backtest(pd.DataFrame({"sales": sales}, index=days), 10, folds=2)
    assert result.overall()["prophecy"]["mae"] < 0.6 * plain.overall()["prophecy"]["mae"]


def test_long_frames_have_their_own_regressors():
    pd = pytest.importorskip("pandas")
    parts, beside = [], []
    days = pd.date_range("2024-01-01", periods=130)
    for name, seed, effect in (("a", 0, 30.0), ("b", 7, -20.0)):
        sales, promotion = shop(seed, effect)
        parts.append(pd.DataFrame({"shop": name, "day": days[:120], "sales": sales[:120]}))
        beside.append(pd.DataFrame({"shop": name, "day": days, "promotion": promotion}))
    many = prophecy.forecast_many(pd.concat(parts), 10, jobs=1, key="shop", time="day", known=pd.concat(beside))
    notes = {key: next(n for n in made.notes if n.startswith("Known")) for key, made in many.items()}
    assert "promotion +" in notes["a"]
    assert "promotion -" in notes["b"]


def test_settings_reach_the_use_of_regressors():
    """Where an effect costs more than it can explain, none is taken."""
    sales, promotion = shop(4)
    strict = dataclasses.replace(DEFAULT, known_cost=1e4)
    assert "Known in advance" in forecast(sales[:120], 10, known=promotion).explain()
    assert "was not used" in forecast(sales[:120], 10, known=promotion, settings=strict).explain()


@pytest.mark.parametrize("seen", [1, 2, 4, 10])
@pytest.mark.parametrize("effect", [25, 150, -90])
def test_holidays_that_were_seen_a_few_times_are_no_outliers(effect, seen):
    off = []
    for seed in range(4):
        rng = np.random.default_rng(seed)
        holiday = np.zeros(214)
        holiday[rng.choice(np.arange(10, 195), seen, replace=False)] = 1
        holiday[205] = 1
        sales = 100 + effect * holiday + rng.normal(0, 5, 214)
        made = forecast(sales[:200], 14, known=holiday)
        assert "set aside" not in made.explain()
        off.append(made.point[5] - 100 - effect)
    assert np.abs(off).mean() < 10


@pytest.mark.parametrize("effect", [0, 150])
def test_wild_values_are_set_aside_beside_what_is_known(effect):
    rng = np.random.default_rng(1)
    holiday = np.zeros(214)
    holiday[[30, 90, 150, 205]] = 1
    sales = 100 + effect * holiday + rng.normal(0, 5, 214)
    sales[[60, 171]] = [9999, -400]
    made = forecast(sales[:200], 14, known=holiday)
    assert "9999 at position 60, -400 at position 171." in made.explain()
    assert abs(made.point[5] - 100 - effect) < 10


def test_regressors_that_explain_nothing_do_no_harm_beside_wild_values():
    used, off = 0, []
    for seed in range(8):
        rng = np.random.default_rng(seed)
        sales, noise = rng.normal(20, 1, 132), rng.normal(size=(132, 2))
        sales[rng.integers(0, 120, 3)] = [60, -40, 60]
        made, plain = forecast(sales[:120], 12, known=noise), forecast(sales[:120], 12)
        used += "Known in advance" in made.explain()
        off.append([np.abs(one.point - sales[120:]).mean() for one in (made, plain)])
    with_it, without = np.mean(off, axis=0)
    assert used <= 2
    assert with_it < 1.03 * without


def test_effects_on_logarithms_are_told_as_shares():
    rng = np.random.default_rng(0)
    closed = (rng.random(160) < 0.1).astype(float)
    growing = 20 * np.exp(0.03 * np.arange(160) + 0.1 * rng.standard_normal(160)) * 0.1**closed
    note = next(note for note in forecast(growing[:150], 10, known=closed).notes if note.startswith("Known"))
    assert -92 < float(note.split("regressor 1 ")[1].split(" %")[0]) < -88
