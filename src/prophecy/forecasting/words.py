"""What `method`, `notes` and `explain` say of a mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.mixture import Mixture
from prophecy.forecasting.seasons import profiles
from prophecy.forecasting.series import Array, Series
from prophecy.forecasting.settings import Settings

_NAMED = 4  # contributors named in a note; the rest is summed up


def joined(parts: Sequence[str]) -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def mixture_notes(
    mixtures: list[Mixture], columns: list[Series], grids: list[Array], settings: Settings
) -> tuple[str, tuple[str, ...]]:
    """The method in a few words, and notes: seasons, where the path goes, who contributed how much.

    grids: (probabilities, steps) quantiles of each variable.
    """
    pairs = list(zip(mixtures, columns, strict=True))
    several = len(pairs) > 1
    notes = []
    for number, (mixture, column) in enumerate(pairs[:_NAMED]):
        about = f"Variable {number}: " if several else ""
        said = _season(column, settings), _direction(mixture, column, grids[number]), _shares(mixture)
        notes += [about + note for note in said]
    if len(pairs) > _NAMED:
        notes.append(f"{len(pairs) - _NAMED} further variables were mixed likewise.")
    leading = [mixture.shares()[0][1] for mixture in mixtures]
    first = max(set(leading), key=leading.count)
    if any(mixture.rare(settings) for mixture in mixtures):
        notes.append("Many zeros: quantiles are those of the values seen, around the expected rate.")
    parts = sum(len(mixture.shares()) for mixture in mixtures)
    single = parts == len(mixtures)
    return (first if single else f"mixture led by {first}"), tuple(notes)


def _season(column: Series, settings: Settings) -> str:
    """Which of the seasons looked at were found, and what was not."""
    there = profiles(column.y, column.seasons, settings)[0]
    found = [str(len(one.deviations)) for one in there if one.strength > settings.season_said]
    other = [str(season) for season in sorted(column.seasons) if str(season) not in found]
    if not found:
        return "No season is used" + (f": one of {joined(other)} values does not help." if other else ".")
    return f"Season of {joined(found)} values." + (f" None of {joined(other)} values." if other else "")


def _direction(mixture: Mixture, column: Series, grid: Array) -> str:
    """Where the path goes, called a trend where it goes farther than half of the last values will be off.

    Over a season: the last season of the path against its first, or against the same phases before the forecast.
    """
    season, steps, path = max(column.seasons, default=1), len(mixture.path), mixture.path
    if season > 1 and steps < 2 * season <= 2 * len(column.y):
        span = min(season, steps)
        before, after = float(np.mean(column.y[len(column.y) - season :][:span])), float(np.mean(path[:span]))
    else:
        before, after = float(np.mean(path[:season])), float(np.mean(path[-season:]))
    off = float(np.interp(0.75, PROBABILITIES, grid[:, -1]) - np.interp(0.25, PROBABILITIES, grid[:, -1])) / 2
    if abs(after - before) <= off:
        return f"No trend: stays near {after:.4g}."
    return f"Trend: {'rises' if after > before else 'falls'} from {before:.4g} to {after:.4g}."


def _shares(mixture: Mixture) -> str:
    shares = mixture.shares()
    named = [f"{label} {share:.0%}" for share, label in shares[:_NAMED]]
    rest = sum(share for share, _ in shares[_NAMED:])
    if rest >= 0.005:
        others = len(shares) - _NAMED
        named.append(f"{others} {'other' if others == 1 else 'others'} {rest:.0%}")
    return f"What it is made of: {joined(named)}."
