"""Sizes, codes and bounds of the record and of what works on it. `tools/structs.py` hands them to the kernels."""

LARGEST = 1e75  # largest value taken in, in size; its fourth power is a float64 still
MOVED = 1e80  # bound of anything linear in the values: the largest readout of any member magnifies less than 1e5 times
SQUARED = 2.0 * MOVED * 2.0 * MOVED  # bound of squared errors: what came and what was forecast lie as far apart
LARGEST_TIME = 1e30  # largest time in size, in whatever unit: nanoseconds since 1970 are 2e18
FARTHEST, LONGEST_STEP = 1e7 * LARGEST_TIME, 10 * LARGEST_TIME  # bounds of the clock's times and of its step
READOUT, GROWTH, FACTOR = 1e200, 1e16, 1e108
"""Bounds of solved readouts: of weights, of growth, and of a factor: the root of its squares' sum."""
MOST = 2**53  # largest count: whole numbers up to here are exact as float64
SMALLEST = 1e-200  # squares below this count as zero: their own squares would leave the range of float64
ROUNDING, ERROR_ROUNDING = 1e-17, 1e-15
"""Relative to the newest value: the smallest scale, a tenth of a float64's last digit; and root mean squares of errors
that are rounding (some five last digits). Then no tail is known, and a score is at most log10(1 + errors seen): the
largest of n + 1 comes with 1/(n + 1)."""
LEAST = 1e-15  # least probability that is stated: after 10^9 values one of 10^-15 is extrapolated by six decades
PRIOR_POWER, BOUND, TIDY = 1e12, 1e16, 64
"""Of solved readouts: prior variance of the weights times the mean square of the first features, which is next to no
prior; largest squared norm of a factor times the mean square of the features, beyond which, in a direction the signal
never excites, the next rounding error would be learned as signal (float64 has 16 digits); and the samples between
applications of the factors' growth and bound."""
LOWEST, HIGHEST = 0.01, 1e6
"""Bounds of the tracked quantiles in root mean squares, so that a sensor that sticks does not move them without end."""
ROUNDED = 1e-6
"""Offsets below this share of a step are rounding of stamps: the value is taken as lying on the grid. So are squared
errors below this share of those that jitter makes, and errors below this share of a change."""
RING = 4352  # recent values kept per stream, in samples: two of the longest seasons and what lies around them (34 kB)
GAP = RING // 4  # places of it that a gap takes, at most, and a season more
FLAGS = 34
"""Places of the ring whose flags (missing or not) share one whole number of the record: 128 of these hold them all."""
WINDOW = 20
"""Samples over which level and noise are averaged for alarms, and values seen before anything is called unusual. With
10 or 40 NAB's development files score 4 to 5 points less."""
SLOW = 3  # slow means of alarms: level, spread, noise

# Seasons.
LONGEST, SHORTEST = 2048, 4
"""Longest season in samples: half of what is kept, since a season must have been seen twice; and the shortest: shorter
ones are alternations, which the solved members of the bank know."""

# Alarms.
QUANTITIES, RANKED = 6, 5
ERROR, DIFFERENCE, VALUE, LEVEL, NOISE, SUM = range(QUANTITIES)
"""Quantities whose past is kept. The first five have a rank in the record (`alarm_tail`)."""
CENTROIDS = 48  # centroids of a sketch. With 32 NAB's development files score 2 points less, with 64 as much

# Gaps and sensors.
OCTAVES = 13  # classes of gaps by length, in octaves: 1, 2–3, 4–7, … and 4096 steps or more

# Timestamps.
RECENT = 128  # stamps and values kept as they came, to look for a grid anew and to start from there: 2 kB a stream
HALF, QUARTER, EIGHTH = RECENT // 2, RECENT // 4, RECENT // 8
"""Parts of them: those a grid is fitted to, those after which it is looked for again, those before which nothing is
decided."""
WALKED = 2**15  # steps of holes that are taken one by one, at most, until values have earned others: 40 ms of work
EARNED = 32
"""Steps of holes that every value pays for: it costs 32 steps on average (some 40 µs) and 40 ms at worst, whatever its
stamp is. What is left of a hole is passed over."""
CURVES = 6  # polynomials that join irregular samples, of degrees 3, 5, … 13
PARTS = 6  # parts in which the typical interval is tried as a step
