"""Raise the version where it stands: python tools/release.py 0.3.0

In pyproject.toml, prophecy/__init__.py, CITATION.cff and the head of CHANGELOG.md ("0.3.0, in work" becomes "0.3.0",
with the day). All or none is written. Then: an install, for what is installed to have the version, `make test-all docs
packages`, a commit, a tag `v0.3.0`.
"""

from __future__ import annotations

import argparse
import re
from datetime import UTC, datetime
from pathlib import Path

ROOT = Path(__file__).parent.parent
PLACES = {
    "pyproject.toml": r'(?m)^version = "([^"]+)"$',
    "src/prophecy/__init__.py": r'(?m)^__version__ = "([^"]+)"$',
    "CITATION.cff": r"(?m)^version: (\S+)$",
    "CHANGELOG.md": r"(?m)^## (\S+, in work)$",
}


def raised(root: Path, version: str, day: str) -> dict[Path, str]:
    """The files with the new version, each changed in one place."""
    made = {}
    for name, pattern in PLACES.items():
        text = (root / name).read_text()
        found = list(re.finditer(pattern, text))
        if len(found) != 1:
            raise SystemExit(f"{name} should have its version in one place, {pattern!r}; found {len(found)}")
        new = f"{version} ({day})" if name == "CHANGELOG.md" else version
        if name == "CHANGELOG.md" and found[0][1] != f"{version}, in work":
            raise SystemExit(f"CHANGELOG.md is about {found[0][1]}, not about {version}")
        made[root / name] = text[: found[0].start(1)] + new + text[found[0].end(1) :]
    return made


def main(arguments: list[str] | None = None, root: Path = ROOT) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("version")
    version = parser.parse_args(arguments).version
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        parser.error(f"a version is three numbers such as 0.3.0, got {version!r}")
    for path, text in raised(root, version, datetime.now(UTC).date().isoformat()).items():
        path.write_text(text)
        print(path.relative_to(root))


if __name__ == "__main__":
    main()
