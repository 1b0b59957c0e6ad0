"""Sizes and bounds that several modules need; importing them loads no compiler."""

LARGEST = 1e75
"""Largest value taken in, in size; its fourth power is a float64 still."""

MOVED = 1e80
"""Bound of anything linear in the values: the largest readout of any member magnifies less than 1e5 times."""

SQUARED = MOVED**2
"""Bound of squared errors."""

MOST = 2**53
"""Largest count: whole numbers up to here are exact as float64."""

RING = 4352
"""Recent values kept per stream, in samples: two of the longest seasons and what lies around them (34 kB)."""

FLAGS = 34
"""Places of the ring whose flags (missing or not) share one whole number of the record: 128 of these hold them all."""

LONG = 80
"""Samples over which alarms average the noise a second time, beside `AlarmSettings.window`: without these NAB's
development files score 2 points less, and noise that falls to a fifth takes them. As many logarithms are kept in the
record."""
