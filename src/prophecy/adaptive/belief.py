r"""How far the forecast's own changes are to be believed.

Readouts solved from few values, and members chosen because they happened to be right, foretell more change than comes.
Of the changes c foretold and d that came, λ = Σ d c/s / Σ c²/s, between 0 and 1 and over some hundred values, is the
part of a change that has come on average (s: the mean squared error at the time, so that a loud stretch does not decide
for the quiet ones). The forecast is a mixture of c and λ c by the bank's own rule; where changes come as they were
foretold, λ is 1 and nothing is lost.
"""

from __future__ import annotations

from typing import Any

from prophecy._compiled import inner
from prophecy.adaptive import mixture


@inner
def learn(r: Any, t: Any, value: float, difference: float, part: float) -> None:
    """Take in the change that came, over 1/part steps, where `belief_ahead` was foretold."""
    mixture.learn(
        r.belief_weight, r.belief_scale, r.belief_peak, r.belief_last_peak, r.belief_ahead,
        t.belief_prior, t.share, t.ceiling, r.learned, t, difference, part, value,
    )  # fmt: skip
    came, told = difference * part, r.belief_ahead[0] * part
    # A change beyond 1e17 times the usual error would count for more than float64 can add to.
    weight = 1.0 / (r.belief_scale[0] + t.rounding * t.rounding * (came * came + told * told))
    if told * told * weight > t.smallest:  # nothing is forgotten while nothing is learned
        r.belief_sums[0] = t.believed_over * r.belief_sums[0] + came * told * weight
        r.belief_sums[1] = t.believed_over * r.belief_sums[1] + told * told * weight


@inner
def believed(r: Any, t: Any, change: float, filled: bool) -> float:
    """The change that is forecast where the members together say `change`. Across a gap (filled) it is that change: a
    part of a part of it, step after step, would soon be nothing."""
    believe = 1.0
    if r.learned >= t.settle and r.belief_sums[1] > 0.0:
        believe = min(max(r.belief_sums[0] / r.belief_sums[1], 0.0), 1.0)
    r.belief_ahead[0] = change
    r.belief_ahead[1] = believe * change
    if filled:
        return change
    return mixture.mixed(r.belief_weight, r.belief_scale, r.belief_ahead)
