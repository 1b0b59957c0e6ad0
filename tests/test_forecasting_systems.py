"""Candidates of all variables together: maps, recurrences, waves, repetition; and how contexts are made ready."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest
from scipy.integrate import solve_ivp

from prophecy import chaos, forecast
from prophecy.forecasting.context import read
from prophecy.forecasting.maps import (
    delays,
    fit_kernel_map,
    fit_polynomial_map,
    kernel,
    leave_one_out,
    left_open,
    legendre,
)
from prophecy.forecasting.repeats import Repetition
from prophecy.forecasting.scorer import Rolling, roll_jointly
from prophecy.forecasting.series import VALUES, Ahead, Candidate, Fitted, Series
from prophecy.forecasting.settings import DEFAULT
from prophecy.forecasting.waves import fit_waves
from prophecy.laws.context import Rows, Units


def all_rows(values: np.ndarray) -> Rows:
    index = np.arange(len(values) - 1)
    return Rows(index, index + 1)


def path(model: Fitted, values: np.ndarray, origin: int, steps: int) -> np.ndarray:
    """(steps, variables) from one origin."""
    return model.predictive(values, np.ones(len(values), dtype=np.bool_), np.array([origin]), steps)[0][0]


def waves(length: int, *periods: float) -> np.ndarray:
    times = np.arange(length)
    return sum(np.cos(2 * np.pi * times / p + i) for i, p in enumerate(periods))[:, None]


def test_a_legendre_memory_keeps_constants_lines_and_the_newest_sample():
    memory = legendre(3, 16)
    ages = np.arange(16.0)
    constant, line = (memory.keep(v[None, :, None])[0] for v in (np.ones(16), 1 - (ages + 0.5) / 8))
    np.testing.assert_allclose(constant, [1, 1, 0, 0], atol=2e-2)
    np.testing.assert_allclose(line[1:], [0, 1 / np.sqrt(3), 0], atol=2e-2)
    assert line[0] == 1 - 0.5 / 8


def test_delays_are_the_samples_themselves_newest_first():
    values = np.arange(20.0)[:, None]
    assert delays(3, 2).read(values, np.array([10]))[0].tolist() == [10, 8, 6]


def test_a_sample_leaves_nothing_open_once_all_variables_are_seen():
    """Lorenz whole; two of its variables, where the same values come before different ones; and noise."""
    series = chaos.lorenz.sample(512, 30, seed=3)
    series = (series - series.mean(axis=0)) / series.std(axis=0)
    rows, noise = all_rows(series), np.random.default_rng(0).standard_normal((512, 3))
    pairs = [left_open(series[:, list(pair)], rows) for pair in ((0, 1), (0, 2), (1, 2))]
    assert left_open(series, rows) < DEFAULT.complete < min(pairs)
    swapped = left_open(np.ascontiguousarray(series[:, ::-1]), rows)
    assert left_open(series, rows) == pytest.approx(swapped, rel=1e-3)  # a nugget of 1e-12 costs the other digits
    assert left_open(noise, rows) > 0.6
    assert left_open(np.cumsum(noise, axis=0) / 30, rows) == pytest.approx(1, abs=0.1)


def test_leave_one_out_errors_are_those_of_leaving_one_out():
    generator = np.random.default_rng(0)
    kept, rise = generator.standard_normal((25, 2)), generator.standard_normal((25, 1))
    claimed, nugget = leave_one_out(kept, rise, 2.0)
    errors = []
    for i in range(25):
        rest = np.delete(np.arange(25), i)
        gram = kernel(kept[rest], kept[rest], 2.0) + nugget * np.eye(24)
        errors.append(kernel(kept[[i]], kept[rest], 2.0) @ np.linalg.solve(gram, rise[rest]) - rise[i])
    assert claimed == pytest.approx(np.sqrt(np.mean(np.square(errors))), rel=1e-8)


def test_a_quadratic_map_is_continued_exactly_while_chaos_allows():
    values = [0.3]
    for _ in range(100):
        values.append(3.8 * values[-1] * (1 - values[-1]))
    series = np.array(values)[:, None]
    model = fit_polynomial_map(delays(1), 2, 1e-14, series[:80], all_rows(series[:80]))
    np.testing.assert_allclose(path(model, series, 80, 15), series[80:95], atol=1e-8)


def test_a_kernel_map_continues_a_delay_equation():
    series = chaos.mackey_glass.sample(420)
    values = (series - series.mean()) / series.std()
    model = fit_kernel_map(delays(8), values[:400], all_rows(values[:400]))
    assert np.abs(path(model, values, 400, 15) - values[400:415]).max() < 0.1


def test_a_map_of_degree_one_is_a_linear_recurrence_of_all_variables():
    series = np.column_stack([waves(400, 23.0, 61.0), waves(400, 23.0, 61.0)[:, 0] ** 2])
    model = fit_polynomial_map(delays(8), 1, 1e-14, series[:300], all_rows(series[:300]))
    np.testing.assert_allclose(path(model, series, 300, 97), series[300:397], atol=1e-4)


@pytest.mark.parametrize(("pairs", "spacing"), [(2, 1), (6, 1), (2, 7), (8, 4)])
def test_waves_neither_grow_nor_fade_over_ten_thousand_steps(pairs, spacing):
    series = waves(10_600, 47.0, 90.0) - 0.3
    model = fit_waves(pairs, spacing, 1e-13, series[:600], all_rows(series[:600]))
    ahead = path(model, series, 600, 10_000)
    np.testing.assert_allclose(ahead[:500], series[600:1100], atol=1e-3)
    assert np.std(ahead[-1000:]) == pytest.approx(np.std(series[-1000:]), rel=0.05)


def test_waves_share_frequencies_and_keep_their_own_means():
    times = np.arange(300)
    series = np.stack([3 + np.sin(times / 5), -2 + np.cos(times / 5), np.sin(times / 5 + 1)], axis=1)
    model = fit_waves(1, 1, 1e-13, series[:200], all_rows(series[:200]))
    np.testing.assert_allclose(path(model, series, 200, 100), series[200:], atol=1e-6)


@pytest.mark.parametrize("window", [1, 4, 30])
def test_repetition_continues_what_repeats(window):
    pattern = np.random.default_rng(0).standard_normal((17, 2))
    series = np.tile(pattern, (12, 1))
    ahead = path(Repetition(window), series, 120, 80)
    np.testing.assert_array_equal(ahead, series[120:200])


def test_repetition_knows_only_the_past_of_its_origin():
    values = np.arange(10.0)[:, None]
    assert path(Repetition(1), values, 3, 2).max() == 2
    assert path(Repetition(1), values, 5, 2).max() == 4


def test_a_driving_sinusoid_gets_its_quarter_period_partner():
    context = read(chaos.duffing.sample(300))
    assert context.values.shape[1] == 4
    cosine, sine = context.values[:, 2], context.values[:, 3]
    np.testing.assert_allclose((cosine - cosine.mean()) ** 2 + sine**2, 2.0, atol=0.05)


@pytest.mark.parametrize("noise", [0.0, 0.01, 0.2])
def test_a_drive_is_told_through_noise_and_gaps_from_an_oscillation_with_overtones(noise):
    times = 0.3 * np.arange(400)
    drive, own = np.cos(times), np.cos(0.8 * times) + 0.1 * np.cos(2.4 * times)
    series = np.column_stack([drive, np.sign(np.sin(0.3 * times)) + 0.1 * drive, own])
    series += noise * series.std(axis=0) * np.random.default_rng(3).standard_normal(series.shape)
    series[100:130] = np.nan
    context = read(series)
    if noise < 0.1:  # the overtones are a tenth: larger noise hides them
        assert context.values.shape[1] == 4
    partner, there = context.values[:, 3], context.known
    np.testing.assert_allclose(partner[there], -np.sqrt(2) * np.sin(times)[there], atol=0.02 + noise)


def test_gaps_are_bridged_but_not_learned_from():
    series = np.sin(np.arange(100) / 5)[:, None].repeat(2, axis=1)
    series[:, 1] *= 3
    series[40:45, 0] = np.nan
    context = read(series)
    assert not set(range(39, 45)) & set(context.rows.index.tolist())
    assert set(context.rows.remembering(10).tolist()).isdisjoint(range(39, 54))
    assert np.isfinite(context.values).all()


def test_samples_missing_at_the_end_are_overdue():
    series = np.sin(np.arange(100) / 5)
    series[-3:] = np.nan
    context = read(series)
    assert context.overdue == 3
    assert len(context.full) == 97


def test_a_finely_sampled_context_is_thinned_and_keeps_its_latest_sample():
    series = np.sin(np.arange(20_000) / 500)
    context = read(series)
    assert context.stride > 10
    assert len(context.values) >= 512
    latest = context.values[-1] * context.units.scale + context.units.centre
    assert latest[0] == pytest.approx(series[-1])


def test_of_a_long_context_half_the_transitions_are_the_latest():
    context = read(np.random.default_rng(0).standard_normal(50_000))
    assert len(context.rows) <= 1024
    assert (np.diff(context.rows.index[-512:]) == 1).all()
    assert context.rows.index[0] == 0


def test_a_season_with_a_trend_is_continued_with_its_trend():
    t = np.arange(144.0)
    series = 100 + 0.5 * t + 10 * np.sin(2 * np.pi * t / 12) + 4 * np.cos(2 * np.pi * t / 4)
    ahead = forecast(series[:120], 24)
    np.testing.assert_allclose(ahead.point, series[120:], atol=1e-6)


def test_a_growing_season_is_followed_better_than_by_repeating_the_last_one():
    """Monthly sales that grow and swing ever more: a kind on which waves that neither grow nor fade fail."""
    t = np.arange(144.0)
    noise = 1 + 0.03 * np.random.default_rng(0).standard_normal(144)
    series = np.exp(4.8 + 0.01 * t + 0.2 * np.sin(2 * np.pi * t / 12) + 0.1 * np.cos(2 * np.pi * t / 6)) * noise
    ours = np.abs(forecast(series[:120], 24).point - series[120:]).mean()
    last_year = np.abs(np.tile(series[108:120], 2) - series[120:]).mean()
    assert ours < 0.8 * last_year


@pytest.fixture(scope="module")
def rossler():
    """x alone, 39 samples a turn: three turns look like a season of 117 samples."""
    times = np.arange(4000) * 0.15
    path = solve_ivp(
        lambda _, s: [-s[1] - s[2], s[0] + 0.2 * s[1], 0.2 + s[2] * (s[0] - 5.7)],
        (0, times[-1]), [1, 2, 0.2], t_eval=times, rtol=1e-10, atol=1e-12,
    )  # fmt: skip
    return path.y[0]


@pytest.mark.parametrize("first", [0, 400, 3200])
def test_a_chaotic_oscillator_seen_through_one_variable_and_noise_is_no_season(rossler, first):
    series, scale = rossler[first : first + 650], rossler[first : first + 500].std()
    measured = series + 0.01 * scale * np.random.default_rng(first).standard_normal(650)
    answer = forecast(measured[:500], 150)
    inside = (answer.lower <= measured[500:]) & (measured[500:] <= answer.upper)
    assert inside.mean() > 0.85
    off = np.sqrt(np.mean((answer.point - series[500:])[:100] ** 2)) / scale
    assert off < 0.15, "the season of 117 samples is off by half a standard deviation"


def columns_of(values: np.ndarray, horizon: int) -> list[Series]:
    return [Series(np.ascontiguousarray(x), np.ones(len(x), dtype=bool), (), horizon) for x in values.T]


def units_of(values: np.ndarray) -> Units:
    return Units(np.zeros(values.shape[1]), np.ones(values.shape[1]))


def test_candidates_of_all_variables_are_fitted_to_the_early_part_and_solved_again_only_when_asked() -> None:
    seen = []

    def spy(values: np.ndarray, known: np.ndarray, steps: int) -> Repetition:
        seen.append(len(values))
        return Repetition(1)

    values = np.sin(np.arange(200) / 3)[:, None] + [0.0, 1.0]
    columns = columns_of(values, 20)
    rolling = Rolling.over(columns[0].seen, 20, 1, DEFAULT)
    parts = roll_jointly([Candidate("spy", "spy", VALUES, spy)], values, units_of(values), columns, rolling, DEFAULT)
    assert seen == [rolling.early]
    location, _ = parts[1][0].ahead()
    assert seen == [rolling.early, 200]
    ahead = path(Repetition(1), values, 200, 20)[:, 1]
    np.testing.assert_array_equal(location, ahead)


def test_forecasts_that_are_lost_are_as_far_off_as_unrelated_moments() -> None:
    class Lost:
        def predictive(self, values: np.ndarray, seen: np.ndarray, origins: np.ndarray, steps: int) -> Ahead:
            return np.full((len(origins), steps, values.shape[1]), np.nan), None

    values = np.random.default_rng(0).standard_normal((200, 1))
    columns = columns_of(values, 20)
    rolling = Rolling.over(columns[0].seen, 20, 1, DEFAULT)
    candidate = Candidate("lost", "lost", VALUES, lambda v, k, s: Lost())
    part = roll_jointly([candidate], values, units_of(values), columns, rolling, DEFAULT)[0][0]
    np.testing.assert_allclose(part.size, np.sqrt(2))
    assert part.ahead() is None


class Watched(tuple[float, ...]):
    """Notes when it is read."""

    asked: list[int]

    def __iter__(self) -> Iterator[float]:
        self.asked.append(1)
        return super().__iter__()


@pytest.mark.parametrize("seed", range(3))
def test_scouts_let_costly_candidates_in_for_a_system_and_not_for_noise(seed: int) -> None:
    widths = Watched(DEFAULT.kernel_widths)  # which the costly ones alone ask for
    widths.asked = []
    generator = np.random.default_rng(seed)
    without = replace(DEFAULT, without=frozenset({"ASSIMILATION", "HIDDEN"}), kernel_widths=widths)
    forecast(generator.standard_normal(300).cumsum(), 20, settings=without)
    forecast(generator.standard_normal(300), 20, settings=without)
    assert not widths.asked
    forecast(chaos.lorenz.sample(300, seed=seed), 20, settings=without)
    assert widths.asked


def test_noise_of_several_variables_keeps_its_mean():
    noise = np.random.default_rng(0).standard_normal((300, 3))
    made = forecast(noise, 100)
    assert np.asarray(made.point)[20:].std() < 0.2


def test_a_decomposition_without_an_end_is_no_law_and_no_error(monkeypatch):
    def gives_up(*rest: object, **named: object) -> None:
        raise np.linalg.LinAlgError("SVD did not converge")

    series = chaos.lorenz.sample(300, 30, seed=3)
    noisy = series + 0.02 * series.std(axis=0) * np.random.default_rng(0).standard_normal(series.shape)
    monkeypatch.setattr(np.linalg, "svd", gives_up)
    assert np.isfinite(np.asarray(forecast(noisy, 30).point)).all()
