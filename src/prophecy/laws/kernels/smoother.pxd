cdef void _triangle(double* block, long long rows, long long columns, long long width, double* scratch) noexcept nogil
cdef double _eliminate(
    double* misfit, double* weights, double* defects, double* tangent, double* tightness, double prior, long long time,
    long long v, long long parameters, double* block, double* rows, double* rest) noexcept nogil
cdef void _substitute(
    double* rows, double* change, long long time, long long v, long long parameters, double* out) noexcept nogil
