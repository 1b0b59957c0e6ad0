from prophecy.laws.kernels.unrolled cimport Lanes, Terms
from prophecy.laws.kernels.stepping cimport Tableau, Work
from prophecy.laws.kernels.tangents cimport Derived

# What is asked for: `count` starts, each under its own field or all under one (`fields`), and the first length of their
# steps; they are taken in `order`. tolerance: INFINITY for steps that keep their length.
cdef struct Asked:
    double* thetas
    double* rates
    double* shifts
    double* bends
    double* starts
    double* lengths
    double* kicks
    long long* order
    long long count
    long long fields
    long long horizon
    double tolerance
    double bound

# Of each lane: the length of its next step, that of the last, and what this misses by.
cdef struct Following:
    double* h
    double* length
    double* miss


cdef double _miss(Tableau* tableau, double* slopes, long long v, long long lanes, long long lane, double h) noexcept nogil
cdef void _follow(
    Terms* terms, Tableau* tableau, Asked* asked, Derived* derived, long long lanes, double* room, double* ends,
    double* out) noexcept nogil
cdef void _begin(
    Terms* terms, Lanes* field, Tableau* tableau, Asked* asked, Work* work, Following* now, long long lane, long long k,
    bint goes) noexcept nogil
cdef bint _after_step(
    Terms* terms, Lanes* field, Tableau* tableau, Asked* asked, Work* work, Following* now, long long lane, long long k,
    double* ends) noexcept nogil
