"""What a Spark session is told: by where it runs, by how much it has to read, and by its user, whose word comes last."""

from __future__ import annotations

import os
import re
from collections.abc import Mapping
from pathlib import Path

HEAP_MB = 1000
"""Java's heap for a run of minutes. With its own overhead and the Python process the whole stays below 2 GiB."""

YOUNG_OF_HEAP = 0.3

READING_COMPILED_BYTES_MIN = 16 * 2**20
"""Of histories. For fewer, compiling what decodes and folds them takes longer than it saves: a load of 0.5 MB was judged in 21.5 s
instead of 26.1 s, and 194 MB were read and folded in 98 s instead of 68 s, in one run each."""

COMPILED_BYTES_MIN = 100 * 2**20
"""The same for the checkers' expressions: of 440 MB they took 32 s instead of 61 s, in one run each."""

LARGE_BYTES_MIN = 400 * 2**20
"""Of histories. For fewer, Java's full compiler, plans that are made again between stages and more tasks are left out."""

LARGE_HERE_BYTES_MIN = 20_000 * 2**20
"""The same on this machine, where nothing is left for Spark to parse or sort (``evidence/columns.py``, ``strides.py``): of 3.2 GB
the four checks of ``benchmarks/analysis.py`` took 10 s of Java's CPU time instead of 27, and a whole analysis 70 s of all CPU time
instead of 98, in one run each at about equal load."""

PARTITION_BYTES = 64 * 2**20
"""Of a large run's histories, so many for each partition of a shuffle: sorted in memory, its columns are less than half."""

TASK_BYTES_MIN = 4 * 2**20
"""Less than this is not worth a task of its own."""

PARTITIONS_MIN = 2

OURS = frozenset(
    {
        "spark.master",
        "spark.submit.deployMode",
        "spark.sql.session.timeZone",
        "spark.sql.ansi.enabled",
        "spark.local.dir",
    }
)
"""Keys that are no user's: another value would give other findings, or no session."""

PARTITIONS = "spark.sql.shuffle.partitions"
SCAN_PARTITIONS = "spark.sql.files.minPartitionNum"

_DRIVER_OPTIONS, _EXECUTOR_OPTIONS = "spark.driver.extraJavaOptions", "spark.executor.extraJavaOptions"
_DRIVER_MEMORY = "spark.driver.memory"

_ALWAYS = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Otherwise each of the thousands of column expressions walks Python's stack for its place in the source.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.session.timeZone": "UTC",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    # Exact percentiles of many short groups stay in the hash aggregate instead of being sorted again.
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # A table split by record type is written without a sort when all writers may be open at once.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    "spark.sql.files.maxPartitionBytes": "64m",
    # A run has hundreds of logs, and by default a task each lists them.
    "spark.sql.sources.parallelPartitionDiscovery.threshold": "10000",
    "spark.sql.parquet.compression.codec": "snappy",
    "spark.sql.codegen.cache.maxEntries": "200",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.sources.useV1SourceList": "json,parquet,text,csv,orc,avro",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.parquet.summary.metadata.level": "NONE",
    "spark.shuffle.compress": "true",
}

RAW_FILES = {"spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem"}
"""Without Hadoop's native library every local file and folder costs a process (chmod), and a checksum file as many again."""

_HERE = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    **RAW_FILES,
}
"""Where driver and executors are one process of this machine."""

_SMALL = {
    # Plans are many and tables small: planning again between stages costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    # What these would save on large tables is less than what finding it out costs on each of a hundred small plans.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    # By default every aggregation and join of a few rows clears 32 MiB first.
    "spark.buffer.pageSize": "1m",
}

_LARGE = {"spark.sql.adaptive.enabled": "true"}

STACK = "-Xss4m"
"""Deep expression trees are walked by recursion, by whoever plans them and by whoever is sent them."""

_DRIVER = (
    "-XX:-UsePerfData",
    # So much is loaded anyhow; otherwise each step towards it is a collection of the whole heap.
    "-XX:MetaspaceSize=256m",
    # A Spark that lost a thread for want of memory waits for it for ever.
    "-XX:+ExitOnOutOfMemoryError",
    STACK,
)

QUICK_START = (
    # What costs time at start is Java compiling what runs once, so a short session stays with the quick compiler and with
    # the collector that leaves the cores to the work.
    "-XX:TieredStopAtLevel=1",
    "-XX:+UseSerialGC",
    # The quick compiler alone would get 48 MB, which the generated code of a hundred plans fills.
    "-XX:ReservedCodeCacheSize=192m",
)

_THROUGHPUT = ("-XX:+UseParallelGC", "-XX:ReservedCodeCacheSize=256m")

_IPV4 = "-Djava.net.preferIPv4Stack=true"

SMALL_HERE_OPTIONS = " ".join((*QUICK_START, *_DRIVER, _IPV4))
"""Java's options of a small run on this machine, which an archive of classes is made with."""


def is_local(master: str) -> bool:
    """Whether driver and executors are one process of this machine."""
    return re.match(r"local($|\[)", master) is not None


def _cores_of(local: str) -> int:
    """``local[3]`` has three, ``local[*]`` all of this machine, and ``local`` one."""
    count = re.match(r"local\[(\d+|\*)", local)
    return (os.cpu_count() or 1) if count and count[1] == "*" else int(count[1]) if count else 1


def is_large_there(master: str, history_bytes: int) -> bool:
    """Whether so much is large where it is judged."""
    return history_bytes >= (LARGE_HERE_BYTES_MIN if is_local(master) else LARGE_BYTES_MIN)


def partitions(history_bytes: int, cores: int) -> int:
    """Of a shuffle: by the data, and as many as there are cores where each then has enough to do."""
    return max(PARTITIONS_MIN, -(-history_bytes // PARTITION_BYTES), min(cores, -(-history_bytes // TASK_BYTES_MIN)))


def settings_of(
    *, master: str, history_bytes: int, heap_mb: int, scratch: Path, java_options: str, user: Mapping[str, str]
) -> dict[str, str]:
    """Every key of the session, with the user's own.

    How many cores another master than this machine has is not known before the session is up, and what is not told here (memory,
    addresses, file systems) is that master's. ``java_options`` are more of the driver's.
    """
    is_large = is_large_there(master, history_bytes)
    told = {**_ALWAYS, **(_LARGE if is_large else _SMALL), "spark.sql.warehouse.dir": f"{scratch}/warehouse"}
    java = _THROUGHPUT if is_large else QUICK_START
    driver: tuple[str, ...] = (*java, *_DRIVER)
    if is_local(master):
        count = str(partitions(history_bytes, _cores_of(master)) if is_large else PARTITIONS_MIN)
        told |= {**_HERE, PARTITIONS: count, "spark.default.parallelism": count, _DRIVER_MEMORY: f"{heap_mb}m"}
        driver = (*driver, _IPV4)
        if _DRIVER_MEMORY not in user:
            driver = (*driver, f"-Xmn{round(YOUNG_OF_HEAP * heap_mb)}m")
    else:
        told[_EXECUTOR_OPTIONS] = " ".join((*java, STACK))
    told |= {_DRIVER_OPTIONS: " ".join((*driver, *filter(None, [java_options]))), "spark.local.dir": str(scratch)}
    # Java takes the last of two options of one name, and would start without ours where they were replaced.
    joined = {
        key: f"{told[key]} {user[key]}" for key in (_DRIVER_OPTIONS, _EXECUTOR_OPTIONS) if key in told and key in user
    }
    return {**told, **user, **joined}
