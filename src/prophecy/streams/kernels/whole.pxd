# Whole numbers from float64, and values within what is taken in.
from libc.math cimport rint

from prophecy.streams.kernels.structs cimport LARGEST, MOVED


cdef inline double within(double x) noexcept nogil:
    return min(max(x, -LARGEST), LARGEST)


cdef inline double bounded(double x) noexcept nogil:
    """What is linear in the values, within what its square may be."""
    return min(max(x, -MOVED), MOVED)


cdef inline long long whole(double x) noexcept nogil:
    return <long long> x


cdef inline long long nearest(double x) noexcept nogil:
    return <long long> rint(x)
