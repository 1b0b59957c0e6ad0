"""The benchmarks, by the name of their result file."""

from __future__ import annotations

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


class Benchmark(NamedTuple):
    """What makes a result file.

    module: run with `python -m`; arguments: {out} is the file, {data} the folder of series, {jobs} processes.
    minutes: about, on two cores. needs: files of series, or something else this machine may not have.
    """

    module: str
    arguments: str
    minutes: float
    needs: tuple[str, ...] = ()


def _chaos(module: str, options: str, minutes: float) -> Benchmark:
    return Benchmark(f"benchmarks.{module}", f"{{data}}/{CHAOS} {options} --out {{out}}", minutes, (CHAOS,))


def _forecast(options: str, minutes: float) -> Benchmark:
    return _chaos("forecast_dev", f"--part all {options} --jobs {{jobs}}", minutes)


BENCHMARKS: dict[str, Benchmark] = {
    "accuracy": Benchmark("benchmarks.accuracy", "--jobs {jobs} --out {out}", 4),
    "bank_ideas": Benchmark("benchmarks.bank_ideas", "--out {out}", 120),
    "bank_speed": Benchmark(
        "benchmarks.bank_speed",
        "--earlier {data}/numba/src --earlier-python {data}/numba/.venv/bin/python --out {out}",
        6,
        (EARLIER,),
    ),
    "census": Benchmark("benchmarks.census", "--jobs {jobs} --out {out}", 5),
    "causal_derivatives": Benchmark("examples.causal_derivatives", "{out}", 2),
    "cpu": Benchmark("benchmarks.speed", "--out {out}", 5),
    "damaged": Benchmark("benchmarks.damaged", "--out {out}", 5),
    "delay": Benchmark("examples.train_layer", "--json {out}", 5, (GPU,)),
    "equations": Benchmark("benchmarks.equations", "--jobs {jobs} --out {out}", 5),
    "faults": Benchmark("benchmarks.faults", "--out {out}", 1),
    "first_answer": Benchmark("benchmarks.installed", "seconds --out {out}", 1),
    "fleet": Benchmark("benchmarks.fleet", "--out {out}", 5),
    "forecast_dev": _forecast("--trajectories 0 2 4", 3),
    "forecast_dev_gaps": _forecast("--noise 0.01 --missing 0.3", 1),
    "forecast_dev_little": _forecast("--noise 0.0001", 1),
    "forecast_dev_noise1": _forecast("--noise 0.01", 1),
    "forecast_dev_noise5": _forecast("--noise 0.05", 1),
    "forecast_dev_pairs": _forecast("--pairs", 2),
    "forecast_dev_single": _forecast("--single", 3),
    "forecast_dev_single_noise1": _forecast("--single --noise 0.01", 3),
    "forecast_oracle": _chaos("forecast_oracle", "--jobs {jobs}", 2),
    "forecast_other": Benchmark(
        "benchmarks.other_systems", f"{{data}}/{FLOWS} --part all --jobs {{jobs}} --out {{out}}", 40, (FLOWS,)
    ),
    "gpu": Benchmark("benchmarks.speed", "--device cuda --out {out}", 5, (GPU,)),
    "installed": Benchmark("benchmarks.installed", "megabytes --out {out}", 3),
    "interrupts": Benchmark("benchmarks.interrupts", "--out {out}", 30),
    "kills": Benchmark("benchmarks.kills", "--out {out}", 11),
    "layers-gpu": Benchmark("benchmarks.layers", "--out {out}", 5, (GPU,)),
    "million": Benchmark("benchmarks.million", "--out {out}", 15),
    "nab": Benchmark("benchmarks.nab", "--data {data} --out {out}", 5, (NAB,)),
    "ordinary": Benchmark(
        "benchmarks.ordinary",
        f"{{data}}/{ORDINARY} --rivals benchmarks/results/ordinary.json --jobs {{jobs}} --out {{out}}",
        10,
        (ORDINARY,),
    ),
    "plain": Benchmark("benchmarks.plain", "--jobs {jobs} --out {out}", 2),
    "service": Benchmark("benchmarks.service", "--out {out}", 3),
    "streams": Benchmark("benchmarks.streams", f"--data {{data}}/{ORDINARY} --out {{out}}", 60, (ORDINARY,)),
    "terms": _chaos("terms", "--jobs {jobs}", 5),
    "textbook": Benchmark("benchmarks.textbook", "--jobs {jobs} --out {out}", 2),
    "training": Benchmark("benchmarks.training", "--jobs {jobs} --out {out}", 10),
    "worst": Benchmark("benchmarks.worst", "--out {out}", 6),
}
