"""The process that keeps a Spark: one task after another in sessions of their own, and no longer than who asks."""

from __future__ import annotations

import dataclasses
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil
import pytest
from pyspark.sql import SparkSession

from analysis.analyst import Analyst, analyst_at
from analysis.spark import SparkPlace
from harness.errors import AnalysisError, RunDirectoryError
from harness.paths import PACKAGES
from harness.wait import wait_until

PARTITIONS = "spark.sql.shuffle.partitions"
STARTED_S_MAX = 300.0
GONE_S_MAX = 60.0


def count_and_change(spark: SparkSession, progress: Callable[[str], None], count: int) -> tuple[int, str | None]:
    progress(f"counting {count}")
    before = spark.conf.get(PARTITIONS)
    spark.conf.set(PARTITIONS, "7")
    return spark.range(count).count(), before


def crash(_spark: SparkSession, _progress: Callable[[str], None]) -> None:
    raise ZeroDivisionError("by zero\nand more")


def fail(_spark: SparkSession, _progress: Callable[[str], None]) -> None:
    raise RunDirectoryError("this is no run")


@pytest.fixture(scope="module")
def analyst(spark_here: SparkPlace) -> Iterator[Analyst]:
    with analyst_at(dataclasses.replace(spark_here, master="local[1]")) as started:
        assert started.is_ready(STARTED_S_MAX)
        yield started


def test_each_task_has_a_session_of_its_own_and_tells_how_far_it_is(analyst: Analyst) -> None:
    told: list[str] = []
    answers = [analyst.ask(count_and_change, count, progress=told.append) for count in (3, 4)]
    assert answers == [(3, "2"), (4, "2")]
    assert told == ["counting 3", "counting 4"]


def test_a_task_that_fails_says_why_and_the_next_one_is_carried_out(analyst: Analyst) -> None:
    with pytest.raises(AnalysisError, match="this is no run"):
        analyst.ask(fail)
    with pytest.raises(AnalysisError, match=r"^ZeroDivisionError: by zero$"):
        analyst.ask(crash)
    assert analyst.ask(count_and_change, 5)[0] == 5


def test_a_spark_that_does_not_start_is_of_no_use_and_prints_nothing(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    with analyst_at(SparkPlace(master="local[1]", java_home=tmp_path / "no-java")) as started:
        assert not started.is_ready(STARTED_S_MAX)
    assert "Traceback" not in capfd.readouterr().err


def test_it_ends_with_its_java_when_the_process_that_asks_is_killed(spark_here: SparkPlace) -> None:
    script = (
        "import sys\nfrom pathlib import PosixPath\n"
        "from analysis.analyst import analyst_at\nfrom analysis.spark import SparkPlace\n"
        "if __name__ == '__main__':\n"
        f"    with analyst_at({spark_here!r}) as started:\n"
        f"        print(started.is_ready({STARTED_S_MAX}), flush=True)\n"
        "        sys.stdin.read()\n"
    )
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES)}
    with subprocess.Popen(
        [sys.executable, "-c", script], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as asking:
        assert asking.stdout is not None
        assert asking.stdout.readline() == b"True\n"
        started = psutil.Process(asking.pid).children(recursive=True)
        assert any("java" in one.name() for one in started)
        asking.send_signal(signal.SIGKILL)
    wait_until(
        "what it started to be gone",
        lambda: not [one for one in started if one.is_running() and one.status() != psutil.STATUS_ZOMBIE],
        timeout_s=GONE_S_MAX,
        poll_s=0.2,
    )
