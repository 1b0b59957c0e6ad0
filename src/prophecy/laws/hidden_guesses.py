"""Which hidden variables a search starts from: what may be at hand, and the choices that close best."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline

from prophecy.laws import flow
from prophecy.laws.flow import Terms
from prophecy.laws.forcing import strongest
from prophecy.laws.kernels.hidden_starts import MARGIN, closing, leaky, refine, scan, unit
from prophecy.laws.settings import HiddenSettings

Array = NDArray[np.float64]

_LEAST = 32  # samples below which nothing is guessed
_SPLINE = 7  # degree: the rate of a rate is still smooth


class Pair(NamedTuple):
    """Variables at hand, u: (time, m), and r = A(u) + B(u) z with a polynomial A of `degree`; z is to be guessed.

    Where leaks[i] is not 0, column i of u is the leaky integral of sources[:, i] over so many samples, which refining
    may change.
    """

    u: Array
    r: Array
    degree: int
    sources: Array
    leaks: Array


class Family(NamedTuple):
    """Fields of so many variables, seen and hidden, of degree 2; degree 3 adds powers of the first two.

    starts: how many guesses are solved in earnest; early: from how many samples at most; limits: the misfits they must
    be below after each round.
    """

    variables: int
    degree: int
    starts: int
    early: int = 256
    limits: tuple[float, ...] = ()

    @property
    def kind(self) -> tuple[int, int]:
        return self.variables, self.degree

    @property
    def forced(self) -> bool:
        """Whether the last two variables are a sinusoid and its quarter-period partner."""
        return self.kind == (4, 3)

    @property
    def terms(self) -> Terms:
        """A change of each hidden variable by affine functions of those before it leads to the same terms."""
        terms = flow.polynomial_terms(self.variables, self.degree)
        counts = flow.powers(terms)
        kept = np.nonzero((counts.sum(axis=1) < 3) | (counts[:, 2:].sum(axis=1) == 0))[0]
        place = np.zeros(terms.size, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        return terms._replace(parents=place[terms.parents[kept]], factors=terms.factors[kept])


class Guess(NamedTuple):
    """Hidden variables, (time, hidden), and the share of the rises of the last one that is left open.

    Where that is a forcing, the share of what a field without it leaves of the other rises.
    """

    hidden: Array
    share: float


def pairs(visible: Array, centre: Array, family: Family, settings: HiddenSettings) -> list[Pair]:
    """What may be at hand. centre: the mean of the data in standard deviations; visible + centre has its zero."""
    times = np.arange(len(visible))
    spline = make_interp_spline(times, visible, k=_SPLINE)
    seen, rates, bends = (
        [np.ascontiguousarray(column) for column in np.atleast_2d(each.T)]
        for each in (visible, spline.derivative(1)(times), spline.derivative(2)(times))
    )
    found: list[Pair] = []
    scales = [time_scale(column) for column in seen]

    def add(at_hand: Sequence[Array | tuple[Array, float]], rate: Array) -> None:
        leaks = np.array([each[1] if isinstance(each, tuple) else 0.0 for each in at_hand])
        sources = np.column_stack([each[0] if isinstance(each, tuple) else each for each in at_hand])
        u = [unit(leaky(*each)) if isinstance(each, tuple) else each for each in at_hand]
        u[len(seen) :] = [unit(each) for each in u[len(seen) :]]
        found.append(
            Pair(np.column_stack(u), rate / (rate[MARGIN:-MARGIN].std() + 1e-300), family.degree, sources, leaks)
        )

    def integrals(which: int) -> list[tuple[Array, float]]:
        """Leaky integrals of a variable and of its square; an undamped one from zero where zero is near the data."""
        x, zero = seen[which], float(centre[which])
        leaks = [(x, time) for time in leaking(scales[which], settings.leaks, settings)]
        if abs(zero) < settings.centred:
            leaks.append((x + zero, -np.inf))
        return [*leaks, *((x * x, time) for time in leaking(scales[which], settings.square_leaks, settings))]

    lacking = family.variables - len(seen) - 1  # variables to put at hand
    if lacking == 0:
        for rate in rates:
            add(seen, rate)
        return found
    if lacking == 1:
        for rate, bend in zip(rates, bends, strict=True):
            add([*seen, rate], bend)
        for which in range(len(seen)):
            for integral in integrals(which):
                for rate in rates:
                    add([*seen, integral], rate)
        if len(seen) == 1 and abs(centre[0]) < settings.centred:
            raw = seen[0] + centre[0]
            over = raw / (raw**2 + settings.soft_pole**2)
            add([*seen, rates[0] * over], bends[0] * over - (rates[0] * over) ** 2)
        return found
    if lacking > 2 or len(seen) > 1:
        return found
    x, rate, bend = seen[0], rates[0], bends[0]
    add([x, rate, bend], np.ascontiguousarray(spline.derivative(3)(times)[:, 0]))
    for integral in integrals(0):
        add([x, rate, integral], bend)
    double = leaking(scales[0], settings.double_leaks, settings)
    for first, second in combinations(double, 2):
        add([x, (x, first), (x, second)], rate)
    if abs(centre[0]) < settings.centred:
        for time in double:
            add([x, (x, time), (x + centre[0], -np.inf)], rate)
    return found


def time_scale(column: Array) -> float:
    """Samples in which a variable changes by its standard deviation: that over the one of its rises."""
    return float(column.std() / (np.diff(column).std() + 1e-300))


def leaking(scale: float, times: Sequence[float], settings: HiddenSettings) -> list[float]:
    """Leak times in samples, from those in time scales; too short ones are left out."""
    return [time * scale for time in times if abs(time) * scale >= settings.shortest]


def directions(variables: int, angles: int) -> Array:
    """(count, variables) unit vectors along which B may change, none the opposite of another."""
    if variables == 2:
        turn = np.pi * np.arange(angles) / angles
        return np.column_stack([np.cos(turn), np.sin(turn)])
    corners = np.array(list(np.ndindex(*[3] * variables)), dtype=np.float64)[(3**variables) // 2 + 1 :] - 1
    return np.ascontiguousarray(corners / np.linalg.norm(corners, axis=1, keepdims=True))


def velocity(x: Array) -> Array:
    """The rate of x, standardised."""
    times = np.arange(len(x))
    return np.asarray(unit(np.ascontiguousarray(make_interp_spline(times, x, k=_SPLINE).derivative()(times))))


def forcing(x: Array, settings: HiddenSettings) -> tuple[float, float]:
    """Radians a sample of the sinusoid that explains most of what a field of degree 3 in x and x' leaves, and what is
    left then (`forcing.strongest`)."""
    both = np.column_stack([x, velocity(x)])[MARGIN:-MARGIN]
    return strongest(both, settings.forcing_periods, settings.forcing_worth)


def driven(visible: Array, settings: HiddenSettings) -> list[Guess]:
    """The rate of x and a sinusoid with its partner: x'' may be a function of x, x' and a periodic forcing."""
    if visible.shape[1] > 1 or len(visible) < settings.least // 2:
        return []
    x = np.ascontiguousarray(visible[:, 0])
    frequency, left = forcing(x, settings)
    phase = frequency * np.arange(len(x))
    return [Guess(np.column_stack([velocity(x), np.sqrt(2) * np.cos(phase), np.sqrt(2) * np.sin(phase)]), left)]


def drifting(visible: Array) -> Array:
    """The rate of x and time itself, (time, 2): parameters of x'' = f(x, x') may drift."""
    x = np.ascontiguousarray(visible[:, 0])
    return np.column_stack([velocity(x), unit(np.arange(float(len(x))))])


def guesses(visible: Array, centre: Array, family: Family, settings: HiddenSettings) -> list[Guess]:
    """Hidden variables of a field, best first, none much like an earlier one."""
    if len(visible) < _LEAST:
        return []
    if family.forced:
        return driven(visible, settings)
    seen, at_hand = visible.shape[1], pairs(visible, centre, family, settings)
    towards = directions(family.variables - 1, settings.angles)
    scans = np.stack([scan(pair, towards, settings.offsets) for pair in at_hand])
    shares = np.where(np.isfinite(scans[..., -1]), scans[..., -1], np.inf).reshape(-1)
    order = np.argsort(shares, kind="stable")[: settings.looked_at]
    noise = np.random.default_rng(0).standard_normal((settings.refined, 2 * family.variables - 1))
    found: list[Guess] = []
    for at in order[np.isfinite(shares[order])]:
        pair, choice = at_hand[at // scans.shape[1]], scans.reshape(-1, scans.shape[2])[at]
        better, refined = refine(pair, choice, noise)
        z = closing(better, np.ascontiguousarray(refined[:-1]))[0]
        hidden = np.column_stack([better.u[:, seen:], z])
        if not alike(visible, hidden, [earlier.hidden for earlier in found], settings.alike).any():
            found.append(Guess(hidden, float(refined[-1])))
        if len(found) == family.starts:
            break
    return sorted(found, key=lambda each: each.share)


def plain(visible: Array, centre: Array, settings: HiddenSettings) -> list[Array]:
    """Derivatives and their quotients by x, and random quadratic functions of them: (time, 3 - seen) each."""
    times, hidden = np.arange(len(visible)), 3 - visible.shape[1]
    spline = make_interp_spline(times, visible, k=_SPLINE)
    rates = [spline.derivative(order)(times) for order in (1, 2)]
    first, second = (
        np.clip(each / np.median(np.abs(each), axis=0), -settings.farthest, settings.farthest) for each in rates
    )
    raw = visible + np.where(np.abs(centre) < settings.centred, centre, 0.0)
    bent = _without(second, [visible, first]) * raw / (raw**2 + settings.pole)
    found = [np.column_stack([first, second])[:, :hidden], np.column_stack([first, bent])[:, :hidden]]
    powers = flow.features(flow.polynomial_terms(3 * visible.shape[1], 2), np.column_stack([visible, first, second]))
    powers = (powers[:, 1:] - powers[:, 1:].mean(axis=0)) / (powers[:, 1:].std(axis=0) + 1e-300)
    generator = np.random.default_rng(0)
    return found + [
        powers @ generator.standard_normal((powers.shape[1], hidden)) for _ in range(settings.plain - len(found))
    ]


def _without(values: Array, others: list[Array]) -> Array:
    columns = np.column_stack([np.ones(len(values)), *others])
    return np.asarray(values - columns @ np.linalg.lstsq(columns, values, rcond=None)[0])


def alike(visible: Array, guess: Array, earlier: Sequence[Array], share: float) -> NDArray[np.bool_]:
    """Which of the earlier guesses are affine functions of the new one and what is seen, up to a share."""
    columns = np.column_stack([np.ones(len(visible)), visible, guess])[MARGIN:-MARGIN]
    if not earlier or not np.isfinite(columns).all():
        return np.zeros(len(earlier), dtype=np.bool_)
    inside = np.concatenate(earlier, axis=1)[MARGIN:-MARGIN]
    basis = np.linalg.qr(columns)[0]
    rest = inside - basis @ (basis.T @ inside)
    same = rest.var(axis=0) < share * inside.var(axis=0)
    return np.asarray(same.reshape(len(earlier), -1).all(axis=1))
