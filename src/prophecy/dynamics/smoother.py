"""Least squares over the states of a whole series and the parameters of the field between them.

The unknowns are a state at every sample and the parameters; the equations are "state k is what was observed, up to the
noise" and "state k + 1 is where the flow takes state k, up to the model error". Linearised, each involves neighbouring
states and the parameters only, so that orthogonal transformations eliminate one state after the other (the square-root
information smoother of Paige and Saunders, Numerische Mathematik 29, 1977, bordered by the parameters). Working on the
equations and not on their normal matrix keeps it sound however small the model error is against the noise.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel

Array = NDArray[np.float64]


class Eliminated(NamedTuple):
    """The triangular system that elimination leaves.

    rows: (time, variables, 2 variables + parameters + 1): state k from state k + 1, the parameters and a right side.
    rest: (time * variables, parameters + 1): what is left for the parameters.
    logarithm: log |det| of the states' triangular part.
    """

    rows: Array
    rest: Array
    logarithm: float


@inner
def _triangle(block: Array, rows: int, columns: int, scratch: Array) -> None:
    """Householder reflections that clear the first `columns` columns of block[:rows] below the diagonal, in place."""
    width = block.shape[1]
    for j in range(min(columns, rows)):
        norm = 0.0
        for r in range(j, rows):
            norm += block[r, j] * block[r, j]
        norm = np.sqrt(norm)
        if norm == 0.0:
            continue
        head = block[j, j]
        pivot = -norm if head > 0.0 else norm
        first = head - pivot
        scale = 1.0 / (norm * (norm + abs(head)))
        for c in range(j + 1, width):
            scratch[c] = first * block[j, c]
        for r in range(j + 1, rows):
            factor = block[r, j]
            if factor != 0.0:
                for c in range(j + 1, width):
                    scratch[c] += factor * block[r, c]
        for c in range(j + 1, width):
            scratch[c] *= scale
            block[j, c] -= first * scratch[c]
        for r in range(j + 1, rows):
            factor = block[r, j]
            if factor != 0.0:
                for c in range(j + 1, width):
                    block[r, c] -= factor * scratch[c]
            block[r, j] = 0.0
        block[j, j] = pivot


@kernel
def eliminate(
    misfit: Array, weights: Array, defects: Array, tangent: Array, tightness: Array, prior: float
) -> Eliminated:
    """Clear the states of the linearised problem.

    misfit: (time, variables), observed minus state; weights: (time, variables), 1 / noise, 0 where not observed.
    defects: (time - 1, variables), the flow's end minus the next state; tangent: (time - 1, variables, variables +
    parameters), its derivatives; tightness: (variables,), 1 / model error. prior: 1 / how far the first state may move.
    """
    time, v = misfit.shape
    parameters = tangent.shape[2] - v
    width = 2 * v + parameters + 1
    rows, rest = np.zeros((time, v, width)), np.zeros((time * v, parameters + 1))
    block, scratch = np.zeros((3 * v, width)), np.empty(width)
    for i in range(v):
        block[i, i] = prior
    logarithm = 0.0
    for k in range(time):
        for i in range(v):
            block[v + i, :] = 0.0
            block[v + i, i] = weights[k, i]
            block[v + i, width - 1] = weights[k, i] * misfit[k, i]
        height = 2 * v
        if k < time - 1:
            height = 3 * v
            for i in range(v):
                row, tight = block[2 * v + i], tightness[i]
                for j in range(v):
                    row[j] = -tight * tangent[k, i, j]
                    row[v + j] = 0.0
                row[v + i] = tight
                for c in range(parameters):
                    row[2 * v + c] = -tight * tangent[k, i, v + c]
                row[width - 1] = tight * defects[k, i]
        _triangle(block, height, v if k == time - 1 else 2 * v, scratch)
        for i in range(v):
            logarithm += np.log(max(abs(block[i, i]), 1e-300))
            rows[k, i] = block[i]
        left = v if k == time - 1 else 2 * v
        for i in range(v):
            rest[k * v + i] = block[left + i, 2 * v :]
        if k < time - 1:
            for i in range(v):
                block[i, :v] = block[v + i, v : 2 * v]
                block[i, v : 2 * v] = 0.0
                block[i, 2 * v :] = block[v + i, 2 * v :]
    return Eliminated(rows, rest, logarithm)


@kernel
def substitute(rows: Array, change: Array) -> Array:
    """The change of every state, (time, variables), once that of the parameters is known."""
    time, v, width = rows.shape
    parameters = len(change)
    out = np.zeros((time, v))
    for k in range(time - 1, -1, -1):
        for i in range(v - 1, -1, -1):
            total = rows[k, i, width - 1]
            for c in range(parameters):
                total -= rows[k, i, 2 * v + c] * change[c]
            if k < time - 1:
                for j in range(v):
                    total -= rows[k, i, v + j] * out[k + 1, j]
            for j in range(i + 1, v):
                total -= rows[k, i, j] * out[k, j]
            pivot = rows[k, i, i]
            out[k, i] = total / pivot if pivot != 0.0 else 0.0
    return out


@kernel
def filtered(misfit: Array, weights: Array, defects: Array, tangent: Array, tightness: Array, prior: float) -> Array:
    """The change of every state that the values up to it alone ask for, (time, variables), parameters held fixed.

    Arguments as for `eliminate`, with tangent (time - 1, variables, variables).
    """
    time, v = misfit.shape
    block, scratch = np.zeros((2 * v, v + 1)), np.empty(2 * v + 1)
    ahead = np.zeros((2 * v, 2 * v + 1))
    out = np.zeros((time, v))
    for i in range(v):
        block[i, i] = prior
    for k in range(time):
        for i in range(v):
            block[v + i, :] = 0.0
            block[v + i, i] = weights[k, i]
            block[v + i, v] = weights[k, i] * misfit[k, i]
        _triangle(block, 2 * v, v, scratch)
        for i in range(v - 1, -1, -1):
            total = block[i, v]
            for j in range(i + 1, v):
                total -= block[i, j] * out[k, j]
            out[k, i] = total / block[i, i] if block[i, i] != 0.0 else 0.0
        if k == time - 1:
            break
        for i in range(v):
            for j in range(v):
                ahead[i, j], ahead[i, v + j] = block[i, j], 0.0
                ahead[v + i, j], ahead[v + i, v + j] = -tightness[i] * tangent[k, i, j], 0.0
            ahead[i, 2 * v] = block[i, v]
            ahead[v + i, v + i] = tightness[i]
            ahead[v + i, 2 * v] = tightness[i] * defects[k, i]
        _triangle(ahead, 2 * v, 2 * v, scratch)
        for i in range(v):
            for j in range(v):
                block[i, j] = ahead[v + i, v + j]
            block[i, v] = ahead[v + i, 2 * v]
    return out
