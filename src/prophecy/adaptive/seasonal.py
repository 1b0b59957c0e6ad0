r"""Members that know the seasons, and a second mixture of them with the forecast of the bank.

Five members join once `seasons.find` has seen a period (docs/prophecy.md, "Seasons"): three readouts solved by
recursive least squares on the newest lags and the values around one and two seasons back and their mean over up to 16
seasons, and for each period the mean of what the signal did at this phase (the seasonal difference). They are mixed
with the bank's own forecast by the bank's own rule (Cauchy densities, fixed share), so its guarantee carries over:
against the bank alone the log-loss is larger by at most log(1/prior) and the price of the share.

Everything is relative to the newest value, so offsets and units change nothing. While the seasonal members do not help
(or the bank already predicts nearly all there is) they are switched off, and a stream without seasons computes nothing
here beyond one comparison of counts.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive import mixture
from prophecy.adaptive.belief import believed
from prophecy.adaptive.members import padded
from prophecy.adaptive.potter import grow, update
from prophecy.adaptive.seasons import BLOCK as MEAN_OF
from prophecy.adaptive.seasons import BLOCKS, FIRST_LONG, FLAGS, RING, find, find_long, next_check

LAGS = 6
"""Newest differences among the features: more did not help on hourly readings (ETTh1, first 8 000 values)."""

FEATURES = LAGS + 2 * 9
MEMBERS = 6
"""The bank's forecast, three solved readouts, and the seasonal difference of each period."""

SOLVED = 3
SEASONS_AVERAGED = 16
"""Seasons in the mean profile: from 7 to 14 days ETTh1's error falls by 0.3 %, from 14 to 21 by 0.2 %."""


def _subset(lags: int, seasons: int, kinds: tuple[int, ...]) -> tuple[int, ...]:
    around = [LAGS + 9 * s + 3 * kind + j for s in range(seasons) for kind in kinds for j in range(3)]
    return (*range(lags), *around)


_SUBSETS = (_subset(6, 2, (0, 1, 2)), _subset(3, 2, (0, 2)), _subset(2, 1, (0, 2)))
WIDTHS = np.array([len(subset) for subset in _SUBSETS], dtype=np.uint64)
STRIDES = np.array([padded(len(subset)) for subset in _SUBSETS], dtype=np.uint64)
STARTS = np.concatenate([[0], np.cumsum(WIDTHS * STRIDES)]).astype(np.uint64)
LONGEST_ROW, ONE = int(STRIDES.max()), np.uint64(1)
"""Numbers of each readout, of a row of its factor (eight at a time), and where its factor starts."""

INDEX = np.zeros((SOLVED, FEATURES), dtype=np.int64)
for _row, _some in zip(INDEX, _SUBSETS, strict=True):
    _row[: len(_some)] = _some
FORGETTING = np.array([0.999, 0.998, 0.995])
"""Per value: memories of 1000, 500 and 200 values; small readouts can afford to forget sooner."""

PRIOR = np.array([0.3, 0.2, 0.15, 0.15, 0.1, 0.1])
"""Prior of the second mixture: the bank first."""

FIRST = np.array([0.8, 0.06, 0.04, 0.04, 0.03, 0.03])
"""Its weights when members of a season join: they were solved from the past, the bank has shown itself. They may
overtake it within some ten values. From the prior instead, yearly sunspots lose 1.7 % and short series 0.2 %."""

SMALLEST = 1e-200
"""Squares below this count as zero, as the default of `Settings` has it."""

START = 1e6
"""Prior variance of the weights times the mean square of the features: next to no opinion."""

BOUND = 1e12
"""Nothing is forgotten while the weights' variance times the features' power is beyond this: directions that are
never excited would grow without end."""

FARTHEST = 4.0
"""Largest predicted step, in lengths of the features."""

TIDY = 16
"""Values between two applications of a factor's growth: by 1.04 at most, and a sixteenth of the work."""

ROBUST = 1.0
"""Errors beyond this many mean absolute errors count in proportion to their size, not its square (Huber): 0.2 % of
ETTh1's error, and no outlier is remembered."""

REPLAYED = 2048
"""Past values a newly found season is learned from at once."""

SLOPED = 1.0 / 24.0
"""Part of a period to either side over which a seasonal slope is taken: a sine loses 1 % of its slope, one of 12
samples 4 % (a sample is the least)."""

NEEDLESS = 0.1
"""Where the forecast errs by less than this share of the differences (root mean squares) seasons cannot add much."""

USELESS = 0.998
"""Seasonal members go to rest unless the mean absolute error with them is below this share of the bank's own."""

USEFUL = 0.98
"""Seasons that are no longer found stay while the mean absolute error with them is below this share of the bank's own:
what foretells is not given up because its amplitude varies too much to be a line of the spectrum."""

CHANGED = 0.001
"""Share by which a period must have changed for the members to learn anew: over the 16 seasons averaged, a sixtieth of
one."""

OTHER = 0.05
"""Share by which it must have changed to be another one, whose members have not shown themselves yet."""

LONGEST_REST = 16
"""Most checks in a row that members found useless are passed over for."""


@inner
def back(ring: Any, count: int, samples: float) -> float:
    """The value this many samples before the newest of `count`, by a straight line between two."""
    return behind(ring, (count - 1) % RING, samples)


@inner
def behind(ring: Any, newest: int, samples: float) -> float:
    """The value less than RING samples before the one at the place `newest`, by a straight line between two."""
    whole = int(samples)
    part = samples - whole
    place = newest - whole
    if place < 0:
        place += RING
    value = ring[place]
    if part > 0.0:
        value += part * (ring[place - 1 if place > 0 else RING - 1] - value)
    return value  # type: ignore[no-any-return]


@inner
def share(record: Any) -> float:
    """What the seasonal members count for in the forecast, by weight over squared scale."""
    if record.season_on == 0:
        return 0.0
    total, bank = 0.0, 0.0
    for i in range(MEMBERS):
        scale = record.season_scales[i]
        part = record.season_mix[i] / (scale if scale > 0.0 else 1.0)
        total += part
        if i == 0:
            bank = part
    return 1.0 - bank / total


@inner
def slope(record: Any, ring: Any, alone: float) -> float:
    """The derivative per sample at the newest value: `alone` is the bank's own. By as much as the seasonal members
    count for it is the mean slope of up to 16 seasons at this phase, over `SLOPED` of a period to either side: there,
    other than at the newest value, both sides are known."""
    part, period = share(record), record.season_periods[0]
    wide = max(1.0, math.floor(SLOPED * period + 0.5))
    seasons = min(SEASONS_AVERAGED, int((min(record.count, RING) - 2 - wide) / max(period, 1.0)))
    if part == 0.0 or seasons < 1 or period <= 2.0 * wide:
        return alone
    total = 0.0
    for b in range(1, seasons + 1):
        total += back(ring, record.count, b * period - wide) - back(ring, record.count, b * period + wide)
    return alone + part * (total / (2.0 * wide * seasons) - alone)  # type: ignore[no-any-return]


@inner
def mark(record: Any, missing: bool) -> None:
    """Note of the newest place of the ring whether its value is missing and something stands in for it."""
    place = (record.count - 1) % RING
    bit = 1 << (place % FLAGS)
    if missing:
        record.season_filled[place // FLAGS] |= bit
    else:
        record.season_filled[place // FLAGS] &= ~bit


@inner
def look(record: Any, ring: Any, count: int, available: int, features: Any) -> None:
    """The features as of the moment when `count` values had come, `available` of which are still in the ring.

    For the newest value u and the next one's place: lags 1 … 6, then for each period the values one season before the
    next, two before, and on the mean, each with its two neighbours; all less u.
    """
    last = (count - 1) % RING
    newest = ring[last]
    for lag in range(LAGS):
        features[lag] = behind(ring, last, lag + 1.0) - newest
    for s in range(2):
        first = LAGS + 9 * s
        period = record.season_periods[s]
        if period == 0.0:
            features[first : first + 9] = 0.0
            continue
        seasons = max(min(SEASONS_AVERAGED, int((available - 2) / period)), 1)
        twice = min(seasons, 2)
        for j in range(3):
            total = 0.0
            for b in range(1, seasons + 1):
                value = behind(ring, last, b * period - j)
                total += value
                if b == 1:
                    features[first + j] = value - newest
                if b == twice:
                    features[first + 3 + j] = value - newest
            features[first + 6 + j] = total / seasons - newest


@inner
def begin(record: Any) -> None:
    """Forget what the members knew: the periods are new."""
    record.season_seen = 0
    record.season_mixed = 0
    record.season_power = 0.0
    record.season_weights[:, :] = 0.0
    record.season_factor[:] = 0.0
    record.season_stretch[:] = 1.0
    record.season_size[:] = 0.0
    record.season_errors[:] = 0.0
    record.season_mix[:] = PRIOR
    record.season_scales[:] = 0.0
    record.season_peak[:] = 0.0
    record.season_last_peak[:] = 0.0
    record.season_sums[:] = 0.0


@inner
def solve(record: Any, m: int, difference: float, part: float, room: Any) -> None:
    """One step of recursive least squares of readout m, from the features it predicted with; `room` holds what is not
    kept. The growth by 1/√λ is kept beside the factor (`season_stretch`), and applied every `TIDY` values."""
    n, stride, place, forgetting = WIDTHS[m], STRIDES[m], STARTS[m], FORGETTING[m]
    features, weights, index = record.season_features, record.season_weights[m], INDEX
    phi, g = room[1], room[2]
    error, size = difference * part, 0.0
    for i in range(n):
        phi[i] = features[index[m, i]] * part
        error -= weights[i] * phi[i]
        size += phi[i] * phi[i]
    if not size > SMALLEST:
        return
    if record.season_power == 0.0:
        record.season_power = size
    if record.season_factor[place] == 0.0:
        for i in range(n):
            record.season_factor[place + i * (stride + ONE)] = math.sqrt(START / record.season_power)
        record.season_stretch[m], record.season_size[m] = 1.0, n * START / record.season_power
    usual = record.season_errors[m]
    noise = 1.0
    if record.season_seen > 2 * FEATURES and abs(error) > ROBUST * usual:
        noise = abs(error) / max(ROBUST * usual, SMALLEST)
    update(record.season_factor, place, n, stride, record.season_stretch[m], forgetting * noise, error, phi, g, weights)
    if record.season_size[m] * record.season_power < BOUND:
        record.season_stretch[m] /= math.sqrt(forgetting)
    if record.season_seen % TIDY == 0:
        record.season_size[m] = grow(record.season_factor, place, n * stride, record.season_stretch[m])
        record.season_stretch[m] = 1.0
    record.season_errors[m] += (min(abs(error), 1e79) - usual) * max(0.005, 1.0 / (record.season_seen + 1))


@inner
def learn_readouts(record: Any, difference: float, part: float, room: Any) -> None:
    """All three readouts; an error across a gap counts in parts, as in the bank."""
    for m in range(SOLVED):
        solve(record, m, difference, part, room)
    size = 0.0
    for i in range(FEATURES):
        size += record.season_features[i] ** 2
    record.season_power += (size - record.season_power) / 64.0
    record.season_seen += 1


@inner
def learn_mixture(record: Any, t: Any, difference: float, part: float, value: float) -> None:
    """The bank's rule for weights and scales, over the members of this mixture."""
    mixture.learn(
        record.season_mix, record.season_scales, record.season_peak, record.season_last_peak, record.season_ahead,
        PRIOR, t.share, t.season_ceiling, record.season_mixed, t, difference, part, value,
    )  # fmt: skip
    record.season_mixed += 1


@inner
def predict(record: Any, bank: float) -> None:
    """Fill the members' predictions from the features; `bank` is the bank's own. All relative to the newest value."""
    features, ahead = record.season_features, record.season_ahead
    ahead[0] = bank
    for s in range(2):
        first = LAGS + 9 * s + 6
        moved = features[first + 1] - features[first]
        ahead[1 + SOLVED + s] = moved if record.season_periods[s] > 0.0 else ahead[1 + SOLVED]
    for m in range(SOLVED):
        total, size = 0.0, 0.0
        for i in range(WIDTHS[m]):
            feature = features[INDEX[m, i]]
            total += record.season_weights[m, i] * feature
            size += feature * feature
        most = FARTHEST * math.sqrt(size)
        ahead[1 + m] = min(max(total, -most), most)
        if record.season_seen < 1.5 * WIDTHS[m]:
            ahead[1 + m] = ahead[1 + SOLVED]


@inner
def mixed(record: Any) -> float:
    """The forecast of the bank and the seasonal members together."""
    return mixture.mixed(record.season_mix, record.season_scales, record.season_ahead)


@inner
def learn(record: Any, t: Any, value: float, difference: float, part: float, room: Any) -> None:
    """Take in what the last `ahead` was about: `difference` from the newest value to this one, over 1/part steps."""
    alone = record.season_ahead[0]
    record.season_moves += (difference * part) ** 2
    record.season_alone += ((difference - alone) * part) ** 2
    record.season_since += 1
    if record.season_on == 0:
        return
    record.season_sums[0] += abs(difference - alone) * part
    record.season_sums[1] += abs(difference - mixed(record)) * part
    learn_mixture(record, t, difference, part, value)
    learn_readouts(record, difference, part, room)


@inner
def replay(record: Any, ring: Any, t: Any, count: int, available: int, alone: float, keep: bool) -> None:
    """Learn new periods from the values in the ring; `alone` is the bank's own mean squared error. keep: members
    of periods that are merely known better now count for as much as they did."""
    weights = record.season_mix.copy()
    if not keep:
        weights[:] = FIRST
    begin(record)
    room = np.zeros((3, LONGEST_ROW))
    period = max(record.season_periods[0], record.season_periods[1])
    longest = int(period * (2 if available > 2.5 * period else 1)) + LAGS + 2
    replayed = min(available - longest, REPLAYED)
    for ago in range(replayed, 0, -1):
        then = count - ago
        look(record, ring, then, available - ago, record.season_features)
        predict(record, 0.0)
        newest, value = ring[(then - 1) % RING], ring[then % RING]
        if ago <= 256:
            learn_mixture(record, t, value - newest, 1.0, value)
        learn_readouts(record, value - newest, 1.0, room)
    alone = max(alone, SMALLEST)  # after a long rest it is below, and weights over it would overflow
    record.season_mix[:] = weights
    record.season_scales[0] = alone
    record.season_peak[0] = alone
    record.season_last_peak[0] = alone


@inner
def _look_far(record: Any, ring: Any, count: int, values: Any, known: Any, periods: Any, strengths: Any) -> None:
    """Add the means of what has come since the last look, and look for a long season among them."""
    record.season_blocks = max(record.season_blocks, count // MEAN_OF - BLOCKS)  # older ones would not be kept
    while (record.season_blocks + 1) * MEAN_OF <= count:
        total = 0.0
        for i in range(MEAN_OF):
            total += ring[(record.season_blocks * MEAN_OF + i) % RING]
        record.season_means[record.season_blocks % BLOCKS] = total / MEAN_OF
        record.season_blocks += 1
    if periods[0] >= FIRST_LONG or periods[1] > 0.0:
        return
    kept, strength = min(record.season_blocks, BLOCKS), np.zeros(1)
    means = np.empty(kept)
    for i in range(kept):
        means[i] = record.season_means[(record.season_blocks - kept + i) % BLOCKS]
    longer = find_long(means, values, known, periods[0], strength)
    if longer > 0.0:
        place = 0 if periods[0] == 0.0 else 1
        periods[place], strengths[place] = longer, strength[0]


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
    find(values, known, periods, strengths)
    _look_far(record, ring, count, values, known, periods, strengths)
    was_on = record.season_on == 1
    if was_on and periods[0] == 0.0 and record.season_sums[1] < USEFUL * record.season_sums[0]:
        periods[:], strengths[:] = record.season_periods, record.season_strength
    changed, others = False, not was_on
    for s in range(2):
        before = record.season_periods[s]
        changed = changed or abs(periods[s] - before) > CHANGED * before
        others = others or abs(periods[s] - before) > OTHER * before
    # Members of other periods than those that were no use are given a try.
    useless = was_on and not changed and record.season_sums[1] > USELESS * record.season_sums[0]
    record.season_periods[:] = periods
    record.season_strength[:] = strengths
    record.season_check = next_check(count, periods[0] > 0.0 and not changed)
    if useless:
        record.season_rests = min(2 * record.season_rests + 1, LONGEST_REST)
        record.season_rest = record.season_rests
    elif was_on:
        record.season_rests = 0
    on = record.season_periods[0] > 0.0 and record.season_alone > NEEDLESS * NEEDLESS * record.season_moves
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
def advance(record: Any, ring: Any, bank: float) -> float:
    """The forecast of the next change from the bank's own; the ring holds `record.count` values by now."""
    record.season_ahead[0] = bank
    if record.season_on == 0:
        return bank
    look(record, ring, record.count, min(record.count, RING), record.season_features)
    predict(record, bank)
    return mixed(record)


@inner
def look_if_due(record: Any, ring: Any, t: Any) -> None:
    """Check the seasons if it is time, and predict anew. Nothing is looked for within a gap."""
    if record.count >= record.season_check and record.gap == 0:
        bank = record.season_ahead[0]  # replaying the past overwrites it
        check(record, ring, t, record.count)
        record.change = believed(record, t, advance(record, ring, bank), False)
