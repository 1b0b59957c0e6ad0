"""What is known before any field is solved for: the noise, a smooth path, and coefficients from the weak form.

x_i(k + 1) - x_i(k) = sum_p theta_p int phi_p(x(s)) ds is linear in theta once the path between samples is known: a
smooth path through noisy samples, or the polynomial through exact ones around. Functions are moved along it to where
they explain most of what known terms leave.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import comb

import numpy as np
from scipy.fft import dct, idct

from prophecy._arrays import Array, Indices, Mask
from prophecy.laws import flow
from prophecy.laws.damped import LEAST, Damped, descend
from prophecy.laws.flow import MODULUS, RECIPROCAL, SIGN, SINE, Function, SparseField, Terms, movable
from prophecy.laws.select_terms import eliminated

LEAST_NOISE = 1e-9  # standard deviations: below this, integrators and rounding are the noise
_MEDIAN = 0.6745  # the median of |z| for a standard normal z
_ENOUGH = 16  # differences whose median says how large noise is, to about a quarter
_NEAR = 1e-6  # by which functions are moved to see what changes


@dataclass
class Budget:
    """Derivatives that may still be computed, per sample: work is bounded by a count, so that answers do not depend on
    the clock."""

    left: float = np.inf


def roughness(values: Array, seen: Mask | None = None) -> Array:
    """The noise of each variable, (variables,): the median size of high differences, which smooth signals lack.

    Differences of order p of white noise have its standard deviation times sqrt(C(2p, p)); the least over the orders is
    an upper bound that is close where a period has more than about six samples.
    seen: which values, or rows, were observed. What gaps are filled with is smooth and says nothing about noise.
    """
    if seen is None or seen.all():
        return _noise_of(values, np.ones(len(values), dtype=np.bool_))
    there = np.broadcast_to(seen if seen.ndim == 2 else seen[:, None], values.shape)
    return np.array([_noise_of(column, each) for column, each in zip(values.T, there.T, strict=True)])


def _noise_of(values: Array, seen: Mask) -> Array:
    """The same of (time, …) from rows that were all observed; of all where too few of these are side by side."""
    found = []
    for order in range(2, min(10, len(values) // 4) + 1):
        inside = np.all([seen[j : len(seen) - order + j] for j in range(order + 1)], axis=0)
        if inside.all() or inside.sum() >= _ENOUGH:
            weights = np.array([(-1) ** j * comb(order, j) for j in range(order + 1)], dtype=np.float64)
            weights /= np.linalg.norm(weights)
            rest = sum((w * values[j : len(values) - order + j] for j, w in enumerate(weights)), np.zeros(1))
            found.append(np.median(np.abs(rest[inside]), axis=0) / _MEDIAN)
    return np.maximum(np.min(found, axis=0), LEAST_NOISE) if found else _noise_of(values, np.ones_like(seen))


def smoothed(values: Array, noise: Array) -> Array:
    """Each variable smoothed by penalised third differences, by generalised cross-validation; unchanged where that
    takes away more than the noise.

    In the cosine basis the smoother is diagonal, so that every trade is tried at once.
    """
    line = np.linspace(values[0], values[-1], len(values))
    spectrum = dct(values - line, axis=0, norm="ortho")
    penalty = (2 - 2 * np.cos(np.pi * np.arange(len(values)) / len(values))) ** 3
    out = values.copy()
    for variable in range(values.shape[1]):
        power = spectrum[:, variable] ** 2
        gains = 1 / (1 + 10.0 ** np.linspace(-6, 8, 57)[:, None] * penalty)
        left = 1 - gains.mean(axis=1)
        best = int(np.argmin(((1 - gains) ** 2 @ power) / left**2))
        removed = np.sqrt(((1 - gains[best]) ** 2 @ power) / (len(values) * left[best]))
        if removed < 1.5 * noise[variable]:
            out[:, variable] = idct(gains[best] * spectrum[:, variable], norm="ortho") + line[:, variable]
    return out


def integrated(columns: Array) -> Array:
    """(time, ...) -> (time - 5, ...): integrals over the steps from 2 to 3, 3 to 4, ... of the polynomial through the
    six samples around each."""
    inside = 11 * (columns[:-5] + columns[5:]) - 93 * (columns[1:-4] + columns[4:-1])
    return np.asarray((inside + 802 * (columns[2:-3] + columns[3:-2])) / 1440)


def regression(
    field: SparseField,
    path: Array,
    noise: float = 0.0,
    damping: float = LEAST,
    nats: float = 0.0,
    most: int | None = None,
    steps: Indices | None = None,
) -> SparseField:
    """The coefficients of a field in the weak form along a path, each equation on its own.

    Terms worth less than `nats` are left out one after the other, and so many that an equation keeps `most`. The errors
    of neighbouring steps of a smooth path are alike, so that what seems to be worth some nats may be worth nothing, and
    terms that assimilation wants back can come back. steps: those of the weak form that are used, all where None.
    """
    form = WeakForm(path, noise)
    rows = slice(None) if steps is None else steps
    system, rise = form.integrated(flow.features(field.terms, path))[rows], form.rise[rows]
    mask, theta = field.mask.copy(), np.zeros(field.theta.shape)
    for i in range(field.terms.variables):
        inside = np.nonzero(mask[:, i])[0]
        solved = Damped(system[:, inside], rise[:, i])
        value = solved(LEAST if nats else damping)
        if nats:
            left = rise[:, i] - system[:, inside] @ value
            root = solved.root() * np.sqrt(float(left @ left) / max(1, len(left) - len(inside)) + 1e-300)
            alive = np.ones(len(inside), dtype=np.bool_)
            value, _, mask[inside, i] = eliminated(value, root, alive, 2 * nats, len(inside), most)
        theta[inside, i] = value
    return field.with_mask(mask, theta)


class WeakForm:
    """x(k + 1) - x(k) = sum_p theta_p int phi_p(x(s)) ds along a path, (time, variables), for every step that has two
    samples before it and two after. Each step counts by how well its integrals are known.

    noise: of the path, in standard deviations; infinite for steps that all count alike. error: of the integrals of each
    step, roughly. floor: what is left of a step of an equation that is known exactly, at most. columns: one and the
    variables, (time, 1 + variables).
    """

    def __init__(self, path: Array, noise: float = 0.0) -> None:
        self.path = path
        sixth = np.abs(np.diff(path, 6, axis=0)).max(axis=1) / 60
        self.error = np.append(sixth, sixth[-1])
        self.floor = max(float(np.quantile(self.error, 0.1)), noise, 1e-12)
        self.weight = 1 / np.maximum(self.error / self.floor, 1.0)[:, None]
        self.rise = self.weight * (path[3:-2] - path[2:-3])
        self.columns = np.column_stack([np.ones(len(path)), path])

    def integrated(self, columns: Array) -> Array:
        """(time, terms) -> (steps, terms): integrals over each step, weighted."""
        return np.asarray(self.weight * integrated(columns))

    def known(self, terms: Terms) -> Array:
        """An orthonormal basis of the integrals of terms."""
        return orthonormal(self.integrated(flow.features(terms, self.path)))

    def left(self, known: Array) -> Array:
        """What an orthonormal basis leaves of the rises."""
        return np.asarray(self.rise - known @ (known.T @ self.rise))

    def worst(self, known: Array) -> Array:
        """The same of the equation of which most is left."""
        left = self.left(known)
        return np.asarray(left[:, int(np.argmax(np.linalg.norm(left, axis=0) / np.linalg.norm(self.rise, axis=0)))])

    def rests(self, functions: Sequence[Function], factors: Array, known: Array, left: Array) -> Array:
        """What is left, (functions, steps), beside the known terms and one function at a time with its factors."""
        terms = flow.polynomial_terms(self.path.shape[1], 0, functions, 1)
        values = flow.features(terms, self.path)[:, 1:]
        for place, jump in ((i, f.sums(self.path)) for i, f in enumerate(functions) if f.kind == SIGN):
            # A jump is its mean over a sample, which moves with the jump's place.
            values[:, place] = np.clip(2 * jump / np.maximum(np.abs(np.gradient(jump)), 1e-300), -1.0, 1.0)
        added = self.integrated((values[:, :, None] * factors[:, None]).reshape(len(values), -1))
        size = np.linalg.norm(added, axis=0)
        added = (added - known @ (known.T @ added)) / np.where(size > 0, size, 1.0)
        added = np.where(np.isfinite(added), added, 0.0) + 1e-14
        basis = np.linalg.qr(added.reshape(len(left), len(functions), -1).transpose(1, 0, 2))[0]
        return np.asarray(left - (basis @ (basis.transpose(0, 2, 1) @ left)[..., None])[..., 0])

    def square_sums(self, functions: Sequence[Function], factors: Array, known: Array, left: Array) -> Array:
        return np.asarray(np.sum(self.rests(functions, factors, known, left) ** 2, axis=1))

    def moved(self, function: Function, factors: Array, known: Array, left: Array) -> tuple[Function, float]:
        """The function moved to where it explains most, by damped Gauss-Newton steps, and the square sum it leaves."""
        free = movable(function.kind, np.array([*function.rates, *function.bends]))

        def cost(trial: Function) -> float:
            return float(self.square_sums([trial], factors, known, left)[0])

        def linearise(there: Function) -> Callable[[float], list[Function]] | None:
            near = [_moved(there, [place], _NEAR) for place in free]
            rest, *others = self.rests([there, *near], factors, known, left)
            slopes = (np.column_stack(others) - rest[:, None]) / _NEAR
            if not slopes.any():
                return None  # a jump between two samples
            solved = Damped(slopes, -rest)
            return lambda damping: [_moved(there, free, solved(damping))]

        return descend(function, cost, linearise, 12, 0.01, 0.03)[:2]


def orthonormal(columns: Array, least: float = 1e-10) -> Array:
    """An orthonormal basis of the columns, without directions below `least` of the largest."""
    norms = np.linalg.norm(columns, axis=0)
    u, s, _ = np.linalg.svd(columns / np.where(norms > 0, norms, 1.0), full_matrices=False)
    return np.asarray(u[:, s > least * s[0]])


def _moved(function: Function, places: list[int], change: Array | float) -> Function:
    """With its shift (place -1), rates and bends changed by that much."""
    v, shape = len(function.rates), np.array([*function.rates, *function.bends, function.shift])
    shape[places] += change
    return function._replace(rates=tuple(shape[:v]), bends=tuple(shape[v:-1]), shift=float(shape[-1]))


def alike(a: Function, b: Function) -> bool:
    """The same kind along the same direction with nearly the same rate: one of them can become the other."""
    if a.kind != b.kind or bool(a.bends) != bool(b.bends):
        return False
    x, y = np.array([*a.rates, *a.bends]), np.array([*b.rates, *b.bends])
    near = np.linalg.norm(x - y) < 0.15 * np.linalg.norm(x)
    apart = 0.02 if a.kind in (MODULUS, RECIPROCAL, SIGN) else 0.3  # of the range; radians, or of the width of a step
    return bool(near and (a.kind == SINE or abs(a.shift - b.shift) < apart))
