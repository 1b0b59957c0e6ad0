from prophecy.laws.kernels.unrolled cimport Terms
from prophecy.laws.kernels.stepping cimport Tableau

# A linearised problem of `steps` + 1 states with v variables, the first `seen` of them known, h hidden, p parameters,
# and what elimination leaves of it. tangent: (steps, v, v + p), derivatives of the flow with its start and the
# parameters. inverse: (time, h, h), of the eliminated diagonal blocks; next_state: (time, h, h) and border:
# (time, h, p), how the hidden part of state k depends on that of state k + 1 and on the parameters; coupling:
# (time, h, h), the blocks above the diagonal; kept: (time, h, p), the borders before they were multiplied by the
# inverse. matrix: (p, p), of the normal equations of the parameters alone. own: (steps * v, p), the derivatives with the
# parameters, and squares: (p, p), their products. block, right: to work in.
cdef struct Reduced:
    long long steps
    long long v
    long long seen
    long long h
    long long p
    double* tangent
    double* inverse
    double* next_state
    double* border
    double* coupling
    double* kept
    double* matrix
    double* own
    double* squares
    double* block
    double* right

cdef long long reduced_room(long long steps, long long v, long long seen, long long p) noexcept nogil
cdef void reduced_for(
    long long steps, long long v, long long seen, long long p, Reduced* reduced, double** room) noexcept nogil
cdef void _inverted(double* block, double* out, long long n) noexcept nogil
cdef void gather(Reduced* reduced) noexcept nogil
cdef void eliminate(Reduced* reduced, double damping) noexcept nogil
cdef void right_sides(Reduced* reduced, double* defects, double* states, double* parameters) noexcept nogil
cdef void substitute(Reduced* reduced, double* states, double* change) noexcept nogil
cdef void step_along(Reduced* reduced, double* shift, double* change, double* out) noexcept nogil

cdef long long powers_room(Terms* terms, Tableau* tableau) noexcept nogil
cdef void _slope(
    Terms* terms, double* theta, double* x, double* phi, double* dphi, double* jacobian, double* slope) noexcept nogil
cdef void powers_at(
    Terms* terms, double* theta, Tableau* tableau, double* points, long long count, long long* substeps, double* room,
    double* ends, double* out) noexcept nogil
cdef void _substep(
    Terms* terms, double* theta, Tableau* tableau, double h, long long filled, double* x, double* there,
    double* room) noexcept nogil
