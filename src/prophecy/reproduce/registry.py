"""The experiments: every module of this package that makes an `EXPERIMENT`."""

from __future__ import annotations

import difflib
import importlib
import pkgutil
from collections.abc import Sequence

from prophecy.reproduce.framework import Experiment

# These need torch, rich or jinja2, which may be absent; they are imported where they are used.
NOT_PAGES = ("trained", "progress", "page", "report")


def experiments() -> dict[str, Experiment]:
    """All experiments by name, in the report's order."""
    import prophecy.reproduce as package

    found = []
    for module in pkgutil.iter_modules(package.__path__):
        if module.name not in NOT_PAGES:
            loaded = importlib.import_module(f"{package.__name__}.{module.name}")
            if isinstance(getattr(loaded, "EXPERIMENT", None), Experiment):
                found.append(loaded.EXPERIMENT)
    found.sort(key=lambda experiment: (experiment.place, experiment.name))
    return {experiment.name: experiment for experiment in found}


def choose(names: Sequence[str]) -> list[Experiment]:
    """The named experiments in the report's order; all of them if none is named."""
    known = experiments()
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(f"unknown experiment {name!r}; {hint}known are {', '.join(known)}")
    return [experiment for name, experiment in known.items() if not names or name in names]
