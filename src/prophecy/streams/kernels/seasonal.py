r"""Members that use the seasons, and when they sleep.

Five members wake once `periods` has found a season (docs/prophecy.md, "Seasons"): three readouts solved by recursive
least squares on the newest lags and the values around one and two seasons back and their mean over up to 16 seasons
(`members.SOLVED`), and for each period the mean of what the signal did at this phase (the seasonal difference). They are
the last of all members and weighed like all others; asleep they have no weight and cost nothing.

Everything is relative to the newest value, so offsets and units change nothing. Periods are looked for once in a while
(`check_if_due`). While the seasonal members do not help they sleep. Those of new periods are solved from the values
kept, so that they help at once.
"""

import cython
from cython.cimports.libc.math import fabs, floor
from cython.cimports.libc.stdlib import free, malloc
from cython.cimports.prophecy.streams.kernels import mixture
from cython.cimports.prophecy.streams.kernels.periods import examine, find, repeats
from cython.cimports.prophecy.streams.kernels.solved import learn_solved, predict_solved, start_over
from cython.cimports.prophecy.streams.kernels.whole import whole as truncated


def behind(ring, newest, samples):
    """The value less than RING samples before the one at the place `newest`, by a straight line between two."""
    steps = truncated(samples)
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
    _, bank = mixture.mixed(r.weight, r.scale, r.prediction, BANK)
    _, ours = mixture.mixed(r.weight + BANK, r.scale + BANK, r.prediction + BANK, MEMBERS - BANK)
    return ours / (bank + ours)


def slope(r, ring, t, alone):
    """The derivative per sample at the newest value: `alone` is the bank's own. By as much as the seasonal members
    count for it is the mean slope of up to 16 seasons at this phase, over a 24th of a period to either side (a sine loses 1 % of its slope): there,
    other than at the newest value, both sides are known."""
    part, period = share(r), r.season_periods[0]
    wide = max(1.0, floor(period / 24.0 + 0.5))
    seasons = min(t.seasonal.averaged, truncated((min(r.count, RING) - 2 - wide) / max(period, 1.0)))
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
    """The seasonal features as of the moment when `count` values had come, `available` of which are still in the ring.

    For the newest value u and the next one's place: for each period the values one season before the next, two before,
    and on the mean, each with its two neighbours; all less u.
    """
    last = (count - 1) % RING
    newest = ring[last]
    for s in range(2):
        features = r.feature + AROUND + 9 * s
        period = r.season_periods[s]
        if period == 0.0:
            for j in range(9):
                features[j] = 0.0
            continue
        seasons = max(min(t.seasonal.averaged, truncated((available - 2) / period)), 1)
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


def predict(r, t):
    """The seasonal members' predictions of the next change, from the features."""
    predict_solved(r, t, AWAKE, SOLVED, r.season_seen)
    for s in range(2):
        mean = r.feature + AROUND + (9 * s if r.season_periods[s] > 0.0 else 0) + 6
        r.prediction[FIXED + SOLVED + s] = mean[1] - mean[0]


def learn(r, t, difference, part):
    """Learn from the change that was forecast: `difference` from the newest value to this one, over 1/part steps."""
    if r.season_on == 0:
        return
    r.season_sums[0] += fabs(difference - r.season_alone) * part
    r.season_sums[1] += fabs(difference - r.shrink_ahead[0]) * part
    learn_solved(r, t, AWAKE, SOLVED, r.season_seen, difference, part)
    r.season_seen += 1


def advance(r, ring, t):
    """The forecast of the next change by all members that are awake; the ring holds `r.count` values by now."""
    top, whole = mixture.mixed(r.weight, r.scale, r.prediction, BANK)
    r.season_alone = top / whole
    if r.season_on == 0:
        return r.season_alone
    fill_features(r, ring, t, r.count, min(r.count, RING))
    predict(r, t)
    more, others = mixture.mixed(r.weight + BANK, r.scale + BANK, r.prediction + BANK, MEMBERS - BANK)
    return (top + more) / (whole + others)


# When seasons are looked for, and whether the members run.


def replay(r, ring, t, count, available):
    """Solve the readouts of new periods from the values in the ring; the last of them say how large the members' errors
    are. The features are then the newest ones again."""
    start_over(r, t, AWAKE, SOLVED)
    r.season_seen = 0
    for i in range(SOLVED - AWAKE):
        r.season_errors[i] = 0.0
    for i in range(BANK, MEMBERS):
        r.weight[i], r.scale[i], r.peak[i], r.last_peak[i] = t.prior[1][i], 0.0, 0.0, 0.0
    period = max(r.season_periods[0], r.season_periods[1])
    longest = truncated(period * (2 if available > 2.5 * period else 1)) + 8
    for ago in range(min(available - longest, LONGEST), 0, -1):
        then = count - ago
        newest, value = ring[(then - 1) % RING], ring[then % RING]
        fill_features(r, ring, t, then, available - ago)
        for lag in range(1, 7):
            r.feature[lag] = ring[(then - 1 - lag) % RING] - newest
        predict(r, t)
        if ago <= LONGEST // 8:
            mixture.learn(
                r.weight + BANK, r.scale + BANK, r.peak + BANK, r.last_peak + BANK, r.prediction + BANK,
                t.prior[1] + BANK, MEMBERS - BANK, r.season_seen, t, value - newest, 1.0, value,
            )  # fmt: skip
        learn_solved(r, t, AWAKE, SOLVED, r.season_seen, value - newest, 1.0)
        r.season_seen += 1
    for lag in range(1, 7):
        r.feature[lag] = r.lag[lag] - r.last


def wake(r, bank):
    """Let all members that never sleep have the weight `bank` together, the seasonal ones the rest in equal parts."""
    total = 0.0
    for i in range(BANK):
        total += r.weight[i]
    for i in range(BANK):
        r.weight[i] *= bank / total
    for i in range(BANK, MEMBERS):
        r.weight[i] = (1.0 - bank) / (MEMBERS - BANK)


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
    # Where the forecast errs by less than a tenth of the differences seasons cannot add much.
    on: cython.bint = periods[0] > 0.0 and r.error_scale > 0.01 * r.scale[0]
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
        kept: cython.double[MEMBERS]
        for i in range(MEMBERS):
            kept[i] = r.weight[i]
        replay(r, ring, t, count, available)
        for i in range(MEMBERS):
            r.weight[i] = kept[i]
    if on and others:  # those of periods that are merely known better now count for as much as they did
        wake(r, t.seasonal.joined)
    elif was_on and not on:
        wake(r, 1.0)
    r.season_sums[0], r.season_sums[1] = 0.0, 0.0


def check_if_due(r, ring, t):
    """Check the seasons if it is time, and predict anew; not within a gap. The room to search in is half a megabyte:
    where there is none, the check waits for the next value."""
    if r.count < r.season_check or r.gap > 0:
        return
    search = cython.cast(cython.pointer(Search), malloc(cython.sizeof(Search)))
    if search == cython.NULL:
        return
    check(r, ring, t, r.count, search)
    r.change = mixture.shrunk(r, t, advance(r, ring, t), False)
    free(search)
