from prophecy.streams.kernels.structs cimport *

cdef bint rests_half(const Record* r) noexcept nogil
cdef double bounded(const Record* r, const Table* t, double ahead) noexcept nogil
cdef double ceiling(const Record* r, const Table* t, double error, double difference) noexcept nogil
cdef double recent(const Record* r) noexcept nogil
cdef void note(Record* r, const Table* t, double total) noexcept nogil
cdef bint still(const Record* r, const Table* t, long long same) noexcept nogil
cdef double resting(const Record* r) noexcept nogil
cdef double note_noise(Record* r, const Table* t, double size) noexcept nogil
cdef long long note_slow(Record* r, const Table* t, double place, double noise) noexcept nogil
cdef void note_drift(Record* r, const Table* t, double level) noexcept nogil
cdef double usual(const Record* r, const Table* t, long long i, long long upper, double probability) noexcept nogil
cdef double rank(Record* r, const Table* t, long long i, bint doubted) noexcept nogil
cdef void watch(Record* r, const Table* t, double value, double believed, double difference, double error, double score, double level, bint wild, bint doubted) noexcept nogil
