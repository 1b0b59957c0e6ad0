"""Arrays at the door of compiled code: their addresses, once type, shape and layout are checked; products by BLAS.

Whoever asks for an address keeps the array alive as long as it uses that. Products are those of the BLAS that SciPy
brings, found when this module is imported: building the package needs neither SciPy nor NumPy.
"""

import sys

import cython
from cython.cimports.cpython.buffer import (
    Py_buffer,
    PyBUF_C_CONTIGUOUS,
    PyBUF_FORMAT,
    PyBuffer_Release,
    PyObject_GetBuffer,
)
from cython.cimports.cpython.pycapsule import PyCapsule_GetName, PyCapsule_GetPointer


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


def multiply(left, left_turned, right, right_turned, rows, inner, columns, out):
    """out (rows, columns) = left (rows, inner) @ right (inner, columns); `turned`: it lies in memory transposed."""
    # BLAS counts along columns first: seen so, everything is transposed, and out.T = right.T @ left.T.
    one, nothing = 1.0, 0.0
    turned: cython.char = ord("t")
    straight: cython.char = ord("n")
    width: cython.longlong = inner if right_turned else columns
    length: cython.longlong = rows if left_turned else inner
    _gemm(
        cython.address(turned) if right_turned else cython.address(straight),
        cython.address(turned) if left_turned else cython.address(straight),
        cython.address(columns), cython.address(rows), cython.address(inner), cython.address(one),
        right, cython.address(width), left, cython.address(length), cython.address(nothing), out,
        cython.address(columns),
    )  # fmt: skip


def times_vector(matrix, rows, columns, vector, out):
    """out (rows,) = matrix (rows, columns) @ vector."""
    one, nothing = 1.0, 0.0
    turned: cython.char = ord("t")
    step: cython.longlong = 1
    _gemv(
        cython.address(turned), cython.address(columns), cython.address(rows), cython.address(one), matrix,
        cython.address(columns), vector, cython.address(step), cython.address(nothing), out, cython.address(step),
    )  # fmt: skip


def vector_times(vector, matrix, rows, columns, out):
    """out (columns,) = vector @ matrix (rows, columns)."""
    one, nothing = 1.0, 0.0
    straight: cython.char = ord("n")
    step: cython.longlong = 1
    _gemv(
        cython.address(straight), cython.address(columns), cython.address(rows), cython.address(one), matrix,
        cython.address(columns), vector, cython.address(step), cython.address(nothing), out, cython.address(step),
    )  # fmt: skip


def _products():
    """The functions of BLAS. Sizes are passed as 64 bits, of which a library of 32 bits reads the first half."""
    global _gemm, _gemv
    if sys.byteorder != "little":
        raise ImportError("the compiled dynamics need a little-endian processor")
    from scipy.linalg.cython_blas import __pyx_capi__ as offered

    gemm, gemv = offered["dgemm"], offered["dgemv"]
    _gemm = cython.cast(Gemm, PyCapsule_GetPointer(gemm, PyCapsule_GetName(gemm)))
    _gemv = cython.cast(Gemv, PyCapsule_GetPointer(gemv, PyCapsule_GetName(gemv)))


_products()
