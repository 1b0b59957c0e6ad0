from prophecy.adaptive.kernels.structs cimport RING, Clock, Record, Samples


# A stream: one row of four arrays.
cdef struct Stream:
    Record* r
    double* ring
    Clock* c
    Samples* s


# Room to work in: a copy of a record and its ring to walk on, and rows of points for polynomials, at least NODES + 1
# long, the last of which holds the path.
cdef struct Room:
    Record record
    double ring[RING]
    double points[7][16]


# Where a level lies among the tracked quantiles (`table.between`).
cdef struct Where:
    long long above
    bint inside
    double part
