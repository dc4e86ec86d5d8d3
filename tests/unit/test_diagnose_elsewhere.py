"""What ``mqlab diagnose`` says of logs at URLs, once they were copied; tests/spark copies some."""

from __future__ import annotations

import gzip
import json
import shutil
from collections.abc import Iterable
from pathlib import Path

import pytest

import scenarios
from analysis.diagnosis.diagnosis import diagnosis_of, read_logs
from analysis.diagnosis.reading import log_copies, log_files
from analysis.spark import SparkPlace
from harness.errors import EXIT_OK, EXIT_USAGE, ConfigurationError
from mqlab.logs.diagnose import report
from mqlab.main import main
from tools.kept_logs import KEPT

STALLED, HANDED_OVER = KEPT / "append-stall-4.9.7", KEPT / "ordered-lock-handover-4.9.7"
BUCKET = "s3a://a bucket"
MOST = "2026-11-23 16:25:59 INFO StoreStatsService - [STORETPS] put_tps 10.0 312.75 99.0 get_found_tps 1.0 1.0 1.0\n"


@pytest.fixture
def copies(tmp_path: Path) -> dict[str, Path]:
    """As ``copied_logs`` leaves them, with numbers for names."""
    (tmp_path / "copies").mkdir()
    found = {}
    for number, path in enumerate(sorted(STALLED.iterdir())):
        copy = tmp_path / "copies" / str(number)
        found[f"{BUCKET}/{STALLED.name}/{path.name}"] = copy
        shutil.copy(path, copy)
    with gzip.open(found[f"{BUCKET}/{STALLED.name}/store.log.gz"], "at") as file:
        file.write(MOST)
    return found


@pytest.fixture
def asked(copies: dict[str, Path], monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], SparkPlace]]:
    """What was asked to be copied, and how."""
    seen: list[tuple[list[str], SparkPlace]] = []

    def copied(urls: Iterable[str], place: SparkPlace) -> dict[str, Path]:
        seen.append((list(urls), place))
        return copies

    monkeypatch.setattr("analysis.logs_elsewhere.copied_logs", copied)
    return seen


def test_copies_have_the_diagnosis_of_the_files_by_their_urls(copies: dict[str, Path], tmp_path: Path) -> None:
    folder = tmp_path / STALLED.name
    folder.mkdir()
    for url, copy in copies.items():
        shutil.copy(copy, folder / Path(url).name)
    here, there = (
        "\n".join(report(diagnosis_of(read_logs(files), scenarios.INCIDENTS, ())))
        for files in (log_files([folder]), log_copies(copies))
    )
    assert str(folder) in here
    assert there == here.replace(str(tmp_path), BUCKET)


@pytest.mark.parametrize(
    ("url", "node"),
    [
        ("hdfs://h:8020/of the lab/b1/logs/rocketmqlogs/store.log", "b1"),
        ("s3a://bucket/10.0.0.1:10911/store.log.gz", "10.0.0.1:10911"),
        ("s3a://bucket/logs/store.log", "bucket"),
        ("abfss://logs@account.dfs.core.windows.net/store.log", "logs@account.dfs.core.windows.net"),
        ("file:///store.log", "file:"),
    ],
)
def test_the_folder_names_the_node_and_where_there_is_none_the_bucket_does(url: str, node: str) -> None:
    (one,) = log_copies({url: Path("/tmp/0")})
    assert (one.node, one.file) == (node, url)


def test_all_that_is_said_names_the_urls(
    asked: list[tuple[list[str], SparkPlace]],
    copies: dict[str, Path],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    page, own = tmp_path / "page.html", tmp_path / "ours.py"
    made = ["--out", str(page), "--reproduce", str(own), "--spark-conf", "spark.hadoop.fs.s3a.endpoint=127.0.0.1:9"]
    assert main(["diagnose", BUCKET, "--json", *made]) == EXIT_OK
    captured = capsys.readouterr()
    assert [one["file"] for one in json.loads(captured.out)["files"]] == list(copies)
    assert "sends a second: 312.8" in captured.err
    assert main(["diagnose", BUCKET, str(HANDED_OVER)]) == EXIT_OK
    both = capsys.readouterr().out
    assert f"  {BUCKET}/{STALLED.name}/store.log.gz:28  " in both
    assert f"  {HANDED_OVER}/lock.log.gz:" in both
    for text in (captured.out, captured.err, both, page.read_text("utf-8"), own.read_text("utf-8")):
        assert str(tmp_path / "copies") not in text
    (urls, place), _ = asked
    assert (urls, place.conf) == ([BUCKET], {"spark.hadoop.fs.s3a.endpoint": "127.0.0.1:9"})


def test_a_copy_that_cannot_be_read_is_named_by_its_url(tmp_path: Path) -> None:
    (tmp_path / "0").write_bytes(gzip.compress(b"2026-11-23 16:25:59 INFO x - y\n")[:12])
    with pytest.raises(ConfigurationError, match=r"^s3a://bucket/store\.log cannot be read: "):
        read_logs(log_copies({"s3a://bucket/store.log": tmp_path / "0"}))


def test_java_is_asked_for_only_by_a_url_and_not_before_paths_here_are_found_good(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("mqlab.logs.diagnose.find_java", lambda: pytest.fail("Java was asked for"))
    assert main(["diagnose", str(STALLED), "--spark-conf", "spark.hadoop.a=b"]) == EXIT_OK
    assert main(["diagnose", "hdfs://127.0.0.1:1/logs", str(tmp_path)]) == EXIT_USAGE
    assert "has no logs" in capsys.readouterr().err


@pytest.mark.parametrize("key", ["spark.master", "spark.local.dir"])
def test_a_key_that_is_no_users_is_refused(key: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["diagnose", str(STALLED), "--spark-conf", f"{key}=x"]) == EXIT_USAGE
    assert key in capsys.readouterr().err
