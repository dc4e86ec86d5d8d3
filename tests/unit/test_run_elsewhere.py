"""Which runs lie in a Hadoop file system: those that were brought from there by the URL that the user gave, and no others."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

import analysis.hadoop
from analysis.hadoop import brought, is_elsewhere, location
from analysis.spark import SparkPlace

URL = "hdfs://127.0.0.1:9000/a run"


class FakeFolder:
    """One history and a manifest at a URL."""

    given: list[str]

    def __init__(self, *_: object) -> None:
        FakeFolder.given = []

    def sizes(self) -> dict[str, int]:
        return {"manifest.json": 2, "trials/t/history/p.jsonl": 7, "analysis/old.json": 1}

    def get(self, name: str, folder: Path) -> None:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("{}")

    def put(self, name: str, folder: Path) -> None:
        FakeFolder.given.append(name)


@contextmanager
def _no_java(_: SparkPlace) -> Iterator[tuple[None, None]]:
    yield None, None


def test_a_run_that_was_brought_is_read_where_it_lies_and_what_is_written_goes_there(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(analysis.hadoop, "java_of_hadoop", _no_java)
    monkeypatch.setattr(analysis.hadoop, "HadoopFolder", FakeFolder)
    with brought(f"{URL}/", SparkPlace()) as run:
        assert is_elsewhere(run.resolve() / "manifest.json")
        assert location(run / "trials" / "t" / "history" / "p.jsonl") == f"{URL}/trials/t/history/p.jsonl"
        assert sorted(path.name for path in run.rglob("*") if path.is_file()) == ["manifest.json", "p.jsonl"]
        (run / "report.html").write_text("x")
    assert FakeFolder.given == ["report.html"]


def test_no_file_of_a_run_says_that_it_lies_elsewhere(tmp_path: Path) -> None:
    # Its analysis would have cleared that address, and written to it.
    for folder in (tmp_path, tmp_path / "run"):
        folder.mkdir(exist_ok=True)
        (folder / ".hadoop-url").write_text("file:///home/somebody")
    assert not is_elsewhere(tmp_path / "run" / "manifest.json")
    place = tmp_path / "run" / "analysis" / "rows"
    assert location(place) == f"file://{place}"
