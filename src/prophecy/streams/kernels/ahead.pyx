"""Predictions h values ahead (`streams/ahead.py`): solved and seasonal members whose targets lie h values on."""

cdef enum:
    COPIED = FIXED - 2  # places in a record, before those of the solved members, of the copy and of the bank rolled on
    ROLLED = FIXED - 1


# A prediction that waits for its value: the bank's features then, the change as each member predicts it, from what it is
# a change (the newest value, as believed), the newest value itself (NaN where it was missing), and the prediction.
cdef struct Waiting:
    double feature[AROUND]
    double change[AHEAD_MEMBERS]
    double start
    double last
    double mixed


cdef class Farther:
    """streams: the bank, one stream without timestamps; record (1,): what predicts h ahead; normal: the
    normal quantile of the level (`table.between`)."""

    cdef Streams streams
    cdef object record, rows
    cdef Stream bank
    cdef Record* far
    cdef const Table* t
    cdef Waiting* waiting
    cdef long long horizon, taken
    cdef double normal
    cdef double copied, excess, pending  # errors of copying, how much larger ours are, what may be added to that

    def __cinit__(self, Streams streams, record, double normal, long long horizon):
        self.streams, self.record, self.horizon = streams, record, horizon
        self.rows = bytearray(horizon * sizeof(Waiting))
        self.bank, self.far, self.t = streams.row(0), records_of(record, 1), streams._table
        self.waiting, self.normal = <Waiting*> PyByteArray_AS_STRING(self.rows), normal
        for k in range(horizon):
            self.waiting[k].mixed = NAN

    def take(self, values, out):
        """Take in `values`; out (time, 3) gets mean, half width and score of each, as they were `horizon` values before.
        A row of `waiting` belongs to the prediction due when its place comes round again."""
        count = <long long> (len(values))
        new, made, r = given(values, "values", count), numbers(out, "out", 3 * count), self.bank.r
        with nogil:
            for k in range(count):
                row = self.waiting + self.taken % self.horizon
                self.taken += 1
                self.judge(row, new[k], made + 3 * k)
                take_step(&self.bank, self.t, new[k])
                if r.count > 0:  # not nothing but gaps so far
                    self.predict(row, r.last if isnan(new[k]) else new[k])

    cdef void read_features(self, const double* of_bank, long long count) noexcept nogil:
        """Features when `count` values had come: those of the bank then, and the seasons as they are known now."""
        memcpy(self.far.feature, of_bank, AROUND * sizeof(double))
        count = max(count, <long long> 1)  # of a gap the ring holds a part
        available = min(self.bank.r.count, RING) - (self.bank.r.count - count)
        fill_features(self.far, self.bank.ring, self.t, count, available, self.horizon)

    cdef void judge(self, const Waiting* row, double value, double* out) noexcept nogil:
        """Hold a prediction to the value it was made for: out gets mean, half width and score, and everybody learns."""
        cdef double prior[AHEAD_MEMBERS]
        r, t, expected = self.far, self.t, row.mixed
        out[0], out[1], out[2] = expected, NAN, NAN
        if isnan(expected):
            return
        self.pending -= fabs(expected - row.last)
        out[1] = max(half_width(r, t, self.normal), spacing(fabs(expected)))
        out[2] = surprise(r, t, value - expected)
        if isnan(value):
            return
        calibrate(r, t, value - expected)
        r.last = value
        self.copied += fabs(value - row.last)
        self.excess += fabs(value - expected) - fabs(value - row.last)
        difference = value - row.start
        self.read_features(row.feature, self.bank.r.count + 1 - self.horizon)
        learn_solved(r, t, 0, AWAKE, r.learned, difference, 1.0)
        learn_solved(r, t, AWAKE, SOLVED, r.season_seen, difference, 1.0)
        r.season_seen += 1
        for m in range(AHEAD_MEMBERS):
            prior[m] = 1.0 / AHEAD_MEMBERS
        learn_mixture(
            r.weight + COPIED, r.scale + COPIED, r.peak + COPIED, r.last_peak + COPIED, row.change, prior,
            AHEAD_MEMBERS, r.learned, t, difference, 1.0, value,
        )  # fmt: skip
        r.learned += 1

    cdef void predict(self, Waiting* row, double newest) noexcept nogil:
        """The value `horizon` after the newest: as each member says, mixed, and moved towards the copy as far as it must
        be (`streams/ahead.py`)."""
        cdef Room copied
        r, bank, t = self.far, self.bank.r, self.t
        if r.season_periods[0] != bank.season_periods[0] or r.season_periods[1] != bank.season_periods[1]:
            r.season_periods[0], r.season_periods[1] = bank.season_periods[0], bank.season_periods[1]
            replay(r, self.bank.ring, t, bank.count, min(bank.count, RING), self.horizon)
        memcpy(row.feature, bank.feature, sizeof(row.feature))
        self.read_features(row.feature, bank.count)
        predict_solved(r, t, 0, AWAKE, r.learned)
        predict_solved(r, t, AWAKE, SOLVED, r.season_seen)
        row.last, row.start = newest, bank.last
        r.prediction[COPIED] = r.prediction[ROLLED] = newest - row.start
        if self.horizon <= t.ahead.rolled:
            r.prediction[ROLLED] = expected(walked_on(&self.bank, t, self.horizon - 1, &copied), t) - row.start
        memcpy(row.change, r.prediction + COPIED, sizeof(row.change))
        top, whole = mixed(r.weight + COPIED, r.scale + COPIED, row.change, AHEAD_MEMBERS)
        room = max(0.0, t.ahead.allowed * self.copied - self.excess - self.pending)
        most = room * t.ahead.share / max(self.horizon, t.ahead.share)
        move = min(max(row.start + top / whole - newest, -most), most)
        self.pending += fabs(move)
        row.mixed = newest + move
