"""`python -m prophecy.benchmarks [NAME …] --out FILE`: what `prophecy bench --json` does, without the command line's
extras; on a GPU, with nothing but torch and triton installed."""

from __future__ import annotations

import argparse
from pathlib import Path

from prophecy.benchmarks import runner


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("names", nargs="*", help="cases; all but scaling if none")
    parser.add_argument("--out", required=True, type=Path, help="a file that exists keeps its other cases")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--rounds", type=int, default=5, help="turns each contestant gets; the best counts")
    parser.add_argument("--tune", action="store_true", help="search the GPU's plans instead of taking the stored ones")
    asked = parser.parse_args()
    report = lambda text: print(text, flush=True)  # noqa: E731
    runner.run(asked.names, asked.device, asked.rounds, False, report, asked.out, asked.tune)


main()
