from prophecy.streams.kernels.stream cimport Where
from prophecy.streams.kernels.structs cimport AHEAD_FEATURES, AHEAD_MEMBERS, Calibration, Record, Table

ctypedef double Features[AHEAD_FEATURES]
ctypedef double Power[AHEAD_FEATURES][AHEAD_FEATURES]
ctypedef double Due[AHEAD_MEMBERS]


# What `ahead.Ahead` has learned: its arrays.
cdef struct Learned:
    long long horizon
    long long lags
    const long long* lag
    const long long* found
    double* ring
    Features* features
    double* last
    Due* due
    double* mixed
    Power* power
    Features* moment
    Features* weights
    double* loss
    double* slow
    double* sums


cdef void _read(const Table* t, Learned* f, long long count, long long first, const double* slow, double unit, double* out) noexcept nogil
cdef void _follow(const Table* t, double* slow, double value, long long count) noexcept nogil
cdef void _learn(const Table* t, Learned* f, const double* features, double change) noexcept nogil
cdef void _solve(Features* power, const double* moment, double ridge, Features* factor, double* weights) noexcept nogil
cdef double _mix(const Table* t, const double* loss, double usual, const double* due) noexcept nogil
cdef void _judge(const Table* t, Learned* f, double value, long long place) noexcept nogil
cdef void _advance(const Table* t, Learned* f, Record* records, double* rings, Record* e, const Where* where, double value, long long count, double* out) noexcept nogil
cdef void _again(const Table* t, Learned* f, long long seen, double unit) noexcept nogil
cdef void _copy_in(Record* r, const Calibration* e) noexcept nogil
cdef void _copy_out(Calibration* e, const Record* r) noexcept nogil
cdef Learned _learned(dict arrays, object lags, object found) except *
