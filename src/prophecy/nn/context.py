r"""Readouts solved in context: weights that follow from the sequence itself, recursively and differentiably, and the
layer `ContextSSM`, a memory that is read so.

At step k a solver has the features φ[k] (batch, F) and the value v[k] (batch, outputs). It first learns the pair
(φ[k - horizon], v[k]), the newest whose answer is known, then says y[k] = W φ[k], its prediction of v[k + horizon].

Sequences are processed in chunks: within one, the errors of all steps follow from one triangular system, exactly as if
they had been made one after another. λ = `forgetting`, `rate` and `ridge` are numbers or, named in `train`, parameters.
Without forgetting (λ = 1) the start of a signal far from 0 counts for ever: forget, or subtract the level. A NaN stays
in its own row of the batch, from the start of its chunk on.
"""

import math
from collections.abc import Iterable
from typing import Any, ClassVar, NamedTuple

import torch
from torch import Tensor, nn

from prophecy import _checks
from prophecy.engines.torch_scan import check_tensors
from prophecy.nn.base import Compared, Layer

CHUNK = 32  # steps whose errors are solved for at once, in one triangular solve of that size
TINY = 1e-12  # ε of the normalised delta rule, in units of φ·φ: keeps an all-zero feature from dividing by zero
FLOOR = 1e-16  # of the ridge: what `RLS` never forgets, so that unexcited directions stay below 1e8 of where they began
# Added to the unit diagonal of `Ridge`'s scaled moments, least first: rounding of F ≤ 100 sums, then whatever it takes.
JITTERS = (0.0, 1e-14, 1e-12, 1e-10, 1e-7)


class ContextState(NamedTuple):
    """The state of a solver, in float64.

    weights W (batch, O, F); moments, of the features: (batch, F, F), or empty; waiting: the features whose answers are
    still to come, (batch, horizon, F); cross: Σ v φᵀ like W (`Ridge`); seen: steps so far.
    """

    weights: Tensor
    moments: Tensor
    waiting: Tensor
    cross: Tensor
    seen: int


class Solver(Compared):
    """Base class of the solvers: parts (λ, rate, ridge) whose parametrisation keeps them in range, horizon, chunks."""

    PAIRS: ClassVar[tuple[float, float]]  # operations: this many F² + this many F O
    raw_forgetting: Tensor

    def __init__(
        self,
        parts: dict[str, float],
        *,
        train: Iterable[str] = (),
        horizon: int = 1,
        chunk: int = CHUNK,
    ) -> None:
        """train: names of trained parts. horizon: steps ahead. chunk: steps solved at once."""
        super().__init__()
        self.horizon = _checks.whole("horizon", horizon)
        self.chunk = _checks.whole("chunk", chunk)
        chosen = {train} if isinstance(train, str) else set(train)
        if not chosen <= set(parts):
            raise ValueError(f"train must name parts of {', '.join(sorted(parts))}, got {sorted(chosen - set(parts))}")
        for name, value in parts.items():
            number = _checks.positive(name, value)
            raw = math.log(number)
            if name == "forgetting":
                if number > 1:
                    raise ValueError(f"forgetting must lie in (0, 1], got {number}; 1 forgets nothing")
                if number == 1 and name in chosen:
                    raise ValueError("forgetting = 1 has no gradient in its parametrisation; start below it, 0.999 say")
                raw = math.log(-raw) if number < 1 else -math.inf
            tensor = torch.tensor(raw, dtype=torch.float64)
            self.register_parameter(f"raw_{name}", nn.Parameter(tensor, requires_grad=name in chosen))

    def part(self, name: str) -> Tensor:
        """`forgetting` in (0, 1], `rate` and `ridge` > 0: a number, in float64."""
        raw: Tensor = getattr(self, f"raw_{name}").double()
        if name == "forgetting":
            return torch.exp(-raw.exp())  # a rate of forgetting -log λ > 0; 0 is λ = 1
        return raw.exp()

    def initial_state(self, batch: int, features: int, outputs: int, like: Tensor | None = None) -> ContextState:
        """Nothing learned yet: W = 0, (batch, outputs, features)."""
        device = (self.raw_forgetting if like is None else like).device
        empty = torch.zeros(batch, outputs, features, dtype=torch.float64, device=device)
        waiting = empty.new_zeros(batch, self.horizon, features)
        return ContextState(empty, self._moments(waiting), waiting, torch.zeros_like(empty), 0)

    def forward(
        self, features: Tensor, values: Tensor, state: ContextState | None = None
    ) -> tuple[Tensor, ContextState]:
        """Predictions of v[k + horizon], (batch, time, O), and the state after the last step.

        features (batch, time, F), values (batch, time, O). All arithmetic is float64; the predictions have the dtype of
        `values`.
        """
        check_tensors(features=features, values=values)
        if features.ndim != 3 or values.ndim != 3 or features.shape[:2] != values.shape[:2]:
            raise ValueError(
                "features (batch, time, F) and values (batch, time, outputs) must agree in batch and time, got "
                f"{tuple(features.shape)} and {tuple(values.shape)}"
            )
        time = features.shape[1]
        if state is None:
            state = self.initial_state(len(features), features.shape[2], values.shape[2], features)
        with torch.autocast(features.device.type, enabled=False):
            now, v = features.double(), values.double()
            joined = torch.cat([state.waiting, now], dim=1)
            learnt, outs, first = joined[:, :time], [], 0
            while first < time:
                last = min(first + self._room(state.seen), time)
                y, state = self._run(learnt[:, first:last], v[:, first:last], now[:, first:last], state)
                outs.append(y)
                first = last
            y = torch.cat(outs, dim=1) if outs else v
        return y.to(values.dtype), state._replace(waiting=joined[:, time:])

    def step(self, features: Tensor, value: Tensor, state: ContextState) -> tuple[Tensor, ContextState]:
        """One moment: features (batch, F) and the value (batch, O) that came with them."""
        y, state = self(features[:, None], value[:, None], state)
        return y[:, 0], state

    def get_extra_state(self) -> dict[str, Any]:
        return {"horizon": self.horizon}

    def _room(self, seen: int) -> int:
        return self.chunk

    def _moments(self, waiting: Tensor) -> Tensor:
        """Before anything is learnt."""
        return waiting.new_zeros(len(waiting), 0, 0)

    def _run(self, phi: Tensor, v: Tensor, now: Tensor, state: ContextState) -> tuple[Tensor, ContextState]:
        raise NotImplementedError

    def operations(self, features: int, outputs: int = 1) -> float:
        """Multiplications and additions of one step, counted in pairs, to leading order: a number."""
        squared, each = self.PAIRS
        return squared * features**2 + each * features * outputs

    def _powers(self, length: int, first: int = 1) -> Tensor:
        """λ^first and the powers that follow it, (length,)."""
        return self.part("forgetting") ** torch.arange(first, first + length, device=self.raw_forgetting.device)

    def _decays(self, length: int) -> Tensor:
        """(length, length): λ^(k - i) for i ≤ k, 0 above the diagonal."""
        k = torch.arange(length, device=self.raw_forgetting.device)
        return torch.tril(self._powers(length, 0)[(k[:, None] - k).clamp_min(0)])


class GradientStep(Solver):
    """One step of gradient descent from zero on the errors of the context: W = rate Σ λ^age v φᵀ (linear attention).

    rate: length of the step. forgetting: λ in (0, 1], the weight of a pair one step later. how: as in `Solver`.

    >>> solver = GradientStep(rate=0.5)
    >>> phi, v = torch.ones(1, 3, 1), torch.ones(1, 3, 1)
    >>> solver(phi, v)[0].flatten().tolist()        # no pair yet, then one, then two
    [0.0, 0.5, 1.0]
    """

    PAIRS = (0.0, 2.0)

    def __init__(self, rate: float = 1.0, forgetting: float = 1.0, **how: Any) -> None:
        super().__init__({"rate": rate, "forgetting": forgetting}, **how)

    def _gain(self, phi: Tensor) -> Tensor:
        return self.part("rate").expand(phi.shape[:2])

    def _errors(self, phi: Tensor, v: Tensor, gain: Tensor, weights: Tensor) -> Tensor:
        return v

    def _run(self, phi: Tensor, v: Tensor, now: Tensor, state: ContextState) -> tuple[Tensor, ContextState]:
        gain = self._gain(phi)
        errors = self._errors(phi, v, gain, state.weights) * gain[..., None]
        length = phi.shape[1]
        decays, fade = self._decays(length), self._powers(length)
        y = (now @ phi.mT * decays) @ errors + fade[:, None] * (now @ state.weights.mT)
        aged = errors * decays[-1][:, None]
        weights = fade[-1] * state.weights + aged.mT @ phi
        return y, state._replace(weights=weights, seen=state.seen + length)


class Delta(GradientStep):
    """Normalised least mean squares, the delta rule of DeltaNet: W ← λ W + rate (v - λ W φ) φᵀ/(ε + φ·φ).

    rate: share of each error that is corrected, 2 at most. forgetting, how: as in `GradientStep`.
    """

    PAIRS = (0.0, 3.0)

    def __init__(self, rate: float = 0.5, forgetting: float = 1.0, **how: Any) -> None:
        if _checks.positive("rate", rate) > 2:
            raise ValueError(
                f"rate must be at most 2, got {rate:g}: beyond it every step enlarges the error it corrects"
            )
        super().__init__(rate, forgetting, **how)

    def _gain(self, phi: Tensor) -> Tensor:
        return self.part("rate") / (TINY + phi.square().sum(-1))

    def _errors(self, phi: Tensor, v: Tensor, gain: Tensor, weights: Tensor) -> Tensor:
        """e[k] = v[k] - λ^k W₀ φ[k] - Σ_{i<k} λ^(k-i) gain[i] (φ[i]·φ[k]) e[i]: unit lower triangular in e."""
        length = phi.shape[1]
        system = torch.tril(phi @ phi.mT * self._decays(length) * gain[:, None, :], -1)
        system = system + torch.eye(length, dtype=phi.dtype, device=phi.device)
        right = v - self._powers(length)[:, None] * (phi @ weights.mT)
        errors: Tensor = torch.linalg.solve_triangular(system, right, upper=False, unitriangular=True)
        return errors


class RLS(Solver):
    r"""Recursive least squares with forgetting: after k steps W minimises Σ λ^(age) |v - W φ|² + λ^k ridge |W|².

    forgetting: λ in (0, 1], the weight of a pair one step later. ridge: > 0, in the unit of φ². how: as in `Solver`.

    The inverse of the second moments is kept as a factor U Uᵀ, which stays positive in runs of any length. With λ < 1
    the ridge fades too, down to 1e-16 of itself; weights along directions that the features no longer visit are then
    nearly free. Where that happens prefer `Ridge`, whose ridge stays.
    """

    PAIRS = (2.0, 3.0)

    def __init__(self, forgetting: float = 1.0, ridge: float = 1e-6, **how: Any) -> None:
        super().__init__({"forgetting": forgetting, "ridge": ridge}, **how)

    def _moments(self, waiting: Tensor) -> Tensor:
        eye = torch.eye(waiting.shape[2], dtype=waiting.dtype, device=waiting.device)
        return (eye / self.part("ridge").sqrt()).expand(len(waiting), -1, -1)

    def _run(self, phi: Tensor, v: Tensor, now: Tensor, state: ContextState) -> tuple[Tensor, ContextState]:
        """Seen as regression with prior covariance U Uᵀ and noise λ^i on pair i of the chunk, whose innovations are the
        triangular solve; a later λ^-length brings the moments to the weights of the chunk's end."""
        U, W, length = state.moments, state.weights, phi.shape[1]
        noise = self._powers(length)
        seen, asked = phi @ U, now @ U
        # Cholesky factors of seen seenᵀ + diag(noise) and of I + seenᵀ seen/noise, by QR: nothing is squared, so that
        # features of any size leave them positive.
        factor = _lower(seen.mT, torch.diag(noise.sqrt()).expand(len(phi), length, length))
        innovations = torch.linalg.solve_triangular(factor, v - phi @ W.mT, upper=False)
        reach = torch.linalg.solve_triangular(factor, seen, upper=False)  # factor⁻¹ Φ U: (batch, length, F)
        y = now @ W.mT + torch.tril(asked @ reach.mT) @ innovations
        weights = W + innovations.mT @ reach @ U.mT
        eye = torch.eye(U.shape[-1], dtype=U.dtype, device=U.device).expand_as(U)
        kept = (FLOOR * self.part("ridge") * (1 - noise[-1]) / noise[-1]).sqrt().detach() * U
        inner = _lower(eye, seen / noise.sqrt()[:, None], kept)
        moments = torch.linalg.solve_triangular(inner, U.mT, upper=False).mT / noise[-1].sqrt()
        return y, state._replace(weights=weights, moments=moments, seen=state.seen + length)


class Ridge(Solver):
    """argmin Σ λ^age |v - W φ|² + ridge |W|² over all pairs so far, solved every `chunk` steps (MesaNet at chunk = 1).

    ridge, forgetting, how: as in `RLS`. The weights stay between solves.
    Where `ridge` is below the rounding of the moments (1e-16 of their size), the least of `JITTERS` that leaves them
    positive is added, each feature in its own unit.
    """

    PAIRS = (1.0, 2.0)

    def __init__(self, ridge: float = 1e-6, forgetting: float = 1.0, *, chunk: int = 16, **how: Any) -> None:
        super().__init__({"forgetting": forgetting, "ridge": ridge}, chunk=chunk, **how)

    def _moments(self, waiting: Tensor) -> Tensor:
        return waiting.new_zeros(len(waiting), waiting.shape[2], waiting.shape[2])

    def _room(self, seen: int) -> int:
        """Steps until the next solve, which comes when `chunk` divides the steps seen before it."""
        return self.chunk - seen % self.chunk

    def _run(self, phi: Tensor, v: Tensor, now: Tensor, state: ContextState) -> tuple[Tensor, ContextState]:
        weights = state.weights
        moments, cross = self._learn(phi[:, :1], v[:, :1], state.moments, state.cross)
        if state.seen % self.chunk == 0:
            weights = _solved(moments, cross, self.part("ridge"))
        moments, cross = self._learn(phi[:, 1:], v[:, 1:], moments, cross)
        state = state._replace(weights=weights, moments=moments, cross=cross, seen=state.seen + phi.shape[1])
        return now @ weights.mT, state

    def _learn(self, phi: Tensor, v: Tensor, moments: Tensor, cross: Tensor) -> tuple[Tensor, Tensor]:
        fades = self._powers(phi.shape[1] + 1, 0)
        aged = phi * fades[:-1].flip(0)[:, None]
        return fades[-1] * moments + aged.mT @ phi, fades[-1] * cross + v.mT @ aged

    def operations(self, features: int, outputs: int = 1) -> float:
        solve = features**3 / 3 + 2.0 * features**2 * outputs
        return super().operations(features, outputs) + solve / self.chunk


class ContextSSMState(NamedTuple):
    """The memory's state (batch, channels, size) and the solver's."""

    memory: Tensor
    solver: ContextState


class ContextSSM(nn.Module):
    r"""y[:, k] predicts u[:, k + horizon], read from a memory's state by weights solved from u[:, : k + 1] itself.

    memory: a `ProphecySSM` or `DiagonalSSM`. Each channel is solved for on its own, from the features [x, u, 1].
    solver: `GradientStep`, `Delta`, `RLS` or `Ridge`; its horizon is the layer's.
    base: what the solved readout is added to: "none"; "copy", the newest value, which it starts from;
        "construction", the memory's own output, which it then corrects (a prediction of the same horizon).

    >>> from prophecy.nn import ProphecySSM, RLS
    >>> layer = ContextSSM(ProphecySSM(1, 8, 60.0, 1.0, dtype=torch.float64), RLS(0.95, 1e-6))
    >>> u = torch.sin(torch.arange(400.0, dtype=torch.float64) / 7)[None, :, None]
    >>> bool((layer(u)[:, 200:-1] - u[:, 201:]).abs().max() < 1e-4)
    True
    """

    def __init__(self, memory: Layer, solver: Solver, *, base: str = "copy") -> None:
        super().__init__()
        _checks.choice("base", base, ("none", "copy", "construction"))
        for name, given, kind in (("memory", memory, Layer), ("solver", solver, Solver)):
            if not isinstance(given, kind):
                example = "ProphecySSM(…)" if kind is Layer else "RLS()"
                raise TypeError(f"{name} must be a {kind.__name__}, such as {example}, got {given!r}")
        if memory.several and base == "construction":
            raise ValueError("base='construction' needs a memory with one readout, the prediction that is corrected")
        self.memory, self.solver, self.base = memory, solver, base

    def initial_state(self, batch: int) -> ContextSSMState:
        memory = self.memory
        solver = self.solver.initial_state(batch * memory.channels, memory.order + 2, 1, memory.C)
        return ContextSSMState(memory.initial_state(batch), solver)

    def forward(self, u: Tensor) -> Tensor:
        """Predictions like u (batch, time, channels), in its dtype; integers are promoted to the memory's."""
        return self.scan(u)[0]

    def scan(self, u: Tensor, state: ContextSSMState | None = None) -> tuple[Tensor, ContextSSMState]:
        """Predictions like u (batch, time, channels), and the state after the last value."""
        check_tensors(u=u)
        out, u = self.memory._out(u), self.memory._cast(u)  # states and features in the memory's own precision
        state = self.initial_state(len(u)) if state is None else state
        trace = self.memory._trace(u, state.memory)  # (batch, time, channels, size)
        end, time = trace[:, -1] if u.shape[1] else state.memory, u.shape[1]
        now = u.unsqueeze(-1)
        features = torch.cat([trace[..., : self.memory.order], now, torch.ones_like(now)], dim=-1)
        # A pair's value is what the base of `horizon` steps before missed; the earliest of them are read from the
        # features still waiting.
        waiting = torch.unflatten(state.solver.waiting, 0, (len(u), self.memory.channels)).transpose(1, 2)
        base = self._base(torch.cat([waiting.to(features.dtype), features], dim=1))
        values = (u - base[:, :time]).transpose(1, 2).flatten(0, 1).unsqueeze(-1)
        y, solver = self.solver(features.transpose(1, 2).flatten(0, 1), values, state.solver)
        y = torch.unflatten(y.squeeze(-1), 0, (len(u), self.memory.channels)).transpose(1, 2)
        return (base[:, base.shape[1] - time :] + y).to(out), ContextSSMState(end, solver)

    def step(self, u: Tensor, state: ContextSSMState) -> tuple[Tensor, ContextSSMState]:
        """One moment, u (batch, channels)."""
        y, state = self.scan(u.unsqueeze(1), state)
        return y[:, 0], state

    def _base(self, features: Tensor) -> Tensor:
        """(batch, time, channels) of features (batch, time, channels, F)."""
        x, u = features[..., : self.memory.order], features[..., self.memory.order]
        if self.base == "construction":
            return self.memory.read(x, u)
        return u if self.base == "copy" else torch.zeros_like(u)


def _lower(*blocks: Tensor) -> Tensor:
    """L with L Lᵀ = MᵀM, of M (batch, rows ≥ columns, columns) in blocks of rows; its diagonal has either sign."""
    made: Tensor = torch.linalg.qr(torch.cat(blocks, dim=1)).R.mT
    return made


def _solved(moments: Tensor, cross: Tensor, ridge: Tensor) -> Tensor:
    """W with W (moments + ridge I) = cross, each feature scaled to a unit diagonal; NaN where a row has no solution."""
    eye = torch.eye(moments.shape[-1], dtype=moments.dtype, device=moments.device)
    full = moments + ridge * eye
    scale = torch.diagonal(full, dim1=-2, dim2=-1).rsqrt()
    full = full * scale.unsqueeze(-1) * scale.unsqueeze(-2)
    with torch.no_grad():
        jitter = torch.zeros_like(full[:, 0, 0])
        good = torch.zeros_like(jitter, dtype=torch.bool)
        for size in JITTERS:
            jitter = torch.where(good, jitter, size)
            good = torch.linalg.cholesky_ex(full + jitter[:, None, None] * eye).info == 0
            if not torch.compiler.is_compiling() and bool(good.all()):
                break
    safe = torch.where(good[:, None, None], full + jitter[:, None, None] * eye, eye)
    factor = torch.linalg.cholesky_ex(safe).L
    solved = torch.cholesky_solve((cross * scale.unsqueeze(-2)).mT, factor).mT * scale.unsqueeze(-2)
    return torch.where(good[:, None, None], solved, math.nan)
