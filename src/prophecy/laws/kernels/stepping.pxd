from prophecy.laws.kernels.unrolled cimport Lanes, Terms

# Switches within one step (of `steps`) or one sample (of `paths`): where both branches lead back to the switch there is
# no end to them.
cdef enum:
    MOST_SWITCHES = 8

# An explicit Runge-Kutta method (`prophecy.laws.flow.Tableau`); estimates: whether it has those of what it misses.
cdef struct Tableau:
    long long count
    bint estimates
    double* stages
    double* weights
    double* fifth
    double* third

# Arrays to work in, the last axis of each being the lane. x, start, there: (variables, lanes), a state, the one before
# and one between; h: (lanes,), lengths of steps; phi: (size, lanes); slopes: (stages, variables, lanes); branches:
# (functions, lanes); known: (2 + variables, lanes). which: (lanes,), the function that switches within a step, -1 for
# none; following: (lanes,) and search: (6, lanes), for the moment. todo, crossed, left: (lanes,), substeps to go,
# switches in this one, what is left of it.
cdef struct Work:
    long long lanes
    double* x
    double* start
    double* there
    double* h
    double* phi
    double* slopes
    double* branches
    double* known
    long long* which
    long long* following
    double* search
    long long* todo
    long long* crossed
    double* left


cdef int read_tableau(object method, Tableau* tableau) except -1
cdef long long work_room(Terms* terms, Tableau* tableau, long long lanes) noexcept nogil
cdef void work_for(Terms* terms, Tableau* tableau, long long lanes, Work* work, double** room) noexcept nogil
cdef void step(Terms* terms, Lanes* field, Tableau* tableau, double* x, double* h, Work* work) noexcept nogil
cdef long long passed(
    Terms* terms, Lanes* field, double* x, long long lane, double* branches, long long known) noexcept nogil
cdef void until_switch(
    Terms* terms, Lanes* field, Tableau* tableau, Work* work, Lanes* few, Work* room) noexcept nogil
cdef void _moments(Terms* terms, Lanes* field, Tableau* tableau, Work* work) noexcept nogil
cdef void _search(Terms* terms, Lanes* field, Tableau* tableau, Work* work) noexcept nogil
cdef long long alike(long long* substeps, long long count, long long most, long long* chosen) noexcept nogil
cdef void begin(
    Terms* terms, Lanes* field, double* points, long long* substeps, long long* chosen, long long count, bint kinks,
    Work* work) noexcept nogil
cdef void look_for_switches(Terms* terms, Lanes* field, Work* work) noexcept nogil
cdef bint one_less(Work* work, long long lane, double whole) noexcept nogil
