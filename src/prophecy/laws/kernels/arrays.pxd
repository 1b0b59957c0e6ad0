cdef double* doubles(object array, str name, tuple shape) except? NULL
cdef long long* indices(object array, str name, tuple shape) except? NULL
cdef void* _address(object array, str name, tuple shape, str letters) except? NULL
