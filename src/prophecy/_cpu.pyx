"""Which build of the kernels this processor runs: `baseline`, or `avx2` where it has those vector instructions.

Both give the same numbers to the last bit. PROPHECY_CPU names one of them instead, for tests and comparisons.
"""

import os

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


def variant():
    """The folder of the kernels to load."""
    wanted = os.environ.get("PROPHECY_CPU") or ("avx2" if prophecy_has_avx2() else "baseline")
    if wanted not in ("baseline", "avx2"):
        raise ImportError(f"PROPHECY_CPU must be baseline or avx2, got {wanted!r}")
    if wanted == "avx2" and not prophecy_has_avx2():
        raise ImportError("PROPHECY_CPU=avx2, and this processor does not have AVX2; leave it unset")
    return wanted


def kernels(package):
    """Where the compiled modules of a package of kernels lie, for its `__path__`: such as "streams"."""
    folder = os.path.join(os.path.dirname(__file__), package, "kernels")
    chosen = os.path.join(folder, variant())
    return [chosen if os.path.isdir(chosen) else os.path.join(folder, "baseline")]
