from prophecy.streams.kernels.stream cimport Where
from prophecy.streams.kernels.structs cimport *

cdef void begin(Record* r, const Table* t) noexcept nogil
cdef void step(Record* r, double* ring, const Table* t, double value) noexcept nogil
cdef void _watch(Record* r, const Table* t, double value, double believed, double forecast, double part, bint wild, bint doubted) noexcept nogil
cdef void _move(Record* r, double* ring, const Table* t, double by) noexcept nogil
cdef void _learn(Record* r, const Table* t, double value, double forecast, double part, bint events) noexcept nogil
cdef void _begin(Record* r, double value) noexcept nogil
cdef void _advance(Record* r, double* ring, const Table* t, double value, bint filled) noexcept nogil
cdef void _predict_short(Record* r, const Table* t) noexcept nogil
cdef void _predict_long(Record* r, const Table* t, double difference) noexcept nogil
cdef double expected(const Record* r, const Table* t) noexcept nogil
cdef void _note_spacing(Record* r, const Table* t, long long distance) noexcept nogil
cdef void walk(Record* r, double* ring, const Table* t) noexcept nogil
cdef void pass_over(Record* r, double* ring, long long steps) noexcept nogil
cdef void _drift(Record* r, const Table* t) noexcept nogil
cdef void _close_gap(Record* r, double* ring, const Table* t, double value, double forecast) noexcept nogil
cdef (double, double) read(const Record* r, const Table* t, const Where* where) noexcept nogil
cdef double surprise_of(const Record* r, const Table* t, double error) noexcept nogil

cdef void note_bias(Record* r, const Table* t, double difference, double part) noexcept nogil
cdef double _slopes(const Record* r, const Table* t, double* error) noexcept nogil
cdef double _path_error(const Record* r) noexcept nogil
cdef double slope_shares(const Record* r, const Table* t, double* shares) noexcept nogil
cdef double slope(const Record* r, const Table* t, double* shares) noexcept nogil
