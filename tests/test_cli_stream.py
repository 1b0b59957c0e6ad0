"""`prophecy stream`: a line out for a line in, at once, and nothing lost or doubled however often it is killed."""

from __future__ import annotations

import csv
import io
import itertools
import json
import math
import os
import random
import re
import resource
import signal
import subprocess
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

pytest.importorskip("typer")
pytest.importorskip("pandas")

from prophecy import Fleet, Prophecy, cli
from prophecy.commands.stream import _lines_of

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")


@pytest.fixture
def stream(monkeypatch, capsys):
    def call(text, *arguments):
        monkeypatch.setattr(sys, "argv", ["prophecy", "stream", *map(str, arguments)])
        monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=io.BytesIO(text.encode())))
        with pytest.raises(SystemExit) as stop:
            cli.main()
        printed = capsys.readouterr()
        return stop.value.code, printed.out.splitlines(), printed.err

    return call


def test_without_a_header_the_field_that_is_taken_is_said_and_none_asked_for_as_another(stream):
    code, lines, said = stream("1,2,3\n4,5,6\n")
    assert (code, [line.split(",")[1] for line in lines[1:]]) == (0, ["3.0", "6.0"])
    assert "no header: field 3 of 3 is predicted; --column 1 chooses another by its number" in said
    code, lines, said = stream("5,7\n6,8\n", "--key", "2")
    assert (code, [line.split(",")[1:3] for line in lines[1:]], said) == (0, [["7", "5.0"], ["8", "6.0"]], "")
    assert stream("1\n2\n")[2] == ""


def expected(values, level=0.9):
    model, rows = Prophecy(), []
    for line, value in enumerate(values, start=1):
        surprise = model.score(value)
        model.observe(value)
        ahead = model.predict(level)
        numbers = (line, value, surprise, ahead.point, ahead.lower, ahead.upper)
        rows.append(",".join("" if isinstance(x, float) and not math.isfinite(x) else repr(x) for x in numbers))
    return rows


def wave(count, seed=0):
    rng = np.random.default_rng(seed)
    return (np.sin(np.arange(count) / 9) + 0.01 * rng.standard_normal(count)).tolist()


def lines(values):
    return "".join(f"{value!r}\n" for value in values)


def test_each_line_is_answered_with_what_prophecy_says(stream):
    values = wave(120)
    code, out, err = stream(lines(values), "--level", 0.8)
    assert code == 0
    assert out == ["line,value,score,next,lower,upper", *expected(values, 0.8)]
    assert err == ""


def test_jsonl_holds_the_same_numbers(stream):
    values = wave(40)
    text = "".join(json.dumps({"t": k, "temperature": value}) + "\n" for k, value in enumerate(values))
    _, out, _ = stream(text, "--format", "jsonl", "--column", "temperature")
    for row, line in zip(map(json.loads, out), expected(values), strict=True):
        assert ",".join("" if value is None else repr(value) for value in row.values()) == line


def test_a_header_names_the_column_and_survives_a_restart(stream, tmp_path):
    state = tmp_path / "s"
    _, first, _ = stream("a,b\n1,10\n2,20\n", "--column", "a", "--state", state)
    assert [row.split(",")[1] for row in first[1:]] == ["1.0", "2.0"]
    _, second, _ = stream("3,30\n", "--column", "a", "--state", state)
    assert [row.split(",")[:2] for row in second] == [["4", "3.0"]]
    assert stream("a,b\n1,2\n", "--column", "c")[0] == 1


def test_columns_go_by_number_and_the_last_is_the_default(stream):
    assert stream("5,6,7\n")[1][1].startswith("1,7.0")
    assert stream("5,6,7\n", "--column", 2)[1][1].startswith("1,6.0")
    code, out, err = stream("5,6,7\n", "--column", 4)
    assert (code, out) == (0, ["line,value,score,next,lower,upper"])
    assert "line 1: there are 3 fields, wanted number 4; skipped" in err


def test_semicolons_and_tabs_part_fields_with_decimal_commas(stream):
    assert [row[:6] for row in stream("1,5;2,5\n3,5;4.5\n")[1][1:]] == ["1,2.5,", "2,4.5,"]
    assert stream("when;Temp, inside;b\n0;1,5;2\n", "--column", "Temp, inside")[1][1].startswith("2,1.5,")
    assert stream("0\t1,5\t2\n", "--column", 2)[1][1].startswith("1,1.5,")


def test_units_signs_and_thousands_are_read_as_in_files(stream):
    for line, value in (
        ("3.5 kWh", "3.5"),
        ("$4.50", "4.5"),
        ('"1,234.5"', "1234.5"),
        ("0;1.234,5", "1234.5"),
        ("5-", "-5.0"),
    ):
        assert stream(line + "\n")[1][1].startswith(f"1,{value},"), line


@pytest.mark.parametrize(
    ("bad", "layout", "says"),
    [
        ("oops", "csv", "'oops' is not a number"),
        ("", "csv", "the line is empty"),
        ("inf", "csv", "beyond"),
        ("1e300", "csv", "beyond"),
        ("1e80", "csv", "beyond"),
        ("-1e80", "jsonl", "beyond"),
        ("{", "jsonl", "not JSON"),
        ('{"x": 1}', "jsonl", "no key 'value'"),
        ('"1"', "jsonl", "'1' is not a number"),
        ("true", "jsonl", "True is not a number"),
        ("\x00\u00ff", "csv", "is not a number"),
    ],
)
def test_malformed_lines_are_named_and_skipped(stream, bad, layout, says):
    code, out, err = stream(f"1\n{bad}\n2\n", "--format", layout)
    assert code == 0
    assert re.search(f"line 2: .*{re.escape(says)}", err)
    assert len([row for row in out if not row.startswith("line")]) == 2


def test_a_fault_that_repeats_is_named_once_and_counted(stream):
    lines = ['{"x": 1}'] * 50 + ["1"] + ['{"x": 1}', "oops", "oops"]
    code, out, err = stream("\n".join(lines), "--format", "jsonl", "--column", "y")
    said = [line.removeprefix("prophecy stream: ") for line in err.splitlines()]
    more = "further lines skipped:"
    starts = ("line 1: no key 'y'", f"{more} 50 (no key 'y'", "line 53: not JSON", f"{more} 1 (not JSON")
    assert code == 0
    assert len(out) == 1
    assert len(said) == 4
    assert all(map(str.startswith, said, starts))


def test_gaps_are_answered_too(stream):
    _, out, err = stream("1\nNA\n3\n")
    assert [row.split(",")[1] for row in out[1:]] == ["1.0", "", "3.0"]
    assert err == ""


def test_usage_errors_and_data_errors_have_their_codes(stream, tmp_path):
    assert stream("", "--level", 2)[0] == 2
    assert stream("", "--from-line", 3)[0] == 2
    assert stream("", "--state", tmp_path / "no" / "s")[0] == 1
    (tmp_path / "junk").write_text("not a state")
    code, _, err = stream("1\n", "--state", tmp_path / "junk")
    assert code == 1
    assert "no state of prophecy's streams" in err
    stream("1\n2\n3\n", "--state", tmp_path / "s")
    for first, says in ((9, "continue from 4"), (2, None)):
        code, _, err = stream("2\n3\n4\n", "--state", tmp_path / "s", "--from-line", first)
        assert code == (1 if says else 0)
        assert says is None or says in err
    code, _, err = stream("7\n", "--state", tmp_path / "s", "--from-line", 3)
    assert code == 1
    assert "was 3.0 when first read" in err


def test_lines_told_again_are_the_same_lines_and_are_not_observed_twice(stream, tmp_path):
    values, state = wave(60), tmp_path / "s"
    _, whole, _ = stream(lines(values))
    stream(lines(values[:40]), "--state", state)
    _, again, _ = stream(lines(values[29:]), "--state", state, "--from-line", 30)
    assert again == whole[30:]


class Child:
    """`prophecy stream` in a process of its own, forked so that it starts at once.

    It is fed as fast as it reads, or `piece` bytes at a time, so that there are many batches to be killed in; with
    `hold` its input does not end until it is killed.
    """

    def __init__(self, text, *arguments, largest_file=None, piece=2**20, hold=False):
        self.piece, self.hold, self.held = piece, hold, threading.Event()
        inside, self.feed = os.pipe()
        self.output, outside = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            try:
                os.close(self.feed)
                os.close(self.output)
                for source, target in ((inside, 0), (outside, 1), (os.open(os.devnull, os.O_WRONLY), 2)):
                    os.dup2(source, target)
                sys.stdin, sys.stdout = open(0, closefd=False), open(1, "w", closefd=False)  # noqa: SIM115
                sys.argv = ["prophecy", "stream", *map(str, arguments)]
                if largest_file is not None:
                    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
                    resource.setrlimit(resource.RLIMIT_FSIZE, (largest_file, largest_file))
                cli.main()
            except SystemExit as stop:
                os._exit(stop.code)
            finally:
                os._exit(70)
        os.close(inside)
        os.close(outside)
        self.thread = threading.Thread(target=self._write, args=(text.encode(),))
        self.thread.start()

    def _write(self, data):
        try:
            while data:
                data = data[os.write(self.feed, data[: self.piece]) :]
                if self.piece < 2**20:
                    time.sleep(1e-4)
        except BrokenPipeError:
            pass
        finally:
            if self.hold:
                self.held.wait()
            os.close(self.feed)

    def kill(self):
        os.kill(self.pid, signal.SIGKILL)
        self.held.set()

    def close(self):
        os.close(self.output)
        self.thread.join()
        return os.waitstatus_to_exitcode(os.waitpid(self.pid, 0)[1])


def answered_through_kills(rows, state, options, kills, rng, reader_dies_too=False):
    """What a reader has who starts the command again, from the line after the last it got, after each of the kills."""
    got, header = [], int(rows[0].startswith("at,"))
    for _ in range(kills):
        start = len(got) + header if got else 0
        given = rows[start : start + rng.randrange(20, 200)]
        child = Child(
            "".join(given),
            "--state",
            state,
            "--from-line",
            start + 1,
            *options,
            piece=rng.randrange(20, 2000),
            hold=True,
        )
        with open(child.output, closefd=False) as output:
            read = list(itertools.islice(output, rng.randrange(len(given) - header)))
            time.sleep(rng.uniform(0.0, 0.004))
            child.kill()
            read += output
        child.close()
        read = [line for line in read if not line.startswith("line,")]
        # A reader that dies too loses up to 60 of the lines it had been sent; the state can tell them again.
        lost = rng.randrange(60) if reader_dies_too else 0
        got += read[: max(0, len(read) - lost)]
    start = len(got) + header if got else 0
    child = Child("".join(rows[start:]), "--state", state, "--from-line", start + 1, *options)
    with open(child.output, closefd=False) as output:
        got += [line for line in output if not line.startswith("line,")]
    assert child.close() == 0
    return [line.rstrip("\n") for line in got]


@pytest.mark.parametrize("reader_dies_too", [False, True])
def test_killed_at_random_moments_under_load_nothing_is_lost_or_doubled(tmp_path, reader_dies_too):
    values = wave(3000, seed=1)
    rows = lines(values).splitlines(keepends=True)
    got = answered_through_kills(rows, tmp_path / "s", (), 25, random.Random(7 + reader_dies_too), reader_dies_too)
    assert got == expected(values)
    assert os.listdir(tmp_path) == ["s"]  # nothing is left behind by kills but the state


def test_a_full_disk_is_an_error_that_loses_nothing(tmp_path):
    values, state = wave(9000, seed=2), tmp_path / "s"
    child = Child(lines(values), "--state", state, largest_file=800_000)
    with open(child.output, closefd=False) as output:
        got = [line.rstrip("\n") for line in output if not line.startswith("line,")]
    assert child.close() == 1
    assert 1000 < len(got) < 9000
    child = Child(lines(values[len(got) :]), "--state", state, "--from-line", len(got) + 1)
    with open(child.output, closefd=False) as output:
        got += [line.rstrip("\n") for line in output]
    assert child.close() == 0
    assert got == expected(values)


def test_answers_leave_the_process_before_the_next_line_comes():
    child = subprocess.Popen(
        [sys.executable, "-m", "prophecy.cli", "stream"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    assert child.stdout.readline().startswith("line,")
    for k in range(5):
        child.stdin.write(f"{k}\n")
        child.stdin.flush()
        assert child.stdout.readline().startswith(f"{k + 1},{float(k)!r},")
    child.stdin.close()
    assert child.wait(timeout=30) == 0
    child.stdout.close()


def test_a_reader_that_leaves_is_not_an_error_worth_a_word():
    command = f"yes 1 | {sys.executable} -m prophecy.cli stream | head -3"
    done = subprocess.run(["bash", "-c", command], capture_output=True, text=True, timeout=60)
    assert done.stderr == ""
    assert len(done.stdout.splitlines()) == 3


def keyed(count, seed=0):
    """Lines of a CSV with two sensors, dates among them, in an order of their own."""
    rng = np.random.default_rng(seed)
    names = rng.choice(["pump, north", "fan"], size=count).tolist()
    rows = [
        (name, f"2026-01-01T{k // 3600:02d}:{k // 60 % 60:02d}:{k % 60:02d}", value)
        for k, (name, value) in enumerate(zip(names, rng.standard_normal(count).tolist(), strict=True))
    ]
    text = "at,sensor,other,value\n" + "".join(f'{at},"{name}",7,{value!r}\n' for name, at, value in rows)
    return text, rows


def test_keyed_lines_are_answered_with_key_and_time_by_a_stream_per_key(stream, tmp_path):
    text, rows = keyed(200)
    options = ("--key", "sensor", "--time", "at", "--column", "value")
    (tmp_path / "plant.csv").write_text(text)
    code, out, err = stream("", tmp_path / "plant.csv", *options, "--state", tmp_path / "s")
    assert (code, err) == (0, "")
    assert stream(text, *options)[1] == out
    models = {}
    table = list(csv.DictReader(out))
    assert list(table[0]) == ["line", "key", "time", "value", "score", "status", "alarm", "next", "lower", "upper"]
    for number, (answer, (name, at, value)) in enumerate(zip(table, rows, strict=True), start=2):
        assert (answer["line"], answer["key"], answer["time"]) == (str(number), name, at)
        model = models.setdefault(name, Prophecy())
        track = model.follow([value], time=np.array([at], "datetime64[s]"))
        ahead = model.predict()
        numbers = [value, track.score[0], track.alarm[0], ahead.point, ahead.lower, ahead.upper]
        said = [answer[part] for part in ("value", "score", "alarm", "next", "lower", "upper")]
        assert said == ["" if not math.isfinite(x) else repr(float(x)) for x in numbers]
        assert answer["status"] == "taken"


def test_keyed_json_lines_hold_the_same_numbers(stream):
    text, rows = keyed(60)
    options = ("--key", "sensor", "--time", "at", "--column", "value")
    wanted = list(csv.DictReader(stream(text, *options)[1]))
    lined = "".join(json.dumps({"sensor": name, "at": at, "value": value}) + "\n" for name, at, value in rows)
    for row, answer in zip(wanted, map(json.loads, stream(lined, *options, "--format", "jsonl")[1]), strict=True):
        assert {name: "" if value is None else str(value) for name, value in answer.items() if name != "line"} == {
            name: value for name, value in row.items() if name != "line"
        }


def test_late_missing_and_malformed_rows_of_keyed_streams_are_told_apart(stream):
    text = "k,t,v\na,5,1\na,4,2\na,6,\nb,x,1\n,7,1\nb,nan,1\nb,1e40,1\nb,1,3\n"
    code, out, err = stream(text, "--key", "k", "--time", "t", "--column", "v")
    assert code == 0
    assert [row["status"] for row in csv.DictReader(out)] == ["taken", "late", "missing", "taken"]
    for line, says in ((5, "neither a number nor an ISO date"), (6, "1 to 512"), (7, "must be finite"), (8, "finite")):
        assert re.search(f"line {line}: .*{says}.*; skipped", err)
    code, out, err = stream("a;2026-01-01;1\na;5;2\n", "--key", 1, "--time", 2)
    assert (code, len(out)) == (0, 2)
    assert "line 2: time '5': dates came before" in err
    assert stream("01.02.2026;3\n", "--time", 1, "--time-format", "%d.%m.%Y")[1][-1].startswith("1,01.02.2026,3.0")


def test_a_state_is_gone_on_with_only_as_it_was_begun(stream, tmp_path):
    text, _ = keyed(20)
    options = ("--key", "sensor", "--time", "at", "--column", "value", "--state", tmp_path / "s")
    assert stream(text, *options)[0] == 0
    code, _, err = stream("1\n", "--state", tmp_path / "s")
    assert code == 1
    assert "--key sensor" in err
    code, again, _ = stream(text, *options, "--from-line", 1)
    assert code == 0
    assert again == stream(text, *options[:6])[1]


def test_a_state_does_not_care_how_its_lines_are_written(stream, tmp_path):
    text, rows = keyed(60)
    options = ("--key", "sensor", "--time", "at", "--column", "value")
    numbers = ("--key", "2", "--time", "1", "--column", "4")
    head, *body = text.splitlines(keepends=True)
    json_lines = [json.dumps({"sensor": name, "at": at, "value": value}) + "\n" for name, at, value in rows]
    whole = list(csv.reader(stream(text, *options)[1]))
    state = ("--state", tmp_path / "s")
    first = stream("".join([head, *body[:20]]), *options, *state)[1][1:]
    as_json = map(json.loads, stream("".join(json_lines[20:30]), *options, *state, "--format", "jsonl")[1])
    pieces = [
        first,
        [",".join(map(str, answer.values())) for answer in as_json],
        stream("".join(body[30:40]), *numbers, *state)[1],
        stream("".join([head, *body[40:50]]), *options, *state)[1],
        stream("".join(body[50:]), *options, *state)[1],
    ]
    said = [row.rsplit(",", 6)[1:] for piece in pieces for row in piece]
    assert said == [row[4:] for row in whole[1:]]
    code, _, err = stream("1\n", *options[:4], "--column", "other", *state)
    assert code == 1
    assert "made with --column value" in err


def test_fifty_kills_of_a_keyed_stream_lose_and_double_nothing(stream, tmp_path):
    text, _ = keyed(5000, seed=4)
    options = ("--key", "sensor", "--time", "at", "--column", "value")
    _, whole, _ = stream(text, *options)
    rows = text.splitlines(keepends=True)
    assert answered_through_kills(rows, tmp_path / "s", options, 50, random.Random(11)) == whole[1:]


@pytest.mark.parametrize("size", [2**20 + 1, 8 * 10**6, 10**8])
def test_a_line_of_any_length_is_malformed_within_seconds_and_the_next_one_is_read(tmp_path, size):
    """A line of 100 MB took more than 45 s: what was there of it was copied at every read."""
    path = tmp_path / "long.csv"
    with path.open("wb") as file:
        file.write(b"1\n" + b"2" * size + b"\n3\n")
    began = time.process_time()
    with path.open("rb") as file:
        assert sum(len(lines) for _, lines in _lines_of(file)) == 3
    assert time.process_time() - began < 2
    done = subprocess.run([sys.executable, "-m", "prophecy.cli", "stream", str(path)], capture_output=True, text=True)
    assert done.returncode == 0
    assert [line.split(",")[1] for line in done.stdout.splitlines()[1:]] == ["1.0", "3.0"]
    assert "line 2: the line has more than 1,048,576 bytes; skipped" in done.stderr
    assert len(done.stderr) < 1000


@pytest.mark.parametrize("call", ["stream", "forecast - -H 3", "predict -", "anomalies -", "equations -"])
def test_a_closed_stdin_is_said(call):
    command = f"{sys.executable} -m prophecy.cli {call} <&-"
    done = subprocess.run(command, shell=True, capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    name = call.split()[0]
    assert done.stderr.strip() == f"prophecy {name}: stdin is closed; pipe values into the command, or name a file"


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_ctrl_c_and_sigterm_end_a_stream_with_a_sentence_and_keep_what_was_answered(tmp_path, how):
    command = [sys.executable, "-m", "prophecy.cli", "stream", "--state", str(tmp_path / "s")]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as run:
        run.stdin.write("1\n2\n")
        run.stdin.flush()
        assert [run.stdout.readline().split(",")[0] for _ in range(3)] == ["line", "1", "2"]
        run.send_signal(how)
        _, err = run.communicate(timeout=120)  # half a second on an idle machine: benchmarks/interrupts.py measures it
    assert run.returncode == 130
    assert err == "prophecy stream: stopped\n"
    with Fleet(tmp_path / "s") as fleet:
        assert fleet.recent("value").value.tolist() == [1.0, 2.0]


@pytest.mark.parametrize(
    ("text", "refused", "said", "value"),
    [
        ("time,temp,hum\n2025-03-01,1.5,80\n", "'temp', 'hum' are numbers", ["--column", "temp"], 1.5),
        ("Datum;Temp;Feuchte\n01.03.2025;1,5;80\n", "'Temp', 'Feuchte' are numbers", ["--column", "Feuchte"], 80.0),
        ("sensor,time,value\nA,2025-03-01,1.5\n", "'sensor' tells streams apart; say --key", ["--key", "sensor"], 1.5),
        ('{"time": 3, "temp": 1.5}\n', "JSON, not CSV; add --format jsonl", ["--format", "jsonl"], 1.5),
        ("Station 12\n\ntime,temp,hum\n,°C,%\n2025-03-01,1.5,80\n", "'temp', 'hum'", ["--column", "temp"], 1.5),
        (
            '"TOA5","CR1","1234","x"\n"TIMESTAMP","RECORD","AirT"\n"TS","RN","C"\n"2025-03-01",7,1.5\n',
            "'RECORD', 'AirT' are numbers",
            ["--column", "AirT"],
            1.5,
        ),
        (
            '"TOA5","CR1","12"\n"TS","Rec","AirT"\n"t","n","C"\n"2025-03-01",7,1.5\n',
            "'Rec', 'AirT'",
            ["--column", "AirT"],
            1.5,
        ),
        ("time,T,p\n2025-03-01,1.5,80\n", "'T', 'p' are numbers", ["--column", "T"], 1.5),
        ("t [s],angle,speed\n0.1,1.5,2\n", "'angle', 'speed' are numbers", ["--column", "angle"], 1.5),
        ("station temp  p\nABC      1.5 80\n", "'temp', 'p' are numbers", ["--column", "temp"], 1.5),
        ("time,a,,b,\n2025-03-01,1.5,,80,\n", "'a', 'b' are numbers", ["--column", "a"], 1.5),
        ("country,2001,2002,2003\nA,1,2,1.5\n", "columns are times (2001 … 2003)", ["--column", "4"], 1.5),
    ],
)
def test_what_a_line_does_not_tell_is_asked_for_and_read_when_it_is_said(stream, text, refused, said, value):
    code, out, err = stream(text)
    assert (code, len(out)) == (1, 1)
    assert refused in err
    code, out, _ = stream(text, *said)
    row = json.loads(out[-1]) if "jsonl" in said else dict(zip(out[0].split(","), out[-1].split(","), strict=True))
    assert code == 0
    assert float(row["value"]) == value


def test_the_only_number_beside_a_time_and_a_word_is_the_value(stream):
    assert stream("ts\ttemp\tstate\n1740787200000\t1,5\ton\n")[1][1].startswith("2,1.5,")


def test_quotes_semicolons_and_letters_of_windows_are_read_as_in_files(stream, tmp_path):
    assert stream('"Zeit";"Wert"\n"2024-01-01";"1,5"\n')[1][1].startswith("2,1.5,")
    (tmp_path / "x.csv").write_bytes("Zeit;Größe;b\n1;2,5;3\n".encode("cp1252"))
    assert stream("", tmp_path / "x.csv", "--column", "Größe")[1][1].startswith("2,2.5,")


def test_a_word_that_may_tell_streams_apart_is_said(stream):
    _, out, err = stream("store,day,qty\nA,2025-03-01,10\nB,2025-03-01,20\n")
    assert (len(out), err.strip()) == (3, "prophecy stream: 'store' left out; if it tells streams apart, --key 'store'")


def test_a_short_line_is_named_and_skipped(stream):
    code, out, err = stream("day,v\n2025-03-01,1\nSource: us\n")
    assert (code, len(out)) == (0, 2)
    assert "line 3: there are 1 fields, wanted number 2; skipped" in err


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"PK\x03\x04\x14\x00", "the input is an Excel file"),
        (b"PAR1\x15\x04", "the input is a Parquet file"),
        (b"\x1f\x8b\x08", "the input is packed"),
        ("v\n1\n".encode("utf-16"), "the input is UTF-16 text"),
        (b'[{"value": 1}, {"value": 2}]\n', "write an object per line, and add --format jsonl"),
    ],
)
def test_what_has_no_lines_of_values_is_refused(stream, tmp_path, data, says):
    (tmp_path / "x").write_bytes(data)
    code, out, err = stream("", tmp_path / "x")
    assert (code, len(out)) == (1, 1)
    assert says in err


def test_an_input_without_any_value_is_said(stream):
    assert "no line had a value; --column names the field" in stream("a b\nc d\n")[2]


@pytest.mark.parametrize("layout", ["csv", "jsonl"])
def test_a_code_for_no_value_is_a_gap(stream, layout):
    asked = ("--format", layout)
    assert stream("1\n-9999\n2\n", *asked, "--missing", "-9999") == stream("1\nnull\n2\n", *asked)


@pytest.mark.parametrize(
    "change",
    [
        {"places": {"value": -100}},
        {"asked": {"column": 5, "key": "k", "time": None}},
        {"asked": []},
        {"lines": [1, 2, 3, 4]},
        {"lines": [1]},
        {"last": -7},
    ],
)
def test_a_forged_note_in_a_state_is_refused_with_a_sentence(stream, tmp_path, change):
    state, asked = tmp_path / "s", {"format": "csv", "column": None, "key": None, "time": None, "time-format": None}
    note = {"first": 1, "last": 2, "lines": [1, 2], "places": {}, "asked": asked}
    with Fleet(state) as fleet:
        fleet.observe("value", [1.0, 2.0], note=json.dumps({**note, **change}).encode())
    code, _, err = stream("1\n2\n3\n", "--state", state, "--column", "1", "--from-line", 1)
    assert code == 1
    assert "prophecy stream: " in err
    assert "Traceback" not in err


def test_answers_of_streams_that_were_removed_are_not_mistaken_for_others(stream, tmp_path):
    text, options = "k,v\na,1\nb,2\na,3\n", ("--state", tmp_path / "s", "--key", "k", "--column", "v")
    assert stream(text, *options)[0] == 0
    with Fleet(tmp_path / "s") as fleet:
        fleet.remove("a")
    code, _, err = stream(text, *options, "--from-line", 1)
    assert code == 1
    assert "streams were removed since; continue from 5" in err
    assert stream("a,4\n", *options)[0] == 0
