r"""Experts that use the seasons, a second mixture of them with the forecast of the bank, and when they sleep.

Five experts join once `periods` has found a season (docs/prophecy.md, "Seasons"): three readouts solved by recursive
least squares on the newest lags and the values around one and two seasons back and their mean over up to 16 seasons,
and for each period the mean of what the signal did at this phase (the seasonal difference). They are mixed with the
bank's own forecast by the bank's own rule (Cauchy densities, fixed share), so its guarantee carries over: against the
bank alone the log-loss is larger by at most log(1/prior) and the price of the share.

Everything is relative to the newest value, so offsets and units change nothing. Periods are looked for once in a while
(`check_if_due`). While the experts do not help they sleep; a stream
without seasons computes nothing here. Experts of new periods are solved from the values kept, so that they help at
once.
"""

import cython
from cython.cimports.libc.math import fabs, floor, sqrt
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.prophecy.streams.kernels import mixture
from cython.cimports.prophecy.streams.kernels.periods import examine, find, repeats
from cython.cimports.prophecy.streams.kernels.solved import grow, update
from cython.cimports.prophecy.streams.kernels.whole import whole


def behind(ring, newest, samples):
    """The value less than RING samples before the one at the place `newest`, by a straight line between two."""
    steps = whole(samples)
    part = samples - steps
    place = newest - steps
    if place < 0:
        place += RING
    value = ring[place]
    if part > 0.0:
        value += part * (ring[place - 1 if place > 0 else RING - 1] - value)
    return value


def share(r):
    """The share of the seasonal members in the forecast, by weight over scale."""
    if r.season_on == 0:
        return 0.0
    total, bank = 0.0, 0.0
    for i in range(SEASON_MEMBERS):
        scale = r.season_scales[i]
        part = r.season_mix[i] / (scale if scale > 0.0 else 1.0)
        total += part
        if i == 0:
            bank = part
    return 1.0 - bank / total


def slope(r, ring, t, alone):
    """The derivative per sample at the newest value: `alone` is the bank's own. By as much as the seasonal members
    count for it is the mean slope of up to 16 seasons at this phase, over a 24th of a period to either side (a sine loses 1 % of its slope): there,
    other than at the newest value, both sides are known."""
    part, period = share(r), r.season_periods[0]
    wide = max(1.0, floor(period / 24.0 + 0.5))
    seasons = min(t.seasonal.averaged, whole((min(r.count, RING) - 2 - wide) / max(period, 1.0)))
    if part == 0.0 or seasons < 1 or period <= 2.0 * wide:
        return alone
    total, newest = 0.0, (r.count - 1) % RING
    for b in range(1, seasons + 1):
        total += behind(ring, newest, b * period - wide) - behind(ring, newest, b * period + wide)
    return alone + part * (total / (2.0 * wide * seasons) - alone)


def mark(r, missing):
    """Flag the newest place of the ring: whether its value is missing and a prediction stands in for it."""
    place = (r.count - 1) % RING
    bit: cython.longlong = 1
    bit <<= place % FLAGS
    if missing:
        r.season_filled[place // FLAGS] |= bit
    else:
        r.season_filled[place // FLAGS] &= ~bit


def is_missing(r, ago):
    """Whether the value so many places before the newest is missing."""
    place = (r.count - 1 - ago) % RING
    return r.season_filled[place // FLAGS] >> (place % FLAGS) & 1


def fill_features(r, ring, t, count, available):
    """The features as of the moment when `count` values had come, `available` of which are still in the ring.

    For the newest value u and the next one's place: lags 1 … 6, then for each period the values one season before the
    next, two before, and on the mean, each with its two neighbours; all less u.
    """
    last = (count - 1) % RING
    newest = ring[last]
    for lag in range(SEASON_LAGS):
        r.season_features[lag] = behind(ring, last, lag + 1.0) - newest
    for s in range(2):
        features = r.season_features + SEASON_LAGS + 9 * s
        period = r.season_periods[s]
        if period == 0.0:
            for j in range(9):
                features[j] = 0.0
            continue
        seasons = max(min(t.seasonal.averaged, whole((available - 2) / period)), 1)
        twice = min(seasons, 2)
        for j in range(3):
            total = 0.0
            for b in range(1, seasons + 1):
                value = behind(ring, last, b * period - j)
                total += value
                if b == 1:
                    features[j] = value - newest
                if b == twice:
                    features[3 + j] = value - newest
            features[6 + j] = total / seasons - newest


def divide(weights, bank):
    """Weights of the mixture: `bank` for the bank, the rest in equal parts for the experts."""
    weights[0] = bank
    for i in range(1, SEASON_MEMBERS):
        weights[i] = (1.0 - bank) / (SEASON_MEMBERS - 1)


def begin(r, t):
    """Members of new periods, which have learned nothing yet."""
    r.season_seen, r.season_mixed, r.season_power = 0, 0, 0.0
    for i in range(SEASON_STARTS[SEASON_SOLVED]):
        r.season_factor[i] = 0.0
    for m in range(SEASON_SOLVED):
        for i in range(SEASON_FEATURES):
            r.season_weights[m][i] = 0.0
        r.season_growth[m], r.season_size[m], r.season_errors[m] = 1.0, 0.0, 0.0
    divide(r.season_mix, t.seasonal.bank)
    for i in range(SEASON_MEMBERS):
        r.season_scales[i], r.season_peak[i], r.season_last_peak[i] = 0.0, 0.0, 0.0
    r.season_sums[0], r.season_sums[1] = 0.0, 0.0


def solve(r, t, m, difference, part):
    """One step of recursive least squares of readout m, from the features it predicted with. The growth by 1/√λ is kept
    beside the factor (`season_growth`), and applied every 16 values."""
    phi: cython.double[SEASON_ROW]
    g: cython.double[SEASON_ROW]
    n, stride, forgetting = SEASON_WIDTHS[m], SEASON_STRIDES[m], t.seasonal.memory[m]
    factor, weights = r.season_factor + SEASON_STARTS[m], cython.address(r.season_weights[m][0])
    error, size = difference * part, 0.0
    for i in range(n):
        phi[i] = r.season_features[SEASON_INDEX[m][i]] * part
        error -= weights[i] * phi[i]
        size += phi[i] * phi[i]
    if not size > SMALLEST:
        return
    if r.season_power == 0.0:
        r.season_power = size
    if factor[0] == 0.0:
        for i in range(n):
            factor[i * (stride + 1)] = sqrt(PRIOR_POWER / r.season_power)
        r.season_growth[m], r.season_size[m] = 1.0, n * PRIOR_POWER / r.season_power
    usual = r.season_errors[m]
    noise = 1.0
    if r.season_seen > 2 * SEASON_FEATURES and fabs(error) > usual:
        noise = fabs(error) / max(usual, SMALLEST)
    update(factor, n, stride, r.season_growth[m], forgetting * noise, error, phi, g, weights)
    if r.season_size[m] * r.season_power < BOUND:
        r.season_growth[m] /= sqrt(forgetting)
    if r.season_seen % 16 == 0:
        r.season_size[m] = grow(factor, n * stride, r.season_growth[m])
        r.season_growth[m] = 1.0
    r.season_errors[m] += (min(fabs(error), 1e79) - usual) * max(
        1.0 - t.seasonal.memory[SEASON_SOLVED - 1], 1.0 / (r.season_seen + 1)
    )


def learn_readouts(r, t, difference, part):
    """All three readouts; an error across a gap counts in parts, as in the bank."""
    for m in range(SEASON_SOLVED):
        solve(r, t, m, difference, part)
    size = 0.0
    for i in range(SEASON_FEATURES):
        size += r.season_features[i] * r.season_features[i]
    r.season_power += (size - r.season_power) / TIDY
    r.season_seen += 1


def learn_mixture(r, t, difference, part, value):
    """The bank's rule for weights and scales, over the members of this mixture."""
    prior: cython.double[SEASON_MEMBERS]
    divide(prior, t.seasonal.bank)
    mixture.learn(
        r.season_mix, r.season_scales, r.season_peak, r.season_last_peak, r.season_ahead, prior,
        SEASON_MEMBERS, t.share, t.ceiling, r.season_mixed, t, difference, part, value,
    )  # fmt: skip
    r.season_mixed += 1


def predict(r, t, bank):
    """Fill the members' predictions from the features; `bank` is the bank's own. All relative to the newest value."""
    features, ahead = cython.address(r.season_features[0]), cython.address(r.season_ahead[0])
    ahead[0] = bank
    for s in range(2):
        first = SEASON_LAGS + 9 * s + 6
        moved = features[first + 1] - features[first]
        ahead[1 + SEASON_SOLVED + s] = moved if r.season_periods[s] > 0.0 else ahead[1 + SEASON_SOLVED]
    for m in range(SEASON_SOLVED):
        total, size = 0.0, 0.0
        for i in range(SEASON_WIDTHS[m]):
            feature = features[SEASON_INDEX[m][i]]
            total += r.season_weights[m][i] * feature
            size += feature * feature
        most = t.farthest * sqrt(size)
        ahead[1 + m] = min(max(total, -most), most)
        if r.season_seen < 1.5 * SEASON_WIDTHS[m]:
            ahead[1 + m] = ahead[1 + SEASON_SOLVED]


def mixed_forecast(r):
    """The forecast of the bank and the seasonal members together."""
    return mixture.mixed(r.season_mix, r.season_scales, r.season_ahead, SEASON_MEMBERS)


def learn(r, t, value, difference, part):
    """Learn from the change that `season_ahead` was the forecast of: `difference` from the newest value to this one,
    over 1/part steps."""
    alone = (difference - r.season_ahead[0]) * part
    r.season_alone += alone * alone
    r.season_moves += (difference * part) * (difference * part)
    r.season_since += 1
    if r.season_on == 0:
        return
    r.season_sums[0] += fabs(difference - r.season_ahead[0]) * part
    r.season_sums[1] += fabs(difference - mixed_forecast(r)) * part
    learn_mixture(r, t, difference, part, value)
    learn_readouts(r, t, difference, part)


def advance(r, ring, t, bank):
    """The forecast of the next change from the bank's own; the ring holds `r.count` values by now."""
    r.season_ahead[0] = bank
    if r.season_on == 0:
        return bank
    fill_features(r, ring, t, r.count, min(r.count, RING))
    predict(r, t, bank)
    return mixed_forecast(r)


# When seasons are looked for, and whether the members run.


def replay(r, ring, t, count, available, alone, keep):
    """Learn new periods from the values in the ring; `alone` is the bank's own mean squared error. keep: members
    of periods that are merely known better now count for as much as they did."""
    weights: cython.double[SEASON_MEMBERS]
    divide(weights, t.seasonal.joined)
    for i in range(SEASON_MEMBERS):
        weights[i] = r.season_mix[i] if keep else weights[i]
    begin(r, t)
    period = max(r.season_periods[0], r.season_periods[1])
    longest = whole(period * (2 if available > 2.5 * period else 1)) + SEASON_LAGS + 2
    for ago in range(min(available - longest, LONGEST), 0, -1):
        then = count - ago
        fill_features(r, ring, t, then, available - ago)
        predict(r, t, 0.0)
        newest, value = ring[(then - 1) % RING], ring[then % RING]
        if ago <= LONGEST // 8:
            learn_mixture(r, t, value - newest, 1.0, value)
        learn_readouts(r, t, value - newest, 1.0)
    alone = max(alone, SMALLEST)  # after a long rest it is below, and weights over it would overflow
    for i in range(SEASON_MEMBERS):
        r.season_mix[i] = weights[i]
    r.season_scales[0], r.season_peak[0], r.season_last_peak[0] = alone, alone, alone


def find_long(r, ring, t, count, search):
    """A season of 16 means of 32 values or more that was seen four times at least among the last 512 of them, in
    samples, else 0: the recent values have seen it only a few times."""
    periods: cython.double[2]
    r.season_blocks = max(r.season_blocks, count // MEAN_OF - MEANS)  # older ones would not be kept
    while (r.season_blocks + 1) * MEAN_OF <= count:
        total = 0.0
        for i in range(MEAN_OF):
            total += ring[(r.season_blocks * MEAN_OF + i) % RING]
        r.season_means[r.season_blocks % MEANS] = total / MEAN_OF
        r.season_blocks += 1
    search.count = min(r.season_blocks, MEANS)
    longest = min(LONGEST // MEAN_OF, search.count // 4)
    if longest < 16:
        return 0.0
    for i in range(search.count):
        search.values[i], search.known[i] = r.season_means[(r.season_blocks - search.count + i) % MEANS], 1.0
    examine(search, t, False, longest, periods)
    longer = max(periods[0], periods[1])
    return min(floor(longer * MEAN_OF + 0.5), LONGEST) if longer >= 16.0 else 0.0


def find_all(r, ring, t, count, search, periods, strengths):
    """Up to two periods of the values in the ring, or one of these and a long one that explains more of them."""
    longer, available = find_long(r, ring, t, count, search), min(count, RING)
    search.count = available
    for i in range(available):
        place = (count - available + i) % RING
        search.values[i] = ring[place]
        search.known[i] = 0.0 if r.season_filled[place // FLAGS] >> (place % FLAGS) & 1 else 1.0
    find(t, search, periods, strengths)
    if longer == 0.0 or periods[0] >= 16 * MEAN_OF or periods[1] > 0.0:
        return
    short = 0.0
    if periods[0] > 0.0:
        times = floor(longer / periods[0] + 0.5)
        if fabs(longer - times * periods[0]) < MEAN_OF // 4:
            longer = times * periods[0]  # a week is seven days
        short = repeats(search, periods[0]) + t.periods.least
    strength = repeats(search, longer)
    if strength > short:
        place = 0 if periods[0] == 0.0 else 1
        periods[place], strengths[place] = longer, strength


def next_check(count, settled):
    """The number of values after which periods are looked for next, from the number seen now: 32, 48, 72, …, from
    `2 LONGEST` on every `LONGEST`; where the last check found the periods of the one before (settled) every second of
    these once nearly all that is kept is new then."""
    due: cython.longlong = 32
    while due <= count and due < 2 * LONGEST:
        due += due // 2
    if due > 2 * LONGEST or due <= count:
        every = 2 * LONGEST if settled and count >= 8 * LONGEST else LONGEST
        due = (count // every + 1) * every
    return due


def check(r, ring, t, count, search):
    """Look for periods again, and decide whether the seasonal members run."""
    periods: cython.double[2]
    strengths: cython.double[2]
    available = min(count, RING)
    find_all(r, ring, t, count, search, periods, strengths)
    was_on: cython.bint = r.season_on == 1
    changed: cython.bint = False
    others: cython.bint = not was_on
    stays: cython.bint = was_on and periods[0] == 0.0 and r.season_sums[1] < t.seasonal.useful * r.season_sums[0]
    for s in range(2):
        before = r.season_periods[s]
        if stays:
            periods[s], strengths[s] = before, r.season_strength[s]
        # A sixtieth of a period over the seasons averaged is noticed; a twentieth of one makes it another season.
        changed = changed or fabs(periods[s] - before) > before / (60.0 * t.seasonal.averaged)
        others = others or fabs(periods[s] - before) > 0.05 * before
        r.season_periods[s], r.season_strength[s] = periods[s], strengths[s]
    # Members of other periods than those that did not help run until the next check.
    useless: cython.bint = was_on and not changed and r.season_sums[1] > t.seasonal.useless * r.season_sums[0]
    r.season_check = next_check(count, periods[0] > 0.0 and not changed)
    on: cython.bint = periods[0] > 0.0 and r.season_alone > 0.01 * r.season_moves
    if useless:
        r.season_rests = min(2 * r.season_rests + 1, LONGEST_REST)
        r.season_rest = r.season_rests
        on = False
    elif was_on:
        r.season_rests = 0
    elif r.season_rest > 0:
        r.season_rest -= 1
        on = False
    r.season_on = 1 if on else 0
    if on and (changed or not was_on):
        replay(r, ring, t, count, available, r.season_alone / max(r.season_since, 1), not others)
    r.season_sums[0], r.season_sums[1] = 0.0, 0.0
    r.season_alone, r.season_moves, r.season_since = 0.0, 0.0, 0


def check_if_due(r, ring, t):
    """Check the seasons if it is time, and predict anew; not within a gap. The room to search in is half a megabyte:
    where there is none, the check waits for the next value."""
    if r.count < r.season_check or r.gap > 0:
        return
    search = cython.cast(cython.pointer(Search), malloc(cython.sizeof(Search)))
    if search == cython.NULL:
        return
    bank = r.season_ahead[0]  # replaying the past overwrites it
    check(r, ring, t, r.count, search)
    r.change = mixture.shrunk(r, t, advance(r, ring, t, bank), False)
    free(search)
