from prophecy.streams.kernels.stream cimport Where
from prophecy.streams.kernels.structs cimport *

ctypedef double Features[AHEAD_FEATURES]


# What an `ahead.Ahead` works on. Records: the bank, a copy of it to roll forward, the errors of the mixture.
cdef struct Model:
    Ahead* a
    Waiting* rows
    Record* records
    double* rings
    long long horizon
    long long lags
    long long lag[WIDEST]


cdef void _choose_lags(Model* f) noexcept nogil
cdef void _add_lag(Model* f, long long age) noexcept nogil
cdef void _read(const Table* t, const Model* f, long long count, long long first, const double* slow, double* out) noexcept nogil
cdef void _follow(const Table* t, double* slow, double value, long long count) noexcept nogil
cdef void _learn(const Table* t, Ahead* a, const double* features, double change) noexcept nogil
cdef void _solve(const Features* power, const double* moment, double ridge, double* weights) noexcept nogil
cdef double _mix(const Table* t, const Ahead* a, const double* due) noexcept nogil
cdef void _judge(const Table* t, Model* f, Waiting* row, double value, const Where* where, double* out) noexcept nogil
cdef void _predict(const Table* t, Model* f, Waiting* row, double newest) noexcept nogil
cdef void _advance(const Table* t, Model* f, const Where* where, double value, double* out) noexcept nogil
cdef void _follow_seasons(const Table* t, Model* f) noexcept nogil
