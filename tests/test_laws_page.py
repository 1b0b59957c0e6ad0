"""The report page `forecast`: its work is sound and its tables, verdicts and pictures come from the results alone."""

from __future__ import annotations

import json

import numpy as np
import pytest

from reproduction import forecast_cases as work
from reproduction.forecast import CASES, CUTOFFS, METHODS, NOISES, ForecastPage
from reproduction.framework import Ask

PAGE = ForecastPage()


def test_a_chaos_case_scores_ours_and_every_baseline():
    found = work.chaos_case("Lorenz", 30, 0.0, seed=0)
    assert set(found["vpt"]) == set(METHODS)
    assert found["vpt"][work.OURS] > 5 * max(found["vpt"][m] for m in work.BASELINES)
    assert len(found["coverage"]) == work.BINS
    assert {len(found["curve"][part]) for part in ("truth", "mean", "lower", "upper")} == {150}


def test_one_variable_of_lorenz_is_followed_alone_and_its_equations_are_printed():
    found = work.alone_case("Lorenz", seed=0)
    assert len(found["vpt"]) == len(found["baseline"]) == len(found["methods"]) == 3
    assert max(found["vpt"]) > 5 > max(found["baseline"])
    assert np.shape(found["coverage"]) == (3, 10)
    lines = work.equations_case("Lorenz", 0.0)["lines"]
    assert len(lines) == 3
    assert lines[0].startswith("x' = ")


def test_equations_of_eight_variables_have_eight_lines():
    lines = work.equations_case("Lorenz 96, 8 variables", 0.0)["lines"]
    assert [line.partition("'")[0] for line in lines] == [f"x{i}" for i in range(8)]


def test_the_free_run_of_lorenz_is_as_close_to_the_truth_as_two_true_runs():
    found = work.climate_case("Lorenz")
    assert found["spectrum"] < 2 * found["spectrum_floor"] < 0.2
    assert found["histogram"] < 0.3
    assert len(found["periods"]) == len(found["free"]) == len(found["truth"])


def test_baselines_continue_a_ramp_as_they_should():
    ramp = np.arange(100.0)[:, None]
    ahead = work.baselines_ahead(ramp, 3)
    assert ahead["copy"][:, 0].tolist() == [99.0, 99.0, 99.0]
    np.testing.assert_allclose(ahead["linear autoregression"][:, 0], [100, 101, 102], atol=1e-2)


def invented_parts() -> dict[str, object]:
    """Results as `compute` would give them, with numbers that make every verdict hold."""
    chaos = {
        "vpt": {m: 9.0 if m == work.OURS else 0.5 for m in METHODS},
        "smape": {m: 1.0 if m == work.OURS else 80.0 for m in METHODS},
        "coverage": [0.92] * work.BINS,
        "seconds": 0.2,
        "method": "polynomial field of degree 2",
        "curve": {part: [0.0, 1.0] * 20 for part in ("past", "truth", "mean", "lower", "upper")},
    }
    white = {m: [1.5, 2.0] if m == work.OURS else [0.1, 0.2] for m in METHODS}
    vpt, tenths = {"vpt": [8.0, 6.0], "baseline": [0.5, 0.3]}, [[0.9] * 10] * 2
    alone = {**vpt, "coverage": tenths, "methods": ["a", "b"], "curve": chaos["curve"]}
    parts: dict[str, object] = {}
    for unit in PAGE.units(Ask(functions=1)):
        if unit.name.startswith("system|"):
            system = unit.arguments["system"]
            cases = {f"{system}|{rate}|{noise:g}|{missing:g}|0": chaos for rate, noise, missing in CASES}
            parts[unit.name] = {**cases, f"alone|{system}|0": alone}
        elif unit.name.startswith("equations|"):
            parts[unit.name] = {"lines": ["x' = 10 (y - x)"], "method": "field by assimilation"}
        elif unit.name.startswith("climate|"):
            figures = dict.fromkeys(("spectrum", "spectrum_floor", "histogram", "histogram_floor"), 0.05)
            spectra = {part: [0.1, 0.9] for part in ("periods", "free", "truth")}
            parts[unit.name] = {**figures, **spectra, "method": "field by assimilation"}
        else:
            parts[unit.name] = white
    return parts


def test_the_page_is_made_from_its_results_file():
    pytest.importorskip("matplotlib")
    from reproduction import style

    outcome = PAGE.gather(Ask(functions=1), invented_parts())
    result = json.loads(json.dumps({"rows": outcome.rows, "details": outcome.details}))
    assert all(verdict.holds for verdict in PAGE.verdicts(result))
    overview, systems, alone, equations, climate, white = PAGE.tables(result)
    assert len(alone.rows) == len(climate.rows) == len(work.SYSTEMS)
    assert len(equations.rows) == len(NOISES) * len(work.SYSTEMS)
    assert len(overview.rows) == len(CASES) * len(METHODS)
    assert len(systems.rows) == len(work.SYSTEMS)
    assert len(white.rows) == len(CUTOFFS) * len(METHODS)
    with style.use():
        for picture in PAGE.pictures(result):
            assert picture.draw().axes, picture.name
