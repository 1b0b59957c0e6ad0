"""Hidden variables that a search starts from: some are guessed, the last follows, and how well all close ranks them.

A field often has a hidden variable that is simple in the visible one, x: its rate (x' = y), a quotient (x' = x y), or
a leaky integral (y' = a x + b y: the rate of one variable of a system seldom has all the others in it). With such
variables at hand, u = (x, q), or (x, q, p) where there are four, the last one, z, enters the rate r of one of them in
one place: r = A(u) + B(u) z with a polynomial A of degree 2 or 3 and a linear B. For a given B, A is the one that keeps
z small where B vanishes (weighted least squares), and z follows. Whether z is a variable of the system shows in its own
rate: it should be made of the terms of A, and of z and its products. Thousands of choices of u and B are compared.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations_with_replacement
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import make_interp_spline
from scipy.signal import lfilter

from prophecy.laws import flow
from prophecy.laws.flow import Terms
from prophecy.laws.inputs import strongest
from prophecy.laws.settings import Settings

Array = NDArray[np.float64]

_SPLINE = 7  # degree: the rate of a rate is still smooth
MARGIN = 5  # samples at either end, where derivatives are not known well
_INSIDE = slice(MARGIN, -MARGIN)
_FAR = 6.0  # standard deviations: guesses are cut there, poles go on for ever
#: Time scales of the leaky integrals of a visible variable, and of its square; of the future where negative
_LEAKS, _SQUARE_LEAKS = (0.25, 0.5, 1.0, 2.0, 4.0, np.inf, -0.25, -0.5), (0.5, 2.0)
_SHORTEST = 0.7  # samples: a shorter leak says nothing that the variable itself does not
_POLE = 0.1  # of B's standard deviation: nearer to its zero, z is not used


class Pair(NamedTuple):
    """Variables at hand, u: (choices, m, time), and r: (choices, time) with r = A(u) + B(u) z; z is to be guessed.

    Where leaks[c, i] is not 0, u[c, i] is the leaky integral of sources[c, i] over so many samples, which refining may
    change.
    """

    u: Array
    r: Array
    sources: Array
    leaks: Array


class Family(NamedTuple):
    """Fields of so many variables, seen and hidden, of degree 2; degree 3 adds powers of the first two."""

    variables: int
    degree: int

    @property
    def forced(self) -> bool:
        """Whether the last two variables are a sinusoid and its quarter-period partner."""
        return self == (4, 3)

    @property
    def terms(self) -> Terms:
        """A change of each hidden variable by affine functions of those before it leads to the same terms."""
        terms = flow.polynomial_terms(self.variables, self.degree)
        counts = flow.powers(terms)
        kept = np.nonzero((counts.sum(axis=1) < 3) | (counts[:, 2:].sum(axis=1) == 0))[0]
        place = np.zeros(terms.size, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        return terms._replace(parents=place[terms.parents[kept]], factors=terms.factors[kept])


#: One after the other: x, its rate and a sinusoidal forcing, for which there is one start; then those of fewest terms.
FAMILIES = Family(4, 3), Family(3, 2), Family(3, 3), Family(4, 2)


def closing(pair: Pair, along: Array, degree: int) -> tuple[Array, Array]:
    """z for B = along[:, :m] u - along[:, m], (choices, time), in robust standard deviations, and the share of its
    rises that is left open, (choices,).

    A makes the quotient (r - A) / B smallest. Rises are compared with integrals of the terms of A, z, and the products
    of z, taken as cubic between samples; steps near B's zero count less.
    """
    (choices, m), u = (len(along), pair.u.shape[1]), pair.u
    b = np.sum(along[:, :m, None] * u, axis=1) - along[:, m:]
    near = _POLE**2 * b.var(axis=1, keepdims=True)
    phi = _powers(u, degree)
    weight = np.where(near > 0, 1 / (b**2 + near + 1e-300) ** 2, 1.0)
    made = _solved(phi[..., _INSIDE], pair.r[:, _INSIDE], weight[:, _INSIDE])
    z = (pair.r - (made[:, None] @ phi)[:, 0]) * b / (b**2 + near + 1e-300)
    z -= np.median(z[:, _INSIDE], axis=1, keepdims=True)
    z = np.clip(z / (1.4826 * np.median(np.abs(z[:, _INSIDE]), axis=1, keepdims=True) + 1e-300), -_FAR, _FAR)
    own = np.concatenate([z[:, None], z[:, None] ** 2, z[:, None] * u], axis=1)
    over = _over_steps(phi)
    terms = np.concatenate([np.broadcast_to(over, (choices, *over.shape[1:])), _over_steps(own)], axis=1)
    away = np.minimum(b**2 / (9 * near + 1e-300), 1.0)[:, _INSIDE]
    rise, weight = np.diff(z[:, _INSIDE], axis=1), np.minimum(away[:, :-1], away[:, 1:])
    rest = rise - (_solved(terms, rise, weight)[:, None] @ terms)[:, 0]
    return z, np.sum(weight * rest**2, axis=1) / (np.sum(weight * rise**2, axis=1) + 1e-300)


def _powers(u: Array, degree: int) -> Array:
    """All monomials of (choices, m, time) up to the degree: (choices, monomials, time)."""
    m, columns = u.shape[1], [np.ones_like(u[:, 0])]
    for order in range(1, degree + 1):
        columns += [np.prod(u[:, list(each)], axis=1) for each in combinations_with_replacement(range(m), order)]
    return np.stack(columns, axis=1)


def _over_steps(columns: Array) -> Array:
    """Integrals over the steps inside the margins of (..., time), cubic between samples."""
    at = columns[..., MARGIN - 1 : columns.shape[-1] - MARGIN + 1]
    return np.asarray((13 * (at[..., 1:-2] + at[..., 2:-1]) - at[..., :-3] - at[..., 3:]) / 24)


def _solved(columns: Array, target: Array, weight: Array) -> Array:
    """Weighted least squares of each choice, columns (choices, n, rows), by the normal equations: (choices, n)."""
    weighed = columns * weight[:, None]
    normal = weighed @ columns.swapaxes(1, 2)
    at = np.arange(normal.shape[1])
    normal[:, at, at] = normal[:, at, at] * (1 + 1e-7) + 1e-12
    return np.asarray(np.linalg.solve(normal, weighed @ np.broadcast_to(target, weight.shape)[..., None])[..., 0])


def scan(pair: Pair, directions: Array, degree: int) -> tuple[Array, Array, Array]:
    """Choices of B for one pair, (choices, m + 1), the first of them B = 1, z of each, and what it leaves open.

    Along each direction B vanishes at five quantiles of the samples, and beyond either end, where it has no pole.
    """
    offsets, sums = 7, np.sort(directions @ pair.u[0], axis=1)
    zeros = sums[:, (sums.shape[1] - 1) * np.arange(offsets) // (offsets - 1)]
    beyond = 0.2 * (sums[:, -1] - sums[:, 0])
    zeros[:, 0], zeros[:, -1] = zeros[:, 0] - beyond, zeros[:, -1] + beyond
    along = np.column_stack([np.repeat(directions, offsets, axis=0), zeros.reshape(-1)])
    along = np.concatenate([[[0.0] * (along.shape[1] - 1) + [-1.0]], along])
    return along, *closing(pair, along, degree)


def refine(pair: Pair, along: Array, shares: Array, degree: int, noise: Array) -> tuple[Pair, Array, Array]:
    """Choices improved by trial: noise (trials, 2 m + 1), steps of B and of the leaks in standard normal units."""
    m, size = pair.u.shape[1], np.full((len(along), 1), 0.2)
    turning = along[:, :m].any(axis=1, keepdims=True)
    leaking = (pair.leaks != 0) & np.isfinite(pair.leaks)
    for step in noise:
        tried = np.where(turning, along + size * step[: m + 1], along)
        tried[:, :m] /= np.where(turning, np.linalg.norm(tried[:, :m], axis=1, keepdims=True), 1.0)
        leaks = np.where(leaking, pair.leaks * np.exp(size * step[m + 1 :]), pair.leaks)
        u = pair.u.copy()
        for c, i in np.argwhere(leaking):
            u[c, i] = unit(leaky(pair.sources[c, i], leaks[c, i]))
        trial = pair._replace(u=u, leaks=leaks)
        better = (found := closing(trial, tried, degree)[1]) < shares
        size *= np.where(better, 1.3, 0.93)[:, None]
        along, shares = np.where(better[:, None], tried, along), np.where(better, found, shares)
        pair = pair._replace(
            u=np.where(better[:, None, None], u, pair.u), leaks=np.where(better[:, None], leaks, pair.leaks)
        )
    return pair, along, shares


def leaky(values: Array, time: float) -> Array:
    """The leaky integral h' = (values - h) / time, time in samples: of the future where negative.

    Undamped where infinite: from 0 where negative, and without the straight line that an unknown mean leaves open where
    positive.
    """
    if time < 0 and np.isfinite(time):
        return leaky(values[::-1], -time)[::-1]
    around = np.concatenate([[2 * values[0] - values[1]], values, [2 * values[-1] - values[-2]]])
    means = (13 * (around[1:-2] + around[2:-1]) - around[:-3] - around[3:]) / 24
    if not np.isfinite(time):
        out, line = np.append(0.0, np.cumsum(means)), np.linspace(-1.0, 1.0, len(values))
        return out if time < 0 else out - out.mean() - line * (line @ (out - out.mean()) / (line @ line))
    kept = np.exp(-1.0 / time)
    first = np.average(values, weights=kept ** np.arange(len(values)))  # where it began: the mean of what came first
    return np.append(first, lfilter([1 - kept], [1.0, -kept], means, zi=[kept * first])[0])


def unit(values: Array) -> Array:
    """Mean 0 and standard deviation 1, both without the ends, and cut."""
    inside = values[_INSIDE]
    return np.asarray(np.clip((values - inside.mean()) / (inside.std() + 1e-300), -_FAR, _FAR))


def pairs(visible: Array, centre: Array, lacking: int, centred: float) -> list[Pair]:
    """What may be at hand. centre: the mean of the data in standard deviations; visible + centre has its zero.

    lacking: how many hidden variables are put at hand: none (the rate of a visible one has z in it), a rate or an
    integral, or a rate and one more. centred: standard deviations; data farther from zero do not determine their zero.
    """
    times = np.arange(len(visible))
    spline = make_interp_spline(times, visible, k=_SPLINE)
    seen, rates, bends = (list(each.T) for each in (visible, spline.derivative(1)(times), spline.derivative(2)(times)))
    found: list[Pair] = []

    def add(rate: Array, *more: Array | tuple[Array, float]) -> None:
        """Visible variables and these: columns, or what is integrated and its leak time."""
        leaks = np.array([0.0] * len(seen) + [each[1] if isinstance(each, tuple) else 0.0 for each in more])
        sources = np.stack([*seen, *(each[0] if isinstance(each, tuple) else each for each in more)])
        made = [unit(leaky(*each) if isinstance(each, tuple) else each) for each in more]
        r = rate / (rate[_INSIDE].std() + 1e-300)
        found.append(Pair(np.stack([*seen, *made])[None], r[None], sources[None], leaks[None]))

    if lacking == 0:
        for rate in rates:
            add(rate)
        return found
    integrals: list[tuple[Array, float]] = []
    for x, zero in zip(seen, centre, strict=True):
        for source, leaks in ((x, _LEAKS), (x * x, _SQUARE_LEAKS)):
            scaled = [time * time_scale(x) for time in leaks]
            integrals += [(source, time) for time in scaled if abs(time) > _SHORTEST]
        if abs(zero) < centred:  # undamped from zero, where zero is near the data
            integrals.append((x + zero, -np.inf))
    if lacking == 1:
        for rate, bend in zip(rates, bends, strict=True):
            add(bend, rate)
            for integral in integrals:
                add(rate, integral)
    elif len(seen) == 1:
        add(spline.derivative(3)(times)[:, 0], rates[0], bends[0])
        for integral in integrals:
            add(bends[0], rates[0], integral)
    return found


def time_scale(column: Array) -> float:
    """Samples in which a variable changes by its standard deviation: that over the one of its rises."""
    return float(column.std() / (np.diff(column).std() + 1e-300))


def directions(variables: int) -> Array:
    """(count, variables) unit vectors along which B may change, none the opposite of another."""
    if variables == 2:
        turn = np.pi * np.arange(8) / 8
        return np.column_stack([np.cos(turn), np.sin(turn)])
    corners = np.array(list(np.ndindex(*[3] * variables)), dtype=np.float64)[(3**variables) // 2 + 1 :] - 1
    return np.ascontiguousarray(corners / np.linalg.norm(corners, axis=1, keepdims=True))


def derivatives(visible: Array, count: int) -> Array:
    """The first `count` derivatives of the visible variables, standardised: (time, count)."""
    times = np.arange(len(visible))
    spline = make_interp_spline(times, visible, k=_SPLINE)
    columns = np.column_stack([spline.derivative(order)(times) for order in (1, 2)])[:, :count]
    return np.column_stack([unit(column) for column in columns.T])


def driven(visible: Array, settings: Settings) -> tuple[float, Array]:
    """Radians a sample of the sinusoid that explains most of what a field of degree 3 in x and x' leaves; and the rate
    of x, that sinusoid and its partner, (time, 3), or none of them where it explains little."""
    rate = derivatives(visible, 1)
    both = np.column_stack([visible, rate])[_INSIDE]
    frequency, left = strongest(both, settings.forcing_periods)
    phase = frequency * np.arange(len(visible))
    pair = np.sqrt(2) * np.column_stack([np.cos(phase), np.sin(phase)])
    return frequency, np.column_stack([rate, pair])[:, : 3 if left < settings.forcing_left else 0]


def guesses(visible: Array, centre: Array, family: Family, all_settings: Settings) -> list[tuple[float, Array]]:
    """Hidden variables of a field, (time, hidden), none much like another, each with the share of the rises of its last
    one that is left open; least first."""
    seen, degree, settings = visible.shape[1], family.degree, all_settings.hidden
    whole = pairs(visible, centre, family.variables - seen - 1, all_settings.laws.centred)
    if not whole:
        return []
    scans = [scan(pair, directions(family.variables - 1), degree) for pair in whole]
    shares = np.nan_to_num(np.stack([each[2] for each in scans]), nan=np.inf)
    chosen: list[tuple[int, int]] = []
    hidden: list[Array] = []
    for i, c in zip(*np.unravel_index(np.argsort(shares, axis=None, kind="stable"), shares.shape), strict=True):
        guess = np.concatenate([whole[i].u[0, seen:], scans[i][1][[c]]]).T
        if np.isfinite(shares[i, c]) and not alike(visible, guess, hidden, settings.alike).any():
            chosen.append((int(i), int(c)))
            hidden.append(guess)
        if len(chosen) == settings.starts:
            break
    rows = [whole[i] for i, _ in chosen]
    pair = Pair(*(np.concatenate(each) for each in zip(*rows, strict=True)))
    along, left = (np.stack([scans[i][at][c] for i, c in chosen]) for at in (0, 2))
    noise = np.random.default_rng(0).standard_normal((settings.refined, 2 * family.variables - 1))
    pair, along, left = refine(pair, along, left, degree, noise)
    last = closing(pair, along, degree)[0][:, None]
    made = np.concatenate([pair.u[:, seen:], last], axis=1).swapaxes(1, 2)
    kept: list[tuple[float, Array]] = []
    for each in sorted(zip(left.tolist(), made, strict=True), key=lambda each: each[0]):
        if not alike(visible, each[1], [other for _, other in kept], settings.same).any():
            kept.append(each)
    return kept


def alike(visible: Array, guess: Array, earlier: Sequence[Array], share: float) -> NDArray[np.bool_]:
    """Which of the earlier guesses are affine functions of the new one and what is seen, up to a share."""
    columns = np.column_stack([np.ones(len(visible)), visible, guess])[_INSIDE]
    if not earlier or not np.isfinite(columns).all():
        return np.zeros(len(earlier), dtype=np.bool_)
    inside = np.concatenate(earlier, axis=1)[_INSIDE]
    basis = np.linalg.qr(columns)[0]
    rest = inside - basis @ (basis.T @ inside)
    same = rest.var(axis=0) < share * inside.var(axis=0)
    return np.asarray(same.reshape(len(earlier), -1).all(axis=1))
