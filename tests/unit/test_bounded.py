"""Whatever lies where a file is named: it is read within bounds, or refused in one sentence, and nothing waits for it."""

from __future__ import annotations

import gzip
import os
import resource
import socket
from collections.abc import Callable
from pathlib import Path
from typing import cast

import pytest
from pyspark.sql import SparkSession

from analysis.ledger.lines import read_documents
from analysis.report.document import Table
from analysis.report.locust import locust_counts
from analysis.verdicts.excerpts import with_excerpts
from harness.audit.remedy import deleted_before
from harness.backends.nodes_file import read_nodes_file
from harness.bounded import LINE_BYTES_MAX, VALUES_MAX, lines_of, opened, parsed, read_whole, require_few_values
from harness.errors import LabError
from harness.generator.shapes import read_replay
from harness.model.findings import EvidenceLine, Finding
from harness.model.verdicts import VerdictKind
from harness.protocol.access import read_keys
from harness.releases.properties import read_conf
from harness.rundir.decode import DecodeError, read_document
from harness.rundir.integrity import damage_of_content
from harness.rundir.manifest import Manifest
from harness.rundir.own_files import opened_own
from harness.rundir.sealing import sealed_file
from mqlab.ask.audit_told import read_earlier
from mqlab.own.own_incident import read_incident

READERS: dict[str, Callable[[Path], object]] = {
    "keys": read_keys,
    "nodes": read_nodes_file,
    "broker.conf": read_conf,
    "an earlier audit": read_earlier,
    "an incident": read_incident,
    "a replay": read_replay,
    "findings": read_documents,
    "a journal": deleted_before,
    "a manifest": lambda path: read_document(Manifest, path),
}
MEMORY_KB_MAX = 1_000_000
"""What a document may come to while it is looked at."""

NOBODY = cast(SparkSession, None)
"""Files of a run on this machine are brought by nobody."""


def _pipe(path: Path) -> None:
    os.mkfifo(path)


def _socket(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as bound:
        bound.bind(str(path))


def _terabyte(path: Path) -> None:
    with path.open("wb") as file:
        file.truncate(2**40)


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("make", [_pipe, _socket, Path.mkdir, _terabyte], ids=["pipe", "socket", "folder", "terabyte"])
def test_what_no_reader_can_read_is_one_sentence_of_each(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, reader: str, make: Callable[[Path], None]
) -> None:
    # A socket's whole path has to be short.
    monkeypatch.chdir(tmp_path)
    path = Path("own.py")
    make(path)
    memory_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(LabError) as refused:
        READERS[reader](path)
    assert refused.value.message.isprintable()
    assert "own.py" in refused.value.message
    assert "Errno" not in refused.value.message
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_kb < MEMORY_KB_MAX


def test_a_link_is_followed_where_a_user_names_it_and_not_below_a_run(tmp_path: Path) -> None:
    (tmp_path / "run" / "trials").mkdir(parents=True)
    (tmp_path / "there").write_text("there")
    for place in ("link", "trials/link"):
        (tmp_path / "run" / place).symlink_to(tmp_path / "there")
    (tmp_path / "run" / "folder").symlink_to(tmp_path)
    assert read_whole(tmp_path / "run" / "link") == b"there"
    for parts in (
        ("link",),
        ("trials", "link"),
        ("folder", "there"),
        ("..", "there"),
        ("trials/../../there",),
        ("a\0",),
    ):
        with pytest.raises(OSError, match=r"\w"):
            opened_own(tmp_path / "run", *parts)
    (tmp_path / "run" / "trials" / "own").write_text("own")
    with opened_own(tmp_path / "run", "trials", "own") as file:
        assert file.read() == b"own"


def test_no_handle_is_left_open(tmp_path: Path) -> None:
    before = len(list(Path("/proc/self/fd").iterdir()))
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "file").write_bytes(b"\n")
    for parts in (("pipe",), ("none",), ("file", "below")):
        with pytest.raises(OSError, match=r"\w"):
            opened_own(tmp_path, *parts)
    with opened_own(tmp_path, "file"):
        pass
    assert len(list(Path("/proc/self/fd").iterdir())) == before


@pytest.mark.parametrize("one", ["[],", '{"":0},', "1,"])
def test_a_text_of_more_values_than_any_is_refused_before_it_is_read(one: str) -> None:
    text = f"[{one * (VALUES_MAX + 1)}0]"
    memory_kb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    with pytest.raises(ValueError, match="it has more than 8,388,608 values"):
        parsed(text)
    with pytest.raises(ValueError, match="it has more than 8,388,608 values"):
        require_few_values(one.replace(",", "\n") * (VALUES_MAX + 1))
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - memory_kb < MEMORY_KB_MAX


@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 100_000])
def test_a_text_that_is_nested_too_deeply_is_refused_as_any_other(text: str) -> None:
    with pytest.raises(ValueError, match="it is nested too deeply"):
        parsed(text)


def test_lines_are_given_as_they_are_up_to_one_that_is_too_long(tmp_path: Path) -> None:
    (tmp_path / "log").write_bytes(b"one\r\n\ntwo" + b"x" * 10)
    with opened(tmp_path / "log") as file:
        assert list(lines_of(file)) == [b"one\r\n", b"\n", b"two" + b"x" * 10]
    with opened(tmp_path / "log") as file:
        found = lines_of(file, 8)
        assert [next(found), next(found)] == [b"one\r\n", b"\n"]
        with pytest.raises(OSError, match="it has a line of more than 8 bytes"):
            next(found)


# --- what a run holds -----------------------------------------------------------------------------------------------------

ENDLESS = b"x" * (2 * LINE_BYTES_MAX)


@pytest.mark.parametrize(
    "name", ["producer.jsonl", "lock.log", "lock.log.1", "lock.1.log.gz", "lock.log.2026-03-04.gz"]
)
@pytest.mark.parametrize("before", [b"", b'{"n":1,"type":"send"}\n' * 1000], ids=["alone", "behind others"])
def test_a_line_without_an_end_is_damage_whether_the_file_was_sealed_or_not(
    tmp_path: Path, name: str, before: bytes
) -> None:
    path = tmp_path / name
    content = before + ENDLESS + b"\n"
    path.write_bytes(gzip.compress(content, 1) if name.endswith(".gz") else content)
    for sealed in (None, sealed_file(path)):
        assert damage_of_content(path, sealed) == "has a line of more than 4,194,304 bytes"


@pytest.mark.parametrize("name", ["producer.jsonl", "lock.log", "lock.1.log.gz", "core.img"])
def test_a_file_of_the_labs_own_is_not_taken_for_one(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    # As a killed Java client leaves it behind its last record, and a line as long as any.
    content = b'{"n":1,"type":"end"}\n' + (ENDLESS if name == "core.img" else b"\n" * 2**20)
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    assert damage_of_content(path, sealed_file(path)) == ""


def test_a_packed_log_of_ten_gigabytes_is_damage_within_moments(tmp_path: Path) -> None:
    piece = gzip.compress((b"x" * 1000 + b"\n") * 2**16, 9)
    (tmp_path / "lock.1.log.gz").write_bytes(piece * 160)
    assert damage_of_content(tmp_path / "lock.1.log.gz", None).startswith("has a line of more than")


def test_events_of_gigabytes_are_damage(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.rundir.integrity.DOCUMENT_BYTES_MAX", 100)
    (tmp_path / "events.jsonl").write_bytes(b'{"n":1,"type":"x"}\n' * 6)
    assert damage_of_content(tmp_path / "events.jsonl", None) == "has more than 100 bytes"


def _cites(*lines: EvidenceLine) -> Finding:
    return Finding(
        claim="X-01", incident="x", release="5.5.0", backend="local", injection="", client="", verdict=VerdictKind.CONFIRMED,
        reason="", summary="", expected=None, expected_from_code="", evidence=lines,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["lock.log", "lock.1.log.gz"])
def test_an_excerpt_is_taken_before_a_line_without_an_end_and_none_behind_it(tmp_path: Path, name: str) -> None:
    content = b"first\n" + ENDLESS + b"\nlast\n"
    (tmp_path / name).write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    cited = _cites(*(EvidenceLine(excerpt="", file=name, line=number) for number in (1, 2, 3)))
    (found,) = with_excerpts(NOBODY, [cited], tmp_path)
    assert [line.excerpt for line in found.evidence] == ["first"]


def test_an_excerpt_of_what_is_no_file_is_none(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.log")
    (found,) = with_excerpts(NOBODY, [_cites(EvidenceLine(excerpt="", file="pipe.log", line=1))], tmp_path)
    assert found.verdict is VerdictKind.UNDECIDED


@pytest.mark.parametrize("text", ["[" * 20_000, '{"tests": [' + "[]," * 10**7 + "0]}", '{"tests": {"a": 1}}'])
def test_counts_of_locust_that_are_none_are_left_out(tmp_path: Path, text: str) -> None:
    (tmp_path / "locust.json").write_text(text)
    assert locust_counts(tmp_path) == (None, None)


@pytest.mark.parametrize(
    "place", ["javascript:alert(1)", "//evil.example/a", "/etc/passwd", "../../x", "a b", "", "data:,x"]
)
def test_a_table_of_a_report_leads_to_files_of_its_run_alone(place: str) -> None:
    Table(title="t", columns=("a",), rows=(("b",),), links={"b": "trials/load.5.5.0.x-1.r2~2/locust.json"})
    with pytest.raises(DecodeError, match="which is no file of the run"):
        Table(title="t", columns=("a",), rows=(("b",),), links={"b": place})
