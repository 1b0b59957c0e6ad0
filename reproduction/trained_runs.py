"""Trained results for the pages: the full runs of the repository, shortened ones, and how to read both."""

import contextlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from reproduction.framework import Ask, Cell
from reproduction.rows import number

Run = dict[str, Any]

FOLDER = "data/trained"  # beside this file; pages that read full runs name their files in `data`
GPU, SHORT = "full run (GPU)", "short run"
DIVERGED = 1e6  # an error beyond this has diverged, whatever its mean says: the signals are of size 1
WHOLE = 100  # `--functions` from which on training is not cut down


def committed(name: str) -> Run:
    return dict(json.loads((Path(__file__).parent / FOLDER / f"{name}.json").read_text()))


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """torch with one thread: sums over several differ from machine to machine."""
    import torch

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(threads)


def shortened(ask: Ask, steps: int, scored: int) -> tuple[int, int]:
    """Steps and scored functions: all of them, or cut down in proportion where `--functions` asks for a quick look."""
    if ask.functions is None or ask.functions >= WHOLE:
        return steps, scored
    return max(2, steps * ask.functions // WHOLE), max(3, scored * ask.functions // WHOLE)


def plan(ask: Ask) -> Any:
    from reproduction.trained import common

    if ask.full:
        return common.FULL
    steps, scored = shortened(ask, common.SHORT.steps, common.SHORT.functions)
    return replace(common.SHORT, steps=steps, functions=scored)


def readouts(ask: Ask, variants: Sequence[str], seed: int = 0) -> Run:
    from reproduction.trained import readouts as made

    with one_thread():
        chosen = [variant for variant in made.VARIANTS["radians"] if variant.name in variants]
        return made.train(plan(ask), "radians", [seed], ask.device, chosen)


def merged(parts: Sequence[Run]) -> Run:
    """One run out of several of the same plan: other seeds, or other variants."""
    whole = {**parts[0], "seeds": sorted({seed for part in parts for seed in part["seeds"]})}
    whole["seconds"] = sum(part["seconds"] for part in parts)
    whole["variants"] = list({v["name"]: v for part in parts for v in part["variants"]}.values())
    history: dict[int, list[Any]] = {}
    for check in (check for part in parts for check in part["history"]):
        history.setdefault(check["step"], []).extend(check["scores"])
    whole["history"] = [{"step": step, "scores": scores} for step, scores in sorted(history.items())]
    for name in ("ahead", "solved"):
        whole[name] = [entry for part in parts for entry in part.get(name, [])]
    return whole


def datasets(run: Run) -> list[str]:
    return list(dict.fromkeys(score["dataset"] for score in run["history"][-1]["scores"]))


def stats(run: Run, dataset: str, variant: str, check: int = -1) -> Any:
    """(mean, least, most) over seeds of the mean absolute error; None if a seed diverged or nothing was scored then."""
    scores = run["history"][check]["scores"]
    values = [s["mae"] for s in scores if (s["dataset"], s["variant"]) == (dataset, variant)]
    if not values or any(v is None or not v < DIVERGED for v in values):
        return None
    return sum(values) / len(values), min(values), max(values)


def solved(run: Run, dataset: str) -> float:
    """Mean absolute error of the readout solved in closed form on the training functions, mean over seeds."""
    values = [s["mae"] for s in run["solved"] if s["dataset"] == dataset]
    return float(sum(values) / len(values))


def cell(found: Any, best: float | None = None) -> Cell:
    if found is None:
        return Cell("diverged", "bad")
    mean, least, most = found
    text = number(mean) if least == most else f"{number(mean)} ({number(least)} … {number(most)})"
    return Cell(text, "best" if mean == best else "")


def origin(run: Run) -> str:
    plan, versions = run["plan"], run["versions"]
    seeds = f"{len(run['seeds'])} seeds" if len(run["seeds"]) > 1 else "one seed"
    made = f"{plan['steps']} steps, {seeds}, {run['device']}, torch {versions['torch']}, {run['seconds']:.0f} s"
    return made + (f" ({run['note']})" if "note" in run else "")
