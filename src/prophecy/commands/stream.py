"""`prophecy stream`: values in, predictions out, one line for each, for as long as you like."""

import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import typer

from prophecy import _interrupts
from prophecy.commands._common import CLOSED, say
from prophecy.commands._lines import Csv, InputLine, Jsonl
from prophecy.commands._options import LineFormat, command
from prophecy.fleet.answers import Answers, Rows
from prophecy.fleet.fleet import Fleet
from prophecy.frames.columns import Hints
from prophecy.frames.opening import UTF_16, other_than_text

READ = 2**16  # bytes taken at a time at most: the lines that are there are one batch, and one transaction of a state
LONGEST_LINE = 2**20  # bytes of a line at most; a longer one is malformed
CLOSING = 1.0  # seconds in which states are saved after Ctrl-C; what is not is caught up with at the next start


@command
def stream(
    files: list[Path] | None = None,
    layout: LineFormat = LineFormat.csv,
    field: str | None = None,
    key: str | None = None,
    moment: str | None = None,
    time_format: str | None = None,
    missing: list[str] | None = None,
    level: float = 0.9,
    state: Path | None = None,
    from_line: int | None = None,
) -> None:
    """Read values; for each one print its score and the prediction of the next, without delay.

    Examples:
      sensor | prophecy stream
      tail -f log.jsonl | prophecy stream --format jsonl --column temperature
      sensor | prophecy stream --state sensor.state >> predictions.csv
      prophecy stream plant.csv --key sensor --time at --column value --state plant.state

    With --state the stream survives kills and power failures at any moment. To lose and repeat nothing, the program
    that reads the output remembers the number N of the last line it got. It starts the command again with --from-line
    N+1, and with the input from that line on. Without --from-line the input continues after the last line read.
    """
    if from_line is not None and state is None:
        raise typer.BadParameter("--from-line is for streams with --state")
    form = Csv if layout is LineFormat.csv else Jsonl
    lines = form(field, key, moment, time_format, Hints(missing=tuple(missing or ())))
    asked = {"format": layout.value, "column": field, "key": key, "time": moment, "time-format": time_format}
    fleet = Fleet(state, level=level)
    try:
        seen = SeenLines(fleet, asked)
        first = seen.first(from_line, state)
        lines.places = dict(seen.places)
        _run(Loop(lines, fleet, seen), first, files or [])
    except BaseException:
        fleet.close(CLOSING)
        raise
    fleet.close()


class SeenLines:
    """What the state has of the input: lines up to `last`, answers to those from `oldest` on."""

    def __init__(self, fleet: Fleet, asked: dict[str, Any]) -> None:
        self.asked, self.last, self.oldest = asked, 0, 1
        self.places: dict[str, int] = {}
        self._fleet, self._notes = fleet, [_note(note) for _, _, note in fleet.batches()]
        self.answered: dict[int, tuple[Answers, int]] = {}  # by line: a batch and the row in it
        if not self._notes:
            if len(fleet):
                raise ValueError("the state was not made by `prophecy stream`; name another")
            return
        newest = self._notes[-1]
        was = newest["asked"]
        differs = [name for name in ("column", "key", "time") if _another(name, was.get(name), asked[name])]
        if differs:
            made = ", ".join(f"--{name} {was[name]}" if was.get(name) else f"no --{name}" for name in differs)
            raise ValueError(f"the state was made with {made}; continue with the same")
        self.last, self.oldest = newest["last"], self._notes[0]["first"]
        # Where the fields stand holds for lines of the same form; whether times are dates holds for all.
        self.places = {name: n for name, n in newest["places"].items() if was == asked or name == "dated"}

    def first(self, from_line: int | None, state: Path | None) -> int:
        """The number of the first input line."""
        if not self._notes:
            if from_line not in (None, 1):
                raise ValueError(f"--from-line {from_line}: {state} holds no stream yet; start with line 1")
            return 1
        first = self.last + 1 if from_line is None else from_line
        if first > self.last + 1:
            raise ValueError(
                f"--from-line {first}: {state} has seen lines up to {self.last}; continue from {self.last + 1}"
            )
        if first < self.oldest:
            raise ValueError(f"--from-line {first}: {state} remembers answers from line {self.oldest} on; start there")
        if first <= self.last:
            for note, (_, answers, _) in zip(self._notes, self._fleet.batches(), strict=True):
                if len(answers) != len(note["lines"]):
                    raise ValueError(f"--from-line {first}: streams were removed since; continue from {self.last + 1}")
                self.answered |= {line: (answers, place) for place, line in enumerate(note["lines"])}
        say(f"{state} has seen {self.last} lines; this input starts with line {first}")
        return first

    def note(self, first: int, last: int, lines: list[int], places: dict[str, int]) -> bytes:
        """What is kept with a batch."""
        self.last = last
        note = {"first": first, "last": last, "lines": lines, "places": places, "asked": self.asked}
        return json.dumps(note).encode()


def _another(role: str, was: str | None, now: str | None) -> bool:
    """Whether a state holds something else than what is asked for: other names, or keys or times where there were
    none. The form of the lines does not matter: a field by number in CSV may have a name in JSON."""
    if was is None or now is None:
        return role != "column" and was is not now
    return was != now and not was.isdigit() and not now.isdigit()


def _note(data: bytes) -> dict[str, Any]:
    """What `SeenLines.note` wrote; ValueError for anything else."""
    try:
        note = json.loads(data)
        whole = [note["first"], note["last"], *note["lines"], *note["places"].values()]
        names = [name for name in note["asked"].values() if name is not None]
        if not all(type(number) is int and number >= 0 for number in whole) or {*map(type, names)} - {str}:
            raise TypeError
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
        raise ValueError("the state was not made by `prophecy stream`, or is damaged; name another") from None
    return note  # type: ignore[no-any-return]


class Loop:
    """One line after another: parse, observe, print; a batch is in the state before any of its answers is printed."""

    def __init__(self, lines: Csv | Jsonl, fleet: Fleet, seen: SeenLines) -> None:
        self.lines, self._fleet, self._seen = lines, fleet, seen
        self.answered = 0
        self._fault, self._repeated = "", 0

    def take(self, first: int, texts: list[str], starts_file: bool) -> None:
        """The lines from number `first` on."""
        seen = min(max(self._seen.last - first + 1, 0), len(texts))
        for number, text in enumerate(texts[:seen], start=first):
            self._repeat(number, text)
        if seen < len(texts):
            self._take_new(first + seen, texts[seen:], starts_file and not seen)

    def _take_new(self, first: int, texts: list[str], starts_file: bool) -> None:
        fresh: list[tuple[int, InputLine]] = []
        for number, text in enumerate(texts, start=first):
            short = len(text) <= LONGEST_LINE
            if starts_file and number == first and short and self.lines.is_header(text.removeprefix("\ufeff")):
                continue
            heading = short and not self.lines.settled and self.lines.settle(text)
            while self.lines.notes:
                say(self.lines.notes.pop(0))
            try:
                if heading:
                    raise ValueError(f"{text[:200]!r} has no value: a title, names or units")
                if not short:
                    raise ValueError(f"the line has more than {LONGEST_LINE:,} bytes")
                fresh.append((number, self.lines.read(text)))
            except ValueError as error:
                self.skip(str(error), number)
        found, last = [line for _, line in fresh], first + len(texts) - 1
        self.answered += len(found)
        note = self._seen.note(first, last, [number for number, _ in fresh], self.lines.places)
        answers = self._fleet.observe(
            [line.key for line in found], [line.value for line in found], time=self._times(found), note=note
        )
        _print([self._answer(number, line, answers, k) for k, (number, line) in enumerate(fresh)])

    def skip(self, fault: str = "", number: int = 0) -> None:
        """Say why a line is skipped; lines with the same fault are counted until there is another, or the end."""
        if fault == self._fault:
            self._repeated += 1
            return
        if self._repeated:
            say(f"further lines skipped: {self._repeated:,} ({self._fault})")
        self._fault, self._repeated = fault, 0
        if fault:
            say(f"line {number}: {fault}; skipped")

    def _times(self, found: list[InputLine]) -> Any:
        if self.lines.time is None:
            return None
        times = np.array([line.time for line in found])
        return (times * 1e6).round().astype("datetime64[us]") if self.lines.places.get("dated") else times

    def _answer(self, number: int, line: InputLine, answers: Answers, k: int) -> str:
        row = Rows(answers.rows[k : k + 1])
        fields = {"line": number, "key": line.key, "time": line.shown, "value": line.value, "status": answers.status[k]}
        fields |= row.first(score="score", alarm="alarm", next="next", lower="next_lower", upper="next_upper")
        return self.lines.answer({name: fields[name] for name in self.lines.fields})

    def _repeat(self, number: int, text: str) -> None:
        """A line the model has seen already: its first answer is printed again, and the model is unchanged."""
        if number not in self._seen.answered:
            return
        self.answered += 1
        answers, k = self._seen.answered[number]
        line, value, key = self.lines.read(text), float(answers.value[k]), answers.key[k]
        if repr(line.value) != repr(value) or line.key != key:
            raise ValueError(f"line {number} is {text!r} now and was {value} when first read; wrong --from-line?")
        _print([self._answer(number, line, answers, k)])


def _run(loop: Loop, first: int, files: list[Path]) -> None:
    if first == 1:
        _print(loop.lines.heading())
    try:
        for starts_file, texts in _blocks(files):
            loop.take(first, texts, starts_file and (bool(files) or first == 1 or loop.lines.unplaced))
            first += len(texts)
    finally:
        loop.skip()
    if first > 1 and not loop.answered:
        say("no line had a value; --column names the field, `prophecy predict` reads files of other forms")


def _blocks(files: list[Path]) -> Iterator[tuple[bool, list[str]]]:
    """The lines that are there, as they come, and whether they begin a file."""
    if not files:
        if sys.stdin is None:  # closed by whoever started us
            raise ValueError(CLOSED)
        yield from _lines_of(sys.stdin.buffer)
    for path in files:
        with path.open("rb") as file:
            yield from _lines_of(file)


def _lines_of(file: Any) -> Iterator[tuple[bool, list[str]]]:
    """A line that is too long is cut where it is: the rest of it is read and forgotten."""
    pieces: list[bytes] = []
    kept, begins = 0, True
    while data := _read(file):
        kind = None if not begins else "UTF-16 text" if data.startswith(UTF_16) else other_than_text(data)
        if kind is not None:
            raise ValueError(
                f"the input is {kind}, and a stream has lines of UTF-8; `prophecy predict` reads such files"
            )
        *whole, rest = data.split(b"\n")
        if whole:
            whole[0] = b"".join([*pieces, whole[0][: LONGEST_LINE + 1 - kept]])
            pieces, kept = [], 0
            yield begins, [_text(raw) for raw in whole]
            begins = False
        pieces.append(rest[: LONGEST_LINE + 1 - kept])
        kept += len(pieces[-1])
    if kept:
        yield begins, [_text(b"".join(pieces))]


def _read(file: Any) -> bytes:
    with _interrupts.waiting():
        return file.read1(READ)  # type: ignore[no-any-return]


def _text(raw: bytes) -> str:
    try:
        return raw.decode().rstrip("\r\n")
    except UnicodeDecodeError:  # as Windows writes it, or damaged
        return raw.decode("cp1252", errors="replace").rstrip("\r\n")


def _print(answers: list[str]) -> None:
    if answers:
        sys.stdout.write("\n".join(answers) + "\n")
        sys.stdout.flush()
