"""Least squares over the states of a whole series and the parameters of the field between them.

The unknowns are a state at every sample and the parameters; the equations are "state k is what was observed, up to the
noise" and "state k + 1 is where the flow takes state k, up to the model error". Linearised, each involves neighbouring
states and the parameters only, so that orthogonal transformations eliminate one state after the other (the square-root
information smoother of Paige and Saunders, Numerische Mathematik 29, 1977, bordered by the parameters). Working on the
equations and not on their normal matrix keeps it sound however small the model error is against the noise.
"""

# The triangular system that elimination leaves: see `eliminate`.
Eliminated = namedtuple("Eliminated", "rows rest logarithm")


cdef void _triangle(double* block, long long rows, long long columns, long long width, double* scratch) noexcept nogil:
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
    cdef long long time = misfit.shape[0], v = misfit.shape[1], parameters = tangent.shape[2] - v
    cdef long long width = 2 * v + parameters + 1
    cdef double first = prior, logarithm = 0.0
    cdef bint last
    rows, rest, made = np.empty((time, v, width)), np.empty((time * v, parameters + 1)), np.zeros((3 * v + 1, width))
    seen, trust = doubles(misfit, "misfit", (time, v)), doubles(weights, "weights", (time, v))
    missed, tight = doubles(defects, "defects", (time - 1, v)), doubles(tightness, "tightness", (v,))
    along, block = doubles(tangent, "tangent", (time - 1, v, v + parameters)), doubles(made, "block", made.shape)
    out, left = doubles(rows, "rows", rows.shape), doubles(rest, "rest", rest.shape)
    with nogil:
        for i in range(v):
            block[i * width + i] = first
        for k in range(time):
            for i in range(v):
                row = block + (v + i) * width
                fill(row, width, 0.0)
                row[i] = trust[k * v + i]
                row[width - 1] = trust[k * v + i] * seen[k * v + i]
            last = k == time - 1
            for i in range(0 if last else v):
                row, slopes = block + (2 * v + i) * width, along + (k * v + i) * (v + parameters)
                for j in range(v):
                    row[j] = -tight[i] * slopes[j]
                    row[v + j] = 0.0
                row[v + i] = tight[i]
                for c in range(parameters):
                    row[2 * v + c] = -tight[i] * slopes[v + c]
                row[width - 1] = tight[i] * missed[k * v + i]
            _triangle(block, 2 * v if last else 3 * v, v if last else 2 * v, width, block + 3 * v * width)
            for i in range(v):
                logarithm += log(max(fabs(block[i * width + i]), 1e-300))
            copy(out + k * v * width, block, v * width)
            for i in range(v):
                row = block + ((v if last else 2 * v) + i) * width
                copy(left + (k * v + i) * (parameters + 1), row + 2 * v, parameters + 1)
            for i in range(0 if last else v):
                row, below = block + i * width, block + (v + i) * width
                copy(row, below + v, v)
                fill(row + v, v, 0.0)
                copy(row + 2 * v, below + 2 * v, parameters + 1)
    return Eliminated(rows, rest, logarithm)


def substitute(rows, change):
    """The change of every state, (time, variables), once that of the parameters is known. rows: of `eliminate`."""
    rows, change = np.ascontiguousarray(rows, dtype=np.float64), np.ascontiguousarray(change, dtype=np.float64)
    cdef long long time = rows.shape[0], v = rows.shape[1], parameters = len(change), width = 2 * v + parameters + 1
    made = np.empty((time, v))
    known, moved = doubles(rows, "rows", (time, v, width)), doubles(change, "change", (parameters,))
    out = doubles(made, "out", made.shape)
    with nogil:
        for k in range(time - 1, -1, -1):
            for i in range(v - 1, -1, -1):
                row = known + (k * v + i) * width
                total = row[width - 1]
                for c in range(parameters):
                    total -= row[2 * v + c] * moved[c]
                for j in range(v if k < time - 1 else 0):
                    total -= row[v + j] * out[(k + 1) * v + j]
                for j in range(i + 1, v):
                    total -= row[j] * out[k * v + j]
                out[k * v + i] = total / row[i] if row[i] != 0.0 else 0.0
    return made
