"""Makes the trained results: one file per run, each written when it ends, finished ones skipped."""

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from prophecy import _files
from reproduction.trained import common, memories, perceptron, readouts, selective

Run = Callable[[str, Sequence[int]], dict[str, Any]]


def runs(small: bool = False) -> dict[str, Run]:
    """What can be trained, by the name of its file; `small` is the same code in miniature, for tests."""
    plan = common.TINY if small else common.FULL
    return {
        "readouts-radians": lambda device, seeds: readouts.train(plan, "radians", seeds, device),
        "readouts-cycles": lambda device, seeds: readouts.train(plan, "cycles", seeds, device),
        "perceptron": lambda device, seeds: perceptron.train(
            perceptron.TINY if small else perceptron.FULL, seeds, device
        ),
        "selective": lambda device, seeds: selective.train(selective.TINY if small else selective.FULL, seeds, device),
        "memories-radians": lambda device, seeds: memories.train(plan, "radians", seeds, device),
        "memories-cycles": lambda device, seeds: memories.train(plan, "cycles", seeds, device),
    }


def rounded(value: Any) -> Any:
    """Six digits of every number: more than the page shows, and a third of the file."""
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if isinstance(value, dict):
        return {name: rounded(item) for name, item in value.items()}
    return [rounded(item) for item in value] if isinstance(value, list | tuple) else value


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(prog="python -m reproduction.trained", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="RUN", help=f"all if none: {', '.join(runs())}")
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument("--out", type=Path, required=True, help="folder for the results")
    parser.add_argument("--seeds", type=int, nargs="+", default=[0, 1, 2])
    parser.add_argument("--small", action="store_true", help="the same code in miniature")
    given = parser.parse_args(arguments)
    known = runs(given.small)
    for name in given.names:
        if name not in known:
            parser.error(f"unknown run {name!r}; known are {', '.join(known)}")
    common.torch_device(given.device)
    given.out.mkdir(parents=True, exist_ok=True)
    for name, run in known.items():
        target = given.out / f"{name}.json"
        if given.names and name not in given.names:
            continue
        if target.exists():
            print(f"{name}: there already", flush=True)
            continue
        result = run(given.device, given.seeds)
        text = json.dumps(rounded({"run": name, **result}), allow_nan=False, separators=(",", ":"))
        _files.write_atomic(target, (text + "\n").encode())
        print(f"{name}: {result['seconds']:.1f} s on {result['device']}", flush=True)


if __name__ == "__main__":
    main()
