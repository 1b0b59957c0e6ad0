"""Settings of the bank: every number reaches the compiled step through the table, and files keep them."""

from __future__ import annotations

import ast
import dataclasses
from pathlib import Path

import numpy as np
import pytest

from prophecy import Prophecy
from prophecy.streams import members
from prophecy.streams import settings as streams_settings
from prophecy.streams.ahead import Ahead
from prophecy.streams.rows import TABLE
from prophecy.streams.settings import DEFAULT, Group, Settings
from prophecy.streams.table import table

RNG = np.random.default_rng(4)
K = np.arange(3000)
DAY = 3 * np.sin(2 * np.pi * K / 48) + np.sin(4 * np.pi * K / 48 + 1) + 0.3 * RNG.standard_normal(len(K))


def places(group: Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    """Where each number of a group is: the names of the groups it lies in, then its own."""
    found: list[tuple[str, ...]] = []
    for field in dataclasses.fields(group):
        value = getattr(group, field.name)
        found += places(value, (*path, field.name)) if isinstance(value, Group) else [(*path, field.name)]
    return found


NUMBERS = places(DEFAULT)


def other(path: tuple[str, ...], value, group: Group = DEFAULT):
    """Settings with one number replaced."""
    if len(path) > 1:
        value = other(path[1:], value, getattr(group, path[0]))
    return dataclasses.replace(group, **{path[0]: value})


def at(settings, path: tuple[str, ...]):
    for name in path:
        settings = settings[name] if isinstance(settings, np.void) else getattr(settings, name)
    return settings


def nudged(path: tuple[str, ...]):
    """Another value that the setting may have."""
    value = at(DEFAULT, path)
    if isinstance(value, tuple):
        return tuple(0.9999 * one for one in value)
    return value - 1 if isinstance(value, int) and value > 3 else value + 1 if isinstance(value, int) else 0.999 * value


def test_there_is_one_table_of_all_numbers():
    assert len(NUMBERS) > 40
    usual = table(DEFAULT)[0]
    for path in NUMBERS:
        np.testing.assert_array_equal(at(usual, path), at(DEFAULT, path))


@pytest.mark.parametrize("path", NUMBERS, ids=".".join)
def test_every_setting_reaches_the_table_and_nothing_else_changes(path):
    value = nudged(path)
    changed = table(other(path, value))[0]
    np.testing.assert_array_equal(at(changed, path), value)
    usual = table(DEFAULT)[0]
    derived = {name for name in TABLE.names if name not in {p[0] for p in NUMBERS}}
    for each in NUMBERS:
        if each != path:
            np.testing.assert_array_equal(at(changed, each), at(usual, each))
    moved = {name for name in derived if not np.array_equal(changed[name], usual[name])}
    follows = {
        "solved_memory": {"forgetting"},
        "equations": {"needed"},
        "prior_solved": {"prior"},
        "seasons.bank": {"prior"},
        "discount": {"bias_rate"},
        "rate": {"raise_by", "lower_by"},
    }
    assert moved == follows.get(".".join(path), set())


def said(settings: Settings, u, time=None, gaps="predict"):
    track = Prophecy(settings=settings, gaps=gaps).follow(u, time=time)
    return np.concatenate([track.point, track.upper, track.score, track.alarm])


EVENTS = DAY.copy()
EVENTS[2000] += 30
EVENTS[2500:] += 5
HOLES = np.where(RNG.random(len(K)) < 0.3, np.nan, DAY)
HOLES[1000:1200] = np.nan
JITTER = K + RNG.uniform(-0.2, 0.2, len(K))
SLIGHT = K + RNG.uniform(-0.05, 0.05, len(K))
RANDOM = np.cumsum(RNG.uniform(0.3, 1.7, len(K)))
TWO = np.sin(2 * np.pi * K / 12) + np.sin(2 * np.pi * K / 20 + 1) + 0.3 * RNG.standard_normal(len(K))


def smooth(t):
    return np.sin(t / 16) + 0.5 * np.sin(t / 6.2 + 1)


@pytest.mark.parametrize(
    ("path", "value", "u", "time"),
    [
        ("alarms.rise", 0.5, EVENTS, None),
        ("alarms.quiet", 400.0, EVENTS, None),
        ("seasons.deviations", 500.0, DAY, None),
        ("seasons.more", 100.0, TWO, None),
        ("seasons.averaged", 2, DAY, None),
        ("seasons.joined", 0.1, DAY, None),
        ("gap_reach", 0.01, HOLES, None),
        ("stuck", 2, np.round(DAY), None),
        ("alternating", (0.5, 0.6), DAY, None),
        ("solved_memory", (0.99,) * 7, DAY, None),
        ("clock.off", 0.1, smooth(JITTER), JITTER),
        ("clock.hole", 0.2, smooth(RANDOM), RANDOM),
    ],
)
def test_a_setting_of_every_group_changes_what_is_said(path, value, u, time):
    changed = said(other(tuple(path.split(".")), value), u, time)
    assert not np.array_equal(changed, said(DEFAULT, u, time), equal_nan=True)


def _with_and_without(path, off):
    return DEFAULT, other(tuple(path.split(".")), off)


def test_each_guard_serves_the_case_that_its_reason_names():
    """Numbers of which half and twice change nothing are kept for one case each; without them it is lost."""
    k = np.arange(4000)
    found = [0, 0]
    for seed in range(6):
        jumps = np.cumsum(0.1 + np.abs(np.random.default_rng(seed).standard_normal(3002))) + 5.0 * (k[:3002] >= 3000)
        for i, settings in enumerate(_with_and_without("alarms.alone", 1e3)):
            found[i] += int(Prophecy(settings=settings).follow(jumps).alarm[3000] >= 0.999)
    assert found[0] >= 5
    assert found[1] <= 2


def test_settings_of_predictions_several_values_ahead_are_taken():
    near_copying = other(("ahead", "rolled"), 1, other(("ahead", "share"), 1e-9))
    usual, careful = (Ahead(12, 0.9, settings).advance(DAY)[0] for settings in (DEFAULT, near_copying))
    copying = np.nanmean(np.abs(DAY[1000:] - DAY[1000 - 12 : -12]))
    assert np.nanmean(np.abs(usual - DAY)[1000:]) < 0.5 * copying
    assert np.nanmean(np.abs(careful - DAY)[1000:]) > 0.9 * copying


@pytest.mark.parametrize("factor", [1e-3, 1e3])
@pytest.mark.parametrize("path", NUMBERS, ids=".".join)
def test_settings_as_far_off_as_files_may_hold_them_give_numbers(path, factor):
    """Compiled code checks no bounds: no place or loop may depend on a setting."""
    usual = at(DEFAULT, path)

    def scaled(one):
        return max(round(one * factor), 1) if isinstance(one, int) else one * factor

    value = tuple(map(scaled, usual)) if isinstance(usual, tuple) else scaled(usual)
    kind = {field.name: field.type for field in dataclasses.fields(at(DEFAULT, path[:-1]))}[path[-1]]
    if "Share" in kind and np.max(value) >= 1.0:
        with pytest.raises(ValueError, match=f"{path[-1]} must be below 1"):
            other(path, value)
        return
    settings = other(path, value)
    for time in (None, JITTER[:600], RANDOM[:600]):
        model = Prophecy(settings=settings)
        track = model.follow(np.where(K[:600] % 50 == 7, np.nan, DAY[:600]), time=time)
        late = np.isnan(track.point)
        assert np.isfinite(track.upper[~late][1:]).all()
        assert late.sum() < 300
        assert np.isfinite(model.predict().point)


def test_a_file_keeps_its_settings(tmp_path):
    settings = other(("alarms", "rise"), 0.5)
    model = Prophecy(settings=settings)
    model.observe(EVENTS[:1990])
    model.save(tmp_path / "kept")
    usual = Prophecy()
    usual.observe(EVENTS[:1990])
    alarms = [one.follow(EVENTS[1990:]).alarm for one in (Prophecy.load(tmp_path / "kept"), model, usual)]
    np.testing.assert_array_equal(alarms[0], alarms[1])
    assert (alarms[0] != alarms[2]).any()


@pytest.mark.parametrize(
    ("change", "problem"),
    [
        ({"alternating": (0.99,)}, "alternating must be 2 numbers"),
        ({"alternating": (float("nan"),) * 2}, "alternating must be positive and finite"),
        ({"stuck": 7.5}, "stuck must be a whole number"),
        ({"share": 2.0}, "share must be below 1"),
    ],
)
def test_settings_that_cannot_be_are_refused(change, problem):
    with pytest.raises((TypeError, ValueError), match=problem):
        Settings(**change)


def test_groups_take_their_own_kind_alone():
    with pytest.raises(TypeError, match="alarms must be a AlarmSettings"):
        Settings(alarms=DEFAULT.clock)  # type: ignore[arg-type]


BESIDE = {
    *("LARGEST", "LARGEST_TIME", "FARTHEST", "LONGEST_STEP", "SQUARED", "MOVED", "LEAST"),  # bounds
    *("READOUT", "GROWTH", "FACTOR"),  # of what is solved
    *("SMALLEST", "ROUNDING", "ERROR_ROUNDING", "PRIOR_POWER", "BOUND", "TIDY", "ROUNDED"),  # float64
    *("LOWEST", "HIGHEST"),  # bounds of a field
    *("LEVELS", "NORMAL", "OUTER", "LIGHTEST", "FIELDS", "CLOCK_FIELDS", "SAMPLE_FIELDS"),  # what the record holds
    "DOUBTED",  # for words alone
}
"""Constants that are no whole numbers and may stand beside the code."""


def test_no_number_that_steers_the_step_stands_outside_the_settings():
    """Whole ones are sizes and codes: they fix the layout of the record."""
    found = set()
    for file in set(Path(members.__file__).parent.glob("*.py")) - {Path(streams_settings.__file__)}:
        for node in ast.parse(file.read_text()).body:
            if isinstance(node, ast.Assign) and any(
                isinstance(part, ast.Constant) and isinstance(part.value, float) for part in ast.walk(node.value)
            ):
                found |= {name.id for target in node.targets for name in ast.walk(target) if isinstance(name, ast.Name)}
    computed = {name for name in found if name.startswith("_") and name not in BESIDE}
    assert computed <= {"_ANGLES", "_NOWHERE", "_NOTHING", "_NONE", "_RARE", "_OFTEN", "_RAREST", "_OUTER", "_NINETY"}
    assert found - computed <= BESIDE


def test_the_line_by_which_a_member_joins_is_one_that_works():
    """The example of CONTRIBUTING.md, executed; and every solved member has its forgetting."""
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text()
    line = next(line.strip() for line in text.splitlines() if line.strip().startswith("Solved("))
    member = eval(line.rstrip(","), dict(vars(members)))
    assert isinstance(member, members.Solved)
    assert max(member.features) < members.FEATURES
    assert member.start == members.COPY
    assert len(DEFAULT.solved_memory) == len(members.SOLVED)
