from prophecy.streams.kernels.structs cimport *

# Steps tried as those of a grid.
cdef enum:
    TRIED = 2 * PARTS

cdef bint check_due(long long count) noexcept nogil
cdef (double, double) understood(const Clock* c, const Table* t, double time) noexcept nogil
cdef bint is_far(const Clock* c, const Table* t, double time) noexcept nogil
cdef double arrival(Clock* c, Samples* s, const Table* t, double time) noexcept nogil
cdef double _moved(Clock* c, Samples* s, double time, double steps) noexcept nogil
cdef void shift(Clock* c, Samples* s, double seconds) noexcept nogil
cdef void respace(Clock* c, const Table* t) noexcept nogil
cdef void note(Clock* c, const Table* t, double time) noexcept nogil
cdef long long worth(const Clock* c, const Table* t, long long steps) noexcept nogil
cdef void keep_twice(Clock* c) noexcept nogil
cdef (double, double) place(const Clock* c, const Table* t, double time) noexcept nogil
cdef double slack(const Clock* c, const Table* t) noexcept nogil
cdef double beside(const Clock* c, const Table* t, double offset) noexcept nogil
cdef void follow_stamp(Clock* c, const Table* t, double offset, double whole) noexcept nogil
cdef double _remembered(Clock* c, const Table* t, double offset) noexcept nogil
cdef void begin_anew(Clock* c) noexcept nogil
cdef long long check_grid(Clock* c, const Table* t, bint true) noexcept nogil
cdef long long _verdict(Clock* c, const Table* t, bint true, const double* times, long long n, bint young) noexcept nogil

cdef (double, double, double) rounded(const Table* t, const double* times, long long n) noexcept nogil
cdef double _common(double a, double b, double fuzz) noexcept nogil
cdef void sort(double* x, long long count) noexcept nogil
cdef (double, double) fit(const Table* t, const double* times, long long n) noexcept nogil
cdef (double, double) _fit_step(const double* times, long long n, double step) noexcept nogil
