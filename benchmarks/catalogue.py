"""The benchmarks, by the name of their result file."""

from typing import NamedTuple

GPU = "a GPU"
CHAOS, ORDINARY, NAB, FLOWS = "chaos_dev.npz", "ordinary_dev.npz", "nab_dev.npz", "flows.npz"
EARLIER = "numba"
MADE_BY = {
    CHAOS: "python -m benchmarks.chaos_data FILE",
    ORDINARY: "python -m benchmarks.ordinary_data FILE …",
    NAB: "python -m benchmarks.nab_data NAB FOLDER",
    FLOWS: "python -m benchmarks.chaos_data FILE --others",
    EARLIER: "git worktree add FOLDER dc59ceb, with a .venv: the head of benchmarks/bank_speed.py",
}
"""How the files of series are made; docs/benchmarks.md says from what."""


class Entry(NamedTuple):
    """What makes a result file, in about so many minutes on two cores.

    arguments: {out} is the file, {data} the folder of series, {jobs} processes. needs: files of series, or a GPU.
    starts: modules that it runs in processes of their own, and so depends on without importing them.
    """

    minutes: float
    module: str
    arguments: str
    needs: tuple[str, ...] = ()
    starts: tuple[str, ...] = ()


JOBS = "--jobs {jobs}"


def _of(minutes: float, name: str, options: str = "", *needs: str) -> Entry:
    return Entry(minutes, f"benchmarks.{name}", f"{options} --out {{out}}", needs)


def _forecast(minutes: float, options: str) -> Entry:
    return _of(minutes, "forecast_dev", f"{{data}}/{CHAOS} --part all {options} {JOBS}", CHAOS)


_BESIDE = "--earlier {data}/numba/src --earlier-python {data}/numba/.venv/bin/python"
_FORECAST, _STREAM = ("prophecy.commands.forecast", "prophecy.tables.forecasting"), "prophecy.streams.prophecy"
_RIVALS = f"{{data}}/{ORDINARY} --rivals benchmarks/results/ordinary.json {JOBS}"
BENCHMARKS: dict[str, Entry] = {
    "accuracy": _of(4, "accuracy", JOBS),
    "bank_speed": _of(6, "bank_speed", _BESIDE, EARLIER)._replace(starts=(*_FORECAST, _STREAM)),
    "census": _of(5, "census", JOBS),
    "causal_derivatives": Entry(2, "examples.causal_derivatives", "{out}"),
    "cpu": _of(5, "speed.run"),
    "damaged": _of(5, "damaged"),
    "delay": Entry(5, "examples.train_layer", "--json {out}", (GPU,)),
    "equations": _of(5, "equations", JOBS),
    "faults": _of(1, "faults", JOBS),
    "first_answer": _of(1, "installed", "seconds")._replace(starts=(*_FORECAST, _STREAM)),
    "fleet": _of(5, "fleet"),
    "forecast_dev": _forecast(3, "--trajectories 0 2 4"),
    "forecast_dev_gaps": _forecast(1, "--noise 0.01 --missing 0.3"),
    "forecast_dev_little": _forecast(1, "--noise 0.0001"),
    "forecast_dev_noise1": _forecast(1, "--noise 0.01"),
    "forecast_dev_noise5": _forecast(1, "--noise 0.05"),
    "forecast_dev_single": _forecast(3, "--single"),
    "forecast_dev_single_noise1": _forecast(3, "--single --noise 0.01"),
    "forecast_oracle": _of(2, "forecast_oracle", f"{{data}}/{CHAOS} {JOBS}", CHAOS),
    "forecast_other": _of(40, "forecast_dev", f"{{data}}/{FLOWS} --others --part all {JOBS}", FLOWS),
    "gpu": _of(5, "speed.run", "--device cuda", GPU),
    "installed": _of(3, "installed", "megabytes"),
    "interrupts": _of(30, "interrupts")._replace(starts=(*_FORECAST, "prophecy.service.app", "reproduction.command")),
    "kills": _of(11, "kills"),
    "layers-gpu": _of(5, "layers", "", GPU),
    "million": _of(15, "fleet", "--million --keys 1000000"),
    "nab": _of(5, "nab", "--data {data}", NAB),
    "ordinary": _of(10, "ordinary", _RIVALS, ORDINARY),
    "plain": _of(2, "plain", JOBS),
    "service": _of(3, "service")._replace(starts=("prophecy.service.app",)),
    "streams": _of(60, "streams", f"--data {{data}}/{ORDINARY}", ORDINARY),
    "terms": _of(5, "terms", f"{{data}}/{CHAOS} {JOBS}", CHAOS),
    "textbook": _of(2, "census", f"--part textbook --noises 0.01 0.03 0.1 --draws 3 {JOBS}"),
    "training": _of(10, "training", JOBS),
    "worst": _of(6, "worst"),
}
