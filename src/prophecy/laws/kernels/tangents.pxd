from prophecy.laws.kernels.unrolled cimport Lanes, Terms
from prophecy.laws.kernels.stepping cimport Tableau, Work

# Arrays to work in, the last axis of each being the lane: at every stage of a step the features phi, the state and the
# derivatives of its slope with the variables and the functions' sums (jacobian); how the end depends on the slopes
# (answer, through, whole); and what is made, out: (variables, columns, lanes). chosen, whose: the parameters.
cdef struct Derived:
    long long* leads
    double* phi
    double* dphi
    double* at
    double* jacobian
    double* answer
    double* through
    double* whole
    double* column
    double* out
    long long parameters
    long long columns
    long long* chosen
    long long* whose

cdef int read_parameters(Terms* terms, object chosen, object whose, bint derivatives, Derived* derived) except -1
cdef long long derived_room(Terms* terms, Tableau* tableau, long long lanes, long long columns) noexcept nogil
cdef void derived_for(Terms* terms, Tableau* tableau, long long lanes, Derived* derived, double** room) noexcept nogil
cdef void _linear(Terms* terms, Lanes* field, Work* work, Derived* derived, long long stage) noexcept nogil
cdef void _answers(Terms* terms, Tableau* tableau, double* h, long long lanes, Derived* derived) noexcept nogil
cdef double _share(long long which, double* at, long long v, long long lanes, long long lane) noexcept nogil
cdef void _by_parameters(Terms* terms, Tableau* tableau, long long lanes, Derived* derived) noexcept nogil
cdef void _sum_of_products(
    double* out, double* left, long long left_step, double* right, long long right_step, long long count,
    long long lanes) noexcept nogil
cdef void onwards(
    Terms* terms, Lanes* field, Tableau* tableau, long long filled, Work* work, Derived* derived) noexcept nogil
cdef void switched(Terms* terms, Lanes* field, long long lane, Work* work, Derived* derived) noexcept nogil
