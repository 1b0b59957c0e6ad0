from prophecy.streams.kernels.spectra cimport TOP, Scratch
from prophecy.streams.kernels.structs cimport LONGEST, MEAN_OF, RING, SHORTEST, Table

cdef struct Search:
    long long count
    double values[RING]
    double known[RING]
    double steps[RING]
    double flat[RING]
    double both[RING]
    double of_steps[TOP]
    double of_flat[TOP]
    double pairs[TOP]
    double pairs_of_flat[TOP]
    double squares[TOP]
    double squares_of_flat[TOP]
    double rest[TOP]
    double rest_of_flat[TOP]
    Scratch room


cdef inline double least_of(const double* x, long long first, long long last) noexcept nogil:
    cdef double least = x[first]
    cdef long long i
    for i in range(first + 1, last):
        least = min(least, x[i])
    return least


cdef inline double largest_of(const double* x, long long first, long long last) noexcept nogil:
    cdef double largest = x[first]
    cdef long long i
    for i in range(first + 1, last):
        largest = max(largest, x[i])
    return largest


cdef double centred(const Table* t, double* z, const double* known, long long n) noexcept nogil
cdef double strength(const Table* t, const double* r, long long top, long long lag, long long n, const double* pairs, double least, const double* squares) noexcept nogil
cdef long long shortest_strong(const Table* t, const double* r, long long top, long long n, const double* pairs, long long first, long long last, double least, double* squares) noexcept nogil
cdef double centre(const double* r, long long top, double about, long long half) noexcept nogil
cdef double refined(const Table* t, const double* r, long long top, double lag, bint whole_samples) noexcept nogil
cdef void find(const Table* t, Search* s, double* periods, double* strengths) noexcept nogil
cdef void _differences(Search* s) noexcept nogil
cdef void inside(const Table* t, const double* z, const double* known, const double* r, long long top, long long n, const double* pairs, const double* squares, double* periods, Scratch* room) noexcept nogil
cdef void further(const Table* t, const double* rest, const double* known, long long n, double* r, long long top, double left, double power, double* pairs, double* squares, double least, double* periods, Scratch* room) noexcept nogil

cdef double find_long(const Table* t, double* means, long long m, Search* s, double period, double* strengths) noexcept nogil
cdef void straighten(const double* values, long long n, double* flat) noexcept nogil
cdef double _left_without(Search* s, double period, long long lag) noexcept nogil
