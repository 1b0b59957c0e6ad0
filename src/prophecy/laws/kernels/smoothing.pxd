# Systems that go on together: enough for vectors, few enough for the nearest memory.
cdef enum:
    SIDE = 32

# A bank of `count` smoothers, made up to a multiple of SIDE `systems` by such that do nothing, and where they are: level
# l and slope b, (3, systems) each, seasonal deviations s, (m, 3, systems), and the normal equations of their starts,
# (6, systems).
cdef struct Bank:
    long long count
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
    double* s
    double* normal
    double* work
    double* weight

# SIDE of the systems: their parameters, where they are, the changes of their levels, and their forecasts, then errors.
cdef struct Side:
    double phi[SIDE]
    double alpha[SIDE]
    double beta[SIDE]
    double gamma[SIDE]
    double l[3][SIDE]
    double b[3][SIDE]
    double change[3][SIDE]
    double f[3][SIDE]
    double normal[6][SIDE]

cdef void _smooth(
    Bank* bank, double* y, long long n, long long* origins, long long count, double* mean, double* within,
    double* between) noexcept nogil
cdef void _advance(
    Bank* bank, double* y, long long begin, long long end, long long first) noexcept nogil
cdef void _mix(
    Bank* bank, long long t, long long n, double* mean, double* within, double* between) noexcept nogil
cdef void _window_products(double* x, long long n, long long rows, long long width, double* out) noexcept nogil
