"""A run that lies in HDFS, at a path with a space, comes to the findings of one that lies here, and they go there; so do logs."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from analysis.hadoop import HadoopFolder
from analysis.ledger.runs import FINDINGS, read_lines
from harness.errors import EXIT_OK, EXIT_USAGE
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.paths import PACKAGES
from harness.releases.java import Java
from tests.lib.clusters import java
from tests.lib.hdfs import start_hdfs
from tests.lib.runs import Analysis
from tools.kept_logs import KEPT

__all__ = ["java"]

ANALYSIS_S_MAX = 400.0


@pytest.fixture(scope="module")
def hdfs(tmp_path_factory: pytest.TempPathFactory, java: Java) -> Iterator[str]:
    folder = tmp_path_factory.mktemp("hdfs")
    with Leases.open(folder / "state") as leases:
        yield start_hdfs(leases, folder, java)


@pytest.fixture(scope="module")
def there(here: Analysis, hdfs: str, spark: SparkSession) -> tuple[str, HadoopFolder]:
    """The same in HDFS, with an analysis of another version."""
    url = f"{hdfs}/of the lab/a run"
    context = spark.sparkContext
    folder = HadoopFolder(context._jvm, context._jsc.hadoopConfiguration(), url)
    for path in here.path.rglob("*"):
        if path.is_file() and "analysis" not in path.parts:
            folder.put(str(path.relative_to(here.path)), here.path)
    (here.path / "analysis" / "old.json").write_text("{}")
    folder.put("analysis/old.json", here.path)
    (here.path / "analysis" / "old.json").unlink()
    return url, folder


def _mqlab(*arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "mqlab", *arguments],
        cwd=PACKAGES, env={**os.environ, "SPARK_LOCAL_IP": "127.0.0.1"}, capture_output=True, text=True,
        timeout=ANALYSIS_S_MAX, check=False,
    )  # fmt: skip


@pytest.mark.timeout(900)
def test_a_run_in_hdfs_has_the_findings_of_one_that_lies_here(
    here: Analysis, there: tuple[str, HadoopFolder], spark: SparkSession, tmp_path: Path
) -> None:
    url, folder = there
    before = folder.sizes()
    done = _mqlab("runs", "analyze", url, "--trust")
    assert done.returncode == EXIT_OK, done.stderr
    assert done.stdout.splitlines()[-1] == f"{url}/report.html"

    after = folder.sizes()
    histories = {name: size for name, size in before.items() if "/history/" in name}
    assert histories
    assert {name: after[name] for name in histories} == histories
    assert "analysis/old.json" not in after
    for name in ("report.html", "analysis/findings.jsonl", "analysis/page.json"):
        assert after[name] > 0
        folder.get(name, tmp_path)
    found, wanted = (read_lines(path / FINDINGS).findings for path in (tmp_path, here.path))
    assert [one.claim for one in wanted] == ["HAND-01", "HAND-02"]
    assert any(one.evidence for one in wanted)
    assert found == wanted
    rows = spark.read.parquet(f"{url}/analysis/observations.parquet").collect()
    assert sorted(map(str, rows)) == sorted(map(str, here.rows))


@pytest.mark.timeout(600)
def test_what_cannot_be_read_is_said_in_one_sentence(there: tuple[str, HadoopFolder], hdfs: str) -> None:
    for command, url, words in (
        ("analyze", f"{hdfs}/nothing", "FileNotFoundException"),
        ("diagnose", f"hdfs://127.0.0.1:{free_port()}/run", "Connection refused"),
    ):
        done = _mqlab(command, url, "--spark-conf", "spark.hadoop.ipc.client.connect.max.retries=1")
        said = " ".join(done.stderr.split())
        assert (done.returncode, words in said, "Traceback" in said) == (EXIT_USAGE, True, False), said
    joined = _mqlab("runs", "analyze", there[0], "--with", str(PACKAGES))
    assert joined.returncode == EXIT_USAGE
    assert "--with joins folders of this machine" in " ".join(joined.stderr.split())


@pytest.mark.timeout(600)
def test_logs_in_hdfs_have_the_diagnosis_of_those_that_lie_here_by_their_urls(hdfs: str, spark: SparkSession) -> None:
    logs = "ordered-lock-handover-4.9.7"
    context = spark.sparkContext
    folder = HadoopFolder(context._jvm, context._jsc.hadoopConfiguration(), f"{hdfs}/of the lab")
    for path in (KEPT / logs).iterdir():
        folder.put(f"{logs}/{path.name}", KEPT)
    here = _mqlab("diagnose", str(KEPT / logs), "--json")
    there = _mqlab("diagnose", f"{hdfs}/of the lab/{logs}", "--json")
    wanted = json.loads(here.stdout.replace(str(KEPT), f"{hdfs}/of the lab"))
    assert (there.returncode, there.stderr) == (EXIT_OK, "")
    assert json.loads(there.stdout) == wanted
    assert [one["found"]["incident"] for one in wanted["incidents"]] == ["ordered-lock-handover"]

    one = _mqlab(
        "diagnose",
        f"hdfs:///of the lab/{logs}/lock.log.gz",
        "--json",
        "--spark-conf",
        f"spark.hadoop.fs.defaultFS={hdfs}",
    )
    assert [file["file"] for file in json.loads(one.stdout)["files"]] == [f"{hdfs}/of the lab/{logs}/lock.log.gz"]
