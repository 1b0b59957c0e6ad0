from prophecy.streams.kernels.structs cimport LONGEST, RING, SHORTEST, Table

cdef enum:
    TRANSFORM = 8192
    HALF = TRANSFORM >> 1
    LAGS = TRANSFORM - RING - 1
    LINES = 24  # lines of a spectrum that are kept, of which the strongest are tried as harmonics
    TRIED = 8
    PARTS = 8  # multiples of a line's period, and parts of a lag, that are tried
    PEAKS = 3  # peaks of the autocorrelation that are tried
    MOST = 128  # periods that are compared

cdef double[TRANSFORM] COS, SIN

# Room to look for periods in: a series and what is known of it, its autocorrelation, its lines, the periods proposed.
cdef struct Search:
    long long count
    double values[RING]
    double known[RING]
    double z[RING]
    double there[RING]
    double even
    double least
    double re[TRANSFORM]
    double im[TRANSFORM]
    long long lags
    double r[LAGS + 3]
    double pairs[LAGS + 3]
    double squares[LAGS + 3]
    long long lines
    double frequency[LINES]
    double strength[LINES]
    double error[LINES]
    long long proposed
    double period[MOST]
    double explained[MOST]


cdef inline double summed(const double* x, const double* y, long long n) noexcept nogil:
    cdef double total = 0.0
    cdef long long i
    for i in range(n):
        total += x[i] * y[i]
    return total


cdef void _fill() noexcept nogil
cdef void transform(double* re, double* im, long long size) noexcept nogil
cdef bint prepare(Search* s, bint steps) noexcept nogil
cdef void autocorrelation(Search* s) noexcept nogil
cdef void find_lines(Search* s) noexcept nogil
cdef double repeats(const Search* s, double period) noexcept nogil
cdef double refined(const Search* s, double period) noexcept nogil
cdef double polished(const Search* s, double period) noexcept nogil
cdef double rounded(const Search* s, double period) noexcept nogil
cdef double wander(const Search* s, double period, double part) noexcept nogil
cdef double enough(const Search* s, const Table* t, double period, double best) noexcept nogil
cdef double needed(const Search* s, const Table* t, double period) noexcept nogil
cdef void propose(Search* s, const Table* t, double period) noexcept nogil
cdef void propose_all(Search* s, const Table* t, long long longest) noexcept nogil
cdef double common(const Search* s, double p, double q) noexcept nogil
cdef double choose(const Search* s, const Table* t, double* periods) noexcept nogil
cdef void beside(const Search* s, const Table* t, double part, double* periods) noexcept nogil
cdef double examine(Search* s, const Table* t, bint steps, long long longest, double* periods) noexcept nogil
cdef void find(const Table* t, Search* s, double* periods, double* strengths) noexcept nogil
