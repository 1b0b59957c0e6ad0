from prophecy.streams.kernels.structs cimport *

cdef enum:
    POINTS = NODES + 2

cdef void neville(const double* x, const double* y, long long count, double at, double* found) noexcept nogil
cdef long long nodes(const Clock* c, const Samples* s, const Table* t, long long count, double* x, double* y) noexcept nogil
cdef void judge(Samples* s, const double* x, const double* y, long long count) noexcept nogil
cdef long long best_fit(const Samples* s, const Table* t) noexcept nogil
cdef long long degree(const Samples* s, const Table* t) noexcept nogil
cdef bint by_forecast(const Samples* s, const Table* t) noexcept nogil
cdef double on_place(const double* x, const double* y, long long count, double at, long long power) noexcept nogil
cdef double carried(const Samples* s) noexcept nogil
cdef void learn_carried(Samples* s, double error, double off) noexcept nogil

cdef bint then(const Samples* s, const Table* t) noexcept nogil
cdef void compare(Samples* s, double as_noise, double then) noexcept nogil
cdef bint is_smooth(const Samples* s, const Table* t) noexcept nogil
cdef double shift(const Record* r, double expected, double offset) noexcept nogil
cdef double placed(const Record* r, const Table* t, const Clock* c, Samples* s, double time, double value, double expected, double offset) noexcept nogil
