# Whole numbers from float64, and the distance from a float64 to the next.
from libc.math cimport INFINITY, nextafter, rint


cdef inline long long whole(double x) noexcept nogil:
    return <long long> x


cdef inline long long nearest(double x) noexcept nogil:
    return <long long> rint(x)


cdef inline double spacing(double x) noexcept nogil:
    return nextafter(x, INFINITY) - x
