from prophecy.streams.kernels.structs cimport *

cdef void update(double* factor, long long used, long long stride, double growth, double forgetting, double error, const double* phi, double* g, double* weights) noexcept nogil
cdef double grow(double* factor, long long count, double growth) noexcept nogil

cdef void learn_solved(Record* r, const Table* t, long long first, long long last, long long count, double difference, double part) noexcept nogil
cdef void start_over(Record* r, const Table* t, long long first, long long last) noexcept nogil
cdef void _set_prior(Record* r, const Table* t, long long s, double power) noexcept nogil
cdef void _tidy(Record* r, const Table* t, long long s) noexcept nogil
cdef void _bound(double* factor, long long used, long long stride, double highest) noexcept nogil
cdef void predict_solved(Record* r, const Table* t, long long first, long long last, long long count) noexcept nogil
