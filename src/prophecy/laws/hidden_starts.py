"""Hidden variables that a search starts from: some are guessed, the last follows, and how well all close ranks them.

A field often has a hidden variable that is simple in the visible one, x: its rate (x' = y), a quotient (x' = x y), or
a leaky integral (y' = a x + b y: the rate of one variable of a system seldom has all the others in it). With such
variables at hand, u = (x, q), or (x, q, p) where there are four, the last one, z, enters the rate r of one of them in
one place: r = A(u) + B(u) z with a polynomial A of degree 2 or 3 and a linear B. For a given B, A is the one that keeps
z small where B vanishes (weighted least squares), and z follows. Whether z is a variable of the system shows in its own
rate: it should be made of the terms of A, and of z and its products. Thousands of choices of u and B are compared.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from scipy.interpolate import make_interp_spline
from scipy.signal import lfilter

from prophecy._arrays import Array, Mask
from prophecy.laws import flow
from prophecy.laws.flow import Terms
from prophecy.laws.settings import HiddenSettings
from prophecy.laws.weak_form import integrated

_SPLINE = 7  # degree: the rate of a rate is still smooth
MARGIN = 5  # samples at either end, where derivatives are not known well
_INSIDE = slice(MARGIN, -MARGIN)
_FAR = 6.0  # standard deviations: guesses are cut there, poles go on for ever
#: Time scales of the leaky integrals of a visible variable, and of its square; of the future where negative
_LEAKS, _SQUARE_LEAKS = (0.25, 0.5, 1.0, 2.0, 4.0, np.inf, -0.25, -0.5), (0.5, 2.0)
_SHORTEST = 0.7  # samples: a shorter leak says nothing that the variable itself does not
_POLE = 0.1  # of B's standard deviation: nearer to its zero, z is not used


class Pair(NamedTuple):
    """Variables at hand, u: (m, time), and r: (time,) with r = A(u) + B(u) z; z is to be guessed."""

    u: Array
    r: Array


class Family(NamedTuple):
    """Fields of so many variables, seen and hidden, of degree 2; degree 3 adds powers of the first two."""

    variables: int
    degree: int

    @property
    def terms(self) -> Terms:
        """A change of each hidden variable by affine functions of those before it leads to the same terms."""
        terms = flow.polynomial_terms(self.variables, self.degree)
        counts = flow.powers(terms)
        kept = np.nonzero((counts.sum(axis=1) < 3) | (counts[:, 2:].sum(axis=1) == 0))[0]
        place = np.zeros(terms.size, dtype=np.int64)
        place[kept] = np.arange(len(kept))
        return terms._replace(parents=place[terms.parents[kept]], factors=terms.factors[kept])


#: One after the other, those of fewest terms first.
FAMILIES = Family(3, 2), Family(3, 3), Family(4, 2)


def closing(pair: Pair, along: Array, degree: int) -> tuple[Array, Array]:
    """z for B = along[:, :m] u - along[:, m], (choices, time), in robust standard deviations, and the share of its
    rises that is left open, (choices,).

    A makes the quotient (r - A) / B smallest. Rises are compared with integrals of the terms of A, z, and the products
    of z; steps near B's zero count less.
    """
    (m, _), u = pair.u.shape, pair.u
    b = along[:, :m] @ u - along[:, m:]
    near = _POLE**2 * b.var(axis=1, keepdims=True)
    phi = np.ascontiguousarray(flow.features(flow.polynomial_terms(m, degree), np.ascontiguousarray(u.T)).T)
    weight = np.where(near > 0, 1 / (b**2 + near + 1e-300) ** 2, 1.0)
    made = _solved(phi[None, :, _INSIDE], pair.r[_INSIDE], weight[:, _INSIDE])
    z = (pair.r - made @ phi) * b / (b**2 + near + 1e-300)
    z -= np.median(z[:, _INSIDE], axis=1, keepdims=True)
    z = np.clip(z / (1.4826 * np.median(np.abs(z[:, _INSIDE]), axis=1, keepdims=True) + 1e-300), -_FAR, _FAR)
    own = np.concatenate([z[:, None], z[:, None] ** 2, z[:, None] * u], axis=1)
    over = np.broadcast_to(_over_steps(phi), (len(along), len(phi), len(u[0]) - 2 * MARGIN - 1))
    terms = np.concatenate([over, _over_steps(own)], axis=1)
    away = np.minimum(b**2 / (9 * near + 1e-300), 1.0)[:, _INSIDE]
    rise, weight = np.diff(z[:, _INSIDE], axis=1), np.minimum(away[:, :-1], away[:, 1:])
    rest = rise - (_solved(terms, rise, weight)[:, None] @ terms)[:, 0]
    return z, np.sum(weight * rest**2, axis=1) / (np.sum(weight * rise**2, axis=1) + 1e-300)


def _over_steps(columns: Array) -> Array:
    """Integrals over the steps inside the margins of (..., time)."""
    return integrated(columns[..., MARGIN - 2 : 2 - MARGIN].T).T


def _solved(columns: Array, target: Array, weight: Array) -> Array:
    """Weighted least squares of each choice, columns (choices, n, rows), by the normal equations: (choices, n)."""
    weighed = columns * weight[:, None]
    normal = weighed @ columns.swapaxes(1, 2)
    at = np.arange(normal.shape[1])
    normal[:, at, at] = normal[:, at, at] * (1 + 1e-7) + 1e-12
    return np.asarray(np.linalg.solve(normal, weighed @ np.broadcast_to(target, weight.shape)[..., None])[..., 0])


def scan(pair: Pair, directions: Array, degree: int) -> tuple[Array, Array]:
    """`closing` for many choices of B, the first of them B = 1.

    Along each direction B vanishes at five quantiles of the samples, and beyond either end, where it has no pole.
    """
    offsets, sums = 7, np.sort(directions @ pair.u, axis=1)
    zeros = sums[:, (sums.shape[1] - 1) * np.arange(offsets) // (offsets - 1)]
    beyond = 0.2 * (sums[:, -1] - sums[:, 0])
    zeros[:, 0], zeros[:, -1] = zeros[:, 0] - beyond, zeros[:, -1] + beyond
    along = np.column_stack([np.repeat(directions, offsets, axis=0), zeros.reshape(-1)])
    along = np.concatenate([[[0.0] * (along.shape[1] - 1) + [-1.0]], along])
    return closing(pair, along, degree)


def leaky(values: Array, time: float) -> Array:
    """The leaky integral h' = (values - h) / time, time in samples: of the future where negative.

    Undamped where infinite, without the straight line that an unknown mean leaves open.
    """
    if time < 0:
        return leaky(values[::-1], -time)[::-1]
    means = integrated(np.pad(values, 2, "reflect", reflect_type="odd"))
    if not np.isfinite(time):
        out, line = np.append(0.0, np.cumsum(means)), np.linspace(-1.0, 1.0, len(values))
        return np.asarray(out - out.mean() - line * (line @ (out - out.mean()) / (line @ line)))
    kept = np.exp(-1.0 / time)
    first = np.average(values, weights=kept ** np.arange(len(values)))  # where it began: the mean of what came first
    return np.append(first, lfilter([1 - kept], [1.0, -kept], means, zi=[kept * first])[0])


def unit(values: Array) -> Array:
    """Mean 0 and standard deviation 1, both without the ends, and cut."""
    inside = values[_INSIDE]
    return np.asarray(np.clip((values - inside.mean()) / (inside.std() + 1e-300), -_FAR, _FAR))


def pairs(visible: Array, lacking: int) -> list[Pair]:
    """What may be at hand. lacking: how many hidden variables are put there: none (the rate of a visible one has z in
    it), a rate or an integral, or a rate and one more."""
    seen, rates, bends, jerks = (list(each.T) for each in (visible, *_rates(visible)))
    found: list[Pair] = []

    def add(rate: Array, *more: Array) -> None:
        """Visible variables and these."""
        found.append(Pair(np.stack([*seen, *map(unit, more)]), rate / (rate[_INSIDE].std() + 1e-300)))

    if lacking == 0:
        for rate in rates:
            add(rate)
        return found
    integrals: list[Array] = []
    for x in seen:
        for source, leaks in ((x, _LEAKS), (x * x, _SQUARE_LEAKS)):
            scaled = [time * time_scale(x) for time in leaks]
            integrals += [leaky(source, time) for time in scaled if abs(time) > _SHORTEST]
    if lacking == 1:
        for rate, bend in zip(rates, bends, strict=True):
            add(bend, rate)
            for integral in integrals:
                add(rate, integral)
    elif len(seen) == 1:
        add(jerks[0], rates[0], bends[0])
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


def _rates(visible: Array) -> list[Array]:
    """The first three derivatives, (time, seen) each."""
    times = np.arange(len(visible))
    spline = make_interp_spline(times, visible, k=_SPLINE)
    return [spline.derivative(order)(times) for order in (1, 2, 3)]


def guesses(visible: Array, family: Family, settings: HiddenSettings) -> list[tuple[float, Array]]:
    """Hidden variables of a field, (time, hidden), none much like another, each with the share of the rises of its last
    one that is left open; least first."""
    seen, degree = visible.shape[1], family.degree
    whole = pairs(visible, family.variables - seen - 1)
    if not whole:
        return []
    scans = [scan(pair, directions(family.variables - 1), degree) for pair in whole]
    shares = np.nan_to_num(np.stack([shares for _, shares in scans]), nan=np.inf)
    kept: list[tuple[float, Array]] = []
    for i, c in zip(*np.unravel_index(np.argsort(shares, axis=None, kind="stable"), shares.shape), strict=True):
        guess = np.concatenate([whole[i].u[seen:], scans[i][0][[c]]]).T
        if not np.isfinite(shares[i, c]) or len(kept) == settings.starts:
            break
        if not alike(visible, guess, [other for _, other in kept], settings.alike).any():
            kept.append((float(shares[i, c]), guess))
    return kept


def alike(visible: Array, guess: Array, earlier: Sequence[Array], share: float) -> Mask:
    """Which of the earlier guesses are affine functions of the new one and what is seen, up to a share."""
    columns = np.column_stack([np.ones(len(visible)), visible, guess])[_INSIDE]
    if not earlier or not np.isfinite(columns).all():
        return np.zeros(len(earlier), dtype=np.bool_)
    inside = np.concatenate(earlier, axis=1)[_INSIDE]
    basis = np.linalg.qr(columns)[0]
    rest = inside - basis @ (basis.T @ inside)
    same = rest.var(axis=0) < share * inside.var(axis=0)
    return np.asarray(same.reshape(len(earlier), -1).all(axis=1))
