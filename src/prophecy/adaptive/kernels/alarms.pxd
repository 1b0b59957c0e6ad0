from prophecy.adaptive.kernels.structs cimport Record, Table

# Centroids at either end of a sketch that hold one value (or equal ones); with 8 of 32 NAB's development files score 2
# points less, with 16 of 64 as much.
cdef enum:
    SINGLE = 12

# Least probability that is stated, as in `Settings.surest`.
cdef extern from *:
    """
    #define PROPHECY_LEAST 1e-15
    """
    const double LEAST "PROPHECY_LEAST"

cdef long long place(const double* middle, long long size, double x) noexcept nogil
cdef long long insert(double* middle, double* weight, long long size, double x, long long low) noexcept nogil
cdef double tail(const Table* t, const double* middle, const double* weight, long long size, double total, double x, long long low, bint both) noexcept nogil
cdef double beyond(const Table* t, const double* middle, const double* weight, long long size, double total, double x, bint upper) noexcept nogil
cdef double law(const Table* t, const double* middle, const double* weight, long long size, double total, double x, bint upper) noexcept nogil

cdef bint rests_half(const Record* r, const Table* t) noexcept nogil
cdef double bounded(const Record* r, const Table* t, double ahead) noexcept nogil
cdef double ceiling(const Record* r, const Table* t, double error, double difference) noexcept nogil
cdef double recent(const Record* r) noexcept nogil
cdef void note(Record* r, const Table* t, double total) noexcept nogil
cdef bint still(const Record* r, const Table* t, long long same) noexcept nogil
cdef double resting(const Record* r) noexcept nogil
cdef void note_noise(Record* r, const Table* t, double size) noexcept nogil
cdef bint other_noise(const Record* r, const Table* t) noexcept nogil
cdef void note_drift(Record* r, const Table* t, double level) noexcept nogil
cdef double usual(const Record* r, const Table* t, long long i, long long upper, double probability) noexcept nogil
cdef double rank(Record* r, const Table* t, long long i) noexcept nogil
cdef bint mending(const Record* r, const Table* t, long long exact) noexcept nogil
cdef void watch(Record* r, const Table* t, double value, double difference, double error, double level) noexcept nogil
cdef double confidence(const Table* t, double total) noexcept nogil
