"""Single kernels as Python calls them: for the tests, which compare each with plain NumPy.

Records and tables are arrays of one or more, of which the first is meant.
"""


# The bank.


def probe_step(records, rings, table, double value):
    """One value, without a look for seasons."""
    step(records_of(records, len(records)), numbers(rings, "rings", len(records) * RING), table_of(table), value)


def probe_expected(records, table):
    """The forecast of the next value."""
    return expected(records_of(records, len(records)), table_of(table))


def probe_learn_solved(records, table, double difference):
    """The solved members learn from a change over one step."""
    r = records_of(records, len(records))
    learn_solved(r, table_of(table), 0, AWAKE, r.learned, difference, 1.0)
    r.learned += 1


def probe_weigh(records, table):
    """The mixture learns that the value stayed where it was."""
    r, t = records_of(records, len(records)), table_of(table)
    learn_mixture(
        r.weight, r.scale, r.peak, r.last_peak, r.prediction, t.prior[0], BANK, r.learned, t, 0.0, 1.0, 0.0
    )  # fmt: skip
    r.learned += 1


# Sketches.


def probe_insert(records, double x):
    """One more value among the errors."""
    r = records_of(records, len(records))
    insert(r, ERROR, x)
    r.alarm_seen += 1


def probe_tail(records, double x):
    """The share of earlier errors at least as far out as x, on the nearer side."""
    return tail_share(records_of(records, len(records)), ERROR, x, True)


# Seasons.


def probe_transform(re, im):
    """The FFT of re + i im in place; their length is a power of two."""
    transform(numbers(re, "re", len(re)), numbers(im, "im", len(re)), len(re))


def probe_examined(values, known, bint steps, tried):
    """Of differences (steps) or values less their line: autocorrelation, pairs, and for each period tried what it
    explains and how far it wanders."""
    room, n = bytearray(sizeof(Search)), len(values)
    s = <Search*> PyByteArray_AS_STRING(room)
    x, there = given(values, "values", n), given(known, "known", n)
    s.count = min(n, RING)
    for i in range(s.count):
        s.values[i], s.known[i] = x[i], there[i]
    prepare(s, steps)
    autocorrelation(s)
    judged = []
    for period in tried:
        judged.append((repeats(s, period)[0], wander(s, period)))
    lags = range(s.lags + 1)
    return [s.r[lag] for lag in lags], [s.pairs[lag] for lag in lags], judged


def probe_solve_seasonal(records, table, double difference):
    """The seasonal readouts learn from a change over one step."""
    r = records_of(records, len(records))
    learn_solved(r, table_of(table), AWAKE, SOLVED, r.season_seen, difference, 1.0)


def probe_check_seasons(records, ring, table):
    """Look for seasons now."""
    room, r = bytearray(sizeof(Search)), records_of(records, len(records))
    search = <Search*> PyByteArray_AS_STRING(room)
    check_seasons_now(r, numbers(ring, "ring", RING), table_of(table), r.count, search)


# Times.


def probe_renew(records, ring, table):
    """Forget all but how gaps are filled."""
    cdef Stream stream
    stream.r, stream.ring = records_of(records, len(records)), numbers(ring, "ring", RING)
    renew(&stream, table_of(table))
