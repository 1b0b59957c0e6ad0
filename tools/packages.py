"""Build wheel and sdist, look at what is in them, and try them in clean environments.

    python tools/packages.py [--python EXECUTABLE ...] [--lowest] [--extra cli] [--out dist] [--json FILE]

The wheel is built from the sdist, so what is tried is what would be uploaded. For each interpreter a fresh environment
gets the wheel with the newest allowed dependencies; with `--lowest` another one with the lowest that pyproject.toml
allows. In each: tools/smoke.py away from the sources, and a file that uses the library under `mypy --strict`, whose one
deliberate mistake must be found (types of the installed package are seen). `--json` writes sizes, and what was tried.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tempfile
import tomllib
import venv
import zipfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parent.parent
LARGEST = 3_000_000
"""Bytes of the wheel at most. It has 2.4 MB, three quarters of it compiled kernels in two variants; data that slips in
shows."""

KINDS = {".so", ".pyd", ".py", ".typed", ".html", ".css", ".js", ".json", ".j2", ".svg", ".txt", ""}
"""What a wheel of ours may hold: sources, kernels, templates, licence and metadata."""

USER = """
import numpy as np
import prophecy

basis: prophecy.Basis = prophecy.legt(order=9, window=40.0)
system: prophecy.System = prophecy.next_value(basis, dt=1.0)
future: prophecy.Forecast = prophecy.forecast(np.arange(30.0), horizon=3)
order: str = basis.order
"""


def run(*command: object, cwd: Path | None = None, env: dict[str, str] | None = None) -> str:
    done = subprocess.run([str(part) for part in command], cwd=cwd, env=env, capture_output=True, text=True)
    if done.returncode:
        raise SystemExit(f"{' '.join(map(str, command))} failed:\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def commit() -> str:
    """What is packed, by its commit; "" outside of a checkout."""
    done = subprocess.run(["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.strip()


def build(out: Path) -> tuple[Path, Path]:
    """(wheel, sdist), made anew in `out`."""
    out.mkdir(parents=True, exist_ok=True)
    for old in (*out.glob("*.whl"), *out.glob("*.tar.gz")):
        old.unlink()
    with tempfile.TemporaryDirectory() as folder:
        run(sys.executable, "-m", "build", "--outdir", folder, ROOT)
        (wheel,), (sdist,) = Path(folder).glob("*.whl"), Path(folder).glob("*.tar.gz")
        shutil.copy(sdist, out)
        if sys.platform == "linux":  # named by the oldest system it runs on
            path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
            run(sys.executable, "-m", "auditwheel", "repair", "-w", out, wheel, env={**os.environ, "PATH": path})
        else:
            shutil.copy(wheel, out)
    (wheel,), (sdist,) = out.glob("*.whl"), out.glob("*.tar.gz")
    return wheel, sdist


def review(wheel: Path, sdist: Path) -> dict[str, object]:
    """Refuse a wheel with files that do not belong there; say its size by package, in bytes as compressed."""
    with zipfile.ZipFile(wheel) as file:
        entries = file.infolist()
    strange = [e.filename for e in entries if Path(e.filename).suffix not in KINDS and ".dist-info/" not in e.filename]
    if strange or wheel.stat().st_size > LARGEST:
        raise SystemExit(
            f"{wheel.name} has {wheel.stat().st_size} bytes and holds {strange}; look at src/prophecy/meson.build"
        )
    sizes: Counter[str] = Counter()
    for entry in entries:
        parts = Path(entry.filename).parts
        sizes["/".join(parts[:2]) if len(parts) > 2 else parts[0]] += entry.compress_size
    print(f"{wheel.name}: {wheel.stat().st_size / 1e3:.0f} kB, {len(entries)} files")
    for name, size in sizes.most_common(8):
        print(f"  {size / 1e3:6.1f} kB  {name}")
    with tarfile.open(sdist) as file:
        names = {"/".join(Path(name).parts[1:]) for name in file.getnames()}
    for needed in (
        "pyproject.toml",
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "src/prophecy/py.typed",
        "tests/conftest.py",
    ):
        if needed not in names:
            raise SystemExit(f"{sdist.name} lacks {needed}")
    print(f"{sdist.name}: {sdist.stat().st_size / 1e3:.0f} kB, {len(names)} files")
    return {
        "wheel": {"bytes": wheel.stat().st_size, "files": len(entries), "packages": dict(sizes.most_common())},
        "sdist": {"bytes": sdist.stat().st_size, "files": len(names)},
    }


def lowest(extras: list[str], python: tuple[int, int]) -> list[str]:
    """The lowest versions that pyproject.toml allows for this Python, as exact requirements."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *(line for extra in extras for line in _extra(project, extra))]
    found: dict[str, str] = {}
    for line in wanted:
        match = re.match(r"([\w-]+)(?:\[[\w,]+\])?>=([\w.]+)(?:; *python_version *(<|>=) *['\"]3\.(\d+)['\"])?$", line)
        if match is None:
            raise SystemExit(f"dependency {line!r} has no lower bound")
        name, version, sign, minor = match.groups()
        if sign is None or (python < (3, int(minor))) == (sign == "<"):
            found[name] = version
    return [f"{name}=={version}{'.0' * (2 - version.count('.'))}" for name, version in found.items()]


def _extra(project: dict[str, dict[str, list[str]]], name: str) -> list[str]:
    """The requirements of an extra, those of extras it names in turn included."""
    out = []
    for line in project["optional-dependencies"][name]:
        inner = re.match(r"hippo-prophecy\[([\w,]+)\]$", line)
        out += [x for part in inner[1].split(",") for x in _extra(project, part)] if inner else [line]
    return out


def attempt(python: str, wheel: Path, extras: list[str], least: bool) -> str:
    """Install the wheel into a fresh environment and use it; the line smoke.py prints."""
    with tempfile.TemporaryDirectory() as folder:
        place = Path(folder)
        if python == sys.executable:
            venv.create(place / "env", with_pip=True)
        else:
            run(python, "-m", "venv", place / "env")
        ours = place / "env" / "bin" / "python"
        minor = int(run(ours, "-c", "import sys; print(sys.version_info.minor)"))
        target = f"{wheel}[{','.join(extras)}]" if extras else str(wheel)
        exact = lowest(extras, (3, minor)) if least else []
        run(ours, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", target, *exact)
        env = {key: value for key, value in os.environ.items() if key not in ("PYTHONPATH", "PYTHONHOME")}
        # No compiler is to be found: the wheel carries the compiled code.
        env |= {"OMP_NUM_THREADS": "1", "PATH": str(ours.parent)}
        (place / "smoke.py").write_text((ROOT / "tools" / "smoke.py").read_text())
        said = run(
            ours,
            "-W",
            "error::DeprecationWarning:prophecy",
            "smoke.py",
            *(["--cli"] * ("cli" in extras)),
            cwd=place,
            env=env,
        )
        if not least:
            typed(ours, place)
        return said.strip()


def typed(python: Path, place: Path) -> None:
    """The types of the installed package reach a user's mypy: it finds the one mistake in USER, and no other."""
    run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "mypy")
    (place / "user.py").write_text(USER)
    done = subprocess.run([python, "-m", "mypy", "--strict", "user.py"], cwd=place, capture_output=True, text=True)
    errors = [line for line in done.stdout.splitlines() if ": error:" in line]
    if len(errors) != 1 or "user.py:8" not in errors[0] or '"int"' not in errors[0]:
        raise SystemExit(f"mypy of a user said:\n{done.stdout}{done.stderr}")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", nargs="*", default=[sys.executable], help="interpreters to try")
    parser.add_argument("--extra", nargs="*", default=[], help="extras to install, such as cli")
    parser.add_argument("--lowest", action="store_true", help="also with the lowest versions allowed")
    parser.add_argument("--out", type=Path, default=ROOT / "dist")
    parser.add_argument("--json", type=Path, help="where sizes and what was tried are written")
    options = parser.parse_args()
    wheel, sdist = build(options.out)
    found = {"made_by": "tools/packages.py", "commit": commit(), **review(wheel, sdist), "extras": options.extra}
    tried: list[str] = []
    for least in (False, True) if options.lowest else (False,):
        for python in options.python:
            tried.append(f"{'lowest' if least else 'newest'}: {attempt(python, wheel, options.extra, least)}")
            print(tried[-1], flush=True)
            if options.json:
                options.json.write_text(json.dumps({**found, "tried": tried}, indent=1) + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
