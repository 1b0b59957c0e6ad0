"""Which candidates an ordinary series has. A further one is one more line here and a family in `Settings.priors`."""

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from prophecy._arrays import Array
from prophecy.forecasting.autoregression import fit_autoregressions
from prophecy.forecasting.growth import saturation
from prophecy.forecasting.of_time import polynomial, waves
from prophecy.forecasting.rare import RareEvents, resting
from prophecy.forecasting.readouts import fit_readout, lags, legendre
from prophecy.forecasting.seasons import MeanProfile, seasonal
from prophecy.forecasting.series import VALUES, Candidate, Fit, Scale, Series, logarithms
from prophecy.forecasting.settings import Settings
from prophecy.forecasting.smoothers import fit_smoothers


def candidates(series: Series, settings: Settings) -> Iterator[Candidate]:
    """All that may work for a series of this length and these seasons, of the families that settings allow."""
    yield from (candidate for candidate in _all(series, settings) if candidate.family not in settings.without)


def _all(series: Series, settings: Settings) -> Iterator[Candidate]:
    yield from settings.own
    scales = (VALUES, logarithms(series.sign)) if series.sign else (VALUES,)
    for scale in scales:  # what is described on two scales is no likelier for that
        yield from (replace(each, share=1 / len(scales)) for each in _on(scale, series, settings))
    shapes = [(1, "straight line", scale) for scale in scales] + [(2, "parabola", VALUES)]
    for degree, label, scale in shapes:
        fit = seasonal(polynomial(degree), series.seasons, settings)
        yield Candidate("polynomial", label + scale.name, scale, fit, settings.power_prior**degree)
    growth = seasonal(saturation, series.seasons, settings)
    yield Candidate("growth", "growth that saturates", VALUES, growth, settings.power_prior)
    yield Candidate("waves", "sinusoids", VALUES, waves(settings.waves_most, settings.season_cycles))
    for cycles in (1, settings.seasons_back) if series.seasons else ():
        mean = MeanProfile(min(series.seasons), cycles)
        label = f"mean of {cycles} seasons of {mean.season}" if cycles > 1 else f"last season of {mean.season}"
        yield Candidate("profile", label, VALUES, mean.fit)
    if np.mean(series.seen) >= settings.readout_seen:
        yield from _readouts(series, settings)
    rest = resting(series, settings)
    if rest is not None:
        rare = RareEvents(rest, settings.rare_rates)
        yield Candidate("rare", "rate of rare events", VALUES, lambda x, seen, steps: rare)


def _on(scale: Scale, series: Series, settings: Settings) -> Iterator[Candidate]:
    of, seasons = scale.name, series.seasons
    autoregressions = seasonal(lambda x, seen, steps: fit_autoregressions(x, seen, settings), seasons, settings)
    yield Candidate(
        "smoothers", f"smoothers{of}", scale, lambda x, seen, steps: fit_smoothers(x, seasons, False, settings)
    )
    yield Candidate("theta", f"Theta{of}", scale, lambda x, seen, steps: fit_smoothers(x, seasons, True, settings))
    yield Candidate("autoregression", f"autoregression{of}", scale, autoregressions)


def _readouts(series: Series, settings: Settings) -> Iterator[Candidate]:
    short, length = min(series.seasons, default=1), len(series.y)

    def readout(memory: Array) -> Fit:
        return lambda x, seen, steps: fit_readout(x, steps, memory, settings)

    for count in (settings.seasons_back * short,) if short > 1 else settings.readout_lags:
        if 2 <= count <= settings.readout_most and length >= 3 * count:
            yield Candidate("readout", f"direct readout of {count} values", VALUES, readout(lags(count)))
    if short > 1 and 2 * short <= settings.readout_most:
        label = f"direct readout of {2 * short} values less their season"
        yield Candidate("readout", label, VALUES, seasonal(readout(lags(2 * short)), series.seasons, settings))
    count, window = (2 * short, 7 * short) if short > 1 else (8, 64)
    if window <= settings.readout_most and length >= 3 * window:
        memory = legendre(count, window, min(settings.memory_order, window // 2))
        yield Candidate("readout", f"direct readout of a HiPPO memory of {window} values", VALUES, readout(memory))
