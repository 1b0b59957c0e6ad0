"""When seasons are looked for, and whether the members that use them run.

While the seasonal members do not help (or the bank already predicts nearly all there is) they are switched off. Members
of new periods are solved from the values kept, so that they help at once.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive.folding import LONGEST
from prophecy.adaptive.limits import FLAGS, RING
from prophecy.adaptive.long_seasons import MEAN_OF, MEANS, find_long
from prophecy.adaptive.seasonal import (
    LAGS,
    LONGEST_ROW,
    advance,
    begin,
    fill_features,
    learn_mixture,
    learn_readouts,
    predict,
)
from prophecy.adaptive.seasons import find
from prophecy.adaptive.shrinkage import shrunk

LONGEST_REST = 16
"""Most checks in a row skipped after members did not help; the largest value of a field of the record."""


@inner
def replay(record: Any, ring: Any, t: Any, count: int, available: int, alone: float, keep: bool) -> None:
    """Learn new periods from the values in the ring; `alone` is the bank's own mean squared error. keep: members
    of periods that are merely known better now count for as much as they did."""
    weights = record.season_mix.copy()
    if not keep:
        weights[:] = t.seasonal.first
    begin(record, t)
    room = np.zeros((3, LONGEST_ROW))
    period = max(record.season_periods[0], record.season_periods[1])
    longest = int(period * (2 if available > 2.5 * period else 1)) + LAGS + 2
    replayed = min(available - longest, t.seasonal.replayed)
    for ago in range(replayed, 0, -1):
        then = count - ago
        fill_features(record, ring, t, then, available - ago, record.season_features)
        predict(record, t, 0.0)
        newest, value = ring[(then - 1) % RING], ring[then % RING]
        if ago <= t.seasonal.replayed_mixture:
            learn_mixture(record, t, value - newest, 1.0, value)
        learn_readouts(record, t, value - newest, 1.0, room)
    alone = max(alone, t.smallest)  # after a long rest it is below, and weights over it would overflow
    record.season_mix[:] = weights
    record.season_scales[0] = alone
    record.season_peak[0] = alone
    record.season_last_peak[0] = alone


@inner
def _check_long(
    record: Any, ring: Any, t: Any, count: int, values: Any, known: Any, periods: Any, strengths: Any
) -> None:
    """Add the means of what has come since the last check, and look for a long season among them."""
    record.season_blocks = max(record.season_blocks, count // MEAN_OF - MEANS)  # older ones would not be kept
    while (record.season_blocks + 1) * MEAN_OF <= count:
        total = 0.0
        for i in range(MEAN_OF):
            total += ring[(record.season_blocks * MEAN_OF + i) % RING]
        record.season_means[record.season_blocks % MEANS] = total / MEAN_OF
        record.season_blocks += 1
    if periods[0] >= t.seasons.first_long or periods[1] > 0.0:
        return
    kept, strength = min(record.season_blocks, MEANS), np.zeros(1)
    means = np.empty(kept)
    for i in range(kept):
        means[i] = record.season_means[(record.season_blocks - kept + i) % MEANS]
    longer = find_long(t, means, values, known, periods[0], strength)
    if longer > 0.0:
        place = 0 if periods[0] == 0.0 else 1
        periods[place], strengths[place] = longer, strength[0]


@inner
def next_check(t: Any, count: int, settled: bool) -> int:
    """The number of values after which periods are looked for next, from the number seen now; settled: the last check
    found the periods of the one before."""
    check = t.seasons.first_check
    while check <= count and check < 2 * LONGEST:
        check = int(check * t.seasons.check_growth)
    if check > 2 * LONGEST or check <= count:
        every = 2 * t.seasons.check_every if settled and count >= 8 * t.seasons.check_every else t.seasons.check_every
        check = (count // every + 1) * every
    return check  # type: ignore[no-any-return]


@inner
def check(record: Any, ring: Any, t: Any, count: int) -> None:
    """Look for periods again, and decide whether the seasonal members run."""
    available = min(count, RING)
    values, known = np.empty(available), np.empty(available)
    for i in range(available):
        place = (count - available + i) % RING
        values[i] = ring[place]
        known[i] = 0.0 if record.season_filled[place // FLAGS] >> (place % FLAGS) & 1 else 1.0
    periods, strengths = np.zeros(2), np.zeros(2)
    find(t, values, known, periods, strengths)
    _check_long(record, ring, t, count, values, known, periods, strengths)
    was_on = record.season_on == 1
    if was_on and periods[0] == 0.0 and record.season_sums[1] < t.seasonal.useful * record.season_sums[0]:
        periods[:], strengths[:] = record.season_periods, record.season_strength
    changed, others = False, not was_on
    for s in range(2):
        before = record.season_periods[s]
        changed = changed or abs(periods[s] - before) > t.seasonal.changed * before
        others = others or abs(periods[s] - before) > t.seasonal.other * before
    # Members of other periods than those that did not help run until the next check.
    useless = was_on and not changed and record.season_sums[1] > t.seasonal.useless * record.season_sums[0]
    record.season_periods[:] = periods
    record.season_strength[:] = strengths
    record.season_check = next_check(t, count, periods[0] > 0.0 and not changed)
    if useless:
        record.season_rests = min(2 * record.season_rests + 1, LONGEST_REST)
        record.season_rest = record.season_rests
    elif was_on:
        record.season_rests = 0
    on = (
        record.season_periods[0] > 0.0
        and record.season_alone > t.seasonal.needless * t.seasonal.needless * record.season_moves
    )
    if useless:
        on = False
    elif not was_on and record.season_rest > 0:
        record.season_rest -= 1
        on = False
    record.season_on = 1 if on else 0
    if on and (changed or not was_on):
        replay(record, ring, t, count, available, record.season_alone / max(record.season_since, 1), not others)
    record.season_sums[:] = 0.0
    record.season_alone, record.season_moves, record.season_since = 0.0, 0.0, 0


@inner
def check_if_due(record: Any, ring: Any, t: Any) -> None:
    """Check the seasons if it is time, and predict anew; not within a gap."""
    if record.count >= record.season_check and record.gap == 0:
        bank = record.season_ahead[0]  # replaying the past overwrites it
        check(record, ring, t, record.count)
        record.change = shrunk(record, t, advance(record, ring, t, bank), False)
