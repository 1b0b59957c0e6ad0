"""Arrays at the door of compiled code, room to work in, and loops over numbers side by side.

Whoever asks for an address keeps the array alive as long as it uses that.
"""

ctypedef double* Numbers
ctypedef long long* Places


cdef void* _address(array, str name, tuple shape, str letters) except? NULL:
    """Where the values of a C-contiguous array of this shape lie; its buffer's format must be one of the letters."""
    cdef Py_buffer view
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    PyObject_GetBuffer(array, &view, PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
    at, kind, size = view.buf, view.format.decode(), view.itemsize
    PyBuffer_Release(&view)
    if kind not in letters or size != 8:
        raise TypeError(f"{name} has elements of another type than compiled code expects: {array.dtype}")
    return at


cdef double* doubles(array, str name, tuple shape) except? NULL:
    """The address of a C-contiguous array of float64."""
    return <double*> _address(array, name, shape, "d")


cdef long long* indices(array, str name, tuple shape) except? NULL:
    """The address of a C-contiguous array of int64."""
    return <long long*> _address(array, name, shape, "lq")


# An array to work in, of which `used` numbers are taken. Without one (NULL) it only counts what would be.
cdef struct Room:
    double* start
    long long used


cdef double* take(Room* room, long long count) noexcept nogil:
    """The next `count` numbers."""
    at = room.start
    if at != NULL:
        at += room.used
    room.used += count
    return at


cdef inline void fill(double* out, long long count, double value) noexcept nogil:
    for i in range(count):
        out[i] = value


cdef inline void copy(double* out, double* values, long long count) noexcept nogil:
    for i in range(count):
        out[i] = values[i]


cdef inline void add_product(double* out, double* one, double* other, long long count) noexcept nogil:
    for i in range(count):
        out[i] += one[i] * other[i]


cdef inline void add_scaled(double* out, double* one, double scale, double* other, long long count) noexcept nogil:
    for i in range(count):
        out[i] += one[i] * scale * other[i]
