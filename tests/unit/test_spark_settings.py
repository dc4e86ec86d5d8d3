"""What a Spark session is told, by its master, by the size of the run, and by its user."""

from __future__ import annotations

import ctypes
import os
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import analysis.spark
from analysis.spark import SparkPlace, _environment, closing_session
from analysis.spark_settings import LARGE_BYTES_MIN, LARGE_HERE_BYTES_MIN, partitions
from harness.errors import EXIT_USAGE, ConfigurationError
from harness.host.ports import free_port
from mqlab.main import _parser, main
from mqlab.run.judging import spark_place

GB = 2**30
PARALLEL = ("spark.sql.shuffle.partitions", "spark.default.parallelism")
URL = "spark://10.0.0.7:7077"


def _told(*, java: str = "", **about: Any) -> dict[str, str]:
    return SparkPlace(**about).settings(Path("/scratch"), java)


def test_a_small_run_on_this_machine_has_two_partitions_and_stays_on_loopback() -> None:
    told = _told(history_bytes=LARGE_HERE_BYTES_MIN - 1, heap_mb=1200)
    assert [told[key] for key in PARALLEL] == ["2", "2"]
    assert told["spark.sql.adaptive.enabled"] == "false"
    assert told["spark.driver.host"] == told["spark.driver.bindAddress"] == "127.0.0.1"
    assert told["spark.hadoop.fs.file.impl"].endswith(".RawLocalFileSystem")
    assert told["spark.driver.memory"] == "1200m"
    assert "-XX:TieredStopAtLevel=1" in told["spark.driver.extraJavaOptions"]


def test_a_large_run_has_partitions_by_its_bytes_and_is_compiled_in_full() -> None:
    told = _told(master="local[2]", history_bytes=20 * GB)
    assert [told[key] for key in PARALLEL] == ["320", "320"]
    assert told["spark.sql.adaptive.enabled"] == "true"
    assert "TieredStopAtLevel" not in told["spark.driver.extraJavaOptions"]
    assert told["spark.driver.host"] == "127.0.0.1"


@pytest.mark.parametrize(
    ("master", "count"),
    [("local", 313), ("local[400]", 400), ("local[500,4]", 500)],
    ids=["one", "some", "with retries"],
)
def test_a_large_run_uses_all_cores_of_its_local_master(master: str, count: int) -> None:
    told = _told(master=master, history_bytes=LARGE_HERE_BYTES_MIN)
    assert told[PARALLEL[0]] == str(count)


@pytest.mark.parametrize(
    ("history_bytes", "cores", "count"),
    [(0, 100, 2), (20 * 2**20, 100, 5), (GB, 4, 16), (GB, 100, 100), (17 * GB, 8, 272)],
    ids=["nothing", "too little for all cores", "by bytes", "by cores", "50 million records"],
)
def test_partitions_come_from_data_and_cores(history_bytes: int, cores: int, count: int) -> None:
    assert partitions(history_bytes, cores) == count


@pytest.mark.parametrize("history_bytes", [0, GB])
@pytest.mark.parametrize("master", [URL, "yarn", "k8s://https://10.0.0.7:6443"])
def test_addresses_memory_partitions_and_file_systems_are_another_masters_own(master: str, history_bytes: int) -> None:
    told = _told(master=master, history_bytes=history_bytes)
    ours = ("spark.driver.host", "spark.driver.bindAddress", "spark.driver.memory", "spark.executor.memory", *PARALLEL)
    assert not {*ours, "spark.hadoop.fs.file.impl"} & told.keys()
    assert "-Xmn" not in told["spark.driver.extraJavaOptions"]
    assert "-Xss4m" in told["spark.executor.extraJavaOptions"]


def test_where_spark_reads_the_histories_itself_less_is_large() -> None:
    told = _told(master=URL, history_bytes=LARGE_BYTES_MIN)
    assert told["spark.sql.adaptive.enabled"] == "true"
    assert LARGE_BYTES_MIN < LARGE_HERE_BYTES_MIN


def test_the_users_word_comes_last_and_java_options_are_joined() -> None:
    conf = {
        "spark.sql.shuffle.partitions": "7", "spark.driver.memory": "3g", "spark.driver.host": "10.0.0.1", "spark.my.own": "x",
        "spark.driver.extraJavaOptions": "-Dmine=1", "spark.executor.extraJavaOptions": "-Dmine=2",
    }  # fmt: skip
    told = _told(conf=conf, java="-Dlab=1")
    assert {key: told[key] for key in list(conf)[:4]} == dict(list(conf.items())[:4])
    assert "-Xss4m" in told["spark.driver.extraJavaOptions"]
    assert told["spark.driver.extraJavaOptions"].endswith("-Dlab=1 -Dmine=1")
    assert "-Xmn" not in told["spark.driver.extraJavaOptions"]
    assert told["spark.executor.extraJavaOptions"] == "-Dmine=2"
    assert _told(master=URL, conf=conf)["spark.executor.extraJavaOptions"].endswith("-Xss4m -Dmine=2")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["spark.executor.memory"], "'spark.executor.memory' is not spark.KEY=VALUE"),
        (["executor.memory=1g"], "'executor.memory=1g' is not spark.KEY=VALUE"),
        (["spark.executor.memory="], "'spark.executor.memory=' is not spark.KEY=VALUE"),
        (["spark.a=1", "spark.a=2"], "spark.a is given twice"),
        (["spark.master=yarn"], "spark.master is the lab's own"),
        (["spark.sql.session.timeZone=CET"], "spark.sql.session.timeZone is the lab's own"),
    ],
)
@pytest.mark.parametrize(
    "command", [("verify",), ("analyze", "."), ("load",), ("reproduce", "append-stall")], ids=" ".join
)
def test_a_bad_setting_gets_one_sentence(
    command: tuple[str, ...], words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    try:
        code: object = main([*command, *(f"--spark-conf={word}" for word in words)])
    except SystemExit as ended:
        code = ended.code
    printed = " ".join(capsys.readouterr().err.split())
    assert code == EXIT_USAGE
    assert said in printed
    assert "Traceback" not in printed


def test_settings_of_the_command_reach_the_session() -> None:
    words = ["--spark-master=local[1]", "--spark-conf=spark.a=1=2", "--spark-conf=spark.b=x y"]
    options = _parser().parse_args(["verify", *words])
    place = spark_place(options, Path("/java"))
    assert (place.master, place.conf) == ("local[1]", {"spark.a": "1=2", "spark.b": "x y"})


def test_a_master_that_does_not_answer_is_said() -> None:
    url = f"spark://127.0.0.1:{free_port()}"
    with (
        pytest.raises(ConfigurationError, match=f"^no Spark master answers at {url}$"),
        closing_session(SparkPlace(master=url)),
    ):
        pass


class _Session:
    """Of a cluster whose executors come as told, one look after the other."""

    def __init__(self, executors: list[int], **conf: str) -> None:
        self._executors, self.conf, self.stopped = executors, dict[str, str](), False
        self.conf = cast(Any, SimpleNamespace(set=lambda key, value: self.told.update({key: value})))
        self.told: dict[str, str] = {}
        self.sparkContext = SimpleNamespace(
            _jsc=SimpleNamespace(sc=lambda: SimpleNamespace(getExecutorMemoryStatus=lambda: self)),
            defaultParallelism=6,
            getConf=lambda: conf,
        )

    def size(self) -> int:
        """With the driver."""
        return 1 + (self._executors.pop(0) if len(self._executors) > 1 else self._executors[0])

    def stop(self) -> None:
        self.stopped = True


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis.spark, "SETTLED_S", 0.001)


@pytest.mark.usefixtures("quick")
def test_a_cluster_is_used_when_no_more_executors_come() -> None:
    session = _Session([0, 1, 3, 3])
    analysis.spark._use_cluster(cast(Any, session), SparkPlace(master=URL, history_bytes=GB))
    assert session.told == {"spark.sql.shuffle.partitions": "16", "spark.sql.files.minPartitionNum": "6"}


@pytest.mark.usefixtures("quick")
def test_executors_that_come_with_tasks_are_not_waited_for() -> None:
    session = _Session([0], **{"spark.dynamicAllocation.enabled": "true"})
    conf = {"spark.sql.shuffle.partitions": "50"}
    analysis.spark._use_cluster(cast(Any, session), SparkPlace(master=URL, conf=conf))
    assert session.told == {"spark.sql.files.minPartitionNum": "2"}


@pytest.mark.usefixtures("quick")
def test_a_cluster_without_executors_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(analysis.spark, "EXECUTORS_S_MAX", 0.02)
    session = _Session([0])
    with pytest.raises(ConfigurationError, match="started no executor") as raised:
        analysis.spark._use_cluster(cast(Any, session), SparkPlace(master=URL))
    assert "spark.executor.memory" in raised.value.advice
    assert session.stopped


def test_an_environment_for_spark_leaves_the_processs_own_table_alone() -> None:
    """Native code of other threads reads it at any time, and what is read while it is moved ends the process."""
    library = ctypes.CDLL(None)
    library.getenv.restype = ctypes.c_char_p
    own = os.environ
    with _environment({"SPARK_LOCAL_IP": "127.0.0.1", "JAVA_HOME": "/of/spark"}):
        assert dict(os.environ)["SPARK_LOCAL_IP"] == os.getenv("SPARK_LOCAL_IP") == "127.0.0.1"
        assert library.getenv(b"SPARK_LOCAL_IP") is None
        assert library.getenv(b"JAVA_HOME") != b"/of/spark"
        os.environ["SPARK_AUTH_SOCKET_TIMEOUT"], os.environ["SPARK_BUFFER_SIZE"] = "15", "65536"
    assert os.environ is own
    assert not {"SPARK_LOCAL_IP", "SPARK_AUTH_SOCKET_TIMEOUT", "SPARK_BUFFER_SIZE"} & own.keys()


def test_what_a_user_set_of_spark_is_read_after_its_start(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_BUFFER_SIZE", raising=False)
    with _environment({}):
        os.environ["SPARK_BUFFER_SIZE"] = "131072"
    assert os.environ.pop("SPARK_BUFFER_SIZE") == "131072"
