# What a function of a weighted sum may be.
cpdef enum:
    SINE
    TANH
    MODULUS
    EXPONENTIAL
    RECIPROCAL
    SIGN
    LOGARITHM
    ROOT

# Points side by side: they keep a processor's widest registers busy and fit into its nearest memory.
cpdef enum:
    LANES = 64

# The table of a field (`prophecy.laws.flow.Terms`).
cdef struct Terms:
    long long variables
    long long size
    long long functions
    long long* parents
    long long* factors
    long long* kinds
    double* rates
    double* shifts
    double* bends

# The numbers of a field for points side by side: theta (size, variables, lanes), rates (functions, variables, lanes),
# shifts (functions, lanes), bends (functions, variables, variables, lanes). used: (size, variables), whether any lane
# has the term in the equation; bent: (functions,), whether any has bends. What is not there costs nothing.
cdef struct Lanes:
    long long lanes
    double* theta
    double* rates
    double* shifts
    double* bends
    long long* used
    long long* bent


cdef int read_terms(object table, Terms* terms) except -1
cdef double* take(double** room, long long count) noexcept nogil
cdef void fill(double* out, long long count, double value) noexcept nogil
cdef void copy(double* out, double* values, long long count) noexcept nogil

cdef long long lanes_room(Terms* terms, long long lanes) noexcept nogil
cdef void lanes_of(Terms* terms, double* theta, long long lanes, Lanes* field, double** room) noexcept nogil
cdef void put_field(
    Terms* terms, double* theta, double* rates, double* shifts, double* bends, Lanes* field, long long lane) noexcept nogil
cdef void copy_field(Terms* terms, Lanes* field, long long lane, Lanes* one) noexcept nogil
cdef double argument(Terms* terms, Lanes* field, long long j, double* x, long long lane) noexcept nogil
cdef double slope_along(Terms* terms, Lanes* field, long long j, double* x, long long lane, long long i) noexcept nogil
cdef bint switches(Terms* terms, long long j, bint kinks) noexcept nogil
cdef bint any_switches(Terms* terms, bint kinks) noexcept nogil
cdef void choose_branches(
    Terms* terms, Lanes* field, double* x, long long lane, bint kinks, double* branches) noexcept nogil
cdef void _sums(Terms* terms, Lanes* field, long long j, double* x, double* out) noexcept nogil
cdef void _apply(long long kind, double* sides, double* value, double* slope, long long lanes) noexcept nogil
cdef void evaluate(Terms* terms, Lanes* field, double* x, double* branches, double* phi, double* known) noexcept nogil
cdef void leading(Terms* terms, long long* leads) noexcept nogil
cdef void evaluate_slopes(
    Terms* terms, Lanes* field, long long* leads, double* x, double* branches, double* phi, double* dphi,
    double* known) noexcept nogil
cdef void _features(Terms* terms, double* points, long long count, long long lanes, double* room, double* out) noexcept nogil
