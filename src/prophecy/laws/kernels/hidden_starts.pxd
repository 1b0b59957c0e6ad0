# Samples at either end where derivatives of a spline are worth little.
cpdef enum:
    MARGIN = 5


# Variables at hand, u: (time, m), their monomials up to a degree, phi: (n, time), these without the margins, inside, and
# their integrals over steps with m + 2 rows more for those of z and its products, over: (n + m + 2, steps).
cdef struct AtHand:
    long long time
    long long m
    long long degree
    long long n
    long long steps
    double* r
    double* u
    double* phi
    double* inside
    double* over

# Arrays to work in: b, z, scratch: (time,); weights: (time,); weighed: (n + m + 2, time); matrix: (n + m + 2)^2; right:
# (n + m + 2,).
cdef struct Closing:
    double* b
    double* z
    double* scratch
    double* weights
    double* weighed
    double* matrix
    double* right

cdef int _read(object pair, AtHand* hand) except -1
cdef long long _hand_room(AtHand* hand) noexcept nogil
cdef long long _closing_room(AtHand* hand) noexcept nogil
cdef void _hand_for(AtHand* hand, double** room) noexcept nogil
cdef void _closing_for(AtHand* hand, Closing* closing, double** room) noexcept nogil
cdef void _monomials(AtHand* hand) noexcept nogil
cdef void _over_steps(double* row, long long steps, double* out) noexcept nogil
cdef double _left(double* matrix, double* right, long long n, double total) noexcept nogil
cdef void _numerator(AtHand* hand, Closing* closing, double near) noexcept nogil
cdef double _left_open(AtHand* hand, Closing* closing, double near) noexcept nogil
cdef double _closing(AtHand* hand, Closing* closing, double* along) noexcept nogil
cdef double _mean(double* values, long long count) noexcept nogil
cdef double _variance(double* values, long long count) noexcept nogil
cdef double _median(double* values, long long count, double* scratch) noexcept nogil
cdef int _order(const void* one, const void* other) noexcept nogil
cdef void _scan(
    AtHand* hand, Closing* closing, double* directions, long long count, long long offsets, double* sums, double* along,
    double* out) noexcept nogil
cdef bint _refine(
    AtHand* hand, AtHand* other, Closing* closing, double* sources, double* leaks, double* choice, double* noise,
    long long trials, double* work) noexcept nogil
cdef void _step_means(double* values, long long n, double* out) noexcept nogil
cdef void _leaky(double* values, long long n, double time, double* out, double* means) noexcept nogil
cdef void _unit(double* values, long long n) noexcept nogil
