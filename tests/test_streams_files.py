"""Files that nobody should trust: every number checked before it is used, nothing allocated on a file's word."""

from __future__ import annotations

import io
import json
import os
import resource
import subprocess
import sys
import tracemalloc
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from prophecy import Prophecy, _files
from prophecy.streams import record, rows
from prophecy.streams.prophecy import FORMAT

WAVE = np.sin(np.arange(400) / 9) + 0.1 * np.random.default_rng(0).normal(size=400)


@pytest.fixture
def saved(tmp_path):
    """A saved model as header and arrays, and a way to load a changed copy of it."""
    model = Prophecy()
    model.observe(WAVE)
    model.save(tmp_path / "model")
    meta, arrays = _files.read_state(tmp_path / "model", "Prophecy", FORMAT)

    def load(changed_meta=None, **changed):
        _files.write_state(tmp_path / "bad", "Prophecy", FORMAT, meta | (changed_meta or {}), **(arrays | changed))
        return Prophecy.load(tmp_path / "bad")

    return arrays, load


def forged(arrays, name, index, value, part="records"):
    records = arrays[part].copy()
    if records[name].ndim == 1:
        records[name][0] = value
    else:
        records[name].reshape(1, -1)[0, index] = value
    return records


def test_a_record_left_alone_is_accepted_and_goes_on(saved):
    _, load = saved
    model = load()
    twin = Prophecy()
    twin.observe(WAVE)
    for value in WAVE[::-1].tolist():
        model.observe(value)
        twin.observe(value)
    assert model.predict().upper == twin.predict().upper


PARTS = {"records": record.FIELDS, "clocks": record.CLOCK_FIELDS, "samples": record.SAMPLE_FIELDS}


@pytest.mark.parametrize(
    ("part", "field"), [pytest.param(part, f, id=f"{part}-{f.name}") for part, each in PARTS.items() for f in each]
)
def test_no_field_takes_a_number_beyond_its_limits(saved, part, field):
    """Entry 1 of the defects: an index of 2**63 - 1 wrote outside the heap, a state of 1e308 gave NaN for ever."""
    arrays, load = saved
    beyond = [2**63 - 1, -(2**63), -1] if field.kind == "i8" else [np.inf, -np.inf, 1e308, -1e308]
    for value in beyond if field.kind == "i8" or field.missing else [np.nan, *beyond]:
        with pytest.raises(ValueError, match=rf"damaged Prophecy file: {field.name}.* of stream 0 must .*got"):
            load(**{part: forged(arrays, field.name, 0, value, part)})


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("weight", 0.0),
        ("weight", 0.9),
        ("scale", 0.0),
        ("error_scale", 0.0),
        ("quantile", 1e-5),
        ("quantile", 1e7),
        ("lag", 5.0),
        ("last", 5.0),
        ("feature", 0.25),
        ("learned", 401),
        ("crossed", 500),
        ("hold", 1),
        ("growth", 0.5),
    ],
)
def test_what_no_stream_could_have_reached_is_refused(saved, name, value):
    arrays, load = saved
    with pytest.raises(ValueError, match="damaged Prophecy file"):
        load(records=forged(arrays, name, 1, value))


def test_a_count_of_ages_costs_no_more_than_a_young_one():
    """What was missing of older values was made up one by one for all of 2⁵² values: months of computing."""
    model = Prophecy()
    model.observe(WAVE)
    model._stream.records["count"] = 2**52
    rows.check(model._stream.records, model._stream.table)
    assert np.isfinite(model.follow(WAVE).point).all()


@given(data=st.data())
@settings(max_examples=150, deadline=None)
def test_changed_bytes_are_refused_or_harmless(data):
    """Whatever passes the check goes on to give numbers."""
    model = Prophecy()
    model.observe(WAVE)
    raw = bytearray(model._stream.records.tobytes())
    for _ in range(data.draw(st.integers(1, 4))):
        place = data.draw(st.integers(0, len(raw) // 8 - 1)) * 8
        number = data.draw(st.one_of(st.floats(width=64), st.floats(-1e3, 1e3)))
        raw[place : place + 8] = np.float64(number).tobytes()
    records = np.frombuffer(bytes(raw), dtype=rows.RECORD).copy()
    try:
        rows.check(records, model._stream.table)
    except ValueError:
        return
    model._stream.records = records
    track = model.follow(WAVE)
    assert np.isfinite(track.point).all()
    assert np.isfinite(track.upper).all()
    assert np.isfinite(track.score).all()


@pytest.mark.parametrize(
    "change",
    [
        {"channels": 10**6},
        {"channels": 2**62},
        {"channels": -1},
        {"channels": 2.5},
        {"context": 0},
        {"count": 2**80},
        {"count": True},
        {"gaps": "hold"},
        {"settings": {"discount": 7.0}},
        {"settings": {"no such": 1.0}},
        {"settings": None},
        {"dt": -1.0},
    ],
)
def test_a_header_is_believed_no_more_than_the_records(saved, change):
    """Entry 32 of the defects: a million channels in the header allocated 8 GB first."""
    _, load = saved
    tracemalloc.start()
    with pytest.raises(ValueError, match="damaged Prophecy file"):
        load(change)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 5e6


def entry(array: np.ndarray) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def hostile(kind: str) -> dict[str, bytes]:
    header = entry(np.array(json.dumps({"kind": "Prophecy", "version": 3})))
    made = {"header.npy": header, "records.npy": entry(np.zeros(10))}
    if kind == "claims more elements than it has bytes":
        made["records.npy"] = made["records.npy"].replace(b"(10,)", b"(10000000000000,)")
    elif kind == "negative shape":
        made["records.npy"] = made["records.npy"].replace(b"(10,)", b"(-1,)")
    elif kind == "pickled objects":
        made["records.npy"] = entry(np.zeros(10)).replace(b"'<f8'", b"'|O' ")
    elif kind == "two thousand arrays":
        made |= {f"a{i}.npy": entry(np.zeros(1)) for i in range(2000)}
    elif kind == "a header of two megabytes":
        made["header.npy"] = entry(np.array(" " * 2**21))
    elif kind == "nested brackets":
        made["header.npy"] = entry(np.array("[" * 100_000))
    elif kind == "a shape without its end":
        made["records.npy"] = made["records.npy"].replace(b"(10,), }", b"((((((((")
    elif kind == "no header":
        del made["header.npy"]
    return made


KINDS = [
    *("claims more elements than it has bytes", "negative shape", "pickled objects", "two thousand arrays"),
    *("a header of two megabytes", "nested brackets", "a shape without its end", "no header"),
]


@pytest.mark.parametrize("kind", KINDS)
def test_hostile_archives_are_refused_before_anything_is_allocated(tmp_path, kind):
    with zipfile.ZipFile(tmp_path / "bad", "w") as file:
        for name, data in hostile(kind).items():
            file.writestr(name, data)
    tracemalloc.start()
    with pytest.raises(ValueError, match="is not a saved Prophecy"):
        Prophecy.load(tmp_path / "bad")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2])
def test_an_archive_that_inflates_is_refused_unread(tmp_path, method):
    """Entry 32 of the defects: 1 MB became 1 GB before anything was checked."""
    with zipfile.ZipFile(tmp_path / "bomb", "w", method) as file:
        file.writestr("header.npy", entry(np.array("{}")))
        with file.open("records.npy", "w") as out:
            for _ in range(64):
                out.write(bytes(2**20))
    tracemalloc.start()
    with pytest.raises(ValueError, match="compressed, which saved files never are"):
        Prophecy.load(tmp_path / "bomb")
    assert tracemalloc.get_traced_memory()[1] < 1e6
    tracemalloc.stop()


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_damaged_files_of_any_kind_are_called_damaged(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("files") / "model"
    model = Prophecy(2, context=4)
    model.observe(WAVE.reshape(-1, 2))
    model.save(path)
    raw = bytearray(path.read_bytes())
    if data.draw(st.booleans()):
        raw = raw[: data.draw(st.integers(0, len(raw) - 1))]
    for _ in range(data.draw(st.integers(1, 3))):
        if raw:
            raw[data.draw(st.integers(0, len(raw) - 1))] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(raw))
    try:
        loaded = Prophecy.load(path)
    except ValueError as error:
        problem = str(error)
    else:
        problem = ""
        assert np.isfinite(loaded.predict().point).all()
    assert not problem or str(path) in problem


def test_files_of_the_format_before_are_refused_with_their_version_and_the_way_out(tmp_path):
    _files.write_state(tmp_path / "old", "Prophecy", 2, {"channels": None}, lags=np.zeros((1, 64)))
    with pytest.raises(ValueError, match=f"format 2 of Prophecy, this version reads format {FORMAT}; load it"):
        Prophecy.load(tmp_path / "old")


@pytest.mark.parametrize("missing", [[1], [0, 2], [0, 1, 2]])
def test_channels_saved_in_the_middle_of_a_gap_go_on_to_the_last_bit(tmp_path, missing):
    """Entry 12 of the defects."""
    u = np.cumsum(np.random.default_rng(1).normal(size=(600, 3)), axis=0)
    u[395:420, missing] = np.nan
    model = Prophecy(3)
    model.observe(u[:402])
    model.save(tmp_path / "model")
    loaded = Prophecy.load(tmp_path / "model")
    for part in (model, loaded):
        part.observe(u[402:])
    assert loaded._stream.records.tobytes() == model._stream.records.tobytes()
    np.testing.assert_array_equal(loaded.predict().upper, model.predict().upper)


def test_saving_over_a_private_file_leaves_it_private(tmp_path):
    path = tmp_path / "model"
    Prophecy().save(path)
    path.chmod(0o600)
    Prophecy().save(path)
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.skipif(not hasattr(resource, "RLIMIT_AS"), reason="no limit on memory here")
def test_a_forged_file_is_refused_within_little_memory(tmp_path):
    """The same in a process that could not allocate what the file claims."""
    Prophecy().save(tmp_path / "model")
    meta, arrays = _files.read_state(tmp_path / "model", "Prophecy", FORMAT)
    _files.write_state(tmp_path / "bad", "Prophecy", FORMAT, meta | {"channels": 10**7}, **arrays)
    code = "import resource, sys; from prophecy import Prophecy; Prophecy();"
    code += "used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize();"
    code += "resource.setrlimit(resource.RLIMIT_AS, (used + 2**28, used + 2**28));"
    code += f"\ntry: Prophecy.load({str(tmp_path / 'bad')!r})\nexcept ValueError as e: print(e)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=os.environ, check=True)
    assert "10000000 channels need as many records" in done.stdout


@pytest.mark.parametrize(
    ("name", "value", "rule"),
    [
        ("shrink_weight", 0.0, "add up to 1"),
        ("known", 0, "at most known"),
        ("season_periods", 1.5, "must be 0 or above"),
    ],
)
def test_records_whose_fields_contradict_each_other_are_refused(name, value, rule):
    model = Prophecy()
    model.observe(np.sin(np.arange(400) / 4) + np.random.default_rng(0).normal(size=400))
    records = model._stream.records.copy()
    records[name] = value
    with pytest.raises(ValueError, match=rule):
        rows.check(records, model._stream.table)
