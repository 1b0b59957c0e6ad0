# Sums in one order on every machine, in eight interleaved parts, which vectorises without reordering.
from libc.math cimport INFINITY, nextafter


cdef inline double dot(const double* x, const double* y, long long count) noexcept nogil:
    """Σ x[i] y[i] over i < count, a multiple of eight."""
    cdef double part[8]
    cdef long long i, j
    for j in range(8):
        part[j] = 0.0
    for i in range(0, count, 8):
        for j in range(8):
            part[j] += x[i + j] * y[i + j]
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]))


cdef inline double total(const double* x, long long count) noexcept nogil:
    """Σ x[i] over i < count, a multiple of eight."""
    cdef double part[8]
    cdef long long i, j
    for j in range(8):
        part[j] = 0.0
    for i in range(0, count, 8):
        for j in range(8):
            part[j] += x[i + j]
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]))


cdef inline void product(const double* x, long long count, const double* matrix, long long stride, double* out) noexcept nogil:
    """out[:8] = Σ x[i] matrix[i stride : i stride + 8] over i < count, in the order of i."""
    cdef double part[8]
    cdef long long i, j
    for j in range(8):
        part[j] = 0.0
    for i in range(count):
        for j in range(8):
            part[j] += x[i] * matrix[i * stride + j]
    for j in range(8):
        out[j] = part[j]


cdef inline double spacing(double x) noexcept nogil:
    """From x >= 0 to the next larger float64."""
    return nextafter(x, INFINITY) - x
