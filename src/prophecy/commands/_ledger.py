"""A stream that survives `kill -9`: what was taken in, what was answered, and the model, all on disk.

Of these files the first is named by the user:

    FILE              a checkpoint: the model and the number of the last line it has seen, replaced atomically
    FILE.journal      every line taken in since the checkpoint, with the answer to it, in order
    FILE.journal.old  the same for the stretch before, so that a reader who fell behind can be told again
    FILE.lock         held while a process works on the stream

A line is written to the journal *before* its answer is printed, so the files are never behind what anybody has read.
Killing the process loses nothing that the operating system has accepted; only checkpoints are forced to the disk, so a
power failure may lose the journal's end. Restarting loads the checkpoint and observes the journal's values again, which
gives the same state to the last bit.
"""

from __future__ import annotations

import contextlib
import os
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np

from prophecy import _files

try:
    import fcntl
except ModuleNotFoundError:  # Windows: nothing stops a second process there
    fcntl = None  # type: ignore[assignment]

FORMAT = 1
KIND = "prophecy stream"


class Savable(Protocol):
    """A model that can be written to a file."""

    def save(self, path: str) -> None: ...


class Entry(NamedTuple):
    """A line taken in: its number, its value as text ("" if skipped), and the answer printed for it ("" if none)."""

    line: int
    value: str
    answer: str


Model = TypeVar("Model", bound=Savable)


class Ledger(Generic[Model]):
    """Checkpoint and journal of a stream; `line` is the last line taken in, `oldest` the first still told again.

    `note` is a number kept with the checkpoint: which field of a line is the value.
    """

    def __init__(
        self,
        path: Path,
        load: Callable[[str], Model],
        observe: Callable[[Model, str], None],
        every: int,
    ) -> None:
        self._path, self._every = path, every
        self._journal = path.with_name(path.name + ".journal")
        self._old = path.with_name(path.name + ".journal.old")
        self._lock = self._locked()
        self._file = self._opened()
        self.note: int | None = None
        self.saved, self.model = self._checkpointed(load)
        self.line = self.saved
        self._recent: dict[int, Entry] = {}
        journal = list(_entries(self._journal))
        self._length = len(journal)
        for entry in [*_entries(self._old), *journal]:
            self._recent[entry.line] = entry
            if entry.line > self.line and self.model is not None:
                self._replay(entry, observe)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()
        self._lock.close()

    @property
    def oldest(self) -> int:
        return min(self._recent, default=self.line + 1)

    def start(self, model: Model) -> None:
        """Begin a new stream with this model."""
        self.model = model
        self._recent, self._length = {}, 0
        self._old.unlink(missing_ok=True)
        self._file.truncate(0)
        self.checkpoint()

    def told(self, line: int) -> Entry | None:
        """What was taken in and answered for this line, where it is still known."""
        return self._recent.get(line)

    def record(self, entry: Entry) -> None:
        """Note a line and its answer; call before the answer is printed and after the model has observed the value."""
        self._file.write(f"{entry.line}\t{entry.value}\t{entry.answer}\n".encode())
        self._file.flush()
        self._recent[entry.line] = entry
        self.line = entry.line
        self._length += 1
        if self._length >= self._every:
            self.checkpoint()
            self._rotate()

    def checkpoint(self) -> None:
        """Save the model as it is now. The journal's lines up to here are then for telling again only."""
        assert self.model is not None, "a stream has a model before it has a checkpoint"
        self._file.flush()
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "model")
            self.model.save(name)
            data = np.frombuffer(Path(name).read_bytes(), np.uint8)
        _files.write_state(self._path, KIND, FORMAT, {"line": self.line, "note": self.note}, model=data)
        self.saved = self.line

    def _rotate(self) -> None:
        """After a checkpoint: the journal becomes the old one, and a new one begins."""
        os.replace(self._journal, self._old)
        self._file.close()
        self._file = self._opened()
        self._recent = {line: entry for line, entry in self._recent.items() if line > self.line - self._length}
        self._length = 0

    def _replay(self, entry: Entry, observe: Callable[[Model, str], None]) -> None:
        if entry.line != self.line + 1:
            raise ValueError(
                f"{self._journal} jumps from line {self.line} to {entry.line}; remove the state to start afresh"
            )
        assert self.model is not None
        if entry.value:
            observe(self.model, entry.value)
        self.line = entry.line

    def _checkpointed(self, load: Callable[[str], Model]) -> tuple[int, Model | None]:
        if not self._path.exists():
            return 0, None
        header, arrays = _files.read_state(self._path, KIND, FORMAT)
        self.note = header["note"]
        with tempfile.TemporaryDirectory() as folder:
            name = os.path.join(folder, "model")
            Path(name).write_bytes(arrays["model"].tobytes())
            return int(header["line"]), load(name)

    def _locked(self) -> IO[bytes]:
        if not self._path.parent.is_dir():
            raise FileNotFoundError(f"folder {str(self._path.parent)!r} does not exist; create it first")
        file = open(self._path.with_name(self._path.name + ".lock"), "wb")  # noqa: SIM115 (held for the stream's life)
        try:
            if fcntl is not None:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            file.close()
            raise ValueError(f"state {self._path} is in use by another process; stop it or name another") from None
        return file

    def _opened(self) -> IO[bytes]:
        file = open(self._journal, "ab+")  # noqa: SIM115 (held for the stream's life)
        _cut_torn_end(file)
        return file


def _cut_torn_end(file: IO[bytes]) -> None:
    """A journal whose last line was not finished never answered it: forget that line."""
    file.seek(0)
    whole = 0
    for line in file:
        if not line.endswith(b"\n"):
            break
        whole += len(line)
    file.truncate(whole)
    file.seek(whole)


def _entries(path: Path) -> Iterator[Entry]:
    with contextlib.suppress(FileNotFoundError), path.open("rb") as file:
        for raw in file:
            number, value, answer = raw.decode().rstrip("\n").split("\t", 2)
            yield Entry(int(number), value, answer)
