"""The report's page on alarms: the changes are where they are said to be, and what it counts is what was flagged."""

from __future__ import annotations

import numpy as np
import pytest

from reproduction import planted
from reproduction.framework import Ask


@pytest.mark.parametrize("change", planted.CHANGES)
@pytest.mark.parametrize("name", planted.streams(0))
def test_streams_are_as_they_were_until_the_change_and_others_from_then_on(name, change):
    u = planted.changed(name, change, 3)
    if u is None:
        assert change == "lost season"
        return
    before = planted.changed(name, "spike", 3)
    np.testing.assert_array_equal(u[: planted.WHEN], before[: planted.WHEN])
    calm, noise = planted.streams(3)[name]
    plain = np.cumsum(noise) if name == "random walk" else calm + noise
    differs = np.abs(u - (np.round(plain, 1) if name.startswith("thermometer") else plain)) > 1e-9
    assert not differs[: planted.WHEN].any()
    assert differs[planted.WHEN : planted.WHEN + 30].any()
    assert differs[planted.WHEN + 1 :].any() == (change != "spike")


def test_the_page_counts_what_is_flagged_and_says_where_it_fails():
    ask, page = Ask(functions=2), planted.Planted()
    units = {unit.name: unit for unit in page.units(ask)}
    part = page.compute(ask, units[planted.SHOWN])
    for change in planted.CHANGES:
        flags = np.flatnonzero(planted.flagged(planted.changed(planted.SHOWN, change, 1)))
        after = flags[flags >= planted.WHEN]
        assert part["late"][change][1] == after[0] - planted.WHEN
    result = {"rows": page.gather(ask, {planted.SHOWN: part}).rows, "details": {"story": part["story"]}}
    (table,) = page.tables(result)
    assert table.rows[0][0] == planted.SHOWN
    false, found = page.verdicts(result)
    assert false.holds is (part["false"] <= planted.RATE)
    assert found.holds is True
    missed = [{**line, "mean": 0.0} if line["parameter"] == "spike" else line for line in result["rows"]]
    assert page.verdicts({"rows": missed})[1].holds is None
    (picture,) = page.pictures(result)
    assert len(picture.draw().axes) == 6
