"""What `method`, `notes` and `explain` say of a mixture."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from prophecy.dynamics.columns import Column, Kind
from prophecy.dynamics.mixing import Mixture
from prophecy.dynamics.settings import Settings

_NAMED = 4  # contributors named in a note; the rest is summed up


def joined(parts: Sequence[str]) -> str:
    """a, b and c."""
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def mixture_notes(mixtures: list[Mixture], columns: list[Column], settings: Settings) -> tuple[str, tuple[str, ...]]:
    """The method in a few words, and notes: seasons, where the path goes, who contributed how much."""
    pairs = list(zip(mixtures, columns, strict=True))
    several = len(pairs) > 1
    notes = []
    for number, (mixture, column) in enumerate(pairs[:_NAMED]):
        about = f"Variable {number}: " if several else ""
        notes += [about + note for note in (_season(column), _direction(mixture, column), _shares(mixture))]
    if len(pairs) > _NAMED:
        notes.append(f"{len(pairs) - _NAMED} further variables were mixed likewise.")
    leading = [mixture.shares()[0][1] for mixture in mixtures]
    first = max(set(leading), key=leading.count)
    if any(mixture.weight(Kind.RARE) >= settings.rare_least for mixture in mixtures):
        notes.append("Many zeros: the mean is the expected rate, and the quantiles are those of the values seen.")
    parts = sum(int(np.sum(mixture.weights > 0)) for mixture in mixtures)
    single = parts == len(mixtures)
    return (first if single else f"mixture led by {first}"), tuple(notes)


def _season(column: Column) -> str:
    if not column.seasons:
        return "No season was found."
    return f"Seasons looked at: {joined([str(season) for season in column.seasons])} samples."


def _direction(mixture: Mixture, column: Column) -> str:
    season = max(column.seasons, default=1)
    steps = len(mixture.path)
    if steps < season <= len(column.y):  # the same phases a season earlier
        before, after = float(np.mean(column.y[len(column.y) - season :][:steps])), float(np.mean(mixture.path))
    else:
        span = min(season, steps, len(column.y))
        before, after = float(np.mean(column.y[-span:])), float(np.mean(mixture.path[-span:]))
    noise = float(np.std(np.diff(column.y[-64:]))) if len(column.y) > 1 else 0.0
    if abs(after - before) <= 0.5 * noise:
        return f"Level: stays near {before:.4g}."
    return f"Trend: {'rises' if after > before else 'falls'} from {before:.4g} to {after:.4g}."


def _shares(mixture: Mixture) -> str:
    shares = mixture.shares()
    named = [f"{label} {share:.0%}" for share, label in shares[:_NAMED]]
    rest = sum(share for share, _ in shares[_NAMED:])
    if rest >= 0.005:
        named.append(f"{len(shares) - _NAMED} others {rest:.0%}")
    return f"Contributions: {joined(named)}."
