"""Streams as plain bytes, and inside Spark: killed with -9 between and within micro-batches, each answer comes once."""

from __future__ import annotations

import math
import os
import random
import shutil
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import prophecy
from prophecy import Fleet, Prophecy
from prophecy.fleet import step_bytes
from prophecy.fleet.single import Single

JOB = """
import sys
from pyspark.sql import SparkSession
from prophecy.adapters.spark import PROVIDER, ROCKSDB, forecast, predict

folder, zone, once = sys.argv[1:]
spark = (
    SparkSession.builder.master("local[2]").config("spark.sql.shuffle.partitions", "2").config(PROVIDER, ROCKSDB)
    .config("spark.ui.enabled", "false").config("spark.sql.session.timeZone", zone)
    .config("spark.driver.host", "127.0.0.1").getOrCreate()
)
spark.sparkContext.setLogLevel("ERROR")
kind = "sensor string, at timestamp, reading double"
rows = spark.readStream.schema(kind).option("maxFilesPerTrigger", 1).parquet(folder + "/in")
answers = predict(rows, key="sensor", time="at", value="reading")
sink = answers.writeStream.format("parquet").option("path", folder + "/out")
query = sink.option("checkpointLocation", folder + "/checkpoint").trigger(availableNow=True).start()
query.awaitTermination()
if once == "forecast":
    table = spark.read.parquet(folder + "/in")
    forecast(table, 3, key="sensor", time="at", value="reading").write.parquet(folder + "/ahead.parquet")
spark.stop()
"""


def values(count, seed=0):
    return np.random.default_rng(seed).standard_normal(count).cumsum()


@pytest.mark.parametrize("timed", [False, True])
def test_bytes_in_bytes_out_say_what_prophecy_says(timed):
    model, state = Prophecy(), None
    for k, value in enumerate(values(300).tolist()):
        at = 10.0 * k if timed else None
        track = model.follow([value], time=None if at is None else [at])
        state, answer = step_bytes(state, value, at)
        assert isinstance(state, bytes)
        np.testing.assert_array_equal(answer[:5], [float(part[0]) for part in track])
        ahead = model.predict()
        assert answer[5:] == ("taken", ahead.point, ahead.lower, ahead.upper)
    assert len(state) < 120_000


def test_states_of_young_streams_are_small():
    state = None
    for k, value in enumerate(values(64)):
        state, _ = step_bytes(state, value, float(k))
    assert len(state) < 64 * 16 + 100


def test_bad_bytes_and_values_are_refused_and_the_state_stays():
    state, _ = step_bytes(None, 1.0)
    for bad in (b"x", state[:-1], state[:-5] + b"\0" * 5, bytes(200)):
        with pytest.raises(ValueError, match="state"):
            step_bytes(bad, 1.0)
    stream = Single(state)
    for value, at in ((math.inf, None), (1e80, None), (1.0, 5.0)):
        with pytest.raises(ValueError, match="must be"):
            stream.observe(value, at)
    assert stream.state() == state
    with pytest.raises(ValueError, match="value must be"):
        stream.follow([1.0, math.inf])
    assert stream.state() == state


@pytest.mark.parametrize("timed", [False, True])
def test_many_values_at_once_are_the_same_as_one_by_one(timed):
    one, many, u = Single(), Single(), values(300, 2)
    times = np.arange(300.0) if timed else None
    said = [one.observe(value, None if times is None else times[k]) for k, value in enumerate(u)]
    parts = [slice(0, 1), slice(1, 80), slice(80, 300)]
    rows = np.concatenate([many.follow(u[part], None if times is None else times[part]) for part in parts])
    np.testing.assert_array_equal([answer.point for answer in said], rows["point"])
    np.testing.assert_array_equal([answer.next for answer in said], rows["next"])
    assert one.state() == many.state()


ROWS, FILES = 600, 8


@pytest.fixture(scope="module")
def job(tmp_path_factory):
    """A Spark job in a process of its own, and the rows it reads, one file for each micro-batch."""
    pytest.importorskip("pyspark", reason="needs pyspark")
    pd = pytest.importorskip("pandas")
    if shutil.which("java") is None:
        pytest.skip("Spark needs Java, and there is none here")
    folder = tmp_path_factory.mktemp("spark")
    (folder / "in").mkdir()
    (folder / "job.py").write_text(JOB)
    rng = np.random.default_rng(1)
    at = np.datetime64("2026-03-28T12:00:00") + (60 * np.arange(ROWS)).astype("timedelta64[s]")
    frame = pd.DataFrame({"sensor": rng.choice(list("abc"), ROWS), "at": at, "reading": values(ROWS, 1)})
    frame.loc[rng.choice(ROWS, 20, replace=False), "reading"] = np.nan  # gaps
    frame.loc[400, "reading"] = np.inf
    frame.loc[470:475, "at"] -= np.timedelta64(12, "h")  # late
    parts = np.array_split(np.arange(ROWS), FILES)
    for number, part in enumerate(parts):
        some = frame.iloc[rng.permutation(part)]  # no order within a micro-batch
        some.to_parquet(folder / "in" / f"{number}.parquet", coerce_timestamps="us", index=False)
        os.utime(folder / "in" / f"{number}.parquet", (1e9 + number, 1e9 + number))
    return folder, frame, parts


def started(folder, zone="UTC", what="predict"):
    environment = {**os.environ, "PYSPARK_PYTHON": sys.executable, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, str(folder / "job.py"), str(folder), zone, what]
    return subprocess.Popen(command, stderr=subprocess.PIPE, env=environment, text=True, start_new_session=True)


def finished(child):
    _, err = child.communicate(timeout=600)
    assert child.returncode == 0, err[-3000:]


def committed(folder):
    return len(list((folder / "checkpoint" / "commits").glob("[0-9]*")))


def test_a_query_killed_and_resumed_gives_each_answer_of_a_fleet_exactly_once(job):
    """Answers of micro-batches that were cut off are in files that the sink's log does not name: reading the folder as
    Spark does leaves them out."""
    import pandas as pd

    folder, frame, parts = job
    rng, before = random.Random(3), -1
    for zone in ("UTC", "Europe/Berlin"):  # summer time begins among the rows
        child = started(folder, zone)
        target = committed(folder) + rng.randrange(1, 3)
        while child.poll() is None and committed(folder) < target:
            time.sleep(0.05)
        time.sleep(rng.uniform(0.0, 0.5))
        os.killpg(child.pid, signal.SIGKILL)  # and the workers it has started
        child.communicate()
        assert before < committed(folder) < FILES
        before = committed(folder)
    finished(started(folder, "Europe/Berlin", "forecast"))
    said = spark_table(folder / "out").sort_values(["sensor", "at", "reading"], ignore_index=True)
    assert len(said) == ROWS
    fleet, told = Fleet(), []
    for part in parts:
        some = frame.iloc[part].sort_values(["at", "reading"], ignore_index=True)
        fine = some[~np.isinf(some["reading"])]
        answers = fleet.observe(fine["sensor"].tolist(), fine["reading"], time=fine["at"].to_numpy("datetime64[us]"))
        columns = {name: getattr(answers, name) for name in ("point", "upper", "score", "alarm", "next", "next_lower")}
        told.append(pd.DataFrame({**fine, **columns, "status": answers.status}))
    expected = pd.concat(told).sort_values(["sensor", "at", "reading"], ignore_index=True)
    refused = said["status"] == "refused"
    assert said["reading"][refused].tolist() == [np.inf]
    assert set(said["status"]) == {"taken", "late", "missing", "refused"}
    taken = said[~refused].reset_index(drop=True)
    assert taken["at"].to_numpy("datetime64[us]").tolist() == expected["at"].to_numpy("datetime64[us]").tolist()
    for name in ("sensor", "status", "reading", "point", "upper", "score", "alarm", "next", "next_lower"):
        np.testing.assert_array_equal(taken[name].to_numpy(), expected[name].to_numpy(), err_msg=name)
    ahead, infinite = pd.read_parquet(folder / "ahead.parquet"), frame["sensor"][400]
    for sensor, found in ahead.groupby("sensor"):
        past = frame[frame["sensor"] == sensor][["at", "reading"]].sort_values("at")
        if sensor == infinite:
            assert "finite" in found["error"].item()
            continue
        assert found["error"].isna().all()
        expected = prophecy.forecast(past, 3, time="at", columns="reading")
        np.testing.assert_array_equal(found["upper"], expected.upper)
        assert found["at"].to_numpy("datetime64[us]").tolist() == np.asarray(expected.index, "datetime64[us]").tolist()


def spark_table(folder):
    """What the sink's log says is in the table, which is what Spark reads of it."""
    import json

    import pandas as pd

    names = {}
    for log in sorted((folder / "_spark_metadata").glob("[0-9]*"), key=lambda path: int(path.name.split(".")[0])):
        for line in log.read_text().splitlines()[1:]:
            found = json.loads(line)
            names[os.path.basename(found["path"])] = found["action"] == "add"
    return pd.concat([pd.read_parquet(folder / name) for name, there in names.items() if there])
