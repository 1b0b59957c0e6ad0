"""Which candidates an ordinary series has. A further one is one more line here and a family in `Settings.priors`."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
from numpy.typing import NDArray

from prophecy.forecasting.autoregression import fit_autoregressions
from prophecy.forecasting.of_time import approach, polynomial, waves
from prophecy.forecasting.profiles import Growth, MeanProfile
from prophecy.forecasting.rare import RareEvents, is_rare
from prophecy.forecasting.readouts import fit_readout, lags, legendre
from prophecy.forecasting.series import LOGARITHMS, RECIPROCALS, VALUES, Candidate, Fitted, Scale, Series
from prophecy.forecasting.settings import Settings
from prophecy.forecasting.smoothers import fit_smoothers

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Fit = Callable[[Array, Mask, int], Fitted | None]


def candidates(series: Series, settings: Settings) -> Iterator[Candidate]:
    """All that may work for a series of this length and these seasons, of the families that settings allow."""
    return (candidate for candidate in _all(series, settings) if candidate.family not in settings.without)


def _all(series: Series, settings: Settings) -> Iterator[Candidate]:
    yield from settings.own
    scales = (VALUES, LOGARITHMS) if series.positive else (VALUES,)
    for scale in scales:
        of, log = scale.name, scale is LOGARITHMS
        yield Candidate("smoothers", f"smoothers{of}", scale, _smoothers(series.seasons, log, False, settings))
        yield Candidate("theta", f"Theta{of}", scale, _smoothers(series.seasons, log, True, settings))
        yield Candidate("autoregression", f"autoregression{of}", scale, _autoregressions(series.seasons, settings))
        yield Candidate("line", f"straight line{of}", scale, polynomial(1))
        yield Candidate("waves", f"sinusoids{of}", scale, waves(settings.waves_most))
        if np.mean(series.seen) >= settings.readout_seen:
            yield from _readouts(series, scale, settings)
    yield Candidate("constant", "constant", VALUES, polynomial(0))
    for scale in (*scales, RECIPROCALS) if series.positive else scales:
        label = f"approach to a level{scale.name}"
        yield Candidate("approach", label, scale, approach(scale, settings.approach_constants))
    if series.seasons:
        yield from _profiles(series.seasons, settings)
    if not series.positive and is_rare(series, settings):
        yield Candidate("rare", "rate of rare events", VALUES, lambda x, seen, steps: RareEvents(settings.rare_rates))


def _readouts(series: Series, scale: Scale, settings: Settings) -> Iterator[Candidate]:
    short, of, length = min(series.seasons, default=1), scale.name, len(series.y)
    counts = [k * short for k in settings.readout_seasons] if short > 1 else list(settings.readout_lags)
    for count in counts:
        if 2 <= count <= settings.readout_most and length >= 3 * count:
            yield Candidate(
                "readout", f"direct readout of {count} values{of}", scale, _readout(lags(count), (), settings)
            )
    if short > 1 and 2 * short <= settings.readout_most:
        label = f"direct readout of {2 * short} values less their season{of}"
        yield Candidate("readout", label, scale, _readout(lags(2 * short), series.seasons, settings))
    count, window = (2 * short, 7 * short) if short > 1 else (8, 64)
    if window <= settings.readout_most and length >= 3 * window:
        memory = legendre(count, window, min(settings.memory_order, window // 2))
        label = f"direct readout of a HiPPO memory of {window} values{of}"
        yield Candidate("readout", label, scale, _readout(memory, (), settings))


def _profiles(seasons: tuple[int, ...], settings: Settings) -> Iterator[Candidate]:
    short, long = min(seasons), max(seasons)
    yield Candidate("growth", "season with growth", VALUES, _after(2 * short, Growth(short)))
    week = long if long > short else 7 * short
    for family, season, cycles in (
        *(("profile", short, cycles) for cycles in settings.profile_cycles),
        *(("profile", week, cycles) for cycles in settings.profile_cycles),
    ):
        label = f"mean of {cycles} seasons of {season}" if cycles > 1 else f"last season of {season}"
        yield Candidate(family, label, VALUES, _after(cycles * season, MeanProfile(season, cycles)))


def _smoothers(seasons: tuple[int, ...], log: bool, half_slope: bool, settings: Settings) -> Fit:
    return lambda x, seen, steps: fit_smoothers(x, seasons, log, half_slope, settings)


def _autoregressions(seasons: tuple[int, ...], settings: Settings) -> Fit:
    return lambda x, seen, steps: fit_autoregressions(x, seen, seasons, settings)


def _readout(memory: Array, seasons: tuple[int, ...], settings: Settings) -> Fit:
    return lambda x, seen, steps: fit_readout(x, steps, memory, seasons, settings)


def _after(least: int, fitted: Fitted) -> Fit:
    return lambda x, seen, steps: fitted if len(x) >= least else None
