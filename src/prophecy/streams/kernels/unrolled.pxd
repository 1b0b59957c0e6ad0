# Sums and products of eight numbers side by side, in one order on every machine. They are written in C: compilers
# vectorise these loops as meant only where they are told how wide a vector is.
from libc.math cimport INFINITY, nextafter

cdef extern from *:
    """
    #if !defined(__GNUC__)
    #define PROPHECY_WIDE 1
    typedef double prophecy_vector;
    #else
    #if defined(__AVX__)
    #define PROPHECY_WIDE 4
    #else
    #define PROPHECY_WIDE 2
    #endif
    typedef double prophecy_vector __attribute__((vector_size(8 * PROPHECY_WIDE), aligned(8), may_alias));
    #endif
    #define PROPHECY_PARTS (8 / PROPHECY_WIDE)

    static CYTHON_INLINE double prophecy_sum(const prophecy_vector* part) {
        const double* p = (const double*) part;
        return ((p[0] + p[4]) + (p[1] + p[5])) + ((p[2] + p[6]) + (p[3] + p[7]));
    }

    static CYTHON_INLINE double prophecy_dot(const double* x, const double* y, long long count) {
        prophecy_vector part[PROPHECY_PARTS] = {0};
        for (long long i = 0; i < count; i += 8) {
            const prophecy_vector* a = (const prophecy_vector*) (x + i);
            const prophecy_vector* b = (const prophecy_vector*) (y + i);
            for (int j = 0; j < PROPHECY_PARTS; j++) part[j] += a[j] * b[j];
        }
        return prophecy_sum(part);
    }

    static CYTHON_INLINE double prophecy_total(const double* x, long long count) {
        prophecy_vector part[PROPHECY_PARTS] = {0};
        for (long long i = 0; i < count; i += 8) {
            const prophecy_vector* a = (const prophecy_vector*) (x + i);
            for (int j = 0; j < PROPHECY_PARTS; j++) part[j] += a[j];
        }
        return prophecy_sum(part);
    }

    static CYTHON_INLINE void prophecy_product(
            const double* x, long long count, const double* matrix, long long stride, double* out) {
        prophecy_vector part[PROPHECY_PARTS] = {0};
        for (long long i = 0; i < count; i++) {
            const prophecy_vector* row = (const prophecy_vector*) (matrix + i * stride);
            for (int j = 0; j < PROPHECY_PARTS; j++) part[j] += x[i] * row[j];
        }
        for (int j = 0; j < PROPHECY_PARTS; j++) ((prophecy_vector*) out)[j] = part[j];
    }

    static CYTHON_INLINE double prophecy_held(double x, double most) {
        double low = x < -most ? -most : x;
        return low > most ? most : low;
    }

    static CYTHON_INLINE void prophecy_subtract(double* x, double factor, const double* y, long long count) {
        for (long long i = 0; i < count; i += 8) {
            prophecy_vector* a = (prophecy_vector*) (x + i);
            const prophecy_vector* b = (const prophecy_vector*) (y + i);
            for (int j = 0; j < PROPHECY_PARTS; j++) a[j] -= factor * b[j];
        }
    }
    """
    # Σ x[i] y[i] over i < count, a multiple of eight.
    double dot "prophecy_dot"(const double* x, const double* y, long long count) noexcept nogil
    # Σ x[i] over i < count, a multiple of eight.
    double total "prophecy_total"(const double* x, long long count) noexcept nogil
    # out[:8] = Σ x[i] matrix[i stride : i stride + 8] over i < count, in the order of i.
    void product "prophecy_product"(const double* x, long long count, const double* matrix, long long stride, double* out) noexcept nogil
    # x -= factor y over i < count, a multiple of eight.
    void subtract "prophecy_subtract"(double* x, double factor, const double* y, long long count) noexcept nogil

    # No farther from 0 than the limit of what it is. Values and times lead no farther; a forged state may.
    double held "prophecy_held"(double x, double most) noexcept nogil


cdef inline double spacing(double x) noexcept nogil:
    """From x >= 0 to the next larger float64."""
    return nextafter(x, INFINITY) - x
