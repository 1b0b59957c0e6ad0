from prophecy.laws.kernels.hidden_steps cimport Reduced
from prophecy.laws.kernels.unrolled cimport Terms
from prophecy.laws.kernels.stepping cimport Tableau

# How steps are damped. relaxed, tightened: factors of the damping after a success and a failure; least: below it,
# squared equations lose their digits; stiffness: damping of scaled parameters relative to that of hidden states;
# accelerated: largest second-order correction that is trusted, as a share of the step; ahead: share of the step at
# which its curvature is measured; rejections: failures in a row that end a descent; lost: mean square defect of a field
# that leads nowhere.
cdef struct Tuning:
    double relaxed
    double tightened
    double least
    double stiffness
    double accelerated
    double ahead
    long long rejections
    double lost

# A descent and the arrays it works in: coefficients theta and near (terms, v), states and close (time, v), defects and
# bend (time - 1, v), right, change and further (p,), shift and more (time, h), norms (p,), matrix (p, p). room: of the
# functions it calls.
cdef struct Descent:
    Terms* terms
    Tableau* tableau
    Tuning* tuning
    Reduced reduced
    long long time
    long long v
    long long seen
    long long count
    long long* substeps
    double damping
    double misfit
    double* theta
    double* states
    double* near
    double* close
    double* ends
    double* tangent
    double* defects
    double* bend
    double* slopes
    double* right
    double* change
    double* further
    double* shift
    double* more
    double* norms
    double* matrix
    double* room

cdef bint _factored(double* matrix, long long n) noexcept nogil
cdef void _solved(double* factor, double* right, double* norms, long long n, double* out) noexcept nogil
cdef double _sum_of_squares(double* values, long long count) noexcept nogil
cdef double _sum(double* values, long long count) noexcept nogil
cdef void _monomials(Terms* terms, double* points, long long count, double* out) noexcept nogil
cdef bint _standardised(
    Terms* terms, double* theta, double* states, long long time, long long seen, double* points, long long count,
    double* inverse, double* room, double* coefficients, double* out) noexcept nogil
cdef void _moved(Descent* at, double* change, double* shift, double size) noexcept nogil
cdef void _defects(Descent* at, double* theta, double* states, double* out) noexcept nogil
cdef bint _scaled(Descent* at) noexcept nogil
cdef double _tried(Descent* at, double cost) noexcept nogil
cdef bint _descend(Descent* at, long long most, double enough, double least_gain) noexcept nogil
