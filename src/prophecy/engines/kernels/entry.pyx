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
