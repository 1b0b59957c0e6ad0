from prophecy.streams.kernels.structs cimport *

cdef void learn(double* weights, double* scales, double* peaks, double* last_peaks, const double* ahead, const double* prior, long long members, long long count, const Table* t, double difference, double part, double value) noexcept nogil
cdef double _sum(double* x, long long count) noexcept nogil
cdef (double, double) mixed(const double* weights, const double* scales, const double* ahead, long long members) noexcept nogil
cdef void learn_shrinkage(Record* r, const Table* t, double value, double difference, double part) noexcept nogil
cdef double shrunk(Record* r, const Table* t, double change, bint filled) noexcept nogil
