r"""Fig. 1d with a fixed memory: C̄ and D̄ trained from several starts, by several optimisers, on several targets.

A and B stay, so the state at every target is computed once: z = [x after u[k]; u[k]], and a readout w = [C, D] predicts
w z. All variants see the same batches side by side; their losses share nothing, so neither do their gradients.

`teacher` is the share of true inputs. At 1 every prediction starts from true values. At 1/R the model runs R steps on
its own output from each true start and all R values count: with û = w z the next z is G z, G = [[A, 0], [0, 0]] +
[B; 1] w, so the j-th prediction is w G^(j-1) z. (The state before each start is the true one.)

`taps` puts a convolution of that many weights before the SSM: everything is linear, so its output is the same sum of
shifted readouts, Σ_i v_i w z[k - i]. It starts as the identity.
"""

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

from prophecy import legt, next_value
from reproduction.trained import common
from reproduction.trained.common import Array, TrainingPlan

AHEAD = (1, 10, 50)
"""Steps after which the free-running error is recorded at the end."""
DISTANCES = 60
"""How often the distance from the construction is recorded, evenly in the logarithm of the step."""


@dataclass(frozen=True)
class Variant:
    """`start` is "construction", "random" (N(0, I)) or "copy" (C = 0, D = 1); `decay`: the rate falls as a cosine."""

    name: str
    start: str
    optimiser: str = "Adam"
    memory: str = "LegT"
    teacher: float = 1.0
    taps: int = 0
    rate: float | None = None
    decay: bool = False

    @property
    def run(self) -> int:
        return round(1 / self.teacher)


PAPER = (Variant("I", "construction"), Variant("III", "random"), Variant("copy start", "copy"))
FURTHER = (
    Variant("I, SGD", "construction", "SGD"),
    Variant("III, SGD", "random", "SGD"),
    Variant("III, SGD, rate 0.2", "random", "SGD", rate=0.2),
    Variant("I, AdamW", "construction", "AdamW"),
    Variant("III, AdamW", "random", "AdamW"),
    Variant("I, rate 2e-5", "construction", rate=2e-5),
    Variant("I, decaying rate", "construction", decay=True),
    Variant("III, decaying rate", "random", decay=True),
    Variant("random memory, random readout", "random", memory="random"),
    Variant("random memory, copy start", "copy", memory="random"),
    Variant("I, teacher 0.5", "construction", teacher=0.5),
    Variant("I, teacher 0.1", "construction", teacher=0.1),
    Variant("I, teacher 0.02", "construction", teacher=0.02),
    Variant("III, teacher 0.1", "random", teacher=0.1),
    Variant("I, convolution", "construction", taps=4),
    Variant("I, convolution, rate 2e-5", "construction", taps=4, rate=2e-5),
    Variant("III, convolution", "random", taps=4),
    Variant("copy start, convolution", "copy", taps=4),
)
VARIANTS = {"radians": PAPER + FURTHER, "cycles": PAPER}


class FixedMemory(NamedTuple):
    """Discrete A, B of every seed, and the states they leave on the training pool and the evaluation sets."""

    A: Tensor
    B: Tensor
    pool: Tensor
    sets: dict[str, Tensor]


class Readouts:
    """The readouts of all variants, (variant, seed, N + 1), with the taps of their convolutions."""

    def __init__(
        self, plan: TrainingPlan, variants: Sequence[Variant], seeds: Sequence[int], device: torch.device
    ) -> None:
        self.variants = {variant.name: variant for variant in variants}
        system = next_value(legt(plan.order, window=1.0), dt=1.0 / plan.samples)
        self.construction = torch.tensor(np.append(system.C, system.D), device=device)
        self.weights: dict[str, Tensor] = {}
        self.taps: dict[str, Tensor] = {}
        for variant in variants:
            start = np.stack([_start(variant, plan.order, seed, self.construction.cpu().numpy()) for seed in seeds])
            self.weights[variant.name] = torch.tensor(start, device=device, requires_grad=True)
            if variant.taps:
                taps = torch.zeros(len(seeds), variant.taps, dtype=torch.float64, device=device)
                taps[:, 0] = 1.0
                self.taps[variant.name] = taps.requires_grad_()
        self.optimisers = [_optimiser(variant, self.parameters(variant), plan) for variant in variants]
        self.schedules = [
            torch.optim.lr_scheduler.CosineAnnealingLR(optimiser, max(plan.steps, 1))
            for optimiser, variant in zip(self.optimisers, variants, strict=True)
            if variant.decay
        ]

    def parameters(self, variant: Variant) -> list[Tensor]:
        return [self.weights[variant.name]] + ([self.taps[variant.name]] if variant.taps else [])

    def errors(self, z: dict[str, Tensor], truth: Tensor, memories: dict[str, FixedMemory]) -> dict[str, Tensor]:
        """Errors of every variant, (seed, …); z (seed, batch, time, N + 1) by memory, truth (seed, batch, time)."""
        made: dict[str, Tensor] = {}
        for kind, states in z.items():
            plain = [v.name for v in self.variants.values() if (v.memory, v.run) == (kind, 1)]
            if plain:
                both = torch.stack([self.weights[name] for name in plain], dim=-1)
                said = torch.einsum("sbtn,snv->vsbt", states, both)
                for name, y in zip(plain, said, strict=True):
                    made[name] = self._convolved(name, y, truth)
            for variant in self.variants.values():
                if variant.memory == kind and variant.run > 1:
                    weights = self.weights[variant.name]
                    made[variant.name] = _free_errors(memories[kind], weights, states, truth, variant.run)
        return made

    def _convolved(self, name: str, y: Tensor, truth: Tensor) -> Tensor:
        if name not in self.taps:
            return y - truth
        taps = self.taps[name]
        late = taps.shape[-1] - 1
        shifted = [taps[:, i, None, None] * y[..., late - i : y.shape[-1] - i] for i in range(late + 1)]
        return torch.stack(shifted).sum(dim=0) - truth[..., late:]


def _start(variant: Variant, order: int, seed: int, construction: Array) -> Array:
    if variant.start == "construction":
        return construction
    if variant.start == "copy":
        return np.append(np.zeros(order), 1.0)
    return np.random.default_rng(seed).normal(size=order + 1)


def _optimiser(variant: Variant, parameters: list[Tensor], plan: TrainingPlan) -> torch.optim.Optimizer:
    kind: Callable[..., torch.optim.Optimizer] = getattr(torch.optim, variant.optimiser)
    return kind(parameters, lr=plan.learning_rate if variant.rate is None else variant.rate)


def free_weights(A: Tensor, B: Tensor, w: Tensor, run: int) -> Tensor:
    """Rows j: what the (j+1)-th free-running prediction reads from z: (seed, run, N + 1)."""
    rows = [w]
    for _ in range(run - 1):
        last = rows[-1]
        # row G = [row_x A, 0] + (row_x B + row_u) w
        into = (last[:, :-1] * B).sum(dim=-1) + last[:, -1]
        kept = torch.cat([torch.einsum("sn,snm->sm", last[:, :-1], A), torch.zeros_like(last[:, :1])], dim=-1)
        rows.append(kept + into[:, None] * w)
    return torch.stack(rows, dim=1)


def _free_errors(memory: FixedMemory, w: Tensor, z: Tensor, truth: Tensor, run: int) -> Tensor:
    """Errors of `run` steps on the model's own output from every run-th sample: (seed, batch, starts, run)."""
    starts = truth.shape[-1] // run
    wanted = truth[..., : starts * run].reshape(*truth.shape[:-1], starts, run)
    weights = free_weights(memory.A, memory.B, w, run)
    said: Tensor = torch.einsum("sbtn,sjn->sbtj", z[..., : starts * run : run, :], weights)
    return said - wanted


def loop_radius(A: Array, B: Array, w: Array) -> float | None:
    order = len(B)
    loop = np.zeros((order + 1, order + 1))
    loop[:-1, :-1] = A
    loop += np.append(B, 1.0)[:, None] * w
    return common.finite(np.abs(np.linalg.eigvals(loop)).max()) if np.isfinite(loop).all() else None


def train(
    plan: TrainingPlan,
    reading: str = "radians",
    seeds: Sequence[int] = (0, 1, 2),
    device: str = "cpu",
    variants: Sequence[Variant] | None = None,
) -> dict[str, Any]:
    where, began = common.torch_device(device), time.perf_counter()
    chosen = VARIANTS[reading] if variants is None else tuple(variants)
    pools = np.stack([common.training_pool(plan, reading, seed) for seed in seeds])
    sets = common.evaluation_sets(plan, reading)
    memories = {
        kind: _memory(kind, plan, seeds, pools, sets, where) for kind in dict.fromkeys(v.memory for v in chosen)
    }
    truths = torch.tensor(pools, device=where)[:, :, plan.start + 1 :]
    readouts = Readouts(plan, chosen, seeds, where)
    batches = [common.Batches(plan, seed) for seed in seeds]
    checks, marked, history, marks = plan.check_steps(), plan.check_steps(DISTANCES), [], []
    wanted = {name: torch.tensor(u, device=where)[:, plan.start + 1 :] for name, u in sets.items()}
    for step in range(plan.steps + 1):
        if step in marked:
            marks.append({"step": step, **_distances(readouts)})
        if step in checks:
            history.append({"step": step, "scores": _scores(readouts, memories, wanted, seeds)})
        if step == plan.steps:
            break
        index = [torch.as_tensor(b.next(), device=where) for b in batches]
        z = {k: torch.stack([m.pool[s][i] for s, i in enumerate(index)]) for k, m in memories.items()}
        truth = torch.stack([truths[s][i] for s, i in enumerate(index)])
        losses = [e.abs().flatten(1).mean(dim=1).sum() for e in readouts.errors(z, truth, memories).values()]
        for optimiser in readouts.optimisers:
            optimiser.zero_grad(set_to_none=True)
        torch.autograd.backward(torch.stack(losses).sum())
        for optimiser in readouts.optimisers:
            optimiser.step()
        for schedule in readouts.schedules:
            schedule.step()
    about = {"plan": asdict(plan), "reading": reading, "variants": [asdict(variant) for variant in chosen]}
    return about | {
        "history": history,
        "distances": marks,
        "ahead": _ahead(readouts, memories, wanted, seeds),
        "solved": _solved(memories["LegT"], truths, wanted, seeds),
        "taps": {name: taps.detach().cpu().tolist() for name, taps in readouts.taps.items()},
        **common.origin(where, began, seeds),
    }


def _memory(
    kind: str, plan: TrainingPlan, seeds: Sequence[int], pools: Array, sets: dict[str, Array], device: torch.device
) -> FixedMemory:
    system = next_value(legt(plan.order, window=1.0), dt=1.0 / plan.samples)
    pairs = [(system.A, system.B) if kind == "LegT" else common.random_memory(plan.order, seed) for seed in seeds]
    A, B = (torch.tensor(np.stack(part), device=device) for part in zip(*pairs, strict=True))

    def features(s: int, u: Array) -> Tensor:
        return common.features(A[s], B[s], torch.tensor(u, device=device), plan.start)

    own = range(len(seeds)) if kind == "random" else (0,)
    scored = {name: torch.stack([features(s, u) for s in own]) for name, u in sets.items()}
    return FixedMemory(A, B, torch.stack([features(s, u) for s, u in enumerate(pools)]), scored)


def _scores(
    readouts: Readouts, memories: dict[str, FixedMemory], wanted: dict[str, Tensor], seeds: Sequence[int]
) -> list[dict[str, Any]]:
    found = []
    with torch.no_grad():
        for dataset, truth in wanted.items():
            for name, variant in readouts.variants.items():
                z = memories[variant.memory].sets[dataset]
                said = torch.einsum("sbtn,sn->sbt", z.expand(len(seeds), -1, -1, -1), readouts.weights[name])
                errors = readouts._convolved(name, said, truth.expand(len(seeds), -1, -1))
                found += common.scores(dataset, name, seeds, errors)
            errors = torch.einsum("btn,n->bt", memories["LegT"].sets[dataset][0], readouts.construction) - truth
            found += common.scores(dataset, "II", seeds, [errors] * len(seeds))
    return found


def _distances(readouts: Readouts) -> dict[str, Any]:
    """‖C − C₀‖ and |D − D₀| from the construction, per variant over LegT and seed."""
    base, made = readouts.construction, {}
    for name, variant in readouts.variants.items():
        if variant.memory == "LegT":
            gap = (readouts.weights[name].detach() - base).cpu()
            made[name] = {"C": gap[:, :-1].norm(dim=1).tolist(), "D": gap[:, -1].abs().tolist()}
    return made


def _ahead(
    readouts: Readouts, memories: dict[str, FixedMemory], wanted: dict[str, Tensor], seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """Free-running errors after `AHEAD` steps and the radius of the closed loop, at the end."""
    made = []
    weights = {name: w for name, w in readouts.weights.items() if name not in readouts.taps}
    weights["II"] = readouts.construction.expand(len(seeds), -1)
    with torch.no_grad():
        for name, w in weights.items():
            memory = memories[readouts.variants[name].memory if name in readouts.variants else "LegT"]
            errors = {}
            for dataset, truth in wanted.items():
                z, true = memory.sets[dataset].expand(len(seeds), -1, -1, -1), truth.expand(len(seeds), -1, -1)
                errors[dataset] = _free_errors(memory, w, z, true, min(max(AHEAD), truth.shape[-1]))
            for s, seed in enumerate(seeds):
                pair = memory.A[s].cpu().numpy(), memory.B[s].cpu().numpy()
                mae = {
                    dataset: [common.finite(float(e[s, ..., h - 1].abs().mean())) for h in AHEAD if h <= e.shape[-1]]
                    for dataset, e in errors.items()
                }
                radius = loop_radius(*pair, w[s].detach().cpu().numpy())
                made.append({"variant": name, "seed": seed, "radius": radius, "mae": mae})
    return made


def _solved(
    memory: FixedMemory, truths: Tensor, wanted: dict[str, Tensor], seeds: Sequence[int]
) -> list[dict[str, Any]]:
    """The readout with the least squared error on the whole pool, in closed form: what training may hope for."""
    made = []
    for s, seed in enumerate(seeds):
        rows = torch.cat([memory.pool[s].flatten(0, 1), truths[s].flatten()[:, None]], dim=1)
        triangle = torch.linalg.qr(rows, mode="r").R.cpu().numpy()
        w = np.linalg.lstsq(triangle[:-1, :-1], triangle[:-1, -1], rcond=1e-13)[0]
        readout = torch.tensor(w, device=truths.device)
        for dataset, truth in wanted.items():
            errors = torch.einsum("btn,n->bt", memory.sets[dataset][0], readout) - truth
            made += common.scores(dataset, "solved", [seed], [errors])
    return made
