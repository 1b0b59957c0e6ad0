"""S4D: a diagonal memory in complex numbers, with the same blocks, step and states as the dense layer."""

import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor

from prophecy import _checks
from prophecy.bases import Basis
from prophecy.diagonal import Diagonal, s4d_lin
from prophecy.engines import torch_lifted
from prophecy.engines.torch_scan import scan
from prophecy.nn.base import Layer, Lifted, parameter_dtype
from prophecy.nn.initialise import Fit, init_s4d_


class DiagonalSSM(Layer):
    r"""y = 2 Re(C x) + D u with x' = rates x + B u, one per channel, under zero-order hold: (batch, time, channels).

    channels, order: N states are N/2 complex modes and their conjugates.
    dt: the step in the memory's unit of time, one number or (least, largest), spread evenly in the logarithm.
    spectrum: a function of the order, `prophecy.diagonal.s4d_lin`, `s4d_inv` or `s4d_legs`.
    train: names of C, D, rates, input, dt; or "all", "none", "readout". The real part of a rate is -exp(log_decay) < 0.
    C and D start at random, as in S4D: real and imaginary parts of C with variance 1/2, D with variance 1. `construct_`
    replaces them by a construction.
    """

    PARTS: ClassVar = {
        "C": ("C",),
        "D": ("D",),
        "rates": ("log_decay", "frequency"),
        "input": ("input",),
        "dt": ("log_dt",),
    }
    GROUPS: ClassVar = {"all": tuple(PARTS), "none": (), "readout": ("C", "D")}

    log_decay: Tensor
    frequency: Tensor
    input: Tensor
    log_dt: Tensor

    def __init__(
        self,
        channels: int,
        order: int,
        dt: float | tuple[float, float],
        spectrum: Callable[[int], Diagonal] = s4d_lin,
        train: str | Iterable[str] = "all",
        *,
        seed: int | None = None,
        dtype: torch.dtype | None = None,
        device: torch.device | str | None = None,
    ) -> None:
        super().__init__()
        _checks.function("spectrum", spectrum, "prophecy.diagonal.s4d_lin")
        self.channels, self.order = _checks.whole("channels", channels), _checks.whole("order", order)
        self.size, self.name, self.several, self.block = self.order, _name(spectrum), False, 64
        low, high = dt if isinstance(dt, tuple) else (dt, dt)
        steps = np.geomspace(_checks.positive("dt", low), _checks.positive("dt", high), channels)
        self.dt = (float(low), float(high)) if isinstance(dt, tuple) else float(low)
        self.window = math.inf
        form, random = spectrum(order), np.random.default_rng(seed)
        kind: dict[str, Any] = {"dtype": parameter_dtype(dtype), "device": device}
        copies = (self.channels, 1)
        C = random.standard_normal((channels, order // 2, 2)) * math.sqrt(0.5)
        for name, value in (
            ("C", C),
            ("D", random.standard_normal((channels, 1))),
            ("log_decay", np.tile(np.log(-form.rates.real), copies)),
            ("frequency", np.tile(form.rates.imag, copies)),
            ("input", np.stack([np.tile(form.B.real, copies), np.tile(form.B.imag, copies)], -1)),
            ("log_dt", np.log(steps)),
        ):
            self._put(name, value, **kind)
        self._learn(self._named(train), True)

    def construct_(self, basis: Basis, dt: float = 1.0, *, rule: str = "trapezoid") -> Fit:
        """Write the construction of `next_value` into all parameters, in place, and return how well it fits.

        basis, dt: in one unit of time, which becomes the layer's. See `init_s4d_`.
        """
        D = self.D.detach()[:, 0]
        parts = self.log_dt, self.log_decay, self.frequency, self.C, D, basis, dt
        fit = init_s4d_(*parts, rule=rule, input=self.input, wide=True)
        self.dt, self.name = float(dt), basis.name
        return fit

    def memory(self, scale: Tensor | float | None = None) -> tuple[Tensor, Tensor]:
        """exp(rates dt) - 1 and the input's gain, both (channels, modes) complex128; with `scale` steps first."""
        rates = torch.complex(-self.log_decay.double().exp(), self.frequency.double())
        dt = self.log_dt.double().exp()
        if scale is not None:
            dt = dt * self._steps(scale)
        grown = torch.expm1(rates * dt[..., None])
        return grown, grown / rates * torch.view_as_complex(self.input.double().contiguous())

    def _states(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        grown, gain = self._memories(scale)
        wide = torch.complex128 if now.dtype == torch.float64 else torch.complex64
        return _flat(scan(grown + 1, (now.mT.unsqueeze(-1) * gain).to(wide), _complex(x), diagonal=True))

    def _step(self, now: Tensor, x: Tensor, scale: Tensor | None) -> Tensor:
        grown, gain = self._memory(scale)
        z = _complex(x)
        grown, gain = grown.to(z.dtype), gain.to(z.dtype)
        return _flat(z + (grown * z + gain * now.unsqueeze(-1)))

    def _read(self, x: Tensor, u: Tensor) -> Tensor:
        C = torch.view_as_complex(self.C.to(x.dtype).contiguous())
        y = 2 * (C * _complex(x)).sum(-1).real.unsqueeze(-1)
        return y + self.D.to(x.dtype) * u.unsqueeze(-1)

    def _lifted(self) -> Lifted:
        """The blocks in real numbers: a mode is a pair of states that turn and shrink."""
        grown, gain = self._memory(None)
        C = torch.view_as_complex(self.C.double().contiguous())
        ages = torch.arange(self.block + 1, device=C.device)
        powers = torch.exp(torch.log1p(grown).unsqueeze(-1) * ages)  # (channels, modes, L + 1)
        reach = (gain.unsqueeze(-1) * powers[..., :-1]).flip(-1)
        kernel = 2 * (C.unsqueeze(-1) * gain.unsqueeze(-1) * powers[..., :-1]).sum(1).real
        kernel = torch.cat([kernel[:, :1] + self.D.double(), kernel[:, 1:]], dim=1)
        observe = (2 * C.unsqueeze(-1) * powers[..., 1:]).mT
        blocks = torch_lifted.Blocks(
            kernel.unsqueeze(1),
            torch.cat([observe.real, -observe.imag], dim=-1).unsqueeze(1),
            torch.cat([reach.real, reach.imag], dim=1),
            _real(powers[..., -1]),
        )
        return Lifted(blocks, _real(grown))


def _name(spectrum: Any) -> str:
    """Its function's name; a `functools.partial` has its function's, and its arguments."""
    if isinstance(spectrum, functools.partial):
        given = [*map(repr, spectrum.args), *(f"{name}={value!r}" for name, value in spectrum.keywords.items())]
        return f"{_name(spectrum.func)}({', '.join(given)})"
    return str(getattr(spectrum, "__name__", type(spectrum).__name__))


def _real(z: Tensor) -> Tensor:
    """Multiplication by z (channels, modes) as a real matrix on [real parts, imaginary parts]."""
    re, im = torch.diag_embed(z.real), torch.diag_embed(z.imag)
    return torch.cat([torch.cat([re, -im], dim=-1), torch.cat([im, re], dim=-1)], dim=-2)


def _complex(x: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return torch.complex(x[..., :half].contiguous(), x[..., half:].contiguous())


def _flat(z: Tensor) -> Tensor:
    return torch.cat([z.real, z.imag], dim=-1)
