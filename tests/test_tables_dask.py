"""Forecasts on a Dask cluster: the same numbers as here, nothing lost with a worker, failures in a column."""

from __future__ import annotations

import os
import signal
import sys
import threading
import time
from datetime import datetime, timedelta

import numpy as np
import pytest

from prophecy import cli, forecast_many

distributed = pytest.importorskip("distributed")
pyarrow = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
pytest.importorskip("typer")

from prophecy.adapters.dask import PartitionTask, forecast_partitions, partitions  # noqa: E402
from prophecy.tables.forecasting import Asked  # noqa: E402


@pytest.fixture(scope="module")
def cluster():
    with distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local:
        yield local


@pytest.fixture
def client(cluster):
    with distributed.Client(cluster) as client:
        yield client


def series(number, length=40):
    rng = np.random.default_rng(number)
    return 10 + np.sin(np.arange(length) / 3 + number) + 0.1 * rng.standard_normal(length)


def table(numbers, length=40):
    start = datetime(2026, 1, 1)
    days = [start + timedelta(days=k) for k in range(length)]
    return pyarrow.table(
        {
            "item": [f"i{n}" for n in numbers for _ in range(length)],
            "day": days * len(numbers),
            "sold": np.concatenate([series(n, length) for n in numbers]),
        }
    )


def written(folder, parts=6, each=3):
    folder.mkdir()
    for part in range(parts):
        parquet.write_table(table(range(part * each, (part + 1) * each)), folder / f"{part}.parquet")
    return folder


def test_partitions_are_written_as_partitions_with_failures_in_a_column(client, tmp_path):
    folder = written(tmp_path / "in", parts=3)
    doubled = table([50, 51])
    again = doubled.slice(0, 1).set_column(2, "sold", pyarrow.array([-1.0]))  # one moment, two values
    doubled = pyarrow.concat_tables([doubled, again, table([52], length=1)])
    parquet.write_table(doubled, folder / "9.parquet")
    asked = PartitionTask(Asked(4), "item", "day", "sold", (0.25,), "refuse")
    done = forecast_partitions(partitions(folder), tmp_path / "out", client, asked)
    assert [len(part.keys) for part in done] == [3, 3, 3, 3]
    assert sorted(os.listdir(tmp_path / "out")) == [f"part-0000{k}.parquet" for k in range(4)]
    made = [row for part in done for row in parquet.read_table(part.target).to_pylist()]
    for n in (0, 8, 51):
        rows = [row for row in made if row["item"] == f"i{n}"]
        alone = forecast_many(table([n]), 4, key="item", jobs=1)[f"i{n}"]
        np.testing.assert_array_equal([row["point"] for row in rows], alone.point)
        np.testing.assert_array_equal([row["q0.25"] for row in rows], alone.quantile(0.25))
        assert [row["day"] for row in rows] == [datetime(2026, 2, 10) + timedelta(days=k) for k in range(4)]
        assert {row["error"] for row in rows} == {None}
    failed = {row["item"]: row for row in made if row["error"] is not None}
    assert set(failed) == {"i50", "i52"}
    assert failed["i50"]["point"] is None
    assert "1 value cannot be forecast" in failed["i52"]["error"]


def test_row_numbers_that_pandas_stored_are_no_variable(client, tmp_path):
    frame = table([3]).to_pandas()
    frame.index = frame.index + 7
    (tmp_path / "in").mkdir()
    frame.to_parquet(tmp_path / "in" / "0.parquet", index=True)
    plain = pyarrow.Table.from_pandas(frame, preserve_index=True).replace_schema_metadata()
    parquet.write_table(plain, tmp_path / "in" / "0.parquet")
    assert "__index_level_0__" in plain.column_names
    asked = PartitionTask(Asked(4), "item", "day", None, (), "refuse")
    (done,) = forecast_partitions(partitions(tmp_path / "in"), tmp_path / "out", client, asked)
    made = parquet.read_table(done.target)
    np.testing.assert_array_equal(made["point"], forecast_many(table([3]), 4, key="item", jobs=1)["i3"].point)


def test_a_key_in_two_partitions_is_refused_before_any_work(client, tmp_path):
    folder, out = written(tmp_path / "in", parts=2), tmp_path / "out"
    asked = PartitionTask(Asked(2), "item", "day", "sold", (), "refuse")
    parquet.write_table(table([0]), folder / "again.parquet")
    with pytest.raises(ValueError, match=r"'i0' lies in two partitions \(.*again.parquet.*\)"):
        forecast_partitions(partitions(folder), out, client, asked)
    assert not list(out.iterdir())


def test_what_an_earlier_run_wrote_is_not_overwritten_and_its_keys_count_when_resumed(client, tmp_path):
    folder, out = written(tmp_path / "in", parts=2), tmp_path / "out"
    asked = PartitionTask(Asked(2), "item", "day", "sold", (), "refuse")
    forecast_partitions(partitions(folder), out, client, asked)
    with pytest.raises(ValueError, match="not empty"):
        forecast_partitions(partitions(folder), out, client, asked)
    parquet.write_table(table([0]), folder / "z-again.parquet")
    with pytest.raises(ValueError, match="'i0' lies in two partitions"):
        forecast_partitions(partitions(folder), out, client, asked, resume=True)
    assert len(list(out.iterdir())) == 2


def test_a_worker_killed_on_purpose_loses_nothing(tmp_path):
    folder = written(tmp_path / "in", parts=16, each=8)
    asked = PartitionTask(Asked(6), "item", "day", "sold", (), "refuse")
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address="127.0.0.1:0") as local,
        distributed.Client(local) as client,
    ):
        first = sorted(client.run(os.getpid).values())

        def kill():
            out = tmp_path / "out"
            while not (out.exists() and len(list(out.glob("part-*"))) >= 3):
                time.sleep(0.005)
            os.kill(first[0], signal.SIGKILL)

        killer = threading.Thread(target=kill)
        killer.start()
        done = forecast_partitions(partitions(folder), tmp_path / "out", client, asked)
        killer.join()
        assert first[0] not in client.run(os.getpid).values()
    assert sorted(key for part in done for key in part.keys) == sorted(f"i{n}" for n in range(128))
    names = [name for name in os.listdir(tmp_path / "out") if name.startswith("part-")]
    assert len(names) == 16
    made = pyarrow.concat_tables([parquet.read_table(part.target) for part in done])
    assert len(made) == 128 * 6
    alone = forecast_many(table([77]), 6, key="item", jobs=1)["i77"]
    rows = [row["point"] for row in made.to_pylist() if row["item"] == "i77"]
    np.testing.assert_array_equal(rows, alone.point)


def test_the_command_runs_on_a_cluster_and_goes_on_after_an_interruption(cluster, tmp_path, monkeypatch, capsys):
    folder = written(tmp_path / "in", parts=3)

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["prophecy", "forecast", str(folder), "--horizon", "4", *map(str, arguments)])
        with pytest.raises(SystemExit) as stop:
            cli.main()
        return stop.value.code, capsys.readouterr().err

    options = ("--key", "item", "--time", "day", "--column", "sold", "--dask", cluster.scheduler_address)
    code, err = call(*options, "--out", tmp_path / "out")
    assert code == 0
    assert "9 series in 3 partitions, 0 failed" in err
    whole = parquet.read_table(tmp_path / "out" / "part-00001.parquet")
    (tmp_path / "out" / "part-00001.parquet").unlink()
    assert call(*options, "--out", tmp_path / "out")[0] == 1
    code, err = call(*options, "--out", tmp_path / "out", "--resume")
    assert code == 0
    assert "3 series in 1 partitions (2 were there already)" in err
    assert parquet.read_table(tmp_path / "out" / "part-00001.parquet").equals(whole)
    assert call(*options)[0] == 2
    assert call("--key", "item", "--dask", "nowhere", "--out", tmp_path / "x")[0] == 2
