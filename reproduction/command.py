"""`python -m reproduction`: every figure and table of the paper, and a report."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from prophecy import _interrupts, _machine, _workers
from reproduction import STOPPED, registry, runner
from reproduction.framework import Ask, Experiment
from reproduction.progress import Estimate, Lines


def reproduce(
    names: Annotated[list[str] | None, typer.Argument(metavar="NAME", help="Experiments; all if none.")] = None,
    show: Annotated[bool, typer.Option("--list", help="List the experiments and stop.")] = False,
    functions: Annotated[
        int | None, typer.Option(help="Random functions per data set; the paper's number if not given.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the random functions.")] = 0,
    jobs: Annotated[int | None, typer.Option(help="Processes; one per core if not given.")] = None,
    out: Annotated[Path, typer.Option(help="Folder for results, figures and the report.")] = Path("results"),
    device: Annotated[str, typer.Option(help="Where fig-training trains: cpu or cuda.")] = "cpu",
    full: Annotated[bool, typer.Option("--full", help="fig-training at the paper's size (hours on a CPU).")] = False,
) -> None:
    """Recompute the paper's figures and tables and write report.html. Stop it at any time; run it again to go on."""
    console, errors = Console(), Console(stderr=True)
    if show:
        _list(console)
        return
    try:
        if device not in ("cpu", "cuda"):
            raise ValueError(f"device must be 'cpu' or 'cuda', got {device!r}")
        ask = Ask(functions=functions, seed=seed, device=device, full=full)
        workers = jobs if jobs is not None else _machine.cores()
        report = _run(registry.choose(names or []), ask, out, workers, console)
    except (ValueError, OSError, ModuleNotFoundError, _workers.WorkerDied) as error:
        errors.print(f"reproduction: {error}", style="bold red", markup=False, highlight=False, soft_wrap=True)
        raise typer.Exit(2) from error
    except KeyboardInterrupt:
        errors.print(STOPPED, soft_wrap=True)
        raise typer.Exit(_interrupts.INTERRUPTED) from None
    console.print(f"\n{report}", markup=False, highlight=False, soft_wrap=True)


def _run(chosen: list[Experiment], ask: Ask, out: Path, workers: int, console: Console) -> Path:
    """Compute the pages and write the report anew after each of them, so that it can be read while the rest runs."""
    from reproduction.report import Report

    report, estimate = Report(out), Estimate(chosen, ask, workers)
    waiting = [experiment.name for experiment in runner.order(chosen)]
    told = Lines(console, len(chosen), estimate)

    def finished(experiment: Experiment) -> None:
        waiting.remove(experiment.name)
        if waiting:
            pages = "1 page" if len(waiting) == 1 else f"{len(waiting)} pages"
            path = report.write(f"{pages} to come, {estimate.words()}")
            if len(waiting) == len(chosen) - 1:
                told.say(f"The report grows with every page: {path}")

    runner.compute(chosen, ask, out, workers, told, finished)
    return report.write()


def _list(console: Console) -> None:
    for experiment in registry.experiments().values():
        count = f"{experiment.functions:,} functions".replace(",", " ") if experiment.functions else ""
        line = f"{experiment.name:<20} {experiment.title} ({experiment.reference})"
        console.print(line + (f", {count}" if count else ""), markup=False, highlight=False, soft_wrap=True)


def application() -> typer.Typer:
    app = typer.Typer(pretty_exceptions_enable=False, add_completion=False)
    app.command()(reproduce)
    return app


def main() -> None:
    application()(prog_name="python -m reproduction")
