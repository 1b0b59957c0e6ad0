"""Pack the Numenta Anomaly Benchmark's own files into the two that benchmarks/nab.py reads.

    python -m benchmarks.nab_data NAB FOLDER [--kinds realTweets realTraffic ...]

NAB is a checkout of the public repository (`numenta/NAB`): data/KIND/NAME.csv with the columns timestamp (UTC) and
value, and labels/combined_windows.json. FOLDER then holds nab_dev.npz (`KIND/NAME/time` in seconds since 1970,
`KIND/NAME/value`) and nab_dev_windows.json (`KIND/NAME`: pairs of first and last moment). Rows stay as they are, also
where times do not increase.
"""

import argparse
import json
from pathlib import Path
from typing import Any

import numpy as np

from prophecy.frames.columns import Hints
from prophecy.frames.table import open_table

KINDS = ("artificialNoAnomaly", "artificialWithAnomaly", "realAWSCloudwatch", "realTweets")


def table(path: Path) -> tuple[Any, Any]:
    """Times in seconds since 1970, read as UTC, and values of one file."""
    try:
        found = open_table(str(path), Hints(time="timestamp", columns="value", decimal="."))
    except ValueError as error:
        raise SystemExit(str(error)) from None
    if found.times is None or found.notes:
        raise SystemExit(f"{path}: {'; '.join(found.notes)}")
    return found.times.values.astype("datetime64[s]").astype(np.int64), found.values[:, 0]


def pack(source: Path, folder: Path, kinds: tuple[str, ...] = KINDS) -> list[str]:
    labels_at = source / "labels" / "combined_windows.json"
    if not labels_at.is_file():
        raise SystemExit(f"{labels_at} is not there: NAB should be a checkout of numenta/NAB, got {source}")
    labels = json.loads(labels_at.read_text())
    arrays, windows = {}, {}
    for kind in kinds:
        paths = sorted((source / "data" / kind).glob("*.csv"))
        if not paths:
            raise SystemExit(f"{source / 'data' / kind} holds no CSV files")
        for path in paths:
            name = f"{kind}/{path.stem}"
            if f"{name}.csv" not in labels:
                raise SystemExit(f"{labels_at} has no entry {name}.csv (an empty list where nothing is labelled)")
            arrays[f"{name}/time"], arrays[f"{name}/value"] = table(path)
            windows[name] = labels[f"{name}.csv"]
    folder.mkdir(parents=True, exist_ok=True)
    np.savez_compressed(folder / "nab_dev.npz", **arrays)
    (folder / "nab_dev_windows.json").write_text(json.dumps(windows, indent=1) + "\n")
    return sorted(windows)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("source", type=Path, metavar="NAB")
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--kinds", nargs="+", default=KINDS)
    options = parser.parse_args()
    print(f"{options.folder}: {len(pack(options.source, options.folder, tuple(options.kinds)))} series")
