cdef extern from *:
    """
    #if defined(__x86_64__) && defined(__GNUC__)
    static int prophecy_has_avx2(void) {
        __builtin_cpu_init();
        return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2")
            && __builtin_cpu_supports("fma");
    }
    #else
    static int prophecy_has_avx2(void) { return 0; }
    #endif
    """
    int prophecy_has_avx2() nogil
