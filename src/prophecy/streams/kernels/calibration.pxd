from prophecy.streams.kernels.stream cimport Where
from prophecy.streams.kernels.structs cimport *

cdef void calibrate(Record* r, const Table* t, double error, bint events) noexcept nogil
cdef void note_quantiles(Record* r, const Table* t, double squared, bint events) noexcept nogil
cdef void _note_tail(Record* r, const Table* t, double squared) noexcept nogil
cdef (long long, double) _excess(const Record* r, const Table* t) noexcept nogil
cdef double _knot(const Record* r, long long l, long long known, double excess) noexcept nogil
cdef double _heaviness(const Record* r, double excess) noexcept nogil
cdef double half_width(const Record* r, const Table* t, const Where* where) noexcept nogil
cdef double surprise(const Record* r, const Table* t, double error) noexcept nogil
cdef double most(const Record* r, const Table* t) noexcept nogil

cdef double usual_error(const Record* r, const Table* t) noexcept nogil
cdef double reach(const Record* r, const Table* t, double steps) noexcept nogil
cdef double within_reach(const Record* r, const Table* t, double ahead) noexcept nogil
cdef bint is_usual(const Record* r, const Table* t, double steps) noexcept nogil
cdef double across(const Record* r, const Table* t, double ahead) noexcept nogil
cdef double beyond(const Record* r, const Table* t, double steps) noexcept nogil
cdef long long _octave(double steps) noexcept nogil
cdef double _after(const Record* r, const Table* t, long long place) noexcept nogil
cdef void note_gap(Record* r, const Table* t, double steps, double error) noexcept nogil

cdef void note_tick(Record* r, const Table* t, double value, bint sure) noexcept nogil
cdef double _times(double a, double b) noexcept nogil
cdef double resolution(const Record* r, const Table* t) noexcept nogil
