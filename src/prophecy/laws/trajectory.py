"""Series that one trajectory of one field explains: found before anything else is tried.

Measurements of a system with few variables and a short equation need no tournament of models: when a single trajectory
of a sparse field passes through the whole context and leaves nothing but noise, that field is the answer, and what the
context leaves open about its parameters and its last state is the uncertainty.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from prophecy.laws import flow
from prophecy.laws.context import Context
from prophecy.laws.fitted import FittedFlow
from prophecy.laws.flow import SINE, Function
from prophecy.laws.flows import fit_part
from prophecy.laws.held_out import foretold
from prophecy.laws.settings import BEYOND, LAWS, LawSettings
from prophecy.laws.to_equations import FoundSystem
from prophecy.laws.weak_form import integrated, roughness, smoothed

Array = NDArray[np.float64]

_CHOSEN = "Some terms of the field are combinations of others along the context: the shortest equations that hold."


@dataclass(frozen=True, eq=False)
class Decided:
    """path (steps, variables) and draws (count, steps, variables), in the units of `Context.values`; what made them."""

    path: Array
    draws: Array
    model: FittedFlow | None
    method: str
    notes: tuple[str, ...]
    system: FoundSystem | None

    @property
    def exact(self) -> bool:
        """Whether the law was solved from samples without noise."""
        return self.model is not None and self.model.exact


def promising(context: Context, laws: LawSettings = LAWS) -> bool:
    """A glance: few variables, enough samples, and rises that quadratic fields explain at least in part."""
    values = context.values
    if not 2 <= values.shape[1] <= laws.widest or len(values) < laws.shortest:
        return False
    recent = values[-laws.glanced :]
    noise = roughness(recent, context.observed[-laws.glanced :])
    path = smoothed(recent, noise)
    apart, block = laws.glance_apart, laws.glance_block
    rates = np.diag(context.units.scale)
    waves = [Function(SINE, tuple(each), shift) for each in rates for shift in (0.0, np.pi / 2)]
    columns = flow.features(flow.polynomial_terms(values.shape[1], 2, waves), path)
    sums = [np.cumsum(each, axis=0) for each in (integrated(columns), path[2:-1] - path[1:-2])]
    system, rise = (each[apart:] - each[:-apart] for each in sums)
    powers = system[:, : -len(waves)]
    return bool(
        _explained(powers, rise, powers, rise) > laws.explained or _held_out(system, rise, block) > laws.explained
    )


def _explained(system: Array, rise: Array, there: Array, truth: Array) -> float:
    """The share of `truth` that coefficients solved from (system, rise) explain with `there`, least of all columns."""
    rest = truth - there @ np.linalg.lstsq(system, rise, rcond=1e-10)[0]
    total = ((truth - truth.mean(axis=0)) ** 2).sum(axis=0)
    return float(np.min(1 - (rest**2).sum(axis=0) / np.maximum(total, 1e-300)))


def _held_out(system: Array, rise: Array, block: int) -> float:
    """The same with coefficients solved from every other block of samples and tried on the blocks between."""
    odd = np.arange(len(rise)) // block % 2 == 1
    shares = [_explained(system[~part], rise[~part], system[part], rise[part]) for part in (odd, ~odd)]
    return min(shares)


def like_the_past(path: Array, values: Array, noise: Array, laws: LawSettings) -> bool:
    """Whether a path stays within reach of the series and does not come to rest where that never did.

    Noise leaves room for fields that pass through the context and lead elsewhere. A path that is lost, or shorter than
    a stretch whose standard deviation says something, is not judged.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    far = laws.reach * (high - low)
    if not np.isfinite(path).all():
        return True
    if ((path < low - far) | (path > high + far)).any():
        return False
    late = path[len(path) // 2 :][: len(values) // 2]
    if len(late) < laws.rest_least:
        return True
    stretches = np.arange(0, len(values) - len(late) + 1, max(len(late) // 4, 1))
    moved = np.min([np.var(values[k : k + len(late)], axis=0) for k in stretches], axis=0) - 2 * noise**2
    return bool((np.var(late, axis=0) >= laws.rest**2 * moved).any())


def _further_off(model: FittedFlow, context: Context, path: Array, draws: Array) -> float:
    """How many times as far as draws say the same terms, solved without the last rows, are from these rows."""
    rows = min(len(path), len(context.values) // 4)
    early = len(context.values) - rows
    part = fit_part(context.values[:early], context.known[:early], model, model.laws)
    if part is None:
        return 1.0
    ahead = part.rollout(context.values[:early], np.array([early]), rows)[0]
    missed = np.where(np.isfinite(ahead), np.abs(ahead - context.values[early:]), BEYOND)[context.known[early:]]
    spread = np.median(np.abs(draws - path)[:, :rows], axis=(0, 1))
    moved = (spread > 0) & (np.arange(len(spread)) < context.varying.sum())
    return max(1.0, float(np.max(np.median(missed, axis=0)[moved] / spread[moved], initial=1.0)))


def decide(context: Context, model: FittedFlow | None, steps: int, laws: LawSettings = LAWS) -> Decided | None:
    """The forecast of a model that leaves nothing but little noise; None where another may do better.

    The draws have the noise in them that values to come will have too; the path is without.
    """
    if model is None or not model.conclusive or model.found.noise.max() > laws.noise:
        return None
    end = np.array([len(context.values)])
    path = model.rollout(context.values, end, steps)[0]
    seen = int(context.varying.sum())
    test = None if model.exact else foretold(model, context.values, context.known, seen, steps)
    if test is not None:
        noise = model.found.noise[:seen]
        if test.lost or (test.astray and not like_the_past(path[:, :seen], context.values[:, :seen], noise, laws)):
            return None
    wider = model.stray(context.values, context.known) if test is None else test.wider
    draws = model.ensemble(steps, laws.draws, 0, wider)
    stay = np.isfinite(draws).all(axis=(1, 2))
    if stay.mean() < laws.staying:
        return None
    if not np.isfinite(path).all():
        path = draws[stay][0]
    draws = draws[stay]
    draws += model.found.noise * np.random.default_rng(1).standard_normal(draws.shape)
    size = float(np.sqrt(np.mean(model.found.noise**2)))
    note = f"One trajectory of a field with {model.field.count} parameters passes through the whole context"
    left = "exactly" if model.exact else f"up to noise of {size:.2g} standard deviations"
    doubt = 0.0 if test is None else model.doubt(seen)
    why = None
    if test is not None and test.astray:
        why = f"without the last {test.rows} rows would not have foretold them: it is wider in its interval, and"
    elif doubt > laws.doubt:
        why = f"leaves its rates open by {doubt:.0%}: it"
    elif model.steepest > laws.steepest:
        why = f"has an exponent that changes by {model.steepest:.2g} along it, which no samples determine: it"
    if why is not None:
        note = f"A field with {model.field.count} parameters passes through the context {left}, but {why}"
        return Decided(path, draws, model, "field by assimilation", (f"{note} is not announced as the law.",), None)
    if model.exact and model.field.count > laws.announced * len(model.offset):
        note = f"A field with {model.field.count} parameters takes every row to the next"
        note += ", too many for a law: it may imitate another, and is not announced as one."
        draws = path + (draws - path) * _further_off(model, context, path, draws)
        return Decided(path, draws, model, "field by assimilation", (note,), None)
    columns = tuple(np.nonzero(context.varying)[0].tolist())
    system = FoundSystem(model, context.units, context.stride, columns, laws.significant)
    notes = (f"{note}, {left}.", *([_CHOSEN] if model.found.chosen else []))
    return Decided(path, draws, model, "field by assimilation", notes, system)
