"""The hiccup probe: what it measures, and how a trial gets its slice."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from types import SimpleNamespace

import pytest

from harness.errors import DiskFullError, LabError, WaitTimeout
from harness.host.hiccups import NoiseProbe, hiccups_since, measure_window, run_probe, worst_ms
from harness.leases.leases import Leases
from harness.paths import PACKAGES
from harness.rundir.events import EventLog
from harness.rundir.lines import read_records
from harness.wait import wait_until

WINDOW_NS = 100_000_000


class FakeMachine:
    """A clock that only sleeping moves; the sleeps are late by the given milliseconds, then by 0.1 ms."""

    def __init__(self, *late_ms: float) -> None:
        self.now_ns = 1_000
        self.late_ms = list(late_ms)

    def clock_ns(self) -> int:
        return self.now_ns

    def sleep_s(self, seconds: float) -> None:
        late_ms = self.late_ms.pop(0) if self.late_ms else 0.1
        self.now_ns += round(seconds * 1e9 + late_ms * 1e6)


def test_a_window_tells_its_worst_oversleep() -> None:
    machine = FakeMachine(0.1, 0.2, 7.25, 0.1)
    window = measure_window(clock_ns=machine.clock_ns, sleep_s=machine.sleep_s)
    assert window.late_ms_max == 7.25
    assert window.from_ns == 1_000
    assert window.at_ns == machine.now_ns
    assert 40 <= window.samples <= 50


def test_a_stall_that_is_longer_than_a_window_is_one_window() -> None:
    machine = FakeMachine(0.1, 900.0)
    window = measure_window(clock_ns=machine.clock_ns, sleep_s=machine.sleep_s)
    assert (window.late_ms_max, window.samples) == (900.0, 2)
    assert window.at_ns - window.from_ns > 900_000_000


def test_the_probe_writes_windows_and_anchors_until_it_is_over(tmp_path: Path) -> None:
    rounds = iter([False, False, False, True])
    run_probe(tmp_path / "hiccups.jsonl", lambda: next(rounds))
    records = read_records(tmp_path / "hiccups.jsonl").records
    assert [record["type"] for record in records] == ["anchor", "hiccup", "hiccup", "hiccup", "anchor"]
    assert [record["n"] for record in records] == [1, 2, 3, 4, 5]


def hiccup_line(index: int, late_ms: float = 0.1, *, base_ns: int = 0) -> str:
    from_ns = base_ns + index * WINDOW_NS
    values = {"from_ns": from_ns, "at_ns": from_ns + WINDOW_NS, "late_ms_max": late_ms, "samples": 48}
    return json.dumps({"type": "hiccup", "n": index + 1, **values}) + "\n"


ANCHOR = '{"type":"anchor","n":1,"process":"noise","mono_ns":1,"wall_us":1}\n'


def _running(path: Path) -> NoiseProbe:
    """A probe that has not ended, and wrote this file."""
    return NoiseProbe(SimpleNamespace(poll=lambda: None), path)  # type: ignore[arg-type]


def test_a_slice_has_every_window_that_overlaps_the_time(tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    path.write_text(ANCHOR + "".join(hiccup_line(index, index) for index in range(10)) + ANCHOR)
    found = _running(path).hiccups(3 * WINDOW_NS + 1, 5 * WINDOW_NS - 1)
    assert [hiccup.late_ms_max for hiccup in found] == [3, 4]
    assert worst_ms(found) == 4


def test_a_slice_may_end_between_two_windows_where_the_probe_writes(tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    path.write_text(hiccup_line(0, 1) + hiccup_line(1, 2, base_ns=200_000))
    assert [hiccup.late_ms_max for hiccup in _running(path).hiccups(1, WINDOW_NS + 100_000)] == [1]


def test_a_slice_that_is_not_written_yet_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    path.write_text(hiccup_line(0))
    with pytest.raises(WaitTimeout, match=f"written up to {WINDOW_NS}, wanted {WINDOW_NS + 1}"):
        _running(path).hiccups(1, WINDOW_NS + 1, timeout_s=0.1)


def test_a_truncated_last_line_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    path.write_text(hiccup_line(0, 1.5) + hiccup_line(1, 80)[:-20])
    assert [hiccup.late_ms_max for hiccup in hiccups_since(path, 0)] == [1.5]


def test_damaged_lines_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    path.write_text('{"type":"hiccup"\n{"type":"hiccup","from_ns":"x"}\n[]\n' + hiccup_line(0, 1.5))
    assert worst_ms(hiccups_since(path, 0)) == 1.5


def test_nothing_measured_is_not_the_same_as_quiet(tmp_path: Path) -> None:
    assert hiccups_since(tmp_path / "none.jsonl", 0) == []
    assert worst_ms([]) is None


def test_a_slice_of_a_long_file_is_found_at_its_end_and_at_its_start(tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    count = 20_000  # About 2 MB, half an hour of windows: more than is read at first.
    path.write_text("".join(hiccup_line(index, index) for index in range(count)))
    late = hiccups_since(path, (count - 3) * WINDOW_NS + 1)
    early = hiccups_since(path, 1)
    assert [hiccup.late_ms_max for hiccup in late] == [count - 3, count - 2, count - 1]
    assert [hiccup.late_ms_max for hiccup in early] == list(range(count))


def test_windows_from_before_a_restart_of_the_machine_are_left_out(tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    before = "".join(hiccup_line(index, 99) for index in range(100))
    path.write_text(before + "".join(hiccup_line(index, 1) for index in range(5)))
    assert [hiccup.late_ms_max for hiccup in hiccups_since(path, 0)] == [1] * 5


# --- the real process -------------------------------------------------------------------------------------------------


def test_the_probe_process_ends_when_its_input_closes(tmp_path: Path) -> None:
    out = tmp_path / "hiccups.jsonl"
    probe = subprocess.Popen(
        [sys.executable, "-m", "harness.host.hiccups", str(out)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        stdin=subprocess.PIPE,
    )
    wait_until("a window", lambda: out.exists() and b"hiccup" in out.read_bytes(), timeout_s=20)
    assert probe.poll() is None
    assert probe.stdin is not None
    probe.stdin.close()
    assert probe.wait(5) == 0
    assert not read_records(out).truncated


def test_a_trial_gets_its_slice_in_its_own_events(state_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    with Leases.open(state_dir) as leases:
        probe = NoiseProbe.start(leases, path, until_s=60)
        wait_until("the first window", lambda: hiccups_since(path, 0) or None, timeout_s=20)
        from_ns = time.monotonic_ns()
        time.sleep(0.35)
        to_ns = time.monotonic_ns()
        with EventLog(tmp_path / "events.jsonl") as events:
            found = probe.copy_into(events, from_ns, to_ns)
        probe.stop()
    assert found[0].from_ns <= from_ns
    assert found[-1].at_ns >= to_ns
    copied = read_records(tmp_path / "events.jsonl").records
    assert [(record["type"], record["late_ms_max"]) for record in copied] == [
        ("hiccup", hiccup.late_ms_max) for hiccup in found
    ]
    assert len(found) >= 3


def test_a_frozen_machine_shows_in_the_slice(state_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    with Leases.open(state_dir) as leases:
        probe = NoiseProbe.start(leases, path, until_s=60)
        wait_until("the first window", lambda: hiccups_since(path, 0) or None, timeout_s=20)
        pid = probe.process.pid
        from_ns = time.monotonic_ns()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(0.3)
        os.kill(pid, signal.SIGCONT)
        worst = worst_ms(probe.hiccups(from_ns, time.monotonic_ns()))
    assert worst is not None
    assert 250 < worst < 5000


def test_a_probe_that_died_is_an_error_and_not_a_quiet_machine(state_dir: Path, tmp_path: Path) -> None:
    path = tmp_path / "hiccups.jsonl"
    with Leases.open(state_dir) as leases:
        probe = NoiseProbe.start(leases, path, until_s=60)
        wait_until("the first window", lambda: hiccups_since(path, 0) or None, timeout_s=20)
        probe.process.kill()
        with pytest.raises(LabError, match="the hiccup probe ended with code -9"):
            probe.hiccups(0, time.monotonic_ns() + 1_000_000_000)


def test_a_probe_that_cannot_write_says_so(state_dir: Path, tmp_path: Path) -> None:
    with Leases.open(state_dir) as leases:
        probe = NoiseProbe.start(leases, tmp_path / "no" / "such" / "folder.jsonl", until_s=60)
        probe.process.wait(20)
        with pytest.raises(LabError, match=r"cannot write .*folder\.jsonl"):
            probe.hiccups(0, 1)


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="needs /dev/full")
def test_a_probe_on_a_full_disk_says_so(state_dir: Path) -> None:
    with Leases.open(state_dir) as leases:
        probe = NoiseProbe.start(leases, Path("/dev/full"), until_s=60)
        probe.process.wait(20)
        with pytest.raises(DiskFullError, match="no room left to write /dev/full"):
            probe._require_running()
