"""Keyed streams and many series inside Spark (extra `spark`): `predict` in a streaming query, `forecast` of a table.

    answers = predict(rows, key="sensor", time="at", value="reading")
    answers.writeStream.format("parquet").option("path", out).option("checkpointLocation", checkpoint).start()

The state of a key is plain bytes in Spark's state store, so a query that was killed continues from its checkpoint, and
every row counts exactly once. Spark promises no order within a micro-batch: rows of a key are processed there in the
order of their times. What comes in a later micro-batch with an earlier time is late, as in a `Fleet`.
"""

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame
from pyspark.sql import functions as sql
from pyspark.sql import types as kinds
from pyspark.sql.streaming import StatefulProcessor

from prophecy.fleet.answers import STATUS, Rows
from prophecy.fleet.single import NUMBERS, Single
from prophecy.tables import forecast as solve

PROVIDER = "spark.sql.streaming.stateStore.providerClass"
ROCKSDB = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"


def predict(stream: DataFrame, *, key: str, time: str, value: str, dt: float | None = None, level: float = 0.9) -> Any:
    """Every row of a streaming frame with its answer: point, lower and upper of the prediction made before it came, its
    score and alarm, its status (taken, late, missing, repeated, refused), and next, next_lower, next_upper.

    key, time, value: columns of `stream`; times are timestamps or seconds, a null value is a gap. A row without a time,
    or with a value beyond ±1e75, is refused: it has no answer and changes nothing. dt, level: as of `Fleet`, whose
    numbers these are to the last bit.
    """
    if stream.sparkSession.conf.get(PROVIDER, "") != ROCKSDB:
        raise ValueError(f"keyed state needs Spark's RocksDB store: spark.conf.set({PROVIDER!r}, {ROCKSDB!r})")
    Single(dt=dt, level=level)  # what cannot be asked for is refused here and not on a worker
    rows, dated = _columns(stream, key, time, value)
    fields = [rows.schema[key], rows.schema[time], kinds.StructField(value, kinds.DoubleType())]
    fields += [kinds.StructField(name, kinds.DoubleType()) for name in NUMBERS] + [
        kinds.StructField("status", kinds.StringType())
    ]
    answers = rows.groupBy(key).transformWithStateInPandas(
        Streams(key, time, value, dated, dt, level), kinds.StructType(fields), "Append", "None"
    )
    return answers.withColumn(time, sql.timestamp_micros(time)) if dated else answers


def forecast(frame: DataFrame, horizon: int, *, key: str, value: str, time: str, level: float = 0.9) -> Any:
    """The next `horizon` values of every key of a table: its key, time, point, lower, upper, and `error`, which says
    why where a series could not be forecast (one row, without numbers)."""
    rows, dated = _columns(frame, key, time, value)
    fields = [rows.schema[key], rows.schema[time]]
    fields += [kinds.StructField(name, kinds.DoubleType()) for name in ("point", "lower", "upper")]
    schema = kinds.StructType([*fields, kinds.StructField("error", kinds.StringType())])
    work = partial(_forecast_key, key=key, time=time, value=value, dated=dated, horizon=horizon, level=level)
    made = rows.groupBy(key).applyInPandas(work, schema)
    return made.withColumn(time, sql.timestamp_micros(time)) if dated else made


def _columns(frame: DataFrame, key: str, time: str, value: str) -> tuple[DataFrame, bool]:
    """Key, time and value alone, and whether times are timestamps; these as microseconds since 1970, which are the same
    whatever the time zone of the session is (without a zone they are UTC)."""
    missing = {key, time, value} - set(frame.columns)
    if missing:
        raise ValueError(f"no column {missing.pop()!r}; there are {', '.join(frame.columns)}")
    kind, moments = frame.schema[time].dataType, sql.col(time)
    if not isinstance(kind, kinds.TimestampType | kinds.TimestampNTZType | kinds.NumericType):
        raise TypeError(f"{time!r} must hold timestamps or seconds, got {kind.simpleString()}; cast it to a timestamp")
    if not isinstance(frame.schema[value].dataType, kinds.NumericType):
        raise TypeError(f"{value!r} must hold numbers, got {frame.schema[value].dataType.simpleString()}")
    if isinstance(kind, kinds.TimestampNTZType):
        moments = sql.concat(moments.cast("string"), sql.lit("Z")).cast("timestamp")
    dated = not isinstance(kind, kinds.NumericType)
    moments = sql.unix_micros(moments) if dated else moments.cast("double")
    return frame.select(key, moments.alias(time), sql.col(value).cast("double").alias(value)), dated


class Streams(StatefulProcessor):  # type: ignore[misc]
    """One key at a time: its state in, its rows of the micro-batch through it, its state out."""

    def __init__(self, key: str, time: str, value: str, dated: bool, dt: float | None, level: float) -> None:
        self._names, self._dated, self._made = (key, time, value), dated, partial(Single, dt=dt, level=level)

    def init(self, handle: Any) -> None:
        self._state = handle.getValueState("state", "state binary")

    def handleInputRows(self, key: Any, rows: Iterator[pd.DataFrame], timerValues: Any) -> Iterator[pd.DataFrame]:
        name, time, value = self._names
        found = pd.concat(list(rows)).sort_values([time, value], kind="stable", ignore_index=True)
        stream = self._made(bytes(self._state.get()[0]) if self._state.exists() else None)
        values = found[value].to_numpy(np.float64, na_value=np.nan)
        times = found[time].to_numpy(np.float64, na_value=np.nan)
        fine = stream.accepts(values, times)
        moments = found[time][fine].to_numpy(np.int64).astype("datetime64[us]") if self._dated else times[fine]
        answered = stream.follow(values[fine], moments)
        made = {column: np.full(len(found), np.nan) for column in NUMBERS}
        for column in NUMBERS:
            made[column][fine] = getattr(Rows(answered), column)
        status = np.full(len(found), "refused", object)
        status[fine] = np.array(STATUS, object)[answered["status"]]
        self._state.update((stream.state(),))
        yield pd.DataFrame({name: key[0], time: found[time], value: values, **made, "status": status})

    def close(self) -> None:
        return None


def _forecast_key(
    found: pd.DataFrame, *, key: str, time: str, value: str, dated: bool, horizon: int, level: float
) -> pd.DataFrame:
    """The rows of one key."""
    made: dict[str, Any] = {key: found[key].iloc[:1].tolist() * horizon}
    try:
        rows = found[[time, value]].dropna(subset=[time]).sort_values(time)
        if dated:
            rows[time] = rows[time].to_numpy(np.int64).astype("datetime64[us]")
        ahead = solve(rows, horizon, level, time=time, columns=value)
        when = np.asarray(ahead.index)
        made[time] = when.astype("datetime64[us]").astype(np.int64) if dated else when
        return pd.DataFrame({**made, "point": ahead.point, "lower": ahead.lower, "upper": ahead.upper, "error": None})
    except (ValueError, TypeError) as error:
        nothing = pd.Series([None], dtype="Int64" if dated else "float64")
        return pd.DataFrame(
            {key: made[key][:1], time: nothing, "point": np.nan, "lower": np.nan, "upper": np.nan, "error": str(error)}
        )
