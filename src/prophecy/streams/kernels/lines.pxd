from prophecy.streams.kernels.spectra cimport Scratch
from prophecy.streams.kernels.structs cimport LONGEST, SHORTEST, Table

cdef enum:
    LINES = 24


cdef long long spectrum(const double* z, long long n, Scratch* room) noexcept nogil
cdef long long find_lines(const Table* t, const double* power, long long bins, long long n, double total, double* frequency, double* strength) noexcept nogil
cdef bint narrow(const Table* t, const double* power, long long bins, long long n, const double* frequency, const double* strength, long long count, long long which) noexcept nogil
cdef void harmonics(const double* frequency, const double* near, long long count, double base, long long n, long long* which) noexcept nogil
cdef double folded(const Table* t, const double* frequency, const double* strength, const double* near, long long count, double base, long long n, long long* which) noexcept nogil
cdef (double, double) comb(const Table* t, const double* frequency, const double* strength, const double* near, long long count, long long n, long long agreeing) noexcept nogil
cdef long long inside(const Table* t, const long long* which, const double* strength, long long count, double base) noexcept nogil
cdef long long named(const Table* t, const double* z, long long n, long long lag, double wanted, double enough, double* periods, Scratch* room) noexcept nogil
cdef double _doubt(const Table* t, const double* near, const long long* which, long long count, long long parts) noexcept nogil
cdef double _whole(double period, double doubt) noexcept nogil
cdef long long _two(const Table* t, double fast, double slow, double near, long long n, double* periods) noexcept nogil
