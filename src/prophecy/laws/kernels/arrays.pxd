cdef double* doubles(object array, str name, tuple shape) except? NULL
cdef long long* indices(object array, str name, tuple shape) except? NULL
cdef void* _address(object array, str name, tuple shape, str letters) except? NULL

ctypedef void (*Gemm)(char*, char*, void*, void*, void*, double*, double*, void*, double*, void*, double*, double*, void*) noexcept nogil
ctypedef void (*Gemv)(char*, void*, void*, double*, double*, void*, double*, void*, double*, double*, void*) noexcept nogil
cdef Gemm _gemm
cdef Gemv _gemv

cdef void multiply(
    double* left, bint left_turned, double* right, bint right_turned, long long rows, long long inner, long long columns,
    double* out) noexcept nogil
cdef void times_vector(double* matrix, long long rows, long long columns, double* vector, double* out) noexcept nogil
cdef void vector_times(double* vector, double* matrix, long long rows, long long columns, double* out) noexcept nogil
