"""Put the table of docs/speed.md together from result files, and draw its figures: python docs/speed.py [--check].

Reads, in benchmarks/results: cpu.json, gpu.json, layers-gpu.json and installed.json (python -m benchmarks NAME).
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import blocks

from benchmarks.speed.measure import seconds as pretty
from reproduction import style

CEILINGS = ("copy", "matrix product")
NEAREST = 3  # peers named for a case; the result files have all

Held = tuple[int | None, int | None, int | None]

# What grows in each panel, what is held (series, samples, order) on CPU and GPU, and few series drawn beside many.
PANELS: tuple[tuple[str, str, Held, Held, Held | None], ...] = (
    ("series", "series", (None, 4096, 64), (None, 4096, 64), None),
    ("samples", "samples in each series", (64, None, 64), (8192, None, 64), (4, None, 64)),
    ("order", "order N", (256, 4096, None), (8192, 16384, None), None),
)
POWERS = (8, 16, 32, 64, 128, 256)  # orders with a tick of their own
LINES = (
    ("seconds", "prophecy", "ours", "-", 2.2),
    ("SciPy FFT", "SciPy FFT", "autoregression", "--", 1.4),
    ("copy", "copying the array", "paper", ":", 1.6),
)


def rows(result: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """(case, our speed, against peers, against ceilings) of every case that passed its check."""
    made = []
    for case in result["cases"]:
        if not case.get("passed"):
            continue
        ours = min((e for e in case["entries"] if e["kind"] == "ours"), key=lambda e: e["seconds"])
        each = ours["seconds"] / case["samples"]
        speed = f"{pretty(each)} a value" if each > 2e-7 else f"{_rate(1 / each)} samples/s"
        peers = [(ratio, name) for name, ratio in case["ratios"].items() if name not in (*CEILINGS, "torch engine")]
        against = ", ".join(f"{_times(ratio)} {name}" for ratio, name in sorted(peers)[:NEAREST])
        shares = [f"{ratio:.2f} of {_THE[name]}" for name, ratio in case["ratios"].items() if _told(case, name)]
        made.append((_title(case), speed, against, ", ".join(shares)))
    return made


_THE = {"copy": "copying the array", "matrix product": "the matrix product"}


def _told(case: dict[str, Any], ceiling: str) -> bool:
    """A copy is no ceiling worth naming where arithmetic rules: on the CPU the matrix product is."""
    return ceiling == "matrix product" or (ceiling == "copy" and "matrix product" not in case["ratios"])


def _title(case: dict[str, Any]) -> str:
    s = case["settings"]
    if "series" in s:
        where = "H200" if case["case"].startswith("gpu") else _cpu(case)
        what = "LegS, " if case["case"].startswith("legs") else ""
        size = f"{s['series']:,} × {s['samples']:,}".replace(",", " ")
        return f"{where}: {what}{size}, N = {s['order']}, {s['dtype']}"
    if case["case"] == "prophecy":
        return f"{_cpu(case)}: `Prophecy`, one stream"
    return f"{_cpu(case)}: `Predictor`, one stream, {_family(case['case'])}, N = {s['order']}"


def _cpu(case: dict[str, Any]) -> str:
    """ "2 cores, AMD EPYC": cases of one file may come from different machines."""
    machine = case.get("machine")
    if not machine:
        return "CPU"
    name = machine["processor"].replace("(R)", "").replace(" Processor", "").strip()
    return f"{machine['cores']} cores, {name}"


def _family(name: str) -> str:
    return {"legt": "LegT", "fout": "FouT", "legs": "LegS"}[name.rsplit("-", 1)[-1]]


def _rate(value: float) -> str:
    return f"{value / 1e9:.3g} billion" if value >= 1e9 else f"{value / 1e6:.3g} million"


def _times(ratio: float) -> str:
    return (
        f"{round(ratio, -2):,.0f} ×".replace(",", " ")
        if ratio >= 1000
        else f"{ratio:.0f} ×"
        if ratio >= 20
        else f"{ratio:.2g} ×"
    )


def markdown(results: list[dict[str, Any]]) -> str:
    lines = ["| case | speed | times as fast as | reaches |", "|---|---|---|---|"]
    for result in results:
        lines += [f"| {' | '.join(row)} |" for row in rows(result)]
    return "\n".join(lines)


def draw(out: Path) -> list[Path]:
    """One figure for each result that has scaling points: `speed-cpu.png`, `speed-gpu.png`."""
    out.mkdir(parents=True, exist_ok=True)
    made = []
    for result in (blocks.results("cpu.json"), blocks.results("gpu.json")):
        if result.get("scaling"):
            kind = "gpu" if "gpu" in result["experiment"] else "cpu"
            made.append(_figure(result, kind, out / f"speed-{kind}.png"))
    return made


def _figure(result: dict[str, Any], kind: str, path: Path) -> Path:
    import matplotlib.pyplot as plt

    with style.use():
        figure, axes = plt.subplots(1, 3, figsize=(style.WIDE, style.HEIGHT), layout="constrained", sharey=True)
        for axis, (name, label, cpu, gpu, few) in zip(axes, PANELS, strict=True):
            held = gpu if kind == "gpu" else cpu
            points = _points(result, held, name)
            for key, text, colour, dash, width in LINES:
                if points and all(key in row for row in points):
                    line = [row[name] for row in points], [row[key] for row in points]
                    axis.plot(*line, dash, color=style.COLOURS[colour], lw=width, label=text, marker="o", ms=3)
            if few and kind == "gpu":
                rows = _points(result, few, name)
                line = [row[name] for row in rows], [row["seconds"] for row in rows]
                (drawn,) = axis.plot(*line, "-", color=style.COLOURS["LegT"], lw=1.8, marker="s", ms=3)
                axis.legend([drawn], ["prophecy, 4 series"], loc="lower right", fontsize=9, frameon=False)
            axis.set(xscale="log", yscale="log", xlabel=label)
            if name == "order" and points:
                axis.set_xticks([row[name] for row in points if row[name] in POWERS], minor=False)
                axis.minorticks_off()
                axis.xaxis.set_major_formatter("{x:g}")
            axis.set_title(_held(held), fontsize=10, fontweight="normal")
        axes[0].set_ylabel("seconds")
        axes[0].legend(loc="upper left", fontsize=9, frameon=False)
        where = result.get("device") or f"{result['machine']['cores']} CPU cores"
        dtype = result["scaling"][0]["dtype"]
        figure.suptitle(
            f"Time grows in proportion to series and samples, once there is enough to do ({where}, {dtype})",
            x=0.01,
            ha="left",
            fontsize=12,
        )
        figure.savefig(path, dpi=160)
        plt.close(figure)
    return path


def _points(result: dict[str, Any], held: Held, name: str) -> list[dict[str, Any]]:
    """The checked points of a panel, in order, the faster of two measurements of the same."""
    keys = ("series", "samples", "order")
    fitting = [
        row
        for row in result["scaling"]
        if "seconds" in row and all(want is None or row[key] == want for key, want in zip(keys, held, strict=True))
    ]
    best: dict[int, dict[str, Any]] = {}
    for row in sorted(fitting, key=lambda row: -float(row["seconds"])):
        best[row[name]] = row
    return [best[value] for value in sorted(best)]


def _held(held: Held) -> str:
    words = [
        f"{value:,} {name}".replace(",", " ") for value, name in zip(held, ("series", "samples"), strict=False) if value
    ]
    return ", ".join([*words, f"N = {held[2]}"] if held[2] else words)


LAYERS = {
    "fused": "fused kernels",
    "torch products": "the same blocks by torch's products",
    "all states": "the scan that keeps all states (`nn.scan`)",
    "torch FFT": "torch FFT convolution, powers of A formed beforehand",
    "loop over time": "loop over time",
}


def layers() -> str:
    """Forward, forward and backward, and memory of every contestant that passed its check, by case."""
    cases = [case for case in blocks.results("layers-gpu.json")["cases"] if "rows" in case]
    heads = [
        "N = 64, C and D trained", "N = 64, all trained, 512 windows", "N = 16, C and D trained",
        "selective scan, 8 × 4 096 × 1 024, N = 16",
    ]  # fmt: skip
    rows = []
    for name, words in LAYERS.items():
        cells = []
        for case in cases:
            row = next((row for row in case["rows"] if row["name"] == name), None)
            if row is None or "forward_backward" not in row:
                cells.append("–")
                continue
            share = f" ({row['run_share']:.0%} run, extrapolated)" if "run_share" in row and not cells else ""
            words += share.replace("%", " %")
            ahead, both = (1e3 * row.get(key, 0.0) for key in ("forward", "forward_backward"))
            times = f"{ahead:.1f} / {both:.1f}" if ahead else f"– / {both:,.0f}".replace(",", " ")
            memory = row.get("peak_bytes", 0) / 1e9
            size = f", {memory:.1f} GB" if memory < 10 else f", {memory:.0f} GB"
            graph = f" ({1e3 * row['replayed']:.1f} as a CUDA graph)" if "replayed" in row else ""
            cells.append(times + graph + (size if memory else ""))
        rows.append([words, *cells])
    return blocks.lines(["milliseconds (forward / forward and backward), peak memory", *heads], rows)


def precisions() -> str:
    """The ways to multiply, N = 64: the worst error of outputs and gradients, and a training step's time."""
    case = blocks.results("layers-gpu.json")["cases"][0]
    rows = [[f"`{row['precision']}`", f"{row['error']:.1e}", f"{1e3 * row['forward_backward']:.1f}"]
            for row in case["precisions"] if "error" in row]  # fmt: skip
    return blocks.lines(["precision", "largest relative error of y, ū and C̄", "milliseconds"], rows)


def operations() -> str:
    """Multiplications and additions, forward, for one value of one channel with N states; ours as they are built."""
    from torch import zeros
    from torch.utils.flop_counter import FlopCounterMode

    from prophecy.engines.torch_lifted import block_length

    def block(N: int) -> float:
        length = block_length(N)
        with FlopCounterMode(display=False) as counter:
            zeros(1, length + N) @ zeros(length + N, length + N)
        return float(counter.get_total_flops()) / length

    C = V = 64  # of fla: the samples of a chunk, the values of a head
    counts = (
        ("constant memory, step by step", "2 N² + 4 N", lambda N: 2 * N**2 + 4 * N),
        ("constant memory in blocks of L, ours", "2 L + 4 N + 2 N²/L", block),
        ("selective scan, `mamba_ssm`", "9 N, by its author", lambda N: 9 * N),
        ("selective scan, ours", "9 N, and 2 N for the start of each tile", lambda N: 11 * N),
        ("linear attention in chunks, `fla`", "(2 C (N + V) + 4 N V)/V", lambda N: (2 * C * (N + V) + 4 * N * V) / V),
    )
    rows = [[name, form, *(f"{count(N):.0f}" for N in (16, 64))] for name, form, count in counts]
    return blocks.lines(["operations a value and channel, forward", "", "N = 16", "N = 64"], rows)


def installed() -> str:
    """Megabytes of the base package and of all it needs, the largest parts named."""
    found = {name: row for name, row in blocks.results("installed.json").items() if isinstance(row, dict)}
    rows = []
    for name in ("0.2.0, dependencies alone", "now"):
        parts = [f"{package.split()[0]} {size:.0f}" for package, size in found[name]["packages"].items() if size >= 1]
        rows.append([name, f"{found[name]['megabytes']:.0f} MB", ", ".join(parts)])
    return blocks.lines(["", "installed", "of which, MB"], rows)


def table() -> str:
    return markdown([blocks.results("cpu.json"), blocks.results("gpu.json")])


def main(arguments: list[str]) -> str | int:
    said = blocks.write(
        blocks.ROOT / "docs" / "speed.md",
        "speed.py",
        {
            "speed table": table,
            "layers": layers,
            "precisions": precisions,
            "operations": operations,
            "installed": installed,
        },
        arguments,
    )
    if "--check" not in arguments:
        draw(blocks.ROOT / "docs" / "images")
    return said


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
