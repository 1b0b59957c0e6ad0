from prophecy.adaptive.kernels.stream cimport Room, Stream, Where
from prophecy.adaptive.kernels.structs cimport Clock, Record, Samples, Table


cdef class Streams:
    cdef readonly object records, rings, clocks, samples, table
    cdef readonly Py_ssize_t count
    cdef Record* _records
    cdef double* _rings
    cdef Clock* _clocks
    cdef Samples* _samples
    cdef const Table* _table

    cdef Stream row(self, Py_ssize_t i) noexcept nogil
    cdef double _take(self, Py_ssize_t i, bint timed, double time, double value, const Where* where, bint noting, double* row, Room* room) noexcept nogil
    cdef void _ahead(self, Py_ssize_t i, double time, double value, const Where* where, double* out, Room* room) noexcept nogil

cdef void _take_step(Stream* stream, const Table* t, double value, const Where* where, bint noting, double* row) noexcept nogil
cdef void _step(Stream* stream, const Table* t, double value, double* row) noexcept nogil
cdef double _take_timed(Stream* stream, const Table* t, double time, double value, const Where* where, bint noting, double* row, Room* room) noexcept nogil
cdef double _next_time(Clock* c, Samples* s) noexcept nogil
cdef void _take_late(Stream* stream, const Table* t, double time, double value) noexcept nogil
cdef void _take_on_grid(Stream* stream, const Table* t, double time, double value, const Where* where, bint noting, double* row, Room* room) noexcept nogil
cdef void _take_between(Stream* stream, const Table* t, double time, double value, const Where* where, bint noting, double* row, Room* room) noexcept nogil
cdef (double, double) _next(Stream* stream, const Table* t, const Where* where, Room* room) noexcept nogil
