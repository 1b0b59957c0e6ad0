r"""Members that use the seasons, and a second mixture of them with the forecast of the bank.

Five members join once `seasons.find` has seen a period (docs/prophecy.md, "Seasons"): three readouts solved by
recursive least squares on the newest lags and the values around one and two seasons back and their mean over up to 16
seasons, and for each period the mean of what the signal did at this phase (the seasonal difference). They are mixed
with the bank's own forecast by the bank's own rule (Cauchy densities, fixed share), so its guarantee carries over:
against the bank alone the log-loss is larger by at most log(1/prior) and the price of the share.

Everything is relative to the newest value, so offsets and units change nothing. Whether they run is decided at
each check (`season_check.py`); a stream without seasons computes nothing here.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from prophecy._compiled import inner
from prophecy.adaptive import mixture
from prophecy.adaptive.limits import FLAGS, RING
from prophecy.adaptive.members import padded
from prophecy.adaptive.potter import grow, update

LAGS = 6
"""Newest differences among the features: more did not help on hourly readings (ETTh1, first 8 000 values)."""

FEATURES = LAGS + 2 * 9
MEMBERS = 6
"""The bank's forecast, three solved readouts, and the seasonal difference of each period."""

SOLVED = 3
"""Readouts solved in context."""


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
    """The share of the seasonal members in the forecast, by weight over scale."""
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
def slope(record: Any, ring: Any, t: Any, alone: float) -> float:
    """The derivative per sample at the newest value: `alone` is the bank's own. By as much as the seasonal members
    count for it is the mean slope of up to 16 seasons at this phase, over `sloped` of a period to either side: there,
    other than at the newest value, both sides are known."""
    part, period = share(record), record.season_periods[0]
    wide = max(1.0, math.floor(t.seasonal.sloped * period + 0.5))
    seasons = min(t.seasonal.averaged, int((min(record.count, RING) - 2 - wide) / max(period, 1.0)))
    if part == 0.0 or seasons < 1 or period <= 2.0 * wide:
        return alone
    total = 0.0
    for b in range(1, seasons + 1):
        total += back(ring, record.count, b * period - wide) - back(ring, record.count, b * period + wide)
    return alone + part * (total / (2.0 * wide * seasons) - alone)  # type: ignore[no-any-return]


@inner
def mark(record: Any, missing: bool) -> None:
    """Flag the newest place of the ring: whether its value is missing and a prediction stands in for it."""
    place = (record.count - 1) % RING
    bit = 1 << (place % FLAGS)
    if missing:
        record.season_filled[place // FLAGS] |= bit
    else:
        record.season_filled[place // FLAGS] &= ~bit


@inner
def fill_features(record: Any, ring: Any, t: Any, count: int, available: int, features: Any) -> None:
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
        seasons = max(min(t.seasonal.averaged, int((available - 2) / period)), 1)
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
def begin(record: Any, t: Any) -> None:
    """Members of new periods, which have learned nothing yet."""
    record.season_seen = 0
    record.season_mixed = 0
    record.season_power = 0.0
    record.season_weights[:, :] = 0.0
    record.season_factor[:] = 0.0
    record.season_growth[:] = 1.0
    record.season_size[:] = 0.0
    record.season_errors[:] = 0.0
    record.season_mix[:] = t.seasonal.prior
    record.season_scales[:] = 0.0
    record.season_peak[:] = 0.0
    record.season_last_peak[:] = 0.0
    record.season_sums[:] = 0.0


@inner
def solve(record: Any, t: Any, m: int, difference: float, part: float, room: Any) -> None:
    """One step of recursive least squares of readout m, from the features it predicted with; `room` holds what is not
    kept. The growth by 1/√λ is kept beside the factor (`season_growth`), and applied every `tidy` values."""
    n, stride, place, forgetting = WIDTHS[m], STRIDES[m], STARTS[m], t.seasonal.memory[m]
    features, weights, index = record.season_features, record.season_weights[m], INDEX
    phi, g = room[1], room[2]
    error, size = difference * part, 0.0
    for i in range(n):
        phi[i] = features[index[m, i]] * part
        error -= weights[i] * phi[i]
        size += phi[i] * phi[i]
    if not size > t.smallest:
        return
    if record.season_power == 0.0:
        record.season_power = size
    if record.season_factor[place] == 0.0:
        for i in range(n):
            record.season_factor[place + i * (stride + ONE)] = math.sqrt(t.seasonal.prior_power / record.season_power)
        record.season_growth[m], record.season_size[m] = 1.0, n * t.seasonal.prior_power / record.season_power
    usual = record.season_errors[m]
    noise = 1.0
    if record.season_seen > 2 * FEATURES and abs(error) > t.seasonal.robust * usual:
        noise = abs(error) / max(t.seasonal.robust * usual, t.smallest)
    update(record.season_factor, place, n, stride, record.season_growth[m], forgetting * noise, error, phi, g, weights)
    if record.season_size[m] * record.season_power < t.seasonal.bound:
        record.season_growth[m] /= math.sqrt(forgetting)
    if record.season_seen % t.seasonal.tidy == 0:
        record.season_size[m] = grow(record.season_factor, place, n * stride, record.season_growth[m])
        record.season_growth[m] = 1.0
    record.season_errors[m] += (min(abs(error), 1e79) - usual) * max(
        t.seasonal.usual_rate, 1.0 / (record.season_seen + 1)
    )


@inner
def learn_readouts(record: Any, t: Any, difference: float, part: float, room: Any) -> None:
    """All three readouts; an error across a gap counts in parts, as in the bank."""
    for m in range(SOLVED):
        solve(record, t, m, difference, part, room)
    size = 0.0
    for i in range(FEATURES):
        size += record.season_features[i] ** 2
    record.season_power += (size - record.season_power) / t.seasonal.power_over
    record.season_seen += 1


@inner
def learn_mixture(record: Any, t: Any, difference: float, part: float, value: float) -> None:
    """The bank's rule for weights and scales, over the members of this mixture."""
    mixture.learn(
        record.season_mix, record.season_scales, record.season_peak, record.season_last_peak, record.season_ahead,
        t.seasonal.prior, t.share, t.season_ceiling, record.season_mixed, t, difference, part, value,
    )  # fmt: skip
    record.season_mixed += 1


@inner
def predict(record: Any, t: Any, bank: float) -> None:
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
        most = t.farthest * math.sqrt(size)
        ahead[1 + m] = min(max(total, -most), most)
        if record.season_seen < 1.5 * WIDTHS[m]:
            ahead[1 + m] = ahead[1 + SOLVED]


@inner
def mixed(record: Any) -> float:
    """The forecast of the bank and the seasonal members together."""
    return mixture.mixed(record.season_mix, record.season_scales, record.season_ahead)


@inner
def learn(record: Any, t: Any, value: float, difference: float, part: float, room: Any) -> None:
    """Learn from the change that `season_ahead` was the forecast of: `difference` from the newest value to this one,
    over 1/part steps."""
    alone = record.season_ahead[0]
    record.season_moves += (difference * part) ** 2
    record.season_alone += ((difference - alone) * part) ** 2
    record.season_since += 1
    if record.season_on == 0:
        return
    record.season_sums[0] += abs(difference - alone) * part
    record.season_sums[1] += abs(difference - mixed(record)) * part
    learn_mixture(record, t, difference, part, value)
    learn_readouts(record, t, difference, part, room)


@inner
def advance(record: Any, ring: Any, t: Any, bank: float) -> float:
    """The forecast of the next change from the bank's own; the ring holds `record.count` values by now."""
    record.season_ahead[0] = bank
    if record.season_on == 0:
        return bank
    fill_features(record, ring, t, record.count, min(record.count, RING), record.season_features)
    predict(record, t, bank)
    return mixed(record)
