from prophecy.streams.kernels.structs cimport LONGEST, RING, SHORTEST, Table

cdef enum:
    TRANSFORM = 8192
    HALF = TRANSFORM >> 1
    TOP = LONGEST + 3

cdef double PHASES
cdef double[TRANSFORM] COS, SIN

cdef struct Scratch:
    double re[TRANSFORM]
    double im[TRANSFORM]
    double total[RING]
    double count[RING]
    double masks[TOP]
    double again[TOP]


cdef inline double summed(const double* x, long long n) noexcept nogil:
    cdef double total = 0.0
    cdef long long i
    for i in range(n):
        total += x[i]
    return total


cdef inline double product(const double* x, const double* y, long long n) noexcept nogil:
    cdef double total = 0.0
    cdef long long i
    for i in range(n):
        total += x[i] * y[i]
    return total


cdef void _fill() noexcept nogil
cdef void transform(double* re, double* im, long long size) noexcept nogil
cdef void autocorrelations(const double* a, const double* b, long long n, long long top, double* of_a, double* of_b, Scratch* room) noexcept nogil
cdef void of_known(const Table* t, double* r, long long top, const double* known, long long n, double* pairs, Scratch* room) noexcept nogil

cdef long long profile(const double* z, const double* known, long long n, double period, double fine, Scratch* room) noexcept nogil
cdef double explained(const double* z, const double* known, long long n, double period, double fine, Scratch* room) noexcept nogil
cdef double unfold(double* z, const double* known, long long n, double period, Scratch* room) noexcept nogil
cdef double tone(const double* z, long long n, double frequency) noexcept nogil
cdef double shorter(const Table* t, const double* z, const double* known, long long n, double period, Scratch* room) noexcept nogil
cdef double _beside(const double* z, long long n, double period, long long parts) noexcept nogil
cdef double sharpened(const double* z, const double* known, long long n, double period, Scratch* room) noexcept nogil
cdef double evenness(const Table* t, const double* z, long long n) noexcept nogil
