from prophecy.streams.kernels.structs cimport (
    AS_NOISE,
    CARRIED,
    CARRIED_COUNT,
    CUBIC,
    DEGREE_COUNT,
    DEGREES,
    JITTER,
    KINDS,
    NODES,
    RECENT,
    SQUARED,
    Clock,
    Record,
    Samples,
    Table,
)

cdef enum:
    POINTS = NODES + 2

cdef double hole(const Clock* c, const Table* t) noexcept nogil
cdef void neville(const double* x, const double* y, long long count, double at, double* found) noexcept nogil
cdef long long nodes(const Clock* c, const Samples* s, const Table* t, long long count, double* x, double* y) noexcept nogil
cdef void judge(Samples* s, const Table* t, const double* x, const double* y, long long count) noexcept nogil
cdef long long best_fit(const Samples* s, const Table* t) noexcept nogil
cdef long long degree(const Samples* s, const Table* t) noexcept nogil
cdef bint by_forecast(const Samples* s, const Table* t) noexcept nogil
cdef double on_place(const double* x, const double* y, long long count, double at, long long power) noexcept nogil
cdef double carried(const Samples* s, const Table* t) noexcept nogil
cdef void learn_carried(Samples* s, const Table* t, double error, double off) noexcept nogil

cdef long long stamp_kind(const Record* r, const Table* t) noexcept nogil
cdef double shift(const Record* r, double expected, double offset, long long kind) noexcept nogil
cdef void compare(Record* r, const Table* t, long long kind, double error) noexcept nogil
cdef bint taken_then(const Record* r, const Table* t, const Samples* s) noexcept nogil
cdef double placed(Record* r, const Table* t, const Clock* c, Samples* s, double time, double value, double expected, double offset) noexcept nogil
