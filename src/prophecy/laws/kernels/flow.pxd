from prophecy.laws.kernels.unrolled cimport Lanes, Terms
from prophecy.laws.kernels.stepping cimport Tableau, Work

# What functions are taken of, for each of several paths, and the rest that `paths` is asked for.
cdef struct Asked:
    double* thetas
    double* rates
    double* shifts
    double* bends
    double* starts
    double* kicks
    long long count
    long long horizon
    double tolerance
    double bound

# Of each lane of `paths`: the path it follows (-1: none) and the sample it is at; the length of the next step, that of
# the last, and what it misses by.
cdef struct Following:
    long long* path
    long long* sample
    double* h
    double* length
    double* miss


cdef double _miss(Tableau* tableau, double* slopes, long long v, long long lanes, long long lane, double h) noexcept nogil
cdef void _paths(Terms* terms, Tableau* tableau, Asked* asked, long long lanes, double* room, double* out) noexcept nogil
cdef long long _next_paths(
    Terms* terms, Lanes* field, Asked* asked, Work* work, Following* following, long long taken) noexcept nogil
cdef void _after_step(
    Terms* terms, Asked* asked, Work* work, Following* following, long long lane, double* out) noexcept nogil
