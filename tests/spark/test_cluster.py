"""A standalone cluster of a master and two workers comes to the findings of one machine, also when a worker is killed."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.ledger.runs import FINDINGS, read_lines
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.paths import PACKAGES
from tests.lib.runs import Analysis
from tests.lib.spark_cluster import SparkCluster

ANALYSIS_S_MAX = 800.0


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[SparkCluster]:
    folder = tmp_path_factory.mktemp("spark")
    with Leases.open(folder / "state") as leases:
        yield SparkCluster.start(leases, folder, workers=2)


def _start(here: Analysis, cluster: SparkCluster, folder: Path, *settings: str) -> tuple[Path, subprocess.Popen[str]]:
    """``mqlab runs analyze`` of a copy of the run, whose path has a space."""
    run = folder / "a run"
    shutil.copytree(here.path, run, ignore=shutil.ignore_patterns("analysis"))
    told = (
        "spark.driver.host=127.0.0.1", "spark.driver.bindAddress=127.0.0.1", "spark.driver.memory=600m",
        "spark.executor.memory=512m", *settings,
    )  # fmt: skip
    command = [sys.executable, "-m", "mqlab", "runs", "analyze", str(run), "--trust", "--spark-master", cluster.master]
    return run, subprocess.Popen(
        [*command, *(word for one in told for word in ("--spark-conf", one))],
        cwd=PACKAGES,
        env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _ended(analysis: subprocess.Popen[str]) -> str:
    try:
        said, _ = analysis.communicate(timeout=ANALYSIS_S_MAX)
    finally:
        analysis.kill()
    assert analysis.returncode == 0, said
    return said


def _same(run: Path, here: Analysis, spark: SparkSession) -> None:
    found, wanted = (read_lines(path / FINDINGS) for path in (run, here.path))
    assert [one.claim for one in wanted.findings] == ["HAND-01", "HAND-02"]
    assert (found.trials, found.findings) == (wanted.trials, wanted.findings)
    rows = spark.read.parquet(f"file://{run}/analysis/observations.parquet").collect()
    assert {"lost_count", "handover_s"} <= {row.measure for row in rows}
    assert sorted(map(str, rows)) == sorted(map(str, here.rows))
    counted = (json.loads((path / "analysis" / "page.json").read_text())["logs"] for path in (run, here.path))
    assert next(counted) == next(counted)


@pytest.mark.timeout(1800)
def test_two_workers_find_what_one_machine_finds_though_one_is_killed_while_it_has_a_task(
    cluster: SparkCluster, here: Analysis, spark: SparkSession, tmp_path: Path
) -> None:
    assert sum(here.values("lost_count", "bad")) == 1
    page = free_port()
    run, analysis = _start(here, cluster, tmp_path, "spark.ui.enabled=true", f"spark.ui.port={page}")
    try:
        cluster.kill_with_task(0, analysis, f"http://127.0.0.1:{page}")
        said = _ended(analysis)
    finally:
        analysis.kill()
    assert "analysis: checking" in said
    assert cluster.sent("packages.zip") == 2
    _same(run, here, spark)
    assert cluster.alive() == 1
