from prophecy.laws.kernels.unrolled cimport Lanes, Terms

# Switches within one step: where both branches lead back to the switch there is no end to them.
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
# none. todo, crossed, left, rest: (lanes,), samples to go, switches in this step, what is left of this sample, and of a
# step that ended at a switch.
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
    long long* todo
    long long* crossed
    double* left
    double* rest


cdef int read_tableau(object method, Tableau* tableau) except -1
cdef long long work_room(Terms* terms, Tableau* tableau, long long lanes) noexcept nogil
cdef void work_for(Terms* terms, Tableau* tableau, long long lanes, Work* work, double** room) noexcept nogil
cdef void step(Terms* terms, Lanes* field, Tableau* tableau, double* x, double* h, Work* work) noexcept nogil
cdef long long passed(
    Terms* terms, Lanes* field, double* x, long long lane, double* branches, long long known) noexcept nogil
cdef void until_switch(
    Terms* terms, Lanes* field, Tableau* tableau, Work* work, Lanes* one, Work* room) noexcept nogil
cdef void _moment(Terms* terms, Lanes* field, Tableau* tableau, Work* work) noexcept nogil
