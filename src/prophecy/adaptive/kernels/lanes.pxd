cdef inline double dot(const double* x, const double* y, long long count) noexcept nogil:
    cdef double part[8]
    cdef long long i, j
    for j in range(8):
        part[j] = 0.0
    for i in range(0, count, 8):
        for j in range(8):
            part[j] += x[i + j] * y[i + j]
    return ((part[0] + part[4]) + (part[1] + part[5])) + ((part[2] + part[6]) + (part[3] + part[7]))
