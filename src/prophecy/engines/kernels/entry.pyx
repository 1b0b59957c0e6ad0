"""LegS's steps in O(N), several series side by side: `engines/scan.py` has the formula."""

cdef enum:
    _LANES = 16

LANES = _LANES


def steps(double[:, :, ::1] sums, const double[:, :, ::1] u, double[:, :, ::1] out, const double[::1] weights,
          const double[::1] slopes, double end, long long count):
    """Take u (groups, time, LANES) into sums (groups, N, LANES), which have seen `count` samples; end: the rule's α.

    out, shaped like u, gets u + slopes[k] (u + weights · sums) after each sample.
    """
    groups, N, time = sums.shape[0], sums.shape[1], u.shape[1]
    if (groups, groups, time) != (u.shape[0], out.shape[0], out.shape[1]) or (N, time) != (weights.shape[0], slopes.shape[0]):
        raise ValueError(f"shapes do not fit: {sums.shape}, {u.shape}, {out.shape}, {weights.shape}, {slopes.shape}")
    if not sums.shape[2] == u.shape[2] == out.shape[2] == _LANES:
        raise ValueError(f"series must stand in groups of {_LANES}, got {sums.shape}, {u.shape}, {out.shape}")
    cdef Py_ssize_t g, k
    with nogil:
        for g in range(groups):
            for k in range(time):
                _step(&sums[g, 0, 0], &u[g, k, 0], &out[g, k, 0], &weights[0], N, slopes[k], end, count + k + 1)


cdef void _step(double* sums, const double* u, double* out, const double* weights, Py_ssize_t N, double slope,
                double end, long long count) noexcept nogil:
    cdef double before[_LANES]
    cdef double after[_LANES]
    cdef double h = 1.0 / count, new = end * h, old = (1.0 - end) * h, scale, kept, above, drive, passed, value
    cdef Py_ssize_t n, i
    for i in range(_LANES):
        before[i], after[i], out[i] = 0.0, 0.0, 0.0
    for n in range(N):
        scale = 1.0 / (1.0 + new * (n + 1))
        kept, above = scale * (1.0 - old * (n + 1)), scale * (1.0 + old * n)
        drive, passed = scale * h * (2 * n + 1), scale * (1.0 - new * n)
        if count == 1:  # x = e₀ u
            kept, above, drive, passed = 0.0, 0.0, 1.0, 0.0
        for i in range(_LANES):
            value = (kept * sums[i] - above * before[i] + drive * u[i]) + passed * after[i]
            before[i], sums[i], after[i] = sums[i], value, value
            out[i] += weights[n] * value
        sums += _LANES
    for i in range(_LANES):
        out[i] = u[i] + slope * (u[i] + out[i])


cdef class Stream:
    """One series of a constant system, one value at a time: `take` moves x (N,) on, `next` is the prediction then.

    columns: Aᵀ (N, N). A product goes column by column, which vector instructions do in the order of the plain sum.
    count, low, high: how many values there were and their range, to go on from.
    """

    cdef const double[:, ::1] columns
    cdef const double[::1] B, C
    cdef double[::1] x, made
    cdef double D
    cdef readonly double next, last, low, high
    cdef readonly long long count

    def __init__(self, columns, B, C, double D, double[::1] x, long long count, double low, double high):
        self.columns, self.B, self.C, self.D, self.x, self.made = columns, B, C, D, x.copy(), x.copy()
        self.count, self.low, self.high = count, low, high
        N = x.shape[0]
        if not N == self.columns.shape[0] == self.columns.shape[1] == self.B.shape[0] == self.C.shape[0]:
            raise ValueError(f"shapes do not fit: {columns.shape}, {B.shape}, {C.shape}, {x.shape}")

    def take(self, double u):
        cdef Py_ssize_t N = self.x.shape[0], i, j
        cdef const double* A = &self.columns[0, 0]
        cdef const double* x = &self.x[0]
        cdef double* made = &self.made[0]
        cdef double next = self.D * u
        for i in range(N):
            made[i] = self.B[i] * u
        for j in range(0, N - 3, 4):
            for i in range(N):
                made[i] = made[i] + A[i] * x[j] + A[N + i] * x[j + 1] + A[2 * N + i] * x[j + 2] + A[3 * N + i] * x[j + 3]
            A += 4 * N
        for j in range(N // 4 * 4, N):
            for i in range(N):
                made[i] += A[i] * x[j]
            A += N
        for i in range(N):
            next += self.C[i] * made[i]
        self.x, self.made = self.made, self.x
        self.count, self.last, self.next = self.count + 1, u, next
        self.low, self.high = min(self.low, u), max(self.high, u)

    def state(self):
        """x as a new memory view."""
        return self.x.copy()
