"""Least squares over the states of a whole series and the parameters of the field between them.

The unknowns are a state at every sample and the parameters; the equations are "state k is what was observed, up to the
noise" and "state k + 1 is where the flow takes state k, up to the model error". Linearised, each involves neighbouring
states and the parameters only, so that orthogonal transformations eliminate one state after the other (the square-root
information smoother of Paige and Saunders, Numerische Mathematik 29, 1977, bordered by the parameters). Working on the
equations and not on their normal matrix keeps it sound however small the model error is against the noise.
"""

from collections import namedtuple

import cython
import numpy as np
from cython.cimports.libc.math import fabs, log, sqrt
from cython.cimports.prophecy.laws.kernels.arrays import doubles
from cython.cimports.prophecy.laws.kernels.unrolled import copy, fill

#: The triangular system that elimination leaves: see `eliminate`.
Eliminated = namedtuple("Eliminated", "rows rest logarithm")


def _triangle(block, rows, columns, width, scratch):
    """Householder reflections that clear the first `columns` columns of block[:rows] below the diagonal, in place."""
    for j in range(min(columns, rows)):
        norm = 0.0
        for r in range(j, rows):
            norm += block[r * width + j] * block[r * width + j]
        norm = sqrt(norm)
        if norm == 0.0:
            continue
        top = block + j * width
        head = top[j]
        pivot = -norm if head > 0.0 else norm
        first = head - pivot
        scale = 1.0 / (norm * (norm + fabs(head)))
        for c in range(j + 1, width):
            scratch[c] = first * top[c]
        for r in range(j + 1, rows):
            row = block + r * width
            factor = row[j]
            if factor != 0.0:
                for c in range(j + 1, width):
                    scratch[c] += factor * row[c]
        for c in range(j + 1, width):
            scratch[c] *= scale
            top[c] -= first * scratch[c]
        for r in range(j + 1, rows):
            row = block + r * width
            factor = row[j]
            if factor != 0.0:
                for c in range(j + 1, width):
                    row[c] -= factor * scratch[c]
            row[j] = 0.0
        top[j] = pivot


def eliminate(misfit, weights, defects, tangent, tightness, prior):
    """Clear the states of the linearised problem.

    misfit: (time, variables), observed minus state; weights: (time, variables), 1 / noise, 0 where not observed.
    defects: (time - 1, variables), the flow's end minus the next state; tangent: (time - 1, variables, variables +
    parameters), its derivatives; tightness: (variables,), 1 / model error. prior: 1 / how far the first state may move.

    Returns rows: (time, variables, 2 variables + parameters + 1), state k from state k + 1, the parameters and a right
    side; rest: (time * variables, parameters + 1), what is left for the parameters; and log |det| of the states'
    triangular part.
    """
    misfit, weights, defects, tangent, tightness = (
        np.ascontiguousarray(each, dtype=np.float64) for each in (misfit, weights, defects, tangent, tightness)
    )
    time: cython.longlong = misfit.shape[0]
    v: cython.longlong = misfit.shape[1]
    parameters: cython.longlong = tangent.shape[2] - v
    first: cython.double = prior
    width = 2 * v + parameters + 1
    rows, rest, block = np.empty((time, v, width)), np.empty((time * v, parameters + 1)), np.zeros((3 * v + 1, width))
    seen, trust = doubles(misfit, "misfit", (time, v)), doubles(weights, "weights", (time, v))
    missed, slopes = (
        doubles(defects, "defects", (time - 1, v)),
        doubles(tangent, "tangent", (time - 1, v, v + parameters)),
    )
    tight, room = doubles(tightness, "tightness", (v,)), doubles(block, "block", block.shape)
    out, left = doubles(rows, "rows", rows.shape), doubles(rest, "rest", rest.shape)
    with cython.nogil:
        logarithm = _eliminate(seen, trust, missed, slopes, tight, first, time, v, parameters, room, out, left)
    return Eliminated(rows, rest, logarithm)


def _eliminate(misfit, weights, defects, tangent, tightness, prior, time, v, parameters, block, rows, rest):
    """The same. block: zeros, (3 v + 1, width), of which the last row is to work in."""
    width, logarithm = 2 * v + parameters + 1, 0.0
    for i in range(v):
        block[i * width + i] = prior
    for k in range(time):
        for i in range(v):
            row = block + (v + i) * width
            fill(row, width, 0.0)
            row[i] = weights[k * v + i]
            row[width - 1] = weights[k * v + i] * misfit[k * v + i]
        last: cython.bint = k == time - 1
        for i in range(0 if last else v):
            row, tight, slopes = block + (2 * v + i) * width, tightness[i], tangent + (k * v + i) * (v + parameters)
            for j in range(v):
                row[j] = -tight * slopes[j]
                row[v + j] = 0.0
            row[v + i] = tight
            for c in range(parameters):
                row[2 * v + c] = -tight * slopes[v + c]
            row[width - 1] = tight * defects[k * v + i]
        _triangle(block, 2 * v if last else 3 * v, v if last else 2 * v, width, block + 3 * v * width)
        for i in range(v):
            logarithm += log(max(fabs(block[i * width + i]), 1e-300))
        copy(rows + k * v * width, block, v * width)
        for i in range(v):
            row = block + ((v if last else 2 * v) + i) * width
            copy(rest + (k * v + i) * (parameters + 1), row + 2 * v, parameters + 1)
        for i in range(0 if last else v):
            row, below = block + i * width, block + (v + i) * width
            copy(row, below + v, v)
            fill(row + v, v, 0.0)
            copy(row + 2 * v, below + 2 * v, parameters + 1)
    return logarithm


def substitute(rows, change):
    """The change of every state, (time, variables), once that of the parameters is known. rows: of `eliminate`."""
    rows, change = np.ascontiguousarray(rows, dtype=np.float64), np.ascontiguousarray(change, dtype=np.float64)
    time: cython.longlong = rows.shape[0]
    v: cython.longlong = rows.shape[1]
    parameters: cython.longlong = len(change)
    made = np.empty((time, v))
    known, moved = doubles(rows, "rows", (time, v, 2 * v + parameters + 1)), doubles(change, "change", (parameters,))
    out = doubles(made, "out", made.shape)
    with cython.nogil:
        _substitute(known, moved, time, v, parameters, out)
    return made


def _substitute(rows, change, time, v, parameters, out):
    width = 2 * v + parameters + 1
    for k in range(time - 1, -1, -1):
        for i in range(v - 1, -1, -1):
            row = rows + (k * v + i) * width
            total = row[width - 1]
            for c in range(parameters):
                total -= row[2 * v + c] * change[c]
            if k < time - 1:
                for j in range(v):
                    total -= row[v + j] * out[(k + 1) * v + j]
            for j in range(i + 1, v):
                total -= row[j] * out[k * v + j]
            out[k * v + i] = total / row[i] if row[i] != 0.0 else 0.0
