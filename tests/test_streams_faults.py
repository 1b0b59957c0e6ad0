"""Alarms see what people see: faults of benchmarks/faults.py, fewer draws of them."""

from __future__ import annotations

import numpy as np
import pytest

from benchmarks.faults import AT, KINDS, SURE, WITHIN, planted, stream
from prophecy import Prophecy
from prophecy.anomalies import find_events

DRAWS = 8
LEAST = 6
"""Of eight draws as many must be seen, where 18 of 20 are asked for; of drifts, where 12 are, one fewer."""


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("fault", WITHIN)
def test_planted_faults_raise_an_alarm(kind, fault):
    if (fault == "lost season") > (kind == "season") or (fault.startswith("drift") and kind == "walk"):
        pytest.skip("no season to lose, or a drift that is next to nothing beside the walk's own")
    seen = 0
    for seed in range(100, 100 + DRAWS):
        alarm = Prophecy().follow(planted(kind, fault, seed)).alarm
        seen += bool((alarm[AT : AT + WITHIN[fault]] >= SURE).any())
    assert seen >= LEAST - fault.startswith("drift")


@pytest.mark.parametrize("kind", KINDS)
def test_alarms_without_a_fault_are_rarer_than_they_say(kind):
    alarm = np.concatenate([Prophecy().follow(stream(kind, 200 + seed)[0]).alarm for seed in range(DRAWS)])
    assert np.mean(alarm >= SURE) <= 1e-3
    assert np.mean(alarm >= 0.99) <= 1e-2


@pytest.mark.parametrize(
    ("fault", "name", "least"), [("lost season", "lost season", 5), ("drift, 0.005 sd a step", "shift", 6)]
)
def test_what_comes_slowly_is_named(fault, name, least):
    found = []
    for seed in range(100, 100 + DRAWS):
        u = planted("season", fault, seed)
        events = find_events(u, Prophecy().follow(u, level=SURE), 1e-3)
        found += [event.kind for event in events if event.last >= AT and event.first < AT + WITHIN[fault]][:1]
    assert found.count(name) >= least
