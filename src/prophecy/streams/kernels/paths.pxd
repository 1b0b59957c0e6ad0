from prophecy.streams.kernels.irregular cimport POINTS
from prophecy.streams.kernels.stream cimport PLACES, Room, Stream, Where
from prophecy.streams.kernels.structs cimport *

cdef Record* copied(const Stream* stream, Room* room) noexcept nogil
cdef void miss(const Stream* stream, const Table* t, long long steps) noexcept nogil
cdef void walk_far(Record* q, const Clock* c, const Table* t, long long steps, Room* room) noexcept nogil
cdef (double, double, double) beside_grid(const Stream* stream, const Table* t, double time, Room* room) noexcept nogil
cdef (double, double) between(const Stream* stream, const Table* t, double time, Room* room) noexcept nogil
cdef double _along(Record* r, const Table* t, long long steps, long long power, double at) noexcept nogil
cdef double widening(Record* r, const Clock* c, const Samples* s, const Table* t, double time) noexcept nogil
cdef (double, double, double) judged(Record* r, const Table* t, double mean, double wider, double more, double value, const Where* where) noexcept nogil
cdef (double, double, double) forecast(const Stream* stream, const Table* t, double time, double value, const Where* where, Room* room) noexcept nogil

cdef (double, double) doubt(const Stream* stream, const Table* t, double time, double value, double path, double off, Room* room) noexcept nogil
cdef long long sample(const Stream* stream, const Table* t, long long count, double time, double value, double path, double off, Room* room) noexcept nogil
cdef void _fill(const Stream* stream, const Table* t, double time, const double* x, const double* y, long long found, long long places, double error, double off, Room* room) noexcept nogil
cdef void _gap(const Stream* stream, const Table* t, long long places) noexcept nogil
cdef void _learn(const Stream* stream, const Table* t, double time, double value, double path, double off) noexcept nogil
cdef void start_over(const Stream* stream, const Table* t, long long verdict, Room* room) noexcept nogil
cdef void _replay_grid(const Stream* stream, const Table* t, long long first) noexcept nogil
cdef void _replay_samples(const Stream* stream, const Table* t, long long first, Room* room) noexcept nogil
cdef void renew(const Stream* stream, const Table* t) noexcept nogil
