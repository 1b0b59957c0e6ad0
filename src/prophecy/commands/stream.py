"""`prophecy stream`: values in, predictions out, one line for each, for as long as you like."""

from __future__ import annotations

import enum
import sys
from pathlib import Path
from typing import Annotated, NamedTuple

import typer

from prophecy.adaptive import Prophecy
from prophecy.commands._common import DATA, guarded, say
from prophecy.commands._ledger import Entry, Ledger
from prophecy.commands._lines import FIELDS, Csv, Jsonl

EXAMPLES = """Examples:

\b
  sensor | prophecy stream
  tail -f log.jsonl | prophecy stream --format jsonl --column temperature
  sensor | prophecy stream --state sensor.state >> predictions.csv

With --state the stream survives being killed at any moment. Whoever reads the output remembers the last line number N
it got, and starts the command again with --from-line N+1 on the input from that line on: nothing is lost or doubled.
Without --from-line the input is taken to go on after the last line that was taken in.
"""


class Format(enum.StrEnum):
    """How lines are written, in and out."""

    csv = "csv"
    jsonl = "jsonl"


class Malformed(enum.StrEnum):
    """What a line without a number does."""

    skip = "skip"
    fail = "fail"


class Loop(NamedTuple):
    """What one line after another goes through."""

    lines: Csv | Jsonl
    model: Prophecy
    ledger: Ledger[Prophecy] | None
    malformed: Malformed
    level: float


def register(app: typer.Typer) -> None:
    """Add the command to the application."""
    app.command(name="stream", epilog=EXAMPLES)(stream)


def stream(
    layout: Annotated[Format, typer.Option("--format", help="How lines are written, in and out.")] = Format.csv,
    column: Annotated[
        str | None, typer.Option(help="csv: number or name of the field (else the last); jsonl: key.")
    ] = (None),
    level: Annotated[float, typer.Option(help="Probability that an interval holds the next value.")] = 0.9,
    malformed: Annotated[Malformed, typer.Option(help="Lines without a number: report and skip, or stop.")] = (
        Malformed.skip
    ),
    state: Annotated[Path | None, typer.Option(help="File that keeps the stream through kill -9 and reboots.")] = None,
    from_line: Annotated[
        int | None, typer.Option(min=1, help="Number of the first input line, after a restart.")
    ] = None,
    every: Annotated[int, typer.Option("--checkpoint", min=1, help="Lines between checkpoints of the model.")] = 1000,
) -> None:
    """Read values from stdin; for each print its surprise and the prediction of the next one, flushed at once."""
    if not 0 < level < 1:
        raise typer.BadParameter(f"--level must lie between 0 and 1, got {level:g}")
    if from_line is not None and state is None:
        raise typer.BadParameter("--from-line is for streams with --state")
    lines = Csv(column) if layout is Format.csv else Jsonl(column)
    with guarded("stream"):
        if state is None:
            _run(Loop(lines, Prophecy(), None, malformed, level), 1)
            return
        with Ledger(state, Prophecy.load, _observe, every) as ledger:
            first = _first(ledger, state, from_line)
            assert ledger.model is not None
            lines.index = ledger.note
            _run(Loop(lines, ledger.model, ledger, malformed, level), first)
            ledger.checkpoint()


def _first(ledger: Ledger[Prophecy], state: Path, from_line: int | None) -> int:
    """The number of the first input line; starts the ledger where it is new."""
    if ledger.model is None:
        if from_line not in (None, 1):
            raise ValueError(f"--from-line {from_line}: {state} holds no stream yet; start with line 1")
        ledger.start(Prophecy())
        return 1
    first = ledger.line + 1 if from_line is None else from_line
    if first > ledger.line + 1:
        raise ValueError(
            f"--from-line {first}: {state} has seen lines up to {ledger.line}; go on from {ledger.line + 1}"
        )
    if first < ledger.oldest:
        raise ValueError(f"--from-line {first}: {state} remembers answers from line {ledger.oldest} on; start there")
    say("stream", f"{state} has seen {ledger.line} lines; this input starts with line {first}")
    return first


def _run(loop: Loop, first: int) -> None:
    heading = loop.lines.heading()
    if heading is not None and first == 1:
        _print(heading)
    for number, raw in enumerate(iter(sys.stdin.buffer.readline, b""), start=first):
        text = raw.decode(errors="replace").rstrip("\r\n")
        if loop.ledger is not None and number <= loop.ledger.line:
            _tell_again(loop, loop.ledger, number, text)
        else:
            _take(loop, number, text)


def _take(loop: Loop, number: int, text: str) -> None:
    """A new line: parse, observe, note, print; in this order, so that what is printed is never lost."""
    if number == 1 and loop.lines.is_header(text):
        if loop.ledger is not None:
            loop.ledger.note = loop.lines.index
            loop.ledger.record(Entry(number, "", ""))
            loop.ledger.checkpoint()
        return
    try:
        value = loop.lines.value(text)
    except ValueError as error:
        say("stream", f"line {number}: {error}" + ("; skipped" if loop.malformed is Malformed.skip else ""))
        if loop.malformed is Malformed.fail:
            raise typer.Exit(DATA) from None
        if loop.ledger is not None:
            loop.ledger.record(Entry(number, "", ""))
        return
    surprise = float(loop.model.score(value))
    loop.model.observe(value)
    ahead = loop.model.predict(loop.level)
    answer = loop.lines.answer(
        dict(
            zip(
                FIELDS,
                (number, value, surprise, float(ahead.mean), float(ahead.lower), float(ahead.upper)),
                strict=True,
            )
        )
    )
    if loop.ledger is not None:
        loop.ledger.record(Entry(number, repr(value), answer))
    _print(answer)


def _tell_again(loop: Loop, ledger: Ledger[Prophecy], number: int, text: str) -> None:
    """A line the model has seen already: the answer of then, and no second look."""
    entry = ledger.told(number)
    if entry is None or not entry.value:
        return
    if repr(loop.lines.value(text)) != entry.value:
        raise ValueError(f"line {number} is {text!r} now and was {entry.value} when first read; wrong --from-line?")
    _print(entry.answer)


def _observe(model: Prophecy, value: str) -> None:
    model.observe(float(value))


def _print(answer: str) -> None:
    sys.stdout.write(answer + "\n")
    sys.stdout.flush()
