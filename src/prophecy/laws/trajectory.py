"""Series that one trajectory of one field explains: whether there may be one, what it forecasts, whether it is a law.

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
from prophecy.laws.held_out import HeldOut, held_out
from prophecy.laws.settings import LAWS, LawSettings
from prophecy.laws.to_equations import FoundSystem
from prophecy.laws.weak_form import integrated, roughness, smoothed

Array = NDArray[np.float64]

_CHOSEN = "Some terms of the field are combinations of others along the context: the shortest equations that hold."


@dataclass(frozen=True, eq=False)
class Decided:
    """path (steps, variables) and draws (count, steps, variables), in the units of `Context.values`; what made them.

    system: the law, where it is announced as one.
    """

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
    """The weak form along the smoothed samples: whether powers of degree 2 explain some of the rises of every variable,
    or, with sines of the variables, coefficients solved from every other block do so in the blocks between.

    Rises are over four samples, so that noise averages out.
    """
    values, apart, block = context.values, 4, 32
    if not 2 <= values.shape[1] <= laws.widest or len(values) < laws.shortest:
        return False
    recent = values[-laws.latest :]
    path = smoothed(recent, roughness(recent, context.observed[-laws.latest :]))
    rates = np.diag(context.units.scale)
    waves = [Function(SINE, tuple(each), shift) for each in rates for shift in (0.0, np.pi / 2)]
    columns = flow.features(flow.polynomial_terms(values.shape[1], 2, waves), path)
    sums = [np.cumsum(each, axis=0) for each in (integrated(columns), path[2:-1] - path[1:-2])]
    system, rise = (each[apart:] - each[:-apart] for each in sums)
    powers, odd = system[:, : -len(waves)], np.arange(len(rise)) // block % 2 == 1

    def explained(columns: Array, solved: Array | slice, tried: Array | slice) -> float:
        """The share of the rises that coefficients explain, least of all variables."""
        rest = rise[tried] - columns[tried] @ np.linalg.lstsq(columns[solved], rise[solved], rcond=1e-10)[0]
        total = ((rise[tried] - rise[tried].mean(axis=0)) ** 2).sum(axis=0)
        return float(np.min(1 - (rest**2).sum(axis=0) / np.maximum(total, 1e-300)))

    whole = slice(None)
    between = min(explained(system, ~part, part) for part in (odd, ~odd))
    return max(explained(powers, whole, whole), between) > laws.explained


def like_the_past(path: Array, values: Array, noise: Array, laws: LawSettings) -> bool:
    """Whether a path stays within a range of the series around it and does not come to rest where that never did.

    Noise leaves room for fields that pass through the context and lead elsewhere. A path that is lost, or shorter than
    a stretch whose standard deviation says something, is not judged.
    """
    low, high = values.min(axis=0), values.max(axis=0)
    if not np.isfinite(path).all():
        return True
    if ((path < 2 * low - high) | (path > 2 * high - low)).any():
        return False
    late = path[len(path) // 2 :][: len(values) // 2]
    if len(late) < laws.shortest // 2:
        return True
    stretches = np.arange(0, len(values) - len(late) + 1, max(len(late) // 4, 1))
    moved = np.min([np.var(values[k : k + len(late)], axis=0) for k in stretches], axis=0) - 2 * noise**2
    return bool((np.var(late, axis=0) >= laws.rest**2 * moved).any())


def decide(context: Context, model: FittedFlow | None, steps: int, laws: LawSettings = LAWS) -> Decided | None:
    """The forecast of a model that leaves nothing but little noise; None where another may do better.

    The draws have the noise in them that values to come will have too; the path is without. Through noise the field has
    to forecast rows that it was solved without; where it does not, it is wider, or not announced, or not followed.
    """
    if model is None or not model.conclusive or model.found.noise.max() > laws.noise:
        return None
    path = model.rollout(context.values, np.array([len(context.values)]), steps)[0]
    seen, noise = int(context.varying.sum()), model.found.noise
    test = None if model.exact else held_out(model, context.values, context.known, seen, steps)
    astray = test is not None and test.astray
    strange = astray and not like_the_past(path[:, :seen], context.values[:, :seen], noise[:seen], laws)
    if strange or (test is not None and test.lost):
        return None
    wider = model.stray(context.values, context.known) if test is None else test.wider
    draws = model.ensemble(steps, laws.draws, 0, wider)
    stay = np.isfinite(draws).all(axis=(1, 2))
    if stay.mean() < laws.staying:
        return None
    draws = draws[stay]
    if not np.isfinite(path).all():
        path = draws[0]
    draws = draws + noise * np.random.default_rng(1).standard_normal(draws.shape)
    left = "exactly" if model.exact else f"up to noise of {float(np.sqrt(np.mean(noise**2))):.2g} standard deviations"
    why = _doubt(model, test, seen, laws)
    if why is not None:
        note = f"A field with {model.field.count} parameters passes through the context {left}, but {why}"
        return Decided(path, draws, model, "field by assimilation", (f"{note} is not announced as the law.",), None)
    columns = tuple(np.nonzero(context.varying)[0].tolist())
    system = FoundSystem(model, context.units, context.stride, columns, laws.significant)
    note = f"One trajectory of a field with {model.field.count} parameters passes through the whole context, {left}."
    notes = (note, _CHOSEN) if model.found.chosen else (note,)
    return Decided(path, draws, model, "field by assimilation", notes, system)


def _doubt(model: FittedFlow, test: HeldOut | None, seen: int, laws: LawSettings) -> str | None:
    """Why a field that explains the context is not announced as its law; None where it is."""
    if test is None:
        many = model.field.count > laws.announced * len(model.offset)
        return "they are too many for a law: it may imitate another, and" if many else None
    if test.astray:
        return f"without the last {test.rows} rows would not have foretold them: it is wider in its interval, and"
    if (open_ := model.doubt(seen)) > laws.doubt:
        return f"leaves its rates open by {open_:.0%}: it"
    if model.steepest > laws.steepest:
        return f"has an exponent that changes by {model.steepest:.2g} along it, which no samples determine: it"
    return None
