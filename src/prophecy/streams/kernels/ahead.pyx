"""Predictions h values ahead (`streams/ahead.py`): solved and seasonal members whose targets lie h values on."""

cdef enum:
    COPIED = FIXED - 2  # places in a record, before those of the solved members, of the copy and of the bank rolled on
    ROLLED = FIXED - 1


# What an `ahead.Ahead` works on: the bank, a copy of it to roll forward, and the members that predict h ahead.
cdef struct Model:
    Ahead* a
    Waiting* rows
    Record* bank
    Record* rolled
    Record* far
    double* ring
    double* spare
    long long horizon


cdef void _read_features(const Table* t, Model* f, const double* of_bank, long long count) noexcept nogil:
    """Features when `count` values had come: those of the bank then, and the seasons as they are known now."""
    memcpy(f.far.feature, of_bank, AROUND * sizeof(double))
    fill_features(f.far, f.ring, t, count, min(f.bank.count, RING) - (f.bank.count - count), f.horizon)


cdef void _judge_ahead(
    const Table* t, Model* f, const Waiting* row, double value, const Where* where, double* out
) noexcept nogil:
    """Hold a prediction to the value it was made for: out gets mean, half width and score, and everybody learns."""
    cdef double prior[AHEAD_MEMBERS]
    a, r, expected = f.a, f.far, row.mixed
    out[0], out[1], out[2] = expected, NAN, NAN
    if isnan(expected):
        return
    a.pending -= fabs(expected - row.last)
    out[1] = max(half_width(r, t, where), spacing(fabs(expected)))
    out[2] = surprise(r, t, value - expected)
    if isnan(value):
        return
    calibrate(r, t, value - expected)
    r.last = value
    a.copied += fabs(value - row.last)
    a.excess += fabs(value - expected) - fabs(value - row.last)
    difference = value - row.start
    _read_features(t, f, row.feature, f.bank.count + 1 - f.horizon)
    learn_solved(r, t, 0, AWAKE, r.learned, difference, 1.0)
    learn_solved(r, t, AWAKE, SOLVED, r.season_seen, difference, 1.0)
    r.season_seen += 1
    for m in range(AHEAD_MEMBERS):
        prior[m] = 1.0 / AHEAD_MEMBERS
    learn_mixture(
        r.weight + COPIED, r.scale + COPIED, r.peak + COPIED, r.last_peak + COPIED, row.change, prior, AHEAD_MEMBERS,
        r.learned, t, difference, 1.0, value,
    )  # fmt: skip
    r.learned += 1


cdef void _predict_ahead(const Table* t, Model* f, Waiting* row, double newest) noexcept nogil:
    """The value `horizon` after the newest: as each member says, mixed, and moved towards the copy as far as it must be
    (`streams/ahead.py`)."""
    a, r, q = f.a, f.far, f.rolled
    memcpy(row.feature, f.bank.feature, sizeof(row.feature))
    _read_features(t, f, row.feature, f.bank.count)
    predict_solved(r, t, 0, AWAKE, r.learned)
    predict_seasonal(r, t)
    row.last, row.start = newest, f.bank.last
    r.prediction[COPIED] = r.prediction[ROLLED] = newest - row.start
    if f.horizon <= t.ahead.rolled:
        q[0] = f.bank[0]
        if q.season_on:
            memcpy(f.spare, f.ring, RING * sizeof(double))
        for _ in range(f.horizon - 1):
            step(q, f.spare, t, NAN)
        r.prediction[ROLLED] = expected(q, t) - row.start
    memcpy(row.change, r.prediction + COPIED, sizeof(row.change))
    top, whole = mixed(r.weight + COPIED, r.scale + COPIED, row.change, AHEAD_MEMBERS)
    most = max(0.0, t.ahead.allowed * a.copied - a.excess - a.pending) * t.ahead.share / max(f.horizon, t.ahead.share)
    move = min(max(row.start + top / whole - newest, -most), most)
    a.pending += fabs(move)
    row.mixed = newest + move


cdef void _advance_ahead(const Table* t, Model* f, const Where* where, double value, double* out) noexcept nogil:
    """Take in the next value; out: its mean, half width and score as they were `horizon` values before. A row of
    `waiting` belongs to the prediction due when its place comes round again."""
    r, bank, row = f.far, f.bank, f.rows + f.bank.count % f.horizon
    _judge_ahead(t, f, row, value, where, out)
    step(bank, f.ring, t, value)
    check_if_due(bank, f.ring, t)
    if bank.count == 0:
        return  # nothing but gaps so far
    if r.season_periods[0] != bank.season_periods[0] or r.season_periods[1] != bank.season_periods[1]:
        r.season_periods[0], r.season_periods[1] = bank.season_periods[0], bank.season_periods[1]
        replay(r, f.ring, t, bank.count, min(bank.count, RING), f.horizon)
    _predict_ahead(t, f, row, bank.last if isnan(value) else value)


def run_ahead(records, rings, state, waiting, table, place, values, out):
    """Take in `values`; out (time, 3) gets mean, half width and score of each. The first four are the arrays of an
    `ahead.Ahead`; place: where the level lies (`table.between`)."""
    cdef Model f
    f.horizon = len(waiting)
    f.bank, f.ring = records_of(records, 3), numbers(rings, "rings", 2 * RING)
    f.rolled, f.far, f.spare = f.bank + 1, f.bank + 2, f.ring + RING
    f.a, f.rows = ahead_of(state), waiting_of(waiting, f.horizon)
    where, t = where_of(place), table_of(table)
    count = <long long> (len(values))
    new, made = given(values, "values", count), numbers(out, "out", 3 * count)
    with nogil:
        for k in range(count):
            _advance_ahead(t, &f, &where, new[k], made + 3 * k)
