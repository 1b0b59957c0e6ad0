"""The experiments: every class of this package's modules that is a page."""

import difflib
import importlib
import pkgutil
from collections.abc import Sequence

import reproduction
from reproduction.framework import Experiment

# These need torch, rich or jinja2, which may be absent; they are imported where they are used.
NOT_PAGES = ("trained", "progress", "page", "report", "command", "__main__")


def experiments() -> dict[str, Experiment]:
    found = []
    for module in pkgutil.iter_modules(reproduction.__path__):
        if module.name not in NOT_PAGES:
            loaded = importlib.import_module(f"reproduction.{module.name}")
            found += [kind() for kind in vars(loaded).values() if _is_page(kind) and kind.__module__ == loaded.__name__]
    found.sort(key=lambda experiment: (experiment.place, experiment.name))
    return {experiment.name: experiment for experiment in found}


def _is_page(kind: object) -> bool:
    return isinstance(kind, type) and issubclass(kind, Experiment) and hasattr(kind, "name")


def choose(names: Sequence[str]) -> list[Experiment]:
    known = experiments()
    for name in names:
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1, cutoff=0.5)
            hint = f"did you mean {close[0]!r}? " if close else ""
            raise ValueError(f"unknown experiment {name!r}; {hint}known are {', '.join(known)}")
    return [experiment for name, experiment in known.items() if not names or name in names]
