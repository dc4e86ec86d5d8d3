"""Histories and events as tables: read once with their schemas, kept as Parquet in ``RUN/analysis/``.

Parsing two million lines of JSON costs less than writing them, and both together less than parsing twice; so each file
is read once, split by record type, and everything later reads columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import StringType, StructField, StructType

from analysis.evidence.tables import CORRUPT_COLUMN, DAMAGED, EVENTS, HISTORY, frame_of
from analysis.hadoop import clear, location
from harness.rundir.reading import RunDirectory

ANALYSIS_FOLDER = "analysis"
HISTORY_TABLE, EVENTS_TABLE = f"{ANALYSIS_FOLDER}/history.parquet", f"{ANALYSIS_FOLDER}/events.parquet"


@dataclass(frozen=True, kw_only=True)
class Records:
    """The run's records as tables, by kind. Every one has ``trial``, ``file`` (relative to the run) and line ``n``."""

    sends: DataFrame
    consumptions: DataFrame
    lock_requests: DataFrame
    """Requests that a hook records: locking, unlocking, and the first pull after a queue was locked."""
    heartbeats: DataFrame
    instances: DataFrame
    queue_flags: DataFrame
    threads: DataFrame
    attempts: DataFrame
    answers: DataFrame
    calls: DataFrame
    checks: DataFrame
    """Questions of brokers about transactions."""
    anchors: DataFrame
    damaged: DataFrame
    events: DataFrame


def load_records(spark: SparkSession, run: RunDirectory) -> Records:
    """Read every history and every trial's events, and write them to ``RUN/analysis/``, the history by type."""
    history, events = run.path / HISTORY_TABLE, run.path / EVENTS_TABLE
    clear(spark, history)
    clear(spark, events)
    _parsed(spark, run.history_files(), HISTORY, levels=4).write.partitionBy("type").parquet(location(history))
    _parsed(spark, run.event_files(), EVENTS, levels=3).write.parquet(location(events))
    return stored_records(spark, run)


def stored_records(spark: SparkSession, run: RunDirectory) -> Records:
    """The same, as an earlier reading of the run left them."""
    whole = spark.read.schema(_stored(HISTORY)).parquet(location(run.path / HISTORY_TABLE))
    events = spark.read.schema(_stored(EVENTS)).parquet(location(run.path / EVENTS_TABLE))
    return Records(
        sends=_of_type(whole, "send"),
        consumptions=_of_type(whole, "consume"),
        lock_requests=_of_type(whole, "rpc"),
        heartbeats=_of_type(whole, "heartbeat"),
        instances=_of_type(whole, "instance"),
        queue_flags=_of_type(whole, "queue"),
        threads=_of_type(whole, "threads"),
        attempts=_of_type(whole, "attempt"),
        answers=_of_type(whole, "answer"),
        calls=_of_type(whole, "call"),
        checks=_of_type(whole, "check"),
        anchors=_anchors(whole).unionByName(_anchors(events)),
        damaged=_damaged(whole).unionByName(_damaged(events)),
        events=events,
    )


def place(line: Column | str = "n", file: Column | str = "file") -> Column:
    """Where a record lies, as one column: its ``file`` and its ``line`` in there."""
    return F.struct(column_of(file).alias("file"), column_of(line).cast("long").alias("line"))


def column_of(column: Column | str) -> Column:
    """The column, which may be told by its name."""
    return F.col(column) if isinstance(column, str) else column


def keep(spark: SparkSession, table: DataFrame, path: Path) -> DataFrame:
    """Write the table as Parquet and go on from the file, so that nothing before it is computed again."""
    clear(spark, path)
    table.write.parquet(location(path))
    return spark.read.schema(table.schema).parquet(location(path))


def _stored(schema: StructType) -> StructType:
    """The columns of what is :func:`_parsed`. The one that a table is split by comes back last."""
    fields = [field for field in schema.fields if field.name != "type"]
    return StructType([*fields, *(StructField(name, StringType()) for name in ("file", "trial", "type"))])


def _parsed(spark: SparkSession, files: Sequence[Path], schema: StructType, *, levels: int) -> DataFrame:
    """The records with ``file`` and ``trial``; a line that is no whole record has type ``damaged``.

    ``levels`` is how many parts of the path ``file`` has, counted from the end. Cutting at slashes costs a hundredth
    of what a regular expression on each of two million lines does.
    """
    if files:
        read = spark.read.schema(schema).option("columnNameOfCorruptRecord", CORRUPT_COLUMN)
        path: Column = F.col("_metadata.file_path")
        table = read.json([location(file) for file in files]).select("*", path.alias("path"))
    else:
        table = frame_of(spark, [], schema).withColumn("path", F.lit(""))
    whole = F.col(CORRUPT_COLUMN).isNull() & F.col("type").isNotNull()
    return table.select(
        F.when(whole, F.col("type")).otherwise(F.lit(DAMAGED)).alias("type"),
        *[F.col(name) for name in schema.names if name not in {"type"}],
        F.substring_index("path", "/", -levels).alias("file"),
        F.substring_index(F.substring_index("path", "/", 1 - levels), "/", 1).alias("trial"),
    )


def _of_type(table: DataFrame, kind: str) -> DataFrame:
    return table.where(F.col("type") == kind).drop("type", CORRUPT_COLUMN)


def _anchors(table: DataFrame) -> DataFrame:
    return table.where(F.col("type") == "anchor").select("trial", "file", "n", "process", "mono_ns", "wall_us")


def _damaged(table: DataFrame) -> DataFrame:
    return table.where(F.col("type") == DAMAGED).select("trial", "file", CORRUPT_COLUMN)
