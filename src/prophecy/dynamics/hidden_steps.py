"""Gauss-Newton steps for states that are seen in part: hidden variables at every sample, and parameters, eliminated.

Linearised, "the flow from state k ends at state k + 1" couples the hidden parts of neighbouring states and the
parameters. The normal equations are block tridiagonal with a border of parameters; a block Cholesky elimination solves
them in one pass, a tenth of the time of the orthogonal elimination in `smoother.py`. Squaring the condition is
affordable here because every step is damped; what the search finds is solved again by the orthogonal one. The products
that make the normal matrix of the parameters, most of the work where there are sixty, are left to BLAS.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel

Array = NDArray[np.float64]


class Reduced(NamedTuple):
    """What elimination leaves, h hidden variables and p parameters.

    inverse: (time, h, h), of the eliminated diagonal blocks; next_state: (time, h, h) and border: (time, h, p), how the
    hidden part of state k depends on that of state k + 1 and on the parameters; coupling: (time, h, h), the blocks
    above the diagonal; kept: (time, h, p), the borders before they were multiplied by the inverse.
    matrix: (p, p), of the normal equations of the parameters alone.
    """

    inverse: Array
    next_state: Array
    border: Array
    coupling: Array
    kept: Array
    matrix: Array


@inner
def _inverted(block: Array, out: Array) -> None:
    """The inverse of a small symmetric positive definite matrix, by Gauss-Jordan elimination."""
    n = len(block)
    for i in range(n):
        for j in range(n):
            out[i, j] = 1.0 if i == j else 0.0
    for i in range(n):
        pivot = 1.0 / block[i, i]
        for j in range(n):
            block[i, j] *= pivot
            out[i, j] *= pivot
        for r in range(n):
            if r != i:
                factor = block[r, i]
                for j in range(n):
                    block[r, j] -= factor * block[i, j]
                    out[r, j] -= factor * out[i, j]


@kernel
def reduce(tangent: Array, seen: int, damping: float) -> Reduced:
    """Eliminate the hidden parts of all states.

    tangent: (time - 1, v, v + p), derivatives of the flow with its start and the parameters; the first `seen` of the v
    variables are known at every sample. damping: weight of how far a hidden variable moves, against the equations.
    """
    steps, v = tangent.shape[0], tangent.shape[1]
    h, p = v - seen, tangent.shape[2] - v
    inverse, next_state = np.zeros((steps + 1, h, h)), np.zeros((steps + 1, h, h))
    border, kept = np.zeros((steps + 1, h, p)), np.zeros((steps + 1, h, p))
    coupling = np.zeros((steps + 1, h, h))
    block = np.zeros((h, h))
    for k in range(steps + 1):
        for i in range(h):
            for j in range(h):
                block[i, j] = damping * damping if i == j else 0.0
            if k > 0:
                block[i, i] += 1.0
                for c in range(p):
                    kept[k, i, c] = -tangent[k - 1, seen + i, v + c]
                for m in range(h):
                    weight = coupling[k - 1, m, i]
                    for j in range(h):
                        block[i, j] -= weight * next_state[k - 1, m, j]
                    for c in range(p):
                        kept[k, i, c] -= weight * border[k - 1, m, c]
        if k < steps:
            for r in range(v):
                for i in range(h):
                    slope = tangent[k, r, seen + i]
                    for j in range(h):
                        block[i, j] += slope * tangent[k, r, seen + j]
                    for c in range(p):
                        kept[k, i, c] += slope * tangent[k, r, v + c]
            for i in range(h):
                for j in range(h):
                    coupling[k, i, j] = -tangent[k, seen + j, seen + i]
        _inverted(block, inverse[k])
        for i in range(h):
            for m in range(h):
                weight = inverse[k, i, m]
                for j in range(h):
                    next_state[k, i, j] += weight * coupling[k, m, j]
                for c in range(p):
                    border[k, i, c] += weight * kept[k, m, c]
    own = tangent[:, :, v:].copy().reshape(steps * v, p)
    matrix = own.T @ own - kept.reshape((steps + 1) * h, p).T @ border.reshape((steps + 1) * h, p)
    return Reduced(inverse, next_state, border, coupling, kept, matrix)


@kernel
def right_side(tangent: Array, defects: Array, seen: int, reduced: Reduced) -> tuple[Array, Array]:
    """Right sides after elimination: of the hidden states, (time, h), and of the parameters, (p,).

    defects: (time - 1, v), the flow's end minus the next state.
    """
    steps, v = defects.shape
    h, p = v - seen, tangent.shape[2] - v
    states, parameters = np.zeros((steps + 1, h)), np.zeros(p)
    right = np.zeros(h)
    for k in range(steps + 1):
        for i in range(h):
            right[i] = defects[k - 1, seen + i] if k > 0 else 0.0
            if k > 0:
                for m in range(h):
                    right[i] -= reduced.coupling[k - 1, m, i] * states[k - 1, m]
        if k < steps:
            for r in range(v):
                for i in range(h):
                    right[i] -= tangent[k, r, seen + i] * defects[k, r]
                for c in range(p):
                    parameters[c] -= tangent[k, r, v + c] * defects[k, r]
        for i in range(h):
            for m in range(h):
                states[k, i] += reduced.inverse[k, i, m] * right[m]
        for m in range(h):
            for c in range(p):
                parameters[c] -= reduced.border[k, m, c] * right[m]
    return states, parameters


@kernel
def substituted(reduced: Reduced, states: Array, change: Array) -> Array:
    """The change of every hidden state, (time, h), once that of the parameters is known."""
    out = states.copy()
    for k in range(len(states) - 1, -1, -1):
        for i in range(states.shape[1]):
            for c in range(len(change)):
                out[k, i] -= reduced.border[k, i, c] * change[c]
            if k < len(states) - 1:
                for j in range(states.shape[1]):
                    out[k, i] -= reduced.next_state[k, i, j] * out[k + 1, j]
    return out


@kernel
def along(tangent: Array, shift: Array, change: Array, seen: int) -> Array:
    """The derivative of the defects along a step: (time - 1, v)."""
    steps, v = tangent.shape[0], tangent.shape[1]
    out = np.zeros((steps, v))
    for k in range(steps):
        for r in range(v):
            total = 0.0
            for i in range(v - seen):
                total += tangent[k, r, seen + i] * shift[k, i]
            for c in range(len(change)):
                total += tangent[k, r, v + c] * change[c]
            out[k, r] = total - (shift[k + 1, r - seen] if r >= seen else 0.0)
    return out
