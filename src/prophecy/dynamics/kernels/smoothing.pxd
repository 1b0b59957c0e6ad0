# A bank of smoothers and where they are: level l, slope b, forecast f, (3, systems) each, seasonal deviations s,
# (m, 3, systems), and the normal equations of their starts, (6, systems).
cdef struct Bank:
    long long systems
    long long m
    long long horizon
    double* alpha
    double* beta
    double* phi
    double* gamma
    double* free
    double* drag
    double* l
    double* b
    double* f
    double* s
    double* normal
    double* work
    double* weight

cdef void _smooth(
    Bank* bank, double* y, long long n, long long* origins, long long count, double* mean, double* within,
    double* between) noexcept nogil
cdef void _update(Bank* bank, long long i, double v, bint known) noexcept nogil
cdef void _mix(
    Bank* bank, long long t, long long n, double* mean, double* within, double* between) noexcept nogil
cdef void _window_products(double* x, long long n, long long rows, long long width, double* out) noexcept nogil
