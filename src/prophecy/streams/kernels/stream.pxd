from prophecy.streams.kernels.structs cimport RING, Clock, Record, Samples


# A stream: one row of four arrays.
cdef struct Stream:
    Record* r
    double* ring
    Clock* c
    Samples* s


# Room to work in: a copy of a record and its ring to walk on, and the first places of the path that it walked.
cdef enum:
    PLACES = 16

cdef struct Room:
    Record record
    double ring[RING]
    double path[PLACES]


# Where a level lies among the tracked quantiles (`table.between`).
cdef struct Where:
    long long above
    bint inside
    double part
