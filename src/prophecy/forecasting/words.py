"""What `method`, `notes` and `explain` say of a mixture."""

from collections.abc import Sequence

import numpy as np

from prophecy._arrays import Array
from prophecy._forecast import PROBABILITIES
from prophecy.forecasting.mixture import Mixture
from prophecy.forecasting.seasons import profiles
from prophecy.forecasting.series import Series
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
        used = _used(mixture, column, settings)
        said = _season(column, used), _direction(column, used, grids[number]), _shares(mixture)
        notes += [about + note for note in said]
    if len(pairs) > _NAMED:
        notes.append(f"{len(pairs) - _NAMED} further variables were forecast in the same way.")
    leading = [mixture.shares()[0][1] for mixture in mixtures]
    first = max(set(leading), key=leading.count)
    if any(mixture.rare(settings) for mixture in mixtures):
        notes.append("Many values are the same: quantiles come from how often and how far the others differ.")
    single = sum(len(mixture.shares()) for mixture in mixtures) == len(mixtures)
    return (first if single else f"mixture led by {first}"), tuple(notes)


def _used(mixture: Mixture, column: Series, settings: Settings) -> list[int]:
    """The seasons looked at that were found: by a profile, or by what repeats the shortest of them."""
    there = profiles(column.y, column.seasons, settings)[0]
    found = {len(one.deviations) for one in there if one.strength > 2}  # more than half of it is no noise
    repeats = mixture.weight(lambda candidate: candidate.family == "profile") > 0.5
    return sorted(found | ({min(column.seasons)} if repeats else set()))


def _season(column: Series, used: list[int]) -> str:
    """Which of the seasons looked at were found, and which were not."""
    found = f"Season of {joined([str(season) for season in used])} values" if used else "No season is used"
    other = [str(season) for season in sorted(column.seasons) if season not in used]
    return found + (f"{'. One' if used else ': one'} of {' or '.join(other)} values does not help." if other else ".")


def _direction(column: Series, used: list[int], grid: Array) -> str:
    """The straight line through the median, or through its means over a season, that of the latest values first.

    It is a trend where it goes farther than half of the last values will be off, and than the path strays from it.
    """
    path, season = grid[len(grid) // 2], min(max(used, default=1), len(column.y))
    if season > 1:
        path = np.convolve(np.concatenate([column.y[-season:], path]), np.full(season, 1 / season), "valid")
    if len(path) == 1:
        return f"One value ahead, near {path[0]:.4g}."
    times = np.linspace(-1.0, 1.0, len(path))
    slope = float(times @ path / (times @ times))
    before, after = path.mean() - slope, path.mean() + slope
    off = float(np.interp(0.75, PROBABILITIES, grid[:, -1]) - np.interp(0.25, PROBABILITIES, grid[:, -1])) / 2
    if abs(after - before) <= max(off, 2 * float(np.std(path - slope * times))):
        return f"No trend: stays near {path.mean():.4g}."
    return f"Trend: {'rises' if slope > 0 else 'falls'} from {before:.4g} to {after:.4g}."


def _shares(mixture: Mixture) -> str:
    shares = mixture.shares()
    named = [f"{label} {share:.0%}" for share, label in shares[:_NAMED]]
    rest = sum(share for share, _ in shares[_NAMED:])
    if rest >= 0.005:
        others = len(shares) - _NAMED
        named.append(f"{others} {'other' if others == 1 else 'others'} {rest:.0%}")
    return f"Weights: {joined(named)}."
