from prophecy.streams.kernels.structs cimport *

# Centroids at either end of a sketch that hold one value (or equal ones); with 8 of 32 NAB's development files score 2
# points less, with 16 of 64 as much.
cdef enum:
    SINGLE = 12

# Of these the outermost, that the power law beyond the farthest is fitted to.
cdef enum:
    OUTERMOST = 10

# How often the past must have shown a size for it to be usual; fewer than the single values at the end of a sketch.
cdef enum:
    OFTEN = 4

# Values seen before any is called wild: q₉₅ is then the largest of them, q₇₅ the second.
cdef enum:
    FEWEST = 8

cdef long long place(const double* middle, long long size, double x) noexcept nogil
cdef long long insert(double* middle, double* weight, long long size, double x, long long low) noexcept nogil
cdef double tail(const Table* t, const double* middle, const double* weight, long long size, double total, double x, long long low, bint both) noexcept nogil
cdef double beyond(const Table* t, const double* middle, const double* weight, long long size, double total, double x, bint upper) noexcept nogil
cdef double law(const Table* t, const double* middle, const double* weight, long long size, double total, double x, bint upper) noexcept nogil
cdef double edge(const double* middle, const double* weight, long long size) noexcept nogil
cdef double _most(const Record* r, const Table* t, long long i) noexcept nogil
cdef bint is_wild(const Record* r, const Table* t, double error, double difference) noexcept nogil
cdef double believed(const Record* r, double value, double forecast, double steps) noexcept nogil
cdef double confirmed(const double* doubted, double error) noexcept nogil
cdef void move(Record* r, double* ring, double by) noexcept nogil
