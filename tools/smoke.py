"""Does an installed prophecy work? Run by tools/packages.py in a clean environment, away from the sources.

python smoke.py [--cli]
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from importlib import metadata, resources
from pathlib import Path

before = set(sys.modules)
import prophecy  # noqa: E402  what it loads is looked at

HEAVY = ("narwhals", "pandas", "torch", "matplotlib", "platformdirs")
loaded = [name for name in HEAVY if name in set(sys.modules) - before]
assert not loaded, f"import prophecy loads {loaded}"

import numpy as np  # noqa: E402


def library() -> None:
    assert metadata.version("hippo-prophecy") == prophecy.__version__
    assert (resources.files("prophecy") / "py.typed").is_file()
    assert "site-packages" in str(prophecy.__file__), prophecy.__file__
    u = np.sin(np.arange(600) / 9)
    system = prophecy.next_value(prophecy.legt(order=9, window=200.0), dt=1.0)
    y, _ = prophecy.run(system, u, engine="lifted")
    plain, _ = prophecy.run(system, u, engine="step")
    assert np.max(np.abs(y - plain)) < 1e-12
    model = prophecy.Prophecy()
    track = model.follow(u)
    assert abs(track.mean[-1] - u[-1]) < 1e-9
    assert model.predict().lower <= model.predict().point <= model.predict().upper
    with tempfile.TemporaryDirectory() as folder:
        model.save(Path(folder) / "state.npz")
        again = prophecy.Prophecy.load(Path(folder) / "state.npz")
        assert again.predict().point == model.predict().point
    future = prophecy.forecast(u, horizon=20)
    assert np.max(np.abs(future.point - np.sin((600 + np.arange(20)) / 9))) < 1e-6
    months = np.arange(120)
    sales = 50 + 10 * np.sin(2 * np.pi * months / 12) + np.random.default_rng(0).normal(0, 1, 120)
    sold = prophecy.forecast(sales, horizon=12, season=12)
    assert np.max(np.abs(sold.point - 50 - 10 * np.sin(2 * np.pi * (120 + np.arange(12)) / 12))) < 4


def command_line() -> None:
    program = Path(sys.executable).with_name("prophecy")
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "sensor.csv"
        rows = [f"2024-01-{1 + k // 24:02d} {k % 24:02d}:00,{np.sin(k / 9):.6f}" for k in range(600)]
        table.write_text("\n".join(["time,value", *rows]) + "\n")
        out = Path(folder) / "out.csv"
        subprocess.run([program, "forecast", table, "--horizon", "10", "--out", out], check=True, capture_output=True)
        assert len(out.read_text().splitlines()) == 11
        subprocess.run([program, "predict", table, "--out", out], check=True, capture_output=True)
        assert len(out.read_text().splitlines()) >= 601
        said = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
        assert prophecy.__version__ in said, said


library()
if "--cli" in sys.argv:
    command_line()
versions = {name: metadata.version(name) for name in ("numpy", "scipy", "narwhals")}
print(f"python {sys.version.split()[0]}, {', '.join(f'{name} {found}' for name, found in versions.items())}: works")
