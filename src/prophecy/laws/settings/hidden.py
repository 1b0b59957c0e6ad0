"""Numbers of the search for fields with hidden variables (`hidden.py`, `hidden_law.py`)."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class HiddenSettings:
    """What steers the search for a field of which only some variables are seen.

    Chosen on the chaotic systems of benchmarks/forecast_dev.py seen one variable at a time, and for sampling rates on
    eight others. Times are in time scales of the series (`hidden_starts.time_scale`): a signal sampled twice as
    often has the same law.
    """

    # Which series are searched
    least: int = 128  #: samples: four for every unknown that is not a state
    pace: float = 6.0  #: samples of the fastest period: series with twice as many are thinned
    kept: int = 160  #: samples that thinning must leave
    #: Standard deviations: what is rougher may be noise; the smoothest of 207 hourly series of the M4 competition has
    #: 7e-3.
    smooth: float = 3e-3
    rough: float = 0.1  #: the same up to which samples may be far apart instead

    # Where searches start
    stretches: tuple[int, ...] = (256, 384)  #: early samples: which searches arrive is luck in part
    starts: int = 24  #: guesses that are solved
    hopeless: float = 0.15  #: share of the rises of a hidden variable left open from which no search arrives
    ridge: float = 0.01  #: of the coefficients a search starts with, in units of the errors of single steps
    alike: float = 0.15  #: share of its variance that an earlier guess may leave of a new one that is the same

    steps: int = 3  #: of each start in the first of four rounds; then the better half goes on with twice as many
    #: Standard deviations: the misfit of order 4 that the best of three variables must come below, a quarter of it with
    #: four. All searches that arrived did, of the others half end there.
    coarse: float = 6e-3
    same: float = 0.01  #: share of the variance that may differ between two searches that came to the same place

    # The rest of the series
    stretch: int = 64  #: samples forecast at a time: two Lyapunov times of the systems above
    least_gain: float = 0.02  #: share of the misfit below which a step is the last
    #: Standard deviations: a field whose forecasts of all stretches are this good is followed, a law's of the last
    trusted: float = 0.01
    wider: float = 5.0  #: draws are this much farther from the path: each sample has an integration error too

    # Noisy samples
    #: Logarithm: how far sizes of differences of order 7, 10 and 12 may be apart; noise has 0.1, coarse samples 0.24.
    noise_even: float = 0.15
