from prophecy.streams.kernels.periods cimport Search
from prophecy.streams.kernels.structs cimport *

cdef double behind(const double* ring, long long newest, double samples) noexcept nogil
cdef double share(const Record* r) noexcept nogil
cdef double slope(const Record* r, const double* ring, const Table* t, double alone) noexcept nogil
cdef bint is_missing(const Record* r, long long ago) noexcept nogil
cdef void mark(Record* r, bint missing) noexcept nogil
cdef void fill_features(Record* r, const double* ring, const Table* t, long long count, long long available) noexcept nogil
cdef void predict(Record* r, const Table* t) noexcept nogil
cdef void learn(Record* r, const Table* t, double difference, double part) noexcept nogil
cdef double advance(Record* r, const double* ring, const Table* t) noexcept nogil

cdef void replay(Record* r, const double* ring, const Table* t, long long count, long long available) noexcept nogil
cdef void wake(Record* r, double bank) noexcept nogil
cdef double find_long(Record* r, const double* ring, const Table* t, long long count, Search* search) noexcept nogil
cdef void find_all(Record* r, const double* ring, const Table* t, long long count, Search* search, double* periods, double* strengths) noexcept nogil
cdef long long next_check(long long count, bint settled) noexcept nogil
cdef void check(Record* r, const double* ring, const Table* t, long long count, Search* search) noexcept nogil
cdef void check_if_due(Record* r, const double* ring, const Table* t) noexcept nogil
