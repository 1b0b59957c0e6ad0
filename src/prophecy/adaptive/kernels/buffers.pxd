# The memory of arrays that Python hands over, without the weight of memoryviews.
from cpython.buffer cimport PyBUF_C_CONTIGUOUS, PyBUF_FORMAT, PyBUF_WRITABLE, PyBuffer_Release, PyObject_GetBuffer


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


cdef inline void* rows(object array, str name, Py_ssize_t size, Py_ssize_t count) except NULL:
    """An array of so many records of so many bytes, to write to."""
    return _memory(array, name, size, count, "", True)
