"""`python -m benchmarks.speed [CASE …]`: how fast this is here, beside peers and ceilings measured in the same run.

On a GPU nothing but torch and triton needs to be installed. No speed is printed for a case whose check fails.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from benchmarks.speed import runner


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="CASE", help="all but scaling if none")
    parser.add_argument("--list", action="store_true", help="list the cases and stop")
    parser.add_argument("--out", type=Path, help="write the numbers here too; a file that exists keeps its other cases")
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--rounds", type=int, default=5, help="turns each contestant gets; the best counts")
    parser.add_argument("--quick", action="store_true", help="small sizes: a check that it runs, not a measurement")
    parser.add_argument("--tune", action="store_true", help="search the GPU's plans instead of taking the stored ones")
    asked = parser.parse_args()
    try:
        if asked.list:
            print("\n".join(runner.names(asked.device)))
            return 0
        runner.chosen(asked.names, asked.device)
    except ValueError as error:
        parser.error(str(error))

    def report(text: str) -> None:
        print(text + "\n", flush=True)

    made = runner.run(asked.names, asked.device, asked.rounds, asked.quick, report, asked.out, asked.tune)
    return 0 if all(case["passed"] for case in made["cases"]) else 1


if __name__ == "__main__":
    sys.exit(main())
