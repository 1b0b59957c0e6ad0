from prophecy.streams.kernels.stream cimport Room, Stream, Where
from prophecy.streams.kernels.structs cimport *


cdef class Streams:
    cdef readonly object records, rings, clocks, samples, table
    cdef readonly Py_ssize_t count
    cdef public long long moments
    cdef Record* _records
    cdef double* _rings
    cdef Clock* _clocks
    cdef Samples* _samples
    cdef const Table* _table

    cdef Stream row(self, Py_ssize_t i) noexcept nogil
    cdef int _check(self, const long long* which, Py_ssize_t n) except -1

cdef void _take_step(const Stream* stream, const Table* t, double value, const Where* where, bint noting, double* row) noexcept nogil
cdef void _step(const Stream* stream, const Table* t, double value, double* row) noexcept nogil
cdef double _take_timed(const Stream* stream, const Table* t, double time, double value, const Where* where, bint noting, double* row, Room* room) noexcept nogil
cdef double _next_time(Clock* c, Samples* s) noexcept nogil
cdef void _take_late(const Stream* stream, const Table* t, double time, double value) noexcept nogil
cdef void _take_on_grid(const Stream* stream, const Table* t, double time, double value, const Where* where, bint noting, double* row, Room* room) noexcept nogil
cdef double _take_between(const Stream* stream, const Table* t, double time, double value, const Where* where, bint noting, double* row, Room* room) noexcept nogil
cdef (double, double) _next(const Stream* stream, const Table* t, const Where* where, Room* room) noexcept nogil
cdef (double, double, double) _ahead(const Stream* stream, const Table* t, double time, double value, const Where* where, Room* room) noexcept nogil
cdef long long _rarest(const Record* r) noexcept nogil
