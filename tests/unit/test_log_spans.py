"""Since when a log is whole: its rotated files, its first lines, and what says that lines before them are gone."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

import pytest

from analysis.logs.files import LogFile, rotated_name, rotation_of
from analysis.logs.spans import FROM_THE_START, with_spans

LINE = b"2026-11-21 08:30:00,123 INFO [main] x\n"
AT_US = round(datetime(2026, 11, 21, 8, 30, tzinfo=UTC).timestamp()) * 1_000_000
LATER = b"2026-11-21 08:31:00,000 INFO [main] x\n"
KINDS = {"gc.log": "gc", "rocketmq_client.log": "client"}

Since = Callable[..., int | None]


@pytest.fixture
def since(tmp_path: Path) -> Since:
    """``since_us`` of one log that is made of these files."""

    def of(files: dict[str, bytes], zone: str = "UTC") -> int | None:
        made = []
        for name, content in files.items():
            (tmp_path / name).write_bytes(content)
            stem = rotated_name(name) or ""
            made.append(
                LogFile(
                    path=tmp_path / name,
                    file=f"deployments/d1/nodes/broker-a/{name}",
                    name=stem,
                    kind=KINDS.get(stem, "plain"),
                    node="broker-a",
                    deployment="d1",
                    trial="",
                    zone=zone,
                    is_empty=not content,
                )
            )
        (since_us,) = {file.since_us for file in with_spans(made)}
        return since_us

    return of


def test_a_quiet_log_without_a_rotated_file_is_whole_whenever_it_begins(since: Since) -> None:
    assert since({"lock.log": b""}) == FROM_THE_START
    assert since({"lock.log": LINE}) == FROM_THE_START


@pytest.mark.parametrize("name", ["broker.log", "store.log", "namesrv.log"])
def test_a_log_that_its_process_opens_is_whole_from_its_first_line_on_and_never_empty(since: Since, name: str) -> None:
    assert since({name: b"\tat goes.on(from a line that is gone)\n" + LINE + LATER}) == AT_US + 123_000
    assert since({name: b""}) is None


def test_a_rotated_log_is_whole_from_its_oldest_line_on(since: Since) -> None:
    assert since({"lock.log": b"", "lock.log.1": LATER, "lock.log.2": LINE}) == AT_US + 123_000
    assert since({"lock.log": LATER, "lock.1.log.gz": gzip.compress(LINE)}) == AT_US + 123_000


@pytest.mark.parametrize(
    "names",
    [
        ("lock.log.1",),
        ("lock.log", "lock.log.2"),
        ("lock.log", "lock.log.1", "lock.log.3"),
        ("gc.log", "gc.log.1"),
        ("gc.log.0", "gc.log.1"),
    ],
)
def test_a_log_of_which_a_file_is_gone_is_not_there(since: Since, names: tuple[str, ...]) -> None:
    assert since(dict.fromkeys(names, LINE)) is None


@pytest.mark.parametrize("content", [b"\0" * 5000, b"no time in here\n", b"2026-99-21 08:30:00 INFO x\n"])
def test_a_file_without_a_time_is_not_there_nor_is_its_log(since: Since, content: bytes) -> None:
    assert since({"lock.log": content}) is None
    assert since({"lock.log": LINE, "lock.log.1": content}) is None


def test_a_packed_file_that_is_none_is_not_there(since: Since) -> None:
    assert since({"lock.log": LINE, "lock.1.log.gz": LINE}) is None
    assert since({"lock.log": LINE, "lock.1.log.gz": gzip.compress(LINE * 100)[:30]}) is None


def test_a_jvms_log_is_whole_when_it_begins_with_its_process(since: Since) -> None:
    def line(age: str) -> bytes:
        return f"[2026-11-21T10:30:00.000+0200][{age}s][info][gc] Using Serial\n".encode()

    assert since({"gc.log": line("0.021")}) == FROM_THE_START
    assert since({"gc.log": line("31.500")}) == AT_US
    # A JVM that is started again moves the log of the one before aside, and overwrites that of the third one before.
    assert since({"gc.log": line("0.021"), "gc.log.0": line("0.021")}) == AT_US
    assert since({"gc.log": b"[0.021s][info][gc] Using Serial\n"}) is None


def test_times_are_those_of_the_zone_that_the_log_is_written_in(since: Since) -> None:
    assert since({"broker.log": b"2026-11-21 16:30:00 INFO main - x\n"}, "GMT+8") == AT_US
    assert since({"broker.log": b"2026-11-21 03:30:00 INFO main - x\n"}, "GMT-5") == AT_US
    assert since({"broker.log": LINE}, "of nowhere") is None


def test_a_clients_milliseconds_are_not_believed(since: Since) -> None:
    assert since({"rocketmq_client.log": LINE}) == AT_US


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("lock.log", None),
        ("lock.log.1", 1),
        ("lock.2.log", 2),
        ("lock.3.log.gz", 3),
        ("gc.log.0", 0),
        ("lock.log.gz", None),
    ],
)
def test_the_number_of_a_rotation_is_read_off_its_name(name: str, number: int | None) -> None:
    assert rotation_of(name) == number
