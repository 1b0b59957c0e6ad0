"""What kernels work on: a stream, the memory of arrays that Python hands over, and numbers within their bounds."""

# A stream: one row of four arrays.
cdef struct Stream:
    Record* r
    double* ring
    Clock* c
    Samples* s


# Room to work in: a copy of a record and its ring to walk on.
cdef struct Room:
    Record record
    double ring[RING]


cdef inline long long counted(long long count, long long more) noexcept nogil:
    """A counter after so many more: it stays at the largest."""
    return min(count + more, <long long> MOST)


cdef inline long long truncated(double x) noexcept nogil:
    return <long long> x


cdef inline void* _memory(object array, str name, Py_ssize_t size, Py_ssize_t count, str kinds, bint changed) except NULL:
    """Where a C-contiguous array of `count` items of `size` bytes begins; ValueError for any other. It must outlive the
    use of what is returned."""
    cdef Py_buffer view
    PyObject_GetBuffer(array, &view, PyBUF_C_CONTIGUOUS | PyBUF_FORMAT | (PyBUF_WRITABLE if changed else 0))
    cdef void* start = view.buf
    cdef bint fine = view.itemsize == size and view.len == size * count
    if kinds:
        fine = fine and view.format[0] != 0 and view.format[1] == 0 and chr(view.format[0]) in kinds
    PyBuffer_Release(&view)
    if not fine:
        raise ValueError(f"{name} must be {count} contiguous items of {size} bytes")
    return start


cdef inline double* numbers(object array, str name, Py_ssize_t count) except NULL:
    """A float64 array of so many numbers, to write to."""
    return <double*> _memory(array, name, sizeof(double), count, "d", True)


cdef inline const double* given(object array, str name, Py_ssize_t count) except NULL:
    """A float64 array of so many numbers, to read."""
    return <const double*> _memory(array, name, sizeof(double), count, "d", False)


cdef inline const long long* wholes(object array, str name, Py_ssize_t count) except NULL:
    """An int64 array of so many numbers, to read."""
    return <const long long*> _memory(array, name, sizeof(long long), count, "lq", False)


cdef inline Record* records_of(object array, Py_ssize_t count) except NULL:
    """So many records of streams, to write to."""
    return <Record*> _memory(array, "records", sizeof(Record), count, "", True)


cdef inline const Table* table_of(object array) except NULL:
    """The one record of `table.table`, to read."""
    return <const Table*> _memory(array, "table", sizeof(Table), 1, "", False)
