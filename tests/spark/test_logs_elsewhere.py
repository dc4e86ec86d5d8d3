"""Logs at URLs of a Hadoop file system, here this machine's own: which are copied, and what is said of those that are not."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from analysis import logs_elsewhere
from analysis.logs_elsewhere import copied_logs
from analysis.spark import SparkPlace, java_of_hadoop
from harness.errors import EXIT_OK, ConfigurationError
from harness.releases.java import find_java
from mqlab.main import main
from tools.kept_logs import KEPT

STALLED = KEPT / "append-stall-4.9.7"


@pytest.fixture(scope="module")
def java() -> Iterator[tuple[Any, Any]]:
    """One for the tests of this file."""
    with java_of_hadoop(SparkPlace(java_home=find_java().home)) as started:
        yield started


@pytest.fixture
def one_java(java: tuple[Any, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(logs_elsewhere, "java_of_hadoop", lambda place: contextlib.nullcontext(java))


@pytest.fixture
def logs(tmp_path: Path) -> Path:
    """Two nodes' folders, one named by an address, with what is no log beside them."""
    folder = tmp_path / "of the lab"
    for name in (
        "b1/logs/store.log",
        "b1/logs/store.log.1",
        "10.0.0.1:10911/lock.2.log.gz",
        "b1/conf/broker.conf",
        "%5c/gc.log",
    ):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(name)
    return folder


@pytest.mark.usefixtures("one_java")
def test_the_logs_of_a_folder_come_each_once_and_as_they_are(logs: Path) -> None:
    url = f"file://{logs}"
    copies = copied_logs(
        [url, f"{url}/", f"file://{logs.parent}//{logs.name}/b1", f"{url}/b1/conf/broker.conf"], SparkPlace()
    )
    names = [
        "%5c/gc.log",
        "10.0.0.1:10911/lock.2.log.gz",
        "b1/logs/store.log",
        "b1/logs/store.log.1",
        "b1/conf/broker.conf",
    ]
    assert list(copies) == [f"{url}/{name}" for name in names]
    assert [copy.read_text() for copy in copies.values()] == names
    assert not any(copy.is_relative_to(logs.parent) for copy in copies.values())


@pytest.mark.usefixtures("one_java")
@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("file://{logs}/b1/conf", "has no logs"),
        ("file://{logs}/b2", "FileNotFoundException"),
        ("nosuch://h/logs", 'No FileSystem for scheme "nosuch"'),
        ("s3a://bucket", "ClassNotFoundException"),
        ("hdfs://[", "URISyntaxException"),
    ],
)
def test_a_url_without_logs_is_said_in_one_sentence(url: str, words: str, logs: Path) -> None:
    url = url.format(logs=logs)
    with pytest.raises(ConfigurationError, match=r"^[^\n]+$") as raised:
        copied_logs([url], SparkPlace())
    assert words in str(raised.value)
    assert str(raised.value).startswith(f"{url} ")


@pytest.mark.usefixtures("one_java")
def test_logs_for_which_there_is_no_room_are_not_begun(logs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=10))
    with pytest.raises(ConfigurationError, match=r"of the lab have 0 MB, and /.* has 0 MB free$"):
        copied_logs([f"file://{logs}"], SparkPlace())


def test_settings_of_a_file_system_are_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    """A table of mounts is nothing but settings."""
    mounts = f"spark.hadoop.fs.viewfs.mounttable.c.linkFallback=file://{STALLED.parent}"
    assert main(["diagnose", f"viewfs://c/{STALLED.name}", "--spark-conf", mounts]) == EXIT_OK
    there = capsys.readouterr().out
    assert main(["diagnose", str(STALLED)]) == EXIT_OK
    assert there == capsys.readouterr().out.replace(str(STALLED.parent), "viewfs://c")
