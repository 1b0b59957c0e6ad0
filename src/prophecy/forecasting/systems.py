"""Candidates of all variables together, in standard deviations: waves, maps, repetition.

A few scouts are cheap. The others are tried where the scouts have most of the weight at some lead (`solve.py`).
"""

from collections.abc import Callable, Iterator

from prophecy._arrays import Array
from prophecy.forecasting.maps import Memory, delays, fit_kernel_map, fit_polynomial_map, legendre
from prophecy.forecasting.repeats import Repetition
from prophecy.forecasting.series import VALUES, Candidate, Fitted
from prophecy.forecasting.settings import Settings
from prophecy.forecasting.waves import fit_waves
from prophecy.laws.context import Context, Rows, monomial_count

Solve = Callable[[Array, Rows], Fitted | None]


def scouts(context: Context, settings: Settings) -> Iterator[Candidate]:
    """What is cheap and shows that a series is deterministic: a map of few states, and waves."""
    yield _kernel("few states", delays(1 if context.values.shape[1] > 2 else 4), settings, quick=True)
    for pairs in settings.wave_pairs[1:]:
        yield _waves(pairs, context.pace, settings.ridges[0])


def others(context: Context, settings: Settings) -> Iterator[Candidate]:
    """Repetition, waves and maps of all variables."""
    variables = context.values.shape[1]
    for window in settings.repeated:
        yield _repetition(window)
    for pairs in settings.wave_pairs:
        yield _waves(pairs, context.pace, settings.ridges[1])
    yield _waves(settings.wave_pairs[0], context.pace, settings.ridges[0])
    for count in (1, 2, 4, 8, 24):
        degree = next((d for d in (5, 4, 3, 2, 1) if monomial_count(count * variables, d) <= settings.map_features), 0)
        for ridge in settings.ridges if degree else ():
            yield _polynomial(count, degree, ridge, settings)
    shapes = ((1, 1), (2, 1), (4, 1)) if variables > 2 else settings.kernel_delays
    memories = {_delayed(count, spacing): delays(count, spacing) for count, spacing in shapes}
    if variables < 3:
        memories["Legendre memory of 32 samples"] = legendre(6, 32)
    for name, memory in memories.items():
        yield _kernel(name, memory, settings)


def _candidate(family: str, label: str, solve: Solve) -> Candidate:
    return Candidate(family, label, VALUES, lambda values, known, steps: solve(values, Rows.of(known)))


def _delayed(count: int, spacing: int) -> str:
    return "1 delay" if count == 1 else f"{count} delays" + (f" {spacing} apart" if spacing > 1 else "")


def _repetition(window: int) -> Candidate:
    return _candidate("repetition", f"repetition, {window} samples", lambda v, r: Repetition(window))


def _kernel(name: str, memory: Memory, settings: Settings, quick: bool = False) -> Candidate:
    return _candidate("kernel map", f"kernel map, {name}", lambda v, r: fit_kernel_map(memory, v, r, settings, quick))


def _waves(pairs: int, spacing: int, ridge: float) -> Candidate:
    name = f"undamped waves, {pairs} pairs" + (f" {spacing} apart" if spacing > 1 else "") + f", ridge {ridge:g}"
    return _candidate("undamped waves", name, lambda v, r: fit_waves(pairs, spacing, ridge, v, r))


def _polynomial(count: int, degree: int, ridge: float, settings: Settings) -> Candidate:
    name = f"polynomial map of degree {degree}, {_delayed(count, 1)}, ridge {ridge:g}"
    memory = delays(count)
    return _candidate("polynomial map", name, lambda v, r: fit_polynomial_map(memory, degree, ridge, v, r, settings))
