"""Logs of records: whole lines whatever happens, counted without gaps."""

from __future__ import annotations

import json
import os
import resource
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.clock import Anchor
from harness.errors import DiskFullError, LabError, RunDirectoryError
from harness.paths import PACKAGES
from harness.rundir.events import EventLog
from harness.rundir.lines import RecordLog, parse_records, read_records


def numbers(path: Path) -> list[object]:
    read = read_records(path)
    assert not read.truncated
    assert read.damaged_lines == ()
    return [record["n"] for record in read.records]


def test_records_are_numbered_like_their_lines(tmp_path: Path) -> None:
    with RecordLog(tmp_path / "log.jsonl") as log:
        assert [log.write("send", {"key": "Schlüssel\n"}), log.write("send", {"key": None})] == [1, 2]
    lines = (tmp_path / "log.jsonl").read_text().splitlines()
    assert [json.loads(line) for line in lines] == [
        {"type": "send", "n": 1, "key": "Schlüssel\n"},
        {"type": "send", "n": 2, "key": None},
    ]


def test_one_record_is_one_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real, sizes = os.write, []

    def counting(handle: int, data: bytes) -> int:
        sizes.append(len(data))
        return real(handle, data)

    monkeypatch.setattr(os, "write", counting)
    with RecordLog(tmp_path / "log.jsonl") as log:
        log.write("send", {"remark": "x" * 100_000})
    assert sizes == [(tmp_path / "log.jsonl").stat().st_size]


def test_a_reopened_log_goes_on_counting(tmp_path: Path) -> None:
    for expected in (1, 2, 3):
        with RecordLog(tmp_path / "log.jsonl") as log:
            assert (log.write("anchor", {}), log.cut_bytes) == (expected, 0)
    assert numbers(tmp_path / "log.jsonl") == [1, 2, 3]


def test_a_truncated_last_line_is_cut_off_before_it_goes_on(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"type":"anchor","n":1}\n{"type":"anch')
    with RecordLog(path) as log:
        assert (log.count, log.cut_bytes) == (1, 13)
        log.write("anchor", {})
    assert numbers(path) == [1, 2]


def test_threads_do_not_mix_their_records(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    with RecordLog(path) as log:
        threads = [
            threading.Thread(target=lambda: [log.write("send", {"key": "x" * 200}) for _ in range(250)])
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert numbers(path) == list(range(1, 1001))


def test_a_short_write_is_completed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = os.write
    monkeypatch.setattr(os, "write", lambda handle, data: real(handle, data[:7]))
    with RecordLog(tmp_path / "log.jsonl") as log:
        log.write("send", {"key": "a long enough key"})
    monkeypatch.undo()
    assert numbers(tmp_path / "log.jsonl") == [1]


def test_a_value_that_json_does_not_know_is_refused_and_not_half_written(tmp_path: Path) -> None:
    with RecordLog(tmp_path / "log.jsonl") as log:
        with pytest.raises(ValueError, match="not JSON compliant"):
            log.write("fault", {"achieved_ms": float("nan")})
        log.write("fault", {"achieved_ms": None})
    assert numbers(tmp_path / "log.jsonl") == [1]


def test_a_closed_log_says_so(tmp_path: Path) -> None:
    log = RecordLog(tmp_path / "log.jsonl")
    log.close()
    log.close()
    with pytest.raises(LabError, match="closed"):
        log.write("send", {})


# --- no room ----------------------------------------------------------------------------------------------------------


def write_many(log: RecordLog) -> None:
    for _ in range(100_000):
        log.write("send", {"remark": "x" * 900})


def fill(path: Path) -> tuple[int, DiskFullError]:
    """Write until the disk is full. Returns how many were written, and the error."""
    with RecordLog(path) as log:
        with pytest.raises(DiskFullError) as caught:
            write_many(log)
        assert log.count > 0
        return log.count, caught.value


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    path = tmp_path / "disk"
    path.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(path)], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip(f"cannot mount: {mounted.stderr.decode().strip()}")
    yield path
    subprocess.run(["umount", str(path)], check=True)


@pytest.mark.root
@pytest.mark.skipif(os.geteuid() != 0, reason="mounting needs root")
def test_a_full_disk_loses_nothing_that_was_written_and_recording_can_go_on(small_disk: Path) -> None:
    ballast = small_disk / "ballast"
    ballast.write_bytes(b"x" * 16_384)
    path = small_disk / "log.jsonl"
    written, error = fill(path)
    assert "no room left" in str(error)
    assert "--resume" in error.advice
    assert numbers(path) == list(range(1, written + 1))
    ballast.unlink()
    with RecordLog(path) as log:
        assert log.write("send", {}) == written + 1
    assert numbers(path) == list(range(1, written + 2))


def test_a_file_that_may_not_grow_is_a_full_disk(tmp_path: Path) -> None:
    # The limit falls in the middle of a record, so the kernel takes a part of it before it refuses.
    path = tmp_path / "log.jsonl"
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, before[1]))
    try:
        written, _ = fill(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert numbers(path) == list(range(1, written + 1))
    assert path.stat().st_size < 10_000


def test_another_failure_of_the_disk_is_told_apart(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(handle: int, data: bytes) -> int:
        raise OSError(5, "Input/output error")

    with RecordLog(tmp_path / "log.jsonl") as log:
        monkeypatch.setattr(os, "write", broken)
        with pytest.raises(LabError, match="Input/output error") as caught:
            log.write("send", {})
        monkeypatch.undo()
    assert not isinstance(caught.value, DiskFullError)


# --- killed while writing ---------------------------------------------------------------------------------------------


def test_a_kill_in_the_middle_of_writing_leaves_whole_lines_before_the_last(tmp_path: Path) -> None:
    path = tmp_path / "log.jsonl"
    script = (
        "import sys; from pathlib import Path; from harness.rundir.lines import RecordLog\n"
        "log = RecordLog(Path(sys.argv[1]))\n"
        "for number in range(10_000_000):\n"
        "    log.write('send', {'remark': 'x' * (number % 3000)})\n"
        "    if number == 200: print('writing', flush=True)"
    )
    for _ in range(3):
        writer = subprocess.Popen(
            [sys.executable, "-c", script, str(path)],
            env={**os.environ, "PYTHONPATH": str(PACKAGES)},
            stdout=subprocess.PIPE,
        )
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"writing\n"
        writer.send_signal(signal.SIGKILL)
        writer.communicate()
        # A write that crosses a page may end there when its process is killed: who opens the log next cuts that line off.
        assert read_records(path).damaged_lines == ()
        with RecordLog(path):
            pass
        found = numbers(path)
        assert len(found) > 200
        assert found == list(range(1, len(found) + 1))


# --- reading ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "n", "truncated", "damaged"),
    [
        (b"", [], False, ()),
        (b'{"n":1}\n', [1], False, ()),
        (b'{"n":1}\n{"n":2}', [1], True, ()),
        (b'{"n":1}\n{"n"', [1], True, ()),
        (b'{"n":1}\n{"n"\n{"n":3}\n', [1, 3], False, (2,)),
        (b'[]\n\xff\xfe\n{"n":3}\n', [3], False, (1, 2)),
        # A client's history is preallocated with newlines: those behind its last record are no damage.
        (b'{"n":1}\n\n\n\n', [1], False, ()),
    ],
)
def test_truncated_and_damaged_lines_are_told_apart(
    data: bytes, n: list[int], truncated: bool, damaged: tuple[int, ...]
) -> None:
    read = parse_records(data)
    assert ([record["n"] for record in read.records], read.truncated, read.damaged_lines) == (n, truncated, damaged)


def test_a_log_that_is_not_there_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="cannot be read"):
        read_records(tmp_path / "none.jsonl")


# --- events -----------------------------------------------------------------------------------------------------------


EVENT_FIELDS = {
    "phase": "type n phase event at_ns",
    "fault": "type n fault state at_ns target asked_ms achieved_ms detail exercised number",
    "append": "type n node entry_ns delay_end_ns exit_ns",
    "hiccup": "type n from_ns at_ns late_ms_max samples",
    "lock_probe": "type n at_ns group as_group queue asked_broker granted",
    "drain": "type n at_ns complete remaining",
    "store_max": "type n topic broker queue min_offset max_offset group consumer_offset moment",
    "anchor": "type n process mono_ns wall_us",
}


def test_every_event_has_the_fields_that_the_analysis_reads(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as events:
        events.record("phase", phase="up", event="begin", at_ns=1)
        events.fault("append-stall", "healed", target="broker-a", asked_ms=450, achieved_ms=452.1, at_ns=2)
        events.record("append", node="broker-a", entry_ns=3, delay_end_ns=4, exit_ns=5)
        events.record("hiccup", from_ns=6, at_ns=7, late_ms_max=1.7, samples=50)
        events.record("lock_probe", group="g0", as_group="g0", queue="b:3", asked_broker="b", granted=True, at_ns=8)
        events.record("drain", complete=True, remaining=0, at_ns=9)
        events.record(
            "store_max",
            topic="T",
            broker="b",
            queue=0,
            min_offset=0,
            max_offset=512,
            group=None,
            consumer_offset=None,
            moment="end",
        )
        events.anchor(Anchor(mono_ns=10, wall_us=11))
    records = read_records(tmp_path / "events.jsonl").records
    assert {str(record["type"]): " ".join(record) for record in records} == {
        kind: " ".join(sorted(names.split(), key=list(record).index))
        for (kind, names), record in zip(EVENT_FIELDS.items(), records, strict=True)
    }
    assert records[1]["achieved_ms"] == 452.1
    assert records[7] == {"type": "anchor", "n": 8, "process": "harness", "mono_ns": 10, "wall_us": 11}


def test_a_phase_is_ended_even_when_it_fails(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as events:
        with events.phase("steady"):
            events.record("drain", complete=False, remaining=3)
        with pytest.raises(RuntimeError), events.phase("inject"):
            raise RuntimeError
    records = read_records(tmp_path / "events.jsonl").records
    assert [(record.get("phase"), record.get("event")) for record in records] == [
        ("steady", "begin"),
        (None, None),
        ("steady", "end"),
        ("inject", "begin"),
        ("inject", "end"),
    ]
    stamps = [record["at_ns"] for record in records]
    assert stamps == sorted(stamps, key=lambda stamp: int(str(stamp)))
