"""One Spark for all tests of a worker process, and the archive of classes with which every Spark of theirs starts sooner."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import nullcontext

import pytest
from pyspark.sql import SparkSession

import analysis.evidence.records
from analysis.class_archive import archive_classes
from analysis.spark import SparkPlace, spark_session
from harness.releases.cache import cache_folder
from harness.releases.java import find_java


@pytest.fixture(scope="session", autouse=True)
def spark_here() -> SparkPlace:
    """Spark on this machine as ``mqlab`` starts it. Its archive is made here once: ``mqlab`` as a test's command finds it, too."""
    archives = cache_folder("spark")
    place = SparkPlace(master="local[2]", java_home=find_java().home, class_archives=archives)
    with (archives / "tests.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not place.has_archive():
            archive_classes(place)
    return place


@pytest.fixture(scope="session")
def spark(spark_here: SparkPlace) -> Iterator[SparkSession]:
    session = spark_session(spark_here)
    yield session
    session.stop()


@pytest.fixture
def spark_of_commands(spark: SparkSession, monkeypatch: pytest.MonkeyPatch) -> SparkSession:
    """Commands that ``mqlab.main`` runs in this process judge in the session that is there: one of theirs takes as long again."""
    monkeypatch.setattr(analysis.evidence.records, "closing_session", lambda _place: nullcontext(spark))
    return spark
