"""Arrays at the door of compiled code: their addresses, once type, shape and layout are checked.

Whoever asks for an address keeps the array alive as long as it uses that.
"""

import cython
from cython.cimports.cpython.buffer import (
    Py_buffer,
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBuffer_Release,
    PyObject_GetBuffer,
)


def _address(array, name, shape, letters):
    """Where the values of a C-contiguous array of this shape lie; its buffer's format must be one of the letters."""
    if array.shape != shape:
        raise ValueError(f"{name} must have shape {shape}, got {array.shape}")
    view = cython.declare(Py_buffer)
    PyObject_GetBuffer(array, cython.address(view), PyBUF_FORMAT | PyBUF_C_CONTIGUOUS)
    at, kind, size = view.buf, view.format.decode(), view.itemsize
    PyBuffer_Release(cython.address(view))
    if kind not in letters or size != 8:
        raise TypeError(f"{name} has elements of another type than compiled code expects: {array.dtype}")
    return at


def doubles(array, name, shape):
    """The address of a C-contiguous array of float64."""
    return cython.cast(cython.p_double, _address(array, name, shape, "d"))


def indices(array, name, shape):
    """The address of a C-contiguous array of int64."""
    return cython.cast(cython.p_longlong, _address(array, name, shape, "lq"))
