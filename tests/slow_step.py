# mypy: disable-error-code="attr-defined, has-type"
r"""The step in plain NumPy, slow, written from what follows and from nothing else: the oracle of the compiled one.

It builds its own constants: memories from `legt` and `bilinear`, readouts of the constructed members from `exact` and
from least squares.

The step, formula by formula, in the order in which it is computed:

Symbols are the fields of the record (`streams/record.py`); constants in `code` are those of `streams/settings`, where
each has its
reason (numbers written out here are the defaults of its groups). Everything is float64. Sums over members or features
are taken in eight interleaved parts, which no formula depends on.

**A value u arrives.** Before the first one NaN changes nothing. The first sets last = mean = every lag = u, and is
then taken in like any other with du = 0; nothing is learned from it.

1. h = gap + 1. If gap = 0 and u = last, same += 1; if gap = 0 and u ≠ last, longest ← max(longest, same), rests += 1
   if same ≥ 16, and same = 0. If h > 1, with o = min(⌊log₂ h⌋, 12): gap_error[o] ← max(|u - E|, `gap_fades` ·
   gap_error[o]) and gap_seen[o] += 1. The value is learned from: 2 to 5 with p = 1/h, then learned += 1. Below, n =
   learned before that, du = u - last. The expected value is E = last + change (last alone if `hold` and gap > 0),
   limited to the largest (smallest) value so far where the weight of that centroid of alarm_middle is at least 0.02
   alarm_seen, 16 and 2 (same + 1). E is then limited, if more than one value is known, to the range R of all values
   known (from the outermost centroids of alarm_middle) and ρ(h) to either side, c = `gap_reach` √v, v the largest of
   the copy's scale and its two peaks: ρ = max(2 c, min(h c, |R| min(1.5 `gap_reach` h/count, 1))); then to ±1e75; and
   e = (u - E)/W, W as in *Reading*. Values repeat where 1/16 of all (20 or more) differences so far were 0 (the first
   centroid is 0 and its weight that many); then the *tick* is the second centroid of the differences, else 0. *Doubt:*
   with h' = h - doubts, for x = |u - E|/h' among the errors and |u - last|/h' among the changes (8 or more; ranks by
   the weights of the centroids), with q₇₅ ≥ tick/2, q₉₅ ≥ tick and x₄ the fourth largest: u is wild if both exceed
   max(q₉₅ (0.05/`doubtful`)^s, 2 x₄), s = max(log₅(q₉₅/q₇₅), ξ₀), ξ₀ = log(N₁₀/N₆)/log 20 of the normal quantiles N
   below (never where q₇₅ of the changes is 0, and beyond x₄ where that of the errors is); and if
   doubts > 0 and |u - E - doubted| < |u - E| for the last one doubted. If wild and doubts < 2: doubted ← u - E at
   that place, doubts += 1, the quantiles of 2 take in x₄² of the errors, and u is a gap with E in its place.
   Otherwise doubts ← 0, and a wild u is confirmed: δ is the median of both doubted and u - E; the quantiles of 2 take
   in δ²; last, mean, lags, ring, E += δ; and if gap = 2, the two values before are *amended* by doubted - δ, known +=
   2 and gap = 0.
2. *Calibration,* unless same ≥ 16. If n = 0, error_scale = max(e², 1e-200). If e² or error_scale exceeds 1e-200, each
   quantile q of level l is multiplied by exp(η l) where e² > q² error_scale and by exp(η (l - 1)) where not, η = 2
   `first_rate`/((n + 1)(1 - l)) between `rate` and `first_rate` (`rate` where half of all differences, with this one,
   were 0), and limited to 0.01 … 1e6; before that, where e passes the quantile Q of level
   0.98, tail ← tail + (min(log(|e|/(Q √error_scale)), 4) - tail) max(1/`tail_over`, 1/(`block` + 0.02 (n + 1))).
   Then error_scale ← max(error_scale + (e² - error_scale) ρ, 1e-200), ρ = max(1 - `discount`, 1/(n + 1 + `block`));
   error_peak ← max(error_peak, e²). When n + 1 is a multiple of `block`: error_scale ← min(error_scale, `ceiling` ·
   max(error_peak, last_error_peak, 1e-200)), last_error_peak ← error_peak, error_peak ← 0.
3. *Solved readouts,* each with features φ (as they are before u) times p, and error ε = du p - readout · φ: π = φ · φ
   if n ≥ longest, else 0; longest is the member's oldest lag, needed = longest + 1.5 × features. If π > 1e-200:
   on the first such occasion factor S = √(1e12/π) I, growth = 1, power = π. Then, S meaning growth · factor,
   g = Sᵀ φ, β = λ + g · g, readout += S g ε/β, S ← S - S g gᵀ/(β + √(λ β)), and growth ← growth/√λ. Always power ←
   power + (π - power)/64. When n + 1 is a multiple of 64 the growth is multiplied into the factor; if then
   ‖S‖² power > 1e16, every weight is observed once more as it is, with variance v = 1e16/(2 power · features): each
   singular value s of S becomes s/√(1 + s²/v); if it is 1e40 or more,
   or the readout's sum beyond 1e100, the member starts over.
4. *Bias,* for each constructed member: bias ← bias + ((du - prediction) p - bias) a, a = min(1, 8/window);
   squared_bias ← squared_bias + (bias² - squared_bias) max(min(1 - `discount`, 1/window), 1/(n + 1)).
5. *Mixture,* with eᵢ = (du - predictionᵢ) p and least = (1e-17 u)² + 1e-200: if n = 0, every scale is max(e₀²,
   least), e₀ that of the copy. wᵢ ∝ wᵢ √vᵢ/(vᵢ + eᵢ²), then wᵢ ← (1 - `share`) wᵢ + `share` · priorᵢ; scale vᵢ ←
   max(vᵢ + (eᵢ² - vᵢ) ρ, least); peaks and every `block`-th value as in 2, with least for 1e-200. If h = 1, the same
   for shrink_weight (prior 1/2 each), shrink_scale and its peaks with errors of shrink_ahead, but that a scale of 0
   becomes max(e², least) first. Then, with a = du, b = shrink_ahead[0] and s = shrink_scale[0] + 1e-17² (a² + b²): if
   b²/s > 1e-200, shrink_sums ← `shrink_discount` · shrink_sums + (a b, b²)/s.
6. *If gap > 0 and not hold* the values of the gap are amended by (u - E)/h, 2 (u - E)/h, …, oldest first. Amended, they
   and last are others by that much; and with d the difference of each amendment from the one before it (from 0 for the
   first), for z and each alternation: e ← A (e - x₁ d) and e ← d - a e from 0 on, which are added to them.
7. *Memories,* with du = u - last: lags move on by one, u first; lag features are lag - u. z ← A (z - x₁ du), A from
   the bilinear rule, x₁ = (I - A)⁻¹ B. alternation ← du - a · alternation for a = 0.9 and 0.98; its feature is that
   times 1 - a. count += 1; mean += (u - mean) max(0.001, 1/count), its feature is mean - u. last = u; known
   += 1; gap = 0.
8. *Predictions* of the next change: readouts of the lag features or of z for the constructed members; for a solved
   one readout · φ, limited to ±4 ‖φ‖, or start · φ while learned < needed. change = Σ (wᵢ/vᵢ) predictionᵢ /
   Σ (wᵢ/vᵢ), with 1 for a vᵢ of 0, over the members that are awake: 119, and while a season is on three more
   (`streams/kernels/seasonal.pyx`). Last, shrink_ahead = (change, λ change), λ = shrink_sums[0]/shrink_sums[1]
   between 0 and 1, or 1 while learned < `block` or there are no sums, and the final change is their mean with
   weights shrink_weight/shrink_scale; after a value that stands in for a missing one it stays what it was before
   that.

**A gap** (NaN) is 7 and 8 with u = E (or last if `hold`), without known += 1; gap += 1.

**Reading.** mean E; half the interval's width is Q · √error_scale · (1 + `few`/learned²) · W, no less than the
distance between neighbouring floats at E nor than half a tick, where Q is read off the running maximum of the tracked
quantiles along straight lines over the normal quantiles of their levels (0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995,
0.998, 0.999, 0.9995), in proportion below the first; beyond the last it is that one times (0.0005/(1 - level))^ξ, ξ =
max(tail, ξ₀). W = 1 if h = 1. Else, with q the half width one step ahead at level 0.9, a(o) = gap_error[o] (1 +
`gap_few`/gap_seen[o]^1.5) and the power c = 3 where error_scale < 1e-8 of the copy's scale, else 1: W = w/q, 1 at
least, where w = max(a(o'), q) 2^(c (o - o')) for the largest o' ≤ o with gap_seen > 0, q h^c if there is none; then w
is at most |R| + ρ(h) + q √h (and no less, if h > 131 072).
A score turns |u - E|/W, over the same root mean square, into a normal quantile x the same way, and is -log10
erfc(x/√2), or beyond the last quantile -log10 0.0005 + log10(size/quantile)/ξ; it lies between 0 and 15, and is at
most log10(1 + learned) or, unless √error_scale ≤ 1e-15 |last| + √1e-200, learned/`decade` if that is more; and where
values repeat at most -log10 p, p the tail of |u - E|/h among the centroids of the errors: 0.5 in their lower half; (c
+ 1)/(alarm_seen + 2), 0.5 at most, where c is the weight at or above it, with 0.5 (weight - 1) times the part of the
way to the centroid below; 1/(alarm_seen + 1) where c < 0.5; and no more than (weight of the outermost 10, a quarter
of them at most)/alarm_seen · (x/x₁)^(-1/s), x its distance from the middle centroid, x₁ that of the innermost of the
ten, if x is more, s their mean logarithm of distance/x₁, ξ₀ at least; no less than 1e-15. Where half were 0 and
error_scale > scale of the copy/4, p is at least the share of differences of |u - last|/h - tick/4 or more.

The priors are 1/(degree + 1) for constructed members and 4 for solved ones, over their sum. The solved members:

| features | λ | starts as |
|---|---|---|
| lags 1–4, both alternations, the first 4 states over 48 and the first 6 over 256 samples | 0.999 | straight line |
| lags 1–15, mean | 0.9995 | copy |
| lags 1–8, mean | 0.999 | copy |
| lags 1–2, mean | 0.998 | copy |
"""

from __future__ import annotations

import copy
from fractions import Fraction

import numpy as np
from scipy.special import erfc, ndtri

from prophecy import legt
from prophecy.constructions import exact
from prophecy.discretize import bilinear
from prophecy.streams.settings import Settings

S = Settings()
SMALLEST, ROUNDING, ERROR_ROUNDING, PRIOR_POWER, BOUND, TIDY = 1e-200, 1e-17, 1e-15, 1e12, 1e16, 64
WINDOWS = (48, 64, 96, 128, 192, 256, 384, 512, 768, 1024)
LEVELS = np.array([0.5, 0.7, 0.8, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 0.999, 0.9995])
NORMAL = ndtri((1 + LEVELS) / 2)
LIGHTEST = np.log(NORMAL[-1] / NORMAL[6]) / np.log(20)
POLES = np.array([0.9, 0.98])
# Feature numbers: lags 0 … 31, ten memories of eight states, two alternations, the mean, 18 around the seasons.
SOLVED = (
    ([1, 2, 3, 4, 112, 113, *range(32, 36), *range(72, 78)], 0.999, -1.0),
    ([*range(1, 16), 114], 0.9995, 0.0),
    ([*range(1, 9), 114], 0.999, 0.0),
    ([1, 2, 114], 0.998, 0.0),
)


def least_noise(window, degree):
    """Weights on the last samples, exact for powers of time a step ahead, of least norm: V' (V V')⁻¹ t in fractions."""
    V = [[Fraction(-age) ** d for age in range(window)] for d in range(degree + 1)]
    rows = [[sum(a * b for a, b in zip(x, y, strict=True)) for y in V] + [Fraction(1)] for x in V]
    for i in range(degree + 1):
        rows[i] = [x / rows[i][i] for x in rows[i]]
        for j in range(degree + 1):
            if j != i:
                rows[j] = [x - rows[j][i] * y for x, y in zip(rows[j], rows[i], strict=True)]
    return [float(sum(row[-1] * x[age] for row, x in zip(rows, V, strict=True))) for age in range(window)]


class Fixed:
    """Windows, degrees and readouts of the constructed members, in the record's order."""

    def __init__(self):
        kinds = [(d + 1, d) for d in range(9)]
        kinds += [(w, d) for w in (4, 6, 8, 12, 16, 24, 32) for d in (1, 2, 3, 5, 7) if d + 1 < w]
        kinds.sort()
        kinds += [(w, 0) for w in (4, 6, 8, 12, 16, 24, 32)]
        self.short = np.zeros((32, len(kinds)))
        for i, (window, degree) in enumerate(kinds):
            gain = 2.0 / (window + 1)  # exponential smoothing, as old in the mean as the last `window` samples
            smoothed = [gain * (1.0 - gain) ** age for age in range(32)]
            plain = degree > 0 or window == 1
            self.short[: window if plain else 32, i] = (
                least_noise(window, degree) if plain else np.array(smoothed) / sum(smoothed)
            )
        self.window = [w for w, _ in kinds]
        self.degree = [d for _, d in kinds]
        self.A, self.steady, self.C = [], [], []
        for window in WINDOWS:
            basis = legt(8, float(window))
            pair = bilinear(basis.A, basis.B, 1.0)
            self.A.append(pair.A)
            self.steady.append(np.linalg.solve(np.eye(8) - pair.A, pair.B))
            self.C.append(np.stack([exact(basis, 1.0, degree).C for degree in (0, 1, 2, 3, 4, 5, 7)]))
            self.window += [window] * 7
            self.degree += [0, 1, 2, 3, 4, 5, 7]
        prior = np.array([1.0 / (d + 1) for d in self.degree] + [4.0] * 4)
        self.prior = prior / prior.sum()


FIXED = Fixed()
COUNT = len(FIXED.window)
MEMBERS = COUNT + 4


class Slow:
    """A record as plain arrays, and the step as the page has it."""

    def __init__(self, r):
        self.__dict__ = {name: copy.deepcopy(r[name]) for name in r.dtype.names}
        self.S, place = [], 0
        for numbers, *_ in SOLVED:
            stride = -(-len(numbers) // 8) * 8
            self.S.append(self.factor[place : place + len(numbers) * stride].reshape(-1, stride)[:, : len(numbers)])
            place += len(numbers) * stride
        # How large the terms of the least squares are, which their sums cancel to a fraction of: what rounding is
        # relative to.
        self.terms = [(np.abs(self.readout[s]).max(), np.linalg.norm(self.S[s])) for s in range(4)]

    def expected(self):
        ahead, known = self.last + self.change, self.alarm_size[2]
        pile = max(0.02 * self.alarm_seen, 16, 2 * (self.same + 1))
        if known and self.alarm_weight[2, known - 1] >= pile:
            ahead = min(ahead, self.alarm_middle[2, known - 1])
        if known and self.alarm_weight[2, 0] >= pile:
            ahead = max(ahead, self.alarm_middle[2, 0])
        if self.hold and self.gap:
            ahead = self.last
        if known:
            lowest, highest = self.alarm_middle[2, 0], self.alarm_middle[2, known - 1]
            reach = self.reach(self.gap + 1.0)
            ahead = np.clip(ahead, lowest - reach, highest + reach)
        return min(max(ahead, -1e75), 1e75)

    def reach(self, h):
        lowest, highest = self.alarm_middle[2, 0], self.alarm_middle[2, self.alarm_size[2] - 1]
        one = 2 * np.sqrt(max(self.scale[0], self.peak[0], self.last_peak[0]))
        return max(2 * one, min(one * h, (highest - lowest) * min(3 * h / self.count, 1.0)))

    def resting(self):
        return self.alarm_weight[1, 0] if self.alarm_size[1] and self.alarm_middle[1, 0] == 0 else 0.0

    def rests_half(self, more=0, still=0):
        """Whether half of all changes so far and of these more, of which some were none, were 0."""
        return 2 * (self.resting() + still) >= max(self.alarm_seen + more, 1)

    def tick(self):
        repeat = self.alarm_seen >= 20 and 16 * self.resting() >= self.alarm_seen
        return self.alarm_middle[1, 1] if repeat and self.alarm_size[1] > 1 else 0.0

    def rarest(self, error, difference):
        """The ceiling of scores where values repeat: ranks in the sketches of errors (0) and differences (1)."""
        n = self.alarm_seen
        if n < 20 or 16 * self.resting() < n:
            return np.inf
        size = self.alarm_size[0]
        x, w = self.alarm_middle[0, :size], self.alarm_weight[0, :size]
        low = int(np.sum(x < error))
        beyond = w[low:].sum()
        if 0 < low < size and x[low] > error:
            beyond += 0.5 * (w[low - 1] - 1) * (x[low] - error) / (x[low] - x[low - 1])
        if low < size // 2:
            p = 0.5
        elif beyond >= 0.5:
            p = min((beyond + 1) / (n + 2), 0.5)
        else:
            p = 1 / (n + 1)
        outer, centre = min(10, size // 4), x[size // 2]
        if outer >= 3 and error > x[-outer] > centre:
            far, total = (x[-outer:] - centre) / (x[-outer] - centre), w[-outer:].sum()
            slope = max(w[-outer:] @ np.log(far) / total, LIGHTEST)
            p = max(min(total / n * ((error - centre) / (x[-outer] - centre)) ** (-1 / slope), p), 1e-15)
        if 2 * self.resting() >= n and self.error_scale > 0.25 * self.scale[0]:
            size = self.alarm_size[1]
            large = self.alarm_middle[1, :size] >= difference - self.tick() / 4
            p = max(p, min(self.alarm_weight[1, :size][large].sum() / n, 1.0))
        return -np.log10(p)

    def step(self, u):
        if np.isnan(u):
            if self.count:
                self.miss(self.last if self.hold else self.expected())
            return
        if self.count == 0:
            self.last = self.mean = u
            self.lag[:] = u
        else:
            h, said = self.gap + 1, self.expected()
            wider, resting = self.across(), self.rests_half(1, u == self.last)
            since = h - self.doubts
            wild = self.wild(abs(u - said) / since, abs(u - self.last) / since)
            wild |= self.doubts > 0 and abs(u - said - self.doubted[self.doubts - 1]) < abs(u - said)
            if self.gap == 0 and u == self.last:
                self.same += 1
            elif self.gap == 0:
                self.longest, self.rests = max(self.longest, self.same), self.rests + (self.same >= 16)
                self.same = 0
            if wild and self.doubts < 2:
                self.doubted[self.doubts] = u - said
                self.doubts += 1
                self.quantiles(self.often(0) ** 2, self.rests_half())
                self.miss(said)
                return
            if wild:
                by = np.median([*self.doubted, u - said])
                self.quantiles(by**2, resting)
                self.last, self.mean, self.lag = self.last + by, self.mean + by, self.lag + by
                if self.gap == 2:
                    self.amend(self.doubted - by)
                    self.known, self.gap = self.known + 2, 0
                said += by
            self.doubts = 0
            if h > 1:
                octave = min(int(h).bit_length() - 1, 12)
                self.gap_error[octave] = max(abs(u - said), S.gap_fades * self.gap_error[octave])
                self.gap_seen[octave] += 1
            self.learn(u, (u - said) / wider, 1.0 / h, resting)
            if self.gap and not self.hold:
                self.amend((u - said) / h * np.arange(1, self.gap + 1))
        self.advance(u)
        self.known, self.gap, self.crossed = self.known + 1, 0, 0

    def miss(self, instead):
        self.advance(instead, filled=True)
        self.gap, self.crossed = self.gap + 1, self.crossed + 1

    def amend(self, by):
        """The last values were others, by so much each, oldest first."""
        newest = by[::-1][:32]
        self.lag[: len(newest)] += newest
        self.last = self.lag[0]
        added, more = np.zeros((10, 8)), np.zeros(2)
        for rise in np.diff(by, prepend=0.0):
            added = np.array([FIXED.A[w] @ (added[w] - FIXED.steady[w] * rise) for w in range(10)])
            more = rise - POLES * more
        self.feature[32:112] += added.ravel()
        self.alternation = self.alternation + more

    def often(self, i):
        """The fourth largest of the errors (i = 0) or changes (1)."""
        weight = self.alarm_weight[i, : self.alarm_size[i]]
        place = np.flatnonzero(np.cumsum(weight[::-1]) >= 4)
        return self.alarm_middle[i, len(weight) - 1 - place[0]] if len(place) else 0.0

    def wild(self, *sizes):
        """Whether an error and a change are both larger than the past allows."""
        if self.alarm_seen < 8:
            return False
        tick = self.tick()
        for i, size in enumerate(sizes):
            above = np.cumsum(self.alarm_weight[i, : self.alarm_size[i]][::-1])
            middle = self.alarm_middle[i, : self.alarm_size[i]][::-1]
            q95 = max(middle[np.argmax(above >= 0.05 * self.alarm_seen)], tick)
            q75 = max(middle[np.argmax(above >= 0.25 * self.alarm_seen)], tick / 2)
            if q75 == 0 and i == 1:
                return False
            heavy = max(np.log(q95 / q75) / np.log(5), LIGHTEST) if q75 > 0 else 0.0
            limit = max(q95 * (0.05 / S.doubtful) ** heavy, 2 * self.often(i)) if q75 > 0 else self.often(i)
            if size <= limit:
                return False
        return True

    def across(self):
        h = self.gap + 1.0
        if h < 2:
            return h
        one = SMALLEST
        if self.learned:
            one = max(self.quantile[3] * np.sqrt(self.error_scale) * (1 + S.few / self.learned**2), SMALLEST)
        octave = min(int(h).bit_length() - 1, 12)
        seen = np.flatnonzero(self.gap_seen)
        after = self.gap_error[seen] * (1 + S.gap_few / self.gap_seen[seen] ** 1.5)
        power = 3.0 if self.error_scale < 1e-8 * self.scale[0] else 1.0
        wide = one * h**power
        if (seen <= octave).any():
            wide = max(after[seen <= octave][-1], one) * 2.0 ** (power * (octave - seen[seen <= octave][-1]))
        known = self.alarm_size[2]
        if known and self.learned:
            widest = self.alarm_middle[2, known - 1] - self.alarm_middle[2, 0] + self.reach(h) + one * np.sqrt(h)
            wide = widest if h > 2**17 else min(wide, widest)
        return max(wide / one, 1.0)

    def learn(self, u, error, p, resting):
        n, du = self.learned, u - self.last
        rho = max(1 - S.discount, 1.0 / (n + 1 + S.block))
        block = (n + 1) % S.block == 0
        if self.same < 16:
            self.calibrate(error**2, rho, block, resting)
        if p == 1:
            self.shrink(u, du, rho, block)
        for s in range(4):
            self.solve(s, du, p)
        errors = (du - self.prediction[:MEMBERS]) * p
        averaging = np.minimum(1.0, 8.0 / np.array(FIXED.window))
        self.bias = self.bias + (errors[:COUNT] - self.bias) * averaging
        rate = np.maximum(np.minimum(1 - S.discount, 1.0 / np.array(FIXED.window)), 1.0 / (n + 1))
        self.squared_bias = self.squared_bias + (self.bias**2 - self.squared_bias) * rate
        least = (ROUNDING * u) ** 2 + SMALLEST
        if n == 0:
            self.scale[:MEMBERS] = max(errors[0] ** 2, least)
        scale, peak, last = self.scale[:MEMBERS], self.peak[:MEMBERS], self.last_peak[:MEMBERS]
        w = self.weight[:MEMBERS] * np.sqrt(scale) / (scale + errors**2)
        self.weight[:MEMBERS] = (1 - S.share) * w / w.sum() + S.share * FIXED.prior
        scale[:] = np.maximum(scale + (errors**2 - scale) * rho, least)
        peak[:] = np.maximum(peak, errors**2)
        if block:
            scale[:] = np.minimum(scale, S.ceiling * np.maximum(np.maximum(peak, last), least))
            last[:], peak[:] = peak, 0.0
        self.learned = n + 1

    def calibrate(self, squared, rho, block, resting):
        if self.learned == 0:
            self.error_scale = max(squared, SMALLEST)
        self.quantiles(squared, resting)
        self.error_scale = max(self.error_scale + (squared - self.error_scale) * rho, SMALLEST)
        self.error_peak = max(self.error_peak, squared)
        if block:
            highest = S.ceiling * max(self.error_peak, self.last_error_peak, SMALLEST)
            self.error_scale = min(self.error_scale, highest)
            self.last_error_peak, self.error_peak = self.error_peak, 0.0

    def quantiles(self, squared, resting):
        if max(squared, self.error_scale) > SMALLEST:
            beyond = squared > self.quantile**2 * self.error_scale
            if beyond[5]:
                heavier = min(np.log(squared / self.error_scale) / 2 - np.log(self.quantile[5]), 4.0)
                self.tail += (heavier - self.tail) * max(1 / S.tail_over, 1 / (S.block + 0.02 * (self.learned + 1)))
            young = 0.0 if resting else 2.0
            rate = np.clip(S.first_rate * young / ((self.learned + 1) * (1 - LEVELS)), S.rate, S.first_rate)
            self.quantile = self.quantile * np.where(beyond, np.exp(rate * LEVELS), np.exp(rate * (LEVELS - 1)))
            self.quantile = np.clip(self.quantile, 0.01, 1e6)

    def shrink(self, u, du, rho, block):
        """The forecast change in full and shrunk, mixed by the bank's rule, and the sums of its share."""
        least = (ROUNDING * u) ** 2 + SMALLEST
        squared = (du - self.shrink_ahead) ** 2
        scale = np.where(self.shrink_scale == 0, np.maximum(squared, least), self.shrink_scale)
        w = self.shrink_weight * np.sqrt(scale) / (scale + squared)
        self.shrink_weight = (1 - S.share) * w / w.sum() + S.share / 2
        self.shrink_scale = np.maximum(scale + (squared - scale) * rho, least)
        self.shrink_peak = np.maximum(self.shrink_peak, squared)
        if block:
            highest = S.ceiling * np.maximum(np.maximum(self.shrink_peak, self.shrink_last_peak), least)
            self.shrink_scale = np.minimum(self.shrink_scale, highest)
            self.shrink_last_peak, self.shrink_peak = self.shrink_peak, np.zeros(2)
        actual, full = du, self.shrink_ahead[0]
        usual = self.shrink_scale[0] + ROUNDING**2 * (actual**2 + full**2)
        if full**2 / usual > SMALLEST:
            self.shrink_sums = S.shrink_discount * self.shrink_sums + full * np.array([actual, full]) / usual

    def solve(self, s, du, p):
        numbers, forgetting, start = SOLVED[s]
        n, width = self.learned, len(numbers)
        phi, readout = self.feature[numbers] * p, self.readout[s, :width]
        longest = max(i for i in numbers if i < 32)
        error = du * p - readout @ phi
        power = 0.0 if n < longest else phi @ phi
        if power > SMALLEST:
            if not self.begun[s]:
                self.S[s][:] = np.sqrt(PRIOR_POWER / power) * np.eye(width)
                self.growth[s], self.power[s], self.begun[s] = 1.0, power, 1
            root = self.S[s] * self.growth[s]
            g = root.T @ phi
            beta = forgetting + g @ g
            large, reach = np.linalg.norm(root), np.linalg.norm(root) * np.linalg.norm(phi)
            spread = large * (1 + reach * (np.linalg.norm(g) + reach) / (beta + np.sqrt(forgetting * beta)))
            self.terms[s] = (
                np.abs(readout).max() + large * reach * (abs(error) + np.abs(readout * phi).sum()) / beta,
                spread,
            )
            readout += root @ g * error / beta
            root = root - np.outer(root @ g, g) / (beta + np.sqrt(forgetting * beta))
            self.S[s][:] = root / self.growth[s]
            self.growth[s] /= np.sqrt(forgetting)
        self.power[s] += (power - self.power[s]) / TIDY
        if (n + 1) % TIDY == 0:
            self.S[s][:] *= self.growth[s]
            self.growth[s] = 1.0
            size = np.sum(self.S[s] ** 2) * self.power[s]
            if not size < 1e24 * BOUND or abs(readout.sum()) >= 1e100:
                self.S[s][:], self.begun[s] = 0.0, 0
                readout[:] = 0.0
                readout[0] = start
            elif size > BOUND:
                left, values, right = np.linalg.svd(self.S[s])
                variance = BOUND / (2 * self.power[s] * width)
                self.S[s][:] = left * (values / np.sqrt(1 + values**2 / variance)) @ right

    def advance(self, u, filled=False):
        du = u - self.last
        self.lag = np.concatenate([[u], self.lag[:-1]])
        self.feature[:32] = self.lag - u
        ahead = [self.feature[:32] @ FIXED.short]
        for w in range(10):
            here = slice(32 + 8 * w, 40 + 8 * w)
            self.feature[here] = FIXED.A[w] @ (self.feature[here] - FIXED.steady[w] * du)
            ahead.append(FIXED.C[w] @ self.feature[here])
        self.alternation = du - POLES * self.alternation
        self.feature[112:114] = self.alternation * (1 - POLES)
        self.count = self.count + 1
        self.mean = self.mean + (u - self.mean) * max(1e-3, 1.0 / self.count)
        self.feature[114] = self.mean - u
        self.last = u
        for s, (numbers, _, start) in enumerate(SOLVED):
            phi = self.feature[numbers]
            needed = max(i for i in numbers if i < 32) + 1.5 * len(numbers)
            farthest = 4.0 * np.sqrt(phi @ phi)
            said = np.clip(self.readout[s, : len(numbers)] @ phi, -farthest, farthest)
            ahead.append([start * phi[0] if self.learned < needed else said])
        self.prediction[:MEMBERS] = np.concatenate(ahead)
        shares = self.weight[:MEMBERS] / np.where(self.scale[:MEMBERS] > 0, self.scale[:MEMBERS], 1.0)
        full = shares @ self.prediction[:MEMBERS] / shares.sum()
        share_kept = 1.0
        if self.learned >= S.block and self.shrink_sums[1] > 0:
            share_kept = np.clip(self.shrink_sums[0] / self.shrink_sums[1], 0, 1)
        self.shrink_ahead = np.array([full, share_kept * full])
        shares = self.shrink_weight / np.where(self.shrink_scale > 0, self.shrink_scale, 1.0)
        self.change = full if filled else shares @ self.shrink_ahead / shares.sum()

    def read(self, level):
        knots, normal = ndtri((1 + LEVELS) / 2), ndtri((1 + level) / 2)
        held = np.maximum.accumulate(self.quantile)
        below = normal <= knots[-1]
        law = 0.0005 / (2 * (1 - (1 + level) / 2))
        factor = np.interp(normal, [0, *knots], [0, *held]) if below else held[-1] * law ** max(self.tail, LIGHTEST)
        if normal < knots[0]:
            factor = held[0] * normal / knots[0]
        mean = self.expected()
        usual = np.sqrt(self.error_scale) * (1 + S.few / self.learned**2)
        return mean, max(factor * usual * self.across(), np.spacing(abs(mean)), self.tick() / 2)

    def most(self):
        exactly = np.sqrt(self.error_scale) <= ERROR_ROUNDING * abs(self.last) + np.sqrt(SMALLEST)
        known = np.log10(1 + self.learned)
        return min(known if exactly else max(known, self.learned / 15), 15.0)

    def score(self, u):
        knots, held = ndtri((1 + LEVELS) / 2), np.maximum.accumulate(self.quantile)
        usual = np.sqrt(self.error_scale) * (1 + S.few / self.learned**2)
        size = abs(u - self.expected()) / self.across() / usual
        if size <= held[-1]:
            found = -np.log10(erfc(np.interp(size, [0, *held], [0, *knots]) / np.sqrt(2)))
        else:
            found = np.log10(size / held[-1]) / max(self.tail, LIGHTEST) - np.log10(0.0005)
        found = max(min(found, self.most()), 0.0)
        if found <= 0:
            return found
        h = self.gap + 1
        return min(found, self.rarest(abs(u - self.expected()) / h, abs(u - self.last) / h))
