"""How a step of a polynomial field depends on its start and on all of its coefficients.

`tangents.py` does the same for any field. Here every coefficient is free and there are no functions, so that the
derivatives with the coefficients of one variable are sums of the features over the stages: loops over neighbours in
memory, in a third of the time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from prophecy._compiled import inner, kernel
from prophecy.dynamics.flow import Tableau
from prophecy.dynamics.terms import Terms

Array = NDArray[np.float64]
Indices = NDArray[np.int64]


@inner
def _slope(terms: Terms, theta: Array, x: Array, phi: Array, dphi: Array, jacobian: Array, slope: Array) -> None:
    """Features, the time derivative of a state, and its derivatives with the variables."""
    v, size = terms.variables, len(terms.parents)
    for i in range(v):
        slope[i] = theta[0, i]
        for j in range(v):
            jacobian[i, j] = 0.0
    phi[0] = 1.0
    for j in range(v):
        dphi[0, j] = 0.0
    for p in range(1, size):
        parent, factor = terms.parents[p], terms.factors[p]
        value = x[factor]
        phi[p] = phi[parent] * value
        for j in range(v):
            dphi[p, j] = dphi[parent, j] * value
        dphi[p, factor] += phi[parent]
        for i in range(v):
            weight = theta[p, i]
            slope[i] += weight * phi[p]
            for j in range(v):
                jacobian[i, j] += weight * dphi[p, j]


@kernel
def powers_tangents(
    terms: Terms, theta: Array, tableau: Tableau, points: Array, substeps: Indices
) -> tuple[Array, Array]:
    """One sample onwards from each point: ends (points, v), and derivatives (points, v, v + v * size).

    The derivatives are with the start, then with the coefficients of the first variable, of the second and so on.
    """
    v, size, stages = terms.variables, len(terms.parents), len(tableau.weights)
    columns = v + v * size
    ends, out = points.copy(), np.zeros((len(points), v, columns))
    phi, dphi = np.empty((stages, size)), np.empty((size, v))
    at, slopes, jacobian = np.empty((stages, v)), np.empty((stages, v)), np.empty((stages, v, v))
    answer, through = np.empty((stages, v, v)), np.empty((stages, v, v))
    whole, before = np.empty((v, v)), np.empty((v, columns))
    for k in range(len(points)):
        x, there = ends[k], out[k]
        h = 1.0 / substeps[k]
        for i in range(v):
            there[i, i] = 1.0
        for substep in range(substeps[k]):
            for s in range(stages):
                for i in range(v):
                    at[s, i] = x[i]
                for earlier in range(s):
                    weight = h * tableau.stages[s, earlier]
                    if weight != 0.0:
                        for i in range(v):
                            at[s, i] += weight * slopes[earlier, i]
                _slope(terms, theta, at[s], phi[s], dphi, jacobian[s], slopes[s])
            # How the end depends on the slope of each stage, from the last one back (as in `tangents.py`).
            for i in range(v):
                for j in range(v):
                    whole[i, j] = 1.0 if i == j else 0.0
            for s in range(stages - 1, -1, -1):
                for i in range(v):
                    for j in range(v):
                        answer[s, i, j] = h * tableau.weights[s] if i == j else 0.0
                for r in range(s + 1, stages):
                    weight = h * tableau.stages[r, s]
                    if weight != 0.0:
                        for i in range(v):
                            for j in range(v):
                                answer[s, i, j] += weight * through[r, i, j]
                for i in range(v):
                    for j in range(v):
                        total = 0.0
                        for m in range(v):
                            total += answer[s, i, m] * jacobian[s, m, j]
                        through[s, i, j] = total
                        whole[i, j] += total
            filled = columns if substep else v
            for i in range(v):
                for c in range(filled):
                    before[i, c] = there[i, c]
                    there[i, c] = 0.0
            for i in range(v):
                for j in range(v):
                    weight = whole[i, j]
                    for c in range(filled):
                        there[i, c] += weight * before[j, c]
                for j in range(v):
                    first = v + j * size
                    for s in range(stages):
                        weight = answer[s, i, j]
                        for p in range(size):
                            there[i, first + p] += weight * phi[s, p]
            for s in range(stages):
                for i in range(v):
                    x[i] += h * tableau.weights[s] * slopes[s, i]
    return ends, out
