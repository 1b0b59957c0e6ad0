"""Fields of which only some variables are seen: the hidden ones are unknowns at every sample, solved with the field.

One variable of a system of three still determines all of it, but in coordinates made of its delays or derivatives the
field is no short formula, and 512 samples do not determine a long one. With the hidden variables themselves as unknowns
it is short again: powers up to degree 2 of three variables or four, and up to degree 3 of two of three (`Family`). Four
are also what a variable needs that has the same values in different states of three: z of Lorenz' system and x y, x^2
and y^2 obey a quadratic field of their own. What is minimised is the distance between the flow from each state
and the next state, over the hidden part of all states and the coefficients; the visible part is the data, exactly.
Hidden variables are known up to an affine change only, so they are kept uncorrelated and of unit variance.

The problem has many minima and long curved valleys. Several starts (`hidden_guesses.py`) take a few steps each, the
best go on; steps are Levenberg-Marquardt with the second-order correction along
the step (geodesic acceleration, Transtrum and Sethna 2012), which follows a curved valley several times faster.
The law found from an early stretch is accepted once it has forecast the rest.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from prophecy.laws.flow import EIGHTH, FOURTH, Tableau, Terms
from prophecy.laws.hidden_guesses import Family, alike, drifting, guesses, plain
from prophecy.laws.kernels.hidden_descent import descend, monomials, standardised
from prophecy.laws.settings import BEYOND, HiddenSettings
from prophecy.laws.sparse import SparseField
from prophecy.laws.weak_form import integrated

Array = NDArray[np.float64]
Counts = NDArray[np.int64]

_LOST = 1e4  # square standard deviations: defects beyond it are those of a field that leads nowhere
_INTEGRATED = 1e-10  # standard deviations: what a step ahead may miss by
_COMPARED: dict[tuple[int, bytes, bytes], tuple[Array, Array]] = {}  # by family: a handful, each some kilobytes


@dataclass
class Search:
    """One start and what has become of it. visible: (time, seen); states: (time, seen + hidden)."""

    visible: Array
    field: SparseField
    states: Array
    tableau: Tableau = FOURTH
    tolerance: float = 0.0  # standard deviations that a step may miss by; 0: one step a sample
    damping: float = 0.3  # of hidden variables against the equations; as large as the equations' own errors at first
    reached: float = np.inf  # the misfit after the last steps

    @property
    def seen(self) -> int:
        return int(self.visible.shape[1])

    @property
    def hidden(self) -> Array:
        return self.states[:, self.seen :]

    @property
    def misfit(self) -> float:
        """Root mean square distance between the flow's ends and the next states, in standard deviations."""
        size = float(np.sqrt(np.mean(self._defects(self.field, self.states) ** 2)))
        return size if np.isfinite(size) else np.inf

    def improve(self, steps: int, enough: float, settings: HiddenSettings, least_gain: float = 0.0) -> float:
        """At most that many steps, until the misfit is below `enough` or falls by no more than a share; the misfit."""
        misfit, onward = np.inf, True
        for done in range(0, steps, settings.restandardised):
            self.standardise()
            most = min(settings.restandardised, steps - done)
            theta, self.states, self.damping, misfit, onward = descend(
                self.field.terms, self.field.theta, self.tableau, self.states, self._counts(),
                self.seen, self.damping, most, enough, least_gain, settings, _LOST,
            )  # fmt: skip
            self.field = replace(self.field, theta=theta)
            if not onward:
                break
        self.standardise()
        self.reached = misfit
        return misfit

    def _counts(self) -> Counts:
        """Substeps of every sample."""
        if not self.tolerance:
            return np.ones(len(self.states) - 1, dtype=np.int64)
        return self.field.substeps(self.tableau, self.states[:-1], self.tolerance)

    def _defects(self, field: SparseField, states: Array) -> Array:
        return np.asarray(field.steps(self.tableau, states[:-1], self._counts()) - states[1:])

    def standardise(self) -> None:
        """Hidden variables uncorrelated with all others, mean 0, variance 1; the field expressed in them."""
        theta, states = standardised(
            self.field.terms, self.field.theta, self.states, self.seen, *_compared(self.field.terms)
        )
        self.field, self.states = replace(self.field, theta=theta), states

    def extended(self, visible: Array) -> float:
        """Go on over further samples, hidden variables first as the flow forecasts them.

        visible: all samples from the beginning. Returns the root mean square error of that forecast.
        """
        further = len(visible) - len(self.visible)
        ahead = self.ahead(self.states[-1:], self.field.theta[None], further)[0]
        error = float(np.sqrt(np.mean((ahead[:, : self.seen] - visible[-further:]) ** 2)))
        self.visible = visible
        self.states = np.concatenate([self.states, np.column_stack([visible[-further:], ahead[:, self.seen :]])])
        return error

    def ahead(self, starts: Array, thetas: Array, steps: int) -> Array:
        return self.field.paths(
            starts, steps, _INTEGRATED, BEYOND, fields=[replace(self.field, theta=each) for each in thetas]
        )


def _compared(terms: Terms) -> tuple[Array, Array]:
    """Points at which fields of these powers are compared, (points, variables), and the pseudo-inverse of the
    features there."""
    key = terms.variables, terms.parents.tobytes(), terms.factors.tobytes()
    if key not in _COMPARED:
        points = np.random.default_rng(0).standard_normal((4 * terms.size, terms.variables))
        _COMPARED[key] = points, np.asarray(np.linalg.pinv(monomials(terms, points)), dtype=np.float64)
    return _COMPARED[key]


def searched(
    visible: Array, centre: Array, family: Family, settings: HiddenSettings, rough: float = 0.0
) -> tuple[list[Search], int]:
    """The searches on an early stretch that came close to a law, closest first, often none; and how many rounds some
    search of the family passed.

    rough: the roughness of samples that may be far apart or noisy; none where the misfit shows that they are noisy.
    """
    worst = settings.forcing_left if family.forced else settings.hopeless
    pool, passed = _best(starts(visible, centre, family, settings, worst), family, settings, rough)
    return different(sorted(pool, key=reached), settings), passed


def starts(
    visible: Array, centre: Array, family: Family, settings: HiddenSettings, worst: float = np.inf
) -> list[Search]:
    """Searches of a family that have not yet made a step, from guesses that leave less than `worst` open."""
    hidden = [guess.hidden for guess in guesses(visible, centre, family, settings) if guess.share < worst]
    if hidden and family.kind == (3, 2):
        hidden += plain(visible, centre, settings)
    if hidden and family.kind == (3, 3) and visible.shape[1] == 1:
        hidden.append(drifting(visible))
    return [_started(visible, family.terms, each, settings) for each in hidden]


def _started(visible: Array, terms: Terms, guess: Array, settings: HiddenSettings) -> Search:
    start = Search(visible, SparseField.of(terms), np.concatenate([visible, guess], axis=1), damping=settings.damping)
    start.standardise()
    start.states = np.clip(start.states, -settings.farthest, settings.farthest)
    start.states[:, : visible.shape[1]] = visible
    start.field = replace(start.field, theta=_regressed(terms, start.states, settings.ridge))
    return start


def _regressed(terms: Terms, path: Array, ridge: float) -> Array:
    """Coefficients of all terms, as `guesses.regression` has them, all equations at once."""
    inner, rise = integrated(monomials(terms, path)), path[2:-1] - path[1:-2]
    norms = np.sqrt(np.sum(inner**2, axis=0)) + 1e-300
    columns = inner / norms
    matrix = columns.T @ columns
    largest = np.linalg.eigvalsh(matrix)[-1]
    damped = matrix + ridge**2 * largest * np.eye(len(matrix))
    return np.ascontiguousarray(np.linalg.solve(damped, columns.T @ rise) / norms[:, None])


def _best(pool: list[Search], family: Family, settings: HiddenSettings, rough: float) -> tuple[list[Search], int]:
    """What is left of some starts after all rounds, those that came close to a law; and how many rounds some passed."""
    last = len(settings.rounds) - 1
    for number, (order, steps, kept, behind) in enumerate(settings.rounds):
        for start in pool:
            if order == 8:  # order 4 was enough to choose the starts
                start.tableau, start.tolerance = EIGHTH, settings.near / 10
            start.improve(steps, settings.near / 10, settings, settings.crawling if number == last else 0.0)
        pool = different(sorted(pool, key=reached), settings)[:kept]
        if number == 1 and rough and pool and pool[0].reached > settings.noisy * rough:
            return [], 0
        limit = max(family.limits[number], settings.coarse * rough)
        pool = [start for start in pool if start.reached < min(limit, behind * pool[0].reached)]
        if not pool:
            return [], number
        if pool[0].reached < settings.near:
            break
    return pool, len(settings.rounds)


def different(pool: list[Search], settings: HiddenSettings) -> list[Search]:
    """Without those that have come to the same place as a better one, up to an affine change."""
    found: list[Search] = []
    for search in pool:
        if not alike(search.visible, search.hidden, [other.hidden for other in found], settings.same).any():
            found.append(search)
    return found


def reached(search: Search) -> float:
    return search.reached


@dataclass(frozen=True, eq=False)
class Law:
    """A search that went on to the end.

    errors: root mean square errors, in standard deviations, of its forecasts of the stretches on the way, each made
    before the stretch was used.
    """

    search: Search
    family: Family
    errors: tuple[float, ...]

    @property
    def worst(self) -> float:
        return max(self.errors, default=np.inf)

    def exact(self, settings: HiddenSettings) -> bool:
        """Whether it is the law: it passes through all samples, and forecast the last ones."""
        return self.search.reached < settings.exact and self.errors[-1] < settings.certain


def found(
    visible: Array,
    centre: Array,
    settings: HiddenSettings,
    rough: float = 0.0,
    looked: Callable[..., tuple[list[Search], int]] = searched,
) -> Law | None:
    """A field that passes through all of (time, seen), in standard deviations; None if none comes close.

    rough: the roughness, where it may be that of noise. looked: how a family is searched for.
    A law is found on an early stretch and has to forecast the rest, a stretch at a time, before that is used. The first
    family with an exact one has it; otherwise the field with the best forecasts, if these are good.
    """
    best: Law | None = None
    with np.errstate(all="ignore"):  # fields that lead nowhere overflow
        passed: dict[tuple[int, int], int] = {}
        for family, early in _tried(visible, settings, rough):
            if passed.get(family.kind, settings.again) < settings.again:
                continue
            pool, passed[family.kind] = looked(
                visible[:early], centre, family, settings, 0.0 if family.forced else rough
            )
            for search in pool:
                law = _continued(search, family, visible, settings)
                if law is not None and law.exact(settings):
                    return law
                if law is not None and law.worst < min(settings.trusted, best.worst if best else np.inf):
                    best = law
    return best


def _tried(visible: Array, settings: HiddenSettings, rough: float) -> list[tuple[Family, int]]:
    """Families to try and how many early samples of each, none twice.

    Behind coarse samples larger families found no law, and where they are noise three variables cost least.
    """
    tried: dict[tuple[tuple[int, int], int], Family] = {}
    for family in (Family(*each) for each in settings.families if each[0] > visible.shape[1]):
        if not rough or family.forced or family.kind == (3, 2):
            early = min(family.early, int(settings.early_share * len(visible)))
            tried.setdefault((family.kind, early), family)
    return [(family, early) for (_, early), family in tried.items()]


def _continued(search: Search, family: Family, visible: Array, settings: HiddenSettings) -> Law | None:
    """The search gone on to the end of the series; None where its forecast of a stretch fails."""
    errors: list[float] = []
    while (known := len(search.visible)) < len(visible):
        errors.append(search.extended(visible[: known + settings.stretch]))
        if not errors[-1] < settings.lost:
            return None
        search.improve(settings.extended, settings.near / 10, settings, settings.least_gain)
    search.tableau, search.tolerance = EIGHTH, settings.near / 100
    search.improve(settings.polished, settings.rounding, settings, settings.least_gain)
    return Law(search, family, tuple(errors))
