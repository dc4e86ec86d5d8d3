"""Locust's processes as the run sees them, played by a script: what is told meanwhile, and how a user ends them."""

from __future__ import annotations

import argparse
import shutil
import signal
import socket
import subprocess
import sys
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.errors import DiskFullError, Interrupted, PortTakenError
from harness.generator.load_run import Progress
from harness.generator.locust_processes import LocustProcesses
from harness.load.own import commonest
from harness.rundir.files import require_room
from harness.rundir.writing import TrialDirectory
from harness.signals import EarlyEnd
from mqlab.load.command import take_ports

PLAYED = """
import json, signal, sys, time
stopped = []
signal.signal(signal.SIGTERM, lambda *_: stopped.append(1))
line = {"users": 2, "requests": 30, "failures": 20, "rate": 5.0, "late_us": {"p999": 900},
        "errors": {"MQBrokerException 2 [TIMEOUT_CLEAN_QUEUE]": 17, "RemotingTimeoutException": 3}}
ends = time.monotonic() + SECONDS
while time.monotonic() < ends and not stopped:
    print(json.dumps(line), flush=True)
    time.sleep(0.05)
print(json.dumps({"drained": bool(stopped)}), flush=True)
time.sleep(DRAINS if stopped else 0)
"""


class _Played(subprocess.Popen[bytes]):
    def __init__(self, seconds: float, drains_s: float = 0.0) -> None:
        script = PLAYED.replace("SECONDS", str(seconds)).replace("DRAINS", str(drains_s))
        super().__init__([sys.executable, "-c", script], stdout=subprocess.PIPE)


@pytest.fixture
def load(tmp_path: Path) -> Any:
    """What of a load is asked for while it is watched."""
    noted: list[str] = []
    return SimpleNamespace(
        options=SimpleNamespace(duration_s=60.0), join="", cancel=threading.Event(), early_end=EarlyEnd(), noted=noted,
        note=noted.append, say=noted.append, told=[], on_progress=lambda one: load_told.append(one),
        target=SimpleNamespace(check=lambda: None), directory=TrialDirectory(path=tmp_path),
    )  # fmt: skip


load_told: list[Progress] = []


def _watched(load: Any, process: _Played) -> LocustProcesses:
    load_told.clear()
    found = LocustProcesses(cast(Any, load), load.directory)
    found._processes["locust"] = cast(Any, process)
    return found


def _later(seconds: float, call: Any) -> None:
    timer = threading.Timer(seconds, call)
    timer.daemon = True
    timer.start()


def test_a_load_with_a_duration_that_its_user_stops_is_ended_as_at_its_end_and_says_when(load: Any) -> None:
    process = _Played(60.0)
    _later(1.0, load.early_end.is_asked.set)
    _watched(load, process).watch()
    assert process.poll() == 0, "Locust has drained and ended by itself"
    (note,) = load.noted
    assert note.startswith("stopped by its user after ")
    assert note.endswith(" of 60 s")


def test_a_load_without_an_end_is_ended_in_this_way_and_nothing_is_noted(load: Any) -> None:
    load.options.duration_s = 0.0
    _later(0.5, load.early_end.is_asked.set)
    _watched(load, _Played(60.0)).watch()
    assert load.noted == []


def test_a_second_ctrl_c_does_not_wait_for_what_locust_drains(load: Any) -> None:
    process = _Played(60.0, drains_s=60.0)
    _later(0.5, load.early_end.is_asked.set)
    _later(1.5, load.cancel.set)
    began = time.monotonic()
    try:
        with pytest.raises(Interrupted):
            _watched(load, process).watch()
        assert time.monotonic() - began < 30
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()


def test_a_full_disk_is_said_within_seconds(load: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    full = SimpleNamespace(free=2**20)
    process = _Played(60.0)
    _later(0.5, lambda: monkeypatch.setattr(shutil, "disk_usage", lambda path: full))
    try:
        with pytest.raises(DiskFullError, match=r"the disk of .* is full \(1\.0 MiB are left\), and the run was ended"):
            _watched(load, process).watch()
    finally:
        process.kill()
        process.wait()


def test_there_is_room(tmp_path: Path) -> None:
    require_room(tmp_path)


def test_the_commonest_error_is_named_with_what_failed(load: Any) -> None:
    _watched(load, _Played(0.2)).watch()
    told = load_told[-1]
    assert commonest(told) == " (MQBrokerException 2 [TIMEOUT_CLEAN_QUEUE] 17)"
    alone = Progress(users=1, requests=3, failures=3, rate_hz=1.0, late_p999_ms=0.0, errors={"A\x1b[2J": 3})
    assert commonest(alone) == " (A\\x1b[2J)"
    assert commonest(Progress(users=1, requests=3, failures=0, rate_hz=1.0, late_p999_ms=0.0)) == ""


@pytest.mark.parametrize("option", ["web", "master_port"])
def test_a_port_of_somebody_else_is_refused_before_anything_starts(option: str) -> None:
    options = argparse.Namespace(web=0, master_port=0)
    take_ports(options)
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        port = other.getsockname()[1]
        setattr(options, option, port)
        with pytest.raises(PortTakenError, match=f"port {port} is taken") as told:
            take_ports(options)
    assert told.value.advice == f"Give --{option.replace('_', '-')} another, or end what listens there."
