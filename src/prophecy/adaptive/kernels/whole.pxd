# Whole numbers from float64.
from libc.math cimport rint


cdef inline long long whole(double x) noexcept nogil:
    return <long long> x


cdef inline long long nearest(double x) noexcept nogil:
    return <long long> rint(x)
