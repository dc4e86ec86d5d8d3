"""Histories and events as tables: read once with their schemas, kept as Parquet in ``RUN/analysis/``.

Each file is read once, split by record type, and everything later reads columns.
"""

from __future__ import annotations

import functools
import os
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType, StructField, StructType

from analysis.evidence.columns import write_histories
from analysis.evidence.events import TrialEvents, events_table, read_events
from analysis.evidence.queues import queues_of
from analysis.evidence.sent import sent_chunks
from analysis.evidence.strides import Windows, strides_of
from analysis.evidence.tables import CORRUPT_COLUMN, DAMAGED, EVENTS, HISTORY, WHOLE_BELOW, frame_of
from analysis.evidence.trusted import trusted_elsewhere
from analysis.evidence.unseen import unseen_sends
from analysis.hadoop import clear, give, is_elsewhere, location
from analysis.interrupts import own_interrupts
from analysis.spark import SparkPlace, closing_session
from analysis.spark_settings import PARTITIONS, is_local
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory

ANALYSIS_FOLDER = "analysis"
HISTORY_TABLE, EVENTS_TABLE = f"{ANALYSIS_FOLDER}/history.parquet", f"{ANALYSIS_FOLDER}/events.parquet"
STRIDES_TABLE, SENT_TABLE = f"{ANALYSIS_FOLDER}/strides.parquet", f"{ANALYSIS_FOLDER}/sent.parquet"
QUEUES_TABLE, UNSEEN_TABLE = f"{ANALYSIS_FOLDER}/queues.parquet", f"{ANALYSIS_FOLDER}/unseen.parquet"
FOLDED_TABLES = (STRIDES_TABLE, SENT_TABLE, QUEUES_TABLE, UNSEEN_TABLE)

READERS_MAX = 4
"""As many as there are cores of ours for Spark."""

Reading = Future[None]
"""Of the tables that are being written."""


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
    events: DataFrame
    whole: DataFrame
    """The histories' records of all types, anchors and damaged lines as well."""


def is_read_here(run: RunDirectory, master: str) -> bool:
    """Whether this process turns the run's histories into tables: where Spark would have no more cores, and need not be there."""
    return is_local(master) and not is_elsewhere(run.path)


def write_tables(run: RunDirectory) -> None:
    """Write the records of every history and every trial's events, of a run on this machine, into ``RUN/analysis/``."""
    histories = {str(path.relative_to(run.path)): path for path in run.history_files}
    shutil.rmtree(run.path / HISTORY_TABLE, ignore_errors=True)
    write_histories(histories, run.path / HISTORY_TABLE, _threads())
    events = read_events(run)
    write_table(run.path / EVENTS_TABLE, events_table(events))
    write_folded(run, events)


def write_folded(run: RunDirectory, events: Sequence[TrialEvents]) -> None:
    """Write what the tables of the histories come to: strides, queues, chunks of sends, and sends that a group did not consume.

    What would have too many rows is left to Spark.
    """
    history, threads = run.path / HISTORY_TABLE, _threads()
    of_trial = {one.trial: one for one in events}
    windows = {one.trial: _windows(one, of_trial.get(one.trial)) for one in run.trials}
    drained = [one for one in run.trials if one.trial in of_trial and of_trial[one.trial].drain.get("complete")]
    strides, sent = strides_of(history, windows, threads), sent_chunks(history, threads)
    queues = None if strides is None else queues_of(strides, windows)
    unseen = None if strides is None else unseen_sends(history, strides, sent, drained, threads)
    for name, table in zip(FOLDED_TABLES, (strides, sent, queues, unseen), strict=True):
        write_table(run.path / name, table)


def _windows(trial: TrialRecord, events: TrialEvents | None) -> Windows:
    fault_ns, hold_to_ns = (None, None) if events is None else (events.fault_ns, events.hold_to_ns)
    return Windows(fault_ns=fault_ns, hold_to_ns=hold_to_ns, topic=trial.topic)


def _threads() -> int:
    return min(READERS_MAX, len(os.sched_getaffinity(0)))


def write_table(folder: Path, table: pa.Table | None) -> None:
    """Leave the table as the one Parquet file of its folder, which is gone where there is none."""
    shutil.rmtree(folder, ignore_errors=True)
    if table is not None:
        folder.mkdir(parents=True)
        pq.write_table(table, folder / "part-0.parquet")


@contextmanager
def reading_ahead(run: RunDirectory, master: str) -> Iterator[Reading | None]:
    """Begin to write the tables before Spark is there, in a folder without an earlier analysis; None where Spark has to read."""
    if not is_read_here(run, master):
        yield None
        return
    folder = run.path / ANALYSIS_FOLDER
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    with own_interrupts(), ThreadPoolExecutor(max_workers=1) as pool:
        yield pool.submit(write_tables, run)


@contextmanager
def session_and_reading(
    run: RunDirectory, place: SparkPlace
) -> Iterator[tuple[SparkSession, RunDirectory, Reading | None]]:
    """A session for the time of the block, the run with what that alone can look at, and the tables written while it starts."""
    with reading_ahead(run, place.where) as reading, closing_session(place.for_evidence(run.path)) as spark:
        yield spark, run if reading is not None else trusted_elsewhere(spark, run), reading


def load_records(spark: SparkSession, run: RunDirectory, reading: Reading | None = None) -> Records:
    """The records, once they are in ``RUN/analysis/``, the histories' by type; ``reading`` has begun to write them."""
    if reading is not None:
        reading.result()
    elif is_read_here(run, str(spark.sparkContext.master)):
        write_tables(run)
    else:
        for name in (HISTORY_TABLE, EVENTS_TABLE, *FOLDED_TABLES):
            clear(spark, run.path / name)
        _parsed(spark, run.history_files).write.partitionBy("type").parquet(location(run.path / HISTORY_TABLE))
        write_table(run.path / EVENTS_TABLE, events_table(read_events(run)))
        for file in (run.path / EVENTS_TABLE).iterdir():
            give(spark, file)
    return stored_records(spark, run)


def stored_records(spark: SparkSession, run: RunDirectory) -> Records:
    """The same, as an earlier reading of the run left them."""
    whole = stored(spark, run.path / HISTORY_TABLE, _with_place(HISTORY))
    events = stored(spark, run.path / EVENTS_TABLE, _with_place(EVENTS))
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
        events=events,
        whole=whole,
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
    return stored(spark, path, table.schema)


def stored(spark: SparkSession, path: Path, schema: StructType) -> DataFrame:
    """A table that was written as Parquet. Where one task is to do all of a query it is in one part, and nothing is shuffled."""
    table = spark.read.schema(schema).parquet(location(path))
    return table.coalesce(1) if spark.conf.get(PARTITIONS) == "1" else table


def _with_place(schema: StructType) -> StructType:
    """The columns of what is :func:`_parsed`. The one that a table is split by comes back last."""
    fields = [field for field in schema.fields if field.name != "type"]
    return StructType([*fields, *(StructField(name, StringType()) for name in ("file", "trial", "type"))])


def _parsed(spark: SparkSession, histories: Sequence[Path]) -> DataFrame:
    """The records with ``file`` and ``trial``; a line that is no whole record has type ``damaged``.

    Cutting paths at slashes costs a hundredth of what a regular expression on each of two million lines does.
    """
    if histories:
        # As Arrow reads them: a line ends at its newline alone, and a text has double quotes.
        strict = {"columnNameOfCorruptRecord": CORRUPT_COLUMN, "lineSep": "\n", "allowSingleQuotes": "false"}
        read = spark.read.schema(HISTORY).options(**strict)
        path: Column = F.col("_metadata.file_path")
        table = read.json([location(file) for file in histories]).select("*", path.alias("path"))
    else:
        table = frame_of(spark, [], HISTORY).withColumn("path", F.lit(""))
    numbers = [F.col(field.name) for field in HISTORY.fields if isinstance(field.dataType, LongType)]
    below = [F.coalesce(one.between(1 - WHOLE_BELOW, WHOLE_BELOW - 1), F.lit(True)) for one in numbers]
    whole = functools.reduce(Column.__and__, below, F.col(CORRUPT_COLUMN).isNull() & F.col("type").isNotNull())
    return table.select(
        F.when(whole, F.col("type")).otherwise(F.lit(DAMAGED)).alias("type"),
        *[F.col(name) for name in HISTORY.names if name not in {"type"}],
        # trials/TRIAL/history/PROCESS.jsonl
        F.substring_index("path", "/", -4).alias("file"),
        F.substring_index(F.substring_index("path", "/", -3), "/", 1).alias("trial"),
    )


def _of_type(table: DataFrame, kind: str) -> DataFrame:
    return table.where(F.col("type") == kind).drop("type", CORRUPT_COLUMN)
