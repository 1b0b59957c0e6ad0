"""`prophecy bench`: how fast this is here, beside peers and ceilings measured in the same run."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from prophecy.commands._common import epilog, guarded, say

EXAMPLES = """
Examples:
  prophecy bench                           all CPU cases, a few minutes
  prophecy bench stream-legt batch-double
  prophecy bench --device cuda --json gpu.json
"""


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="bench", epilog=epilog(EXAMPLES))(bench)


def bench(
    names: Annotated[list[str] | None, typer.Argument(metavar="[NAME]...", help="Cases; all if none.")] = None,
    device: Annotated[str, typer.Option(help="cpu or cuda.")] = "cpu",
    json: Annotated[
        Path | None, typer.Option(help="Write the numbers here too; a file that exists keeps its other cases.")
    ] = None,
    rounds: Annotated[int, typer.Option(min=1, help="How often each is timed; the best time counts.")] = 5,
    quick: Annotated[
        bool, typer.Option("--quick", help="Small sizes: a check that it runs, not a measurement.")
    ] = False,
    show: Annotated[bool, typer.Option("--list", help="List the cases and stop.")] = False,
) -> None:
    """Measure throughput and latency beside peers and ceilings. No speed is printed for a case whose check fails."""
    with guarded("bench", code=2):
        try:
            from prophecy.benchmarks import runner

            if show:
                typer.echo("\n".join(runner.names(device)))
                return
            if json is not None and not json.parent.is_dir():
                raise FileNotFoundError(f"folder {str(json.parent)!r} does not exist; create it first")
            result = runner.run(names or [], device, rounds, quick, lambda text: typer.echo(text + "\n"), json)
        except ModuleNotFoundError as error:
            say("bench", f"needs {error.name!r}; install it with: pip install 'hippo-prophecy[bench]'")
            raise typer.Exit(1) from None
    if not all(case["passed"] for case in result["cases"]):
        raise typer.Exit(1)
