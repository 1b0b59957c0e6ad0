"""The bank's step in C, compiled once per machine where a compiler is at hand; everything works without it.

`native.c` holds the same steps as the modules beside it, for one series at a time. The system's `cc` compiles it into
the cache folder (`PROPHECY_CACHE` overrides the place) on first use and it is loaded with ctypes, so that the package
itself stays pure Python. The file is named by a hash of source and compiler, and a folder or file that others may write
to is not used. Without a compiler, or with `PROPHECY_NATIVE=0`, NumPy does the same work more slowly.
"""

from __future__ import annotations

import ctypes
import hashlib
import os
import platform
import shutil
import subprocess
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from prophecy.adaptive import calibration, members, mixing, solved
from prophecy.adaptive.members import ALTERNATING, LAGS, LONG_DEGREES, ORDER, SOLVED, WINDOWS

Array = NDArray[np.float64]

SOURCE = Path(__file__).with_name("native.c")
FLAGS = ("-O3", "-fno-math-errno", "-fno-trapping-math", "-shared", "-fPIC")
HIDDEN = ORDER * len(WINDOWS)
WORTH_THREADS = 50_000
SLOWEST_MEAN = 1e-3

_INTEGERS = (
    *("lags", "hidden", "order", "windows", "members", "shorts", "longs", "solved", "width", "features", "slopes"),
    "levels",
)
_CONSTANTS = (
    *(
        "short_table",
        "long_table",
        "steady",
        "alternating",
        "prior",
        "index",
        "used",
        "longest",
        "traces",
        "needed",
        "forgetting",
    ),
    *("start", "slope_member", "averaging", "slope_rate", "raise_by", "lower_by"),
)
_NUMBERS = (
    *("discount", "share", "settle", "ceiling", "rounding", "smallest", "block", "tiny", "prior_power", "bound"),
    *("farthest", "tidy", "slowest_mean", "few", "lowest", "highest", "surprising", "longer"),
)
_ARRAYS = (
    *("lags", "last", "features", "ahead", "step", "level", "alternation", "count", "ring"),
    *(
        "solved.factor",
        "solved.stretch",
        "solved.weights",
        "solved.power",
        "solved.begun",
        "solved.pause",
        "solved.usual",
        "solved.count",
    ),
    *("mixture.weights", "mixture.scales", "mixture.peak", "mixture.last_peak", "mixture.count"),
    *("calibration.scale", "calibration.quantiles", "calibration.peak", "calibration.last_peak", "calibration.count"),
    *("slopes.average", "slopes.square", "slopes.count"),
)


class _Tables(ctypes.Structure):
    _fields_ = (
        [(name, ctypes.c_int64) for name in _INTEGERS]
        + [(name, ctypes.c_void_p) for name in _CONSTANTS]
        + [(name, ctypes.c_double) for name in _NUMBERS]
    )


class _State(ctypes.Structure):
    _fields_ = [(name.replace(".", "_"), ctypes.c_void_p) for name in _ARRAYS]


class Native:
    """The compiled step bound to the arrays of one bank, which must stay where they are."""

    def __init__(self, library: Any, bank: Any) -> None:
        self._library, self._solved, self._series = library, bank.solved, bank.series
        self._kept = _constants(bank)
        self._tables = _tables(bank, self._kept)
        self._table = ctypes.addressof(self._tables)
        arrays = [_attribute(bank, name) for name in _ARRAYS]
        first = np.array([array.ctypes.data for array in arrays], dtype=np.uint64)
        stride = np.array([array.strides[0] for array in arrays], dtype=np.uint64)
        self._pointers = first + np.arange(bank.series, dtype=np.uint64)[:, None] * stride
        self._states = int(self._pointers.ctypes.data)
        self._one = (ctypes.c_double * 1)()
        self._marks = np.zeros(bank.series, dtype=bool)

    def take(self, value: float) -> None:
        """One value of a bank of one series."""
        self._one[0] = value
        if self._library.prophecy_feed(self._table, self._states, self._one, 1, None, None, None, None) < 0:
            self._solved.tidy(slice(0, 1))

    def feed(self, values: Array, *out: Array | None) -> None:
        """Values (series, time) of all series.

        out: mean, size and spread (series, time), quantiles (series, time, 2, levels), each None where not wanted.
        """
        if values.shape[1] == 1 and all(part is None for part in out):
            self._moment(np.ascontiguousarray(values[:, 0]))
            return
        workers = min(_cores(), self._series)
        if values.size < WORTH_THREADS or workers == 1:
            for series in range(self._series):
                self._feed_one(series, values, out)
            return
        with ThreadPoolExecutor(workers) as pool:
            list(pool.map(lambda series: self._feed_one(series, values, out), range(self._series)))

    def _moment(self, values: Array) -> None:
        marks = self._marks
        place = (values.ctypes.data, marks.ctypes.data)
        if self._library.prophecy_moment(self._table, self._states, self._series, *place):
            self._solved.tidy(marks)

    def _feed_one(self, series: int, values: Array, out: tuple[Array | None, ...]) -> None:
        row, time, done = values[series], values.shape[1], 0
        state = self._states + series * ctypes.sizeof(_State)
        while done < time:
            places = [None if part is None else part[series, done:].ctypes.data for part in out]
            fed = self._library.prophecy_feed(self._table, state, row[done:].ctypes.data, time - done, *places)
            if fed < 0:
                self._solved.tidy(slice(series, series + 1))
            done += abs(fed)


def bind(bank: Any) -> Native | None:
    """The compiled step for this bank, None where there is none."""
    library = _library()
    return None if library is None else Native(library, bank)


def available() -> bool:
    """Whether the compiled step can be used here."""
    return _library() is not None


@lru_cache(maxsize=1)
def _library() -> Any:
    if os.environ.get("PROPHECY_NATIVE", "1") == "0":
        return None
    try:
        library = ctypes.CDLL(str(_compiled()))
    except (OSError, RuntimeError, subprocess.SubprocessError):
        return None  # no compiler, no safe place to write, or not a machine it compiles for: NumPy does the work
    library.prophecy_sizes.restype = ctypes.c_int64
    library.prophecy_sizes.argtypes = [ctypes.c_int64]
    if [library.prophecy_sizes(0), library.prophecy_sizes(1)] != [ctypes.sizeof(_Tables), ctypes.sizeof(_State)]:
        return None
    library.prophecy_feed.restype = ctypes.c_int64
    library.prophecy_feed.argtypes = [ctypes.c_void_p] * 3 + [ctypes.c_int64] + [ctypes.c_void_p] * 4
    library.prophecy_moment.restype = ctypes.c_int64
    library.prophecy_moment.argtypes = [ctypes.c_void_p] * 2 + [ctypes.c_int64] + [ctypes.c_void_p] * 2
    return library


def _compiled() -> Path:
    """The shared library, compiled if this source has not been compiled on such a machine before."""
    compiler = shutil.which(os.environ.get("CC", "cc")) or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        raise FileNotFoundError("no C compiler")
    text = SOURCE.read_bytes()
    key = hashlib.sha256(text + " ".join((compiler, *FLAGS, platform.machine(), platform.system())).encode())
    base = os.environ.get("PROPHECY_CACHE") or os.path.join(
        os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache"), "prophecy"
    )
    target = Path(base) / "native" / f"bank-{key.hexdigest()[:16]}{sysconfig.get_config_var('SHLIB_SUFFIX') or '.so'}"
    target.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    _only_ours(target.parent)
    if target.exists():
        _only_ours(target)
    else:
        with tempfile.TemporaryDirectory(dir=target.parent) as folder:
            made = Path(folder) / target.name
            command = [compiler, *FLAGS, "-o", str(made), str(SOURCE), "-lm"]
            subprocess.run(command, check=True, capture_output=True, timeout=120)
            os.chmod(made, 0o700)
            os.replace(made, target)
    return target


def _only_ours(path: Path) -> None:
    """Refuse what somebody else could have put there: code is loaded from it."""
    if not hasattr(os, "getuid"):
        return
    status = path.stat()
    if status.st_uid != os.getuid() or status.st_mode & 0o022:
        raise PermissionError(f"{path} is not this user's alone to write; nothing is loaded from it")


def _cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _attribute(bank: Any, name: str) -> NDArray[Any]:
    for part in name.split("."):
        bank = getattr(bank, part)
    array: NDArray[Any] = bank
    if not array.flags.c_contiguous:
        raise ValueError(f"{name} must be contiguous")
    return array


def _constants(bank: Any) -> dict[str, NDArray[Any]]:
    """The arrays the tables point to, without the zeros of the one product."""
    table, longs = bank.table, len(LONG_DEGREES)
    shorts = len(table.gain) - longs * len(WINDOWS)
    long_table = np.empty((len(WINDOWS), ORDER, ORDER + longs))
    for i in range(len(WINDOWS)):
        rows = slice(LAGS + i * ORDER, LAGS + (i + 1) * ORDER)
        long_table[i, :, :ORDER] = table.advance[rows, i * ORDER : (i + 1) * ORDER]
        first = HIDDEN + shorts + i * longs
        long_table[i, :, ORDER:] = table.advance[rows, first : first + longs]
    readouts, quantiles, slopes = bank.solved, bank.calibration, bank.slopes
    floats = {
        "short_table": table.advance[:LAGS, HIDDEN : HIDDEN + shorts],
        "long_table": long_table,
        "steady": table.steady,
        "alternating": ALTERNATING,
        "prior": table.prior,
        "needed": readouts.needed,
        "forgetting": readouts.forgetting,
        "start": readouts.start,
        "averaging": slopes.averaging,
        "slope_rate": slopes.forgetting,
        "raise_by": quantiles.raise_by,
        "lower_by": quantiles.lower_by,
    }
    whole = {
        "index": readouts.index,
        "used": readouts.used.sum(axis=1),
        "longest": readouts.longest,
        "traces": readouts.traces,
        "slope_member": table.slopes.member,
    }
    kept: dict[str, NDArray[Any]] = {k: np.ascontiguousarray(v, dtype=np.float64) for k, v in floats.items()}
    return kept | {k: np.ascontiguousarray(v, dtype=np.int64) for k, v in whole.items()}


def _tables(bank: Any, kept: dict[str, NDArray[Any]]) -> _Tables:
    integers = {
        "lags": LAGS,
        "hidden": HIDDEN,
        "order": ORDER,
        "windows": len(WINDOWS),
        "members": len(bank.table.members),
        "shorts": kept["short_table"].shape[1],
        "longs": len(LONG_DEGREES),
        "solved": len(SOLVED),
        "width": kept["index"].shape[1],
        "features": members.FEATURES,
        "slopes": len(kept["slope_member"]),
        "levels": len(calibration.LEVELS),
    }
    numbers = {
        "discount": mixing.DISCOUNT,
        "share": mixing.SHARE,
        "settle": mixing.SETTLE,
        "ceiling": mixing.CEILING,
        "rounding": mixing.ROUNDING,
        "smallest": mixing.SMALLEST,
        "block": mixing.BLOCK,
        "tiny": solved.TINY,
        "prior_power": solved.PRIOR,
        "bound": solved.BOUND,
        "farthest": solved.FARTHEST,
        "tidy": solved.TIDY,
        "slowest_mean": SLOWEST_MEAN,
        "few": calibration.FEW,
        "lowest": calibration.LOWEST,
        "highest": calibration.HIGHEST,
        "surprising": solved.SURPRISING,
        "longer": solved.LONG,
    }
    pointers = {name: kept[name].ctypes.data for name in _CONSTANTS}
    return _Tables(**integers, **pointers, **numbers)
