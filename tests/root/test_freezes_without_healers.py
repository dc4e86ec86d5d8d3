"""Harness, healer and understudy are killed amid a freeze, and the freezer with them: the file system thaws all the same."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.backends.store_mount import LeasedStore
from harness.leases import proc
from harness.leases.healing import clean
from harness.leases.kernel_kinds import FREEZE
from harness.leases.store import leases_in
from harness.paths import PACKAGES
from harness.wait import wait_until
from tests.lib.writer import Writer

OWNER = """
import json, sys
from pathlib import Path
from harness.backends.store_mount import StoreMount
from harness.faults.store_freeze import Freezer
from harness.leases.leases import Leases
facts = json.loads(sys.argv[2])
mount = StoreMount(**{**facts, "mountpoint": Path(facts["mountpoint"]), "image": Path(facts["image"])})
leases = Leases.open(Path(sys.argv[1]))
with Freezer.start(leases, mount, until_s=60) as freezer:
    print(leases.healer_pid, leases.understudy_pid, freezer._process.pid, flush=True)
    freezer.freeze(float(sys.argv[3]))
"""


@pytest.mark.parametrize(
    ("freezer_gets", "freeze_ms", "thawed_within_s"),
    [
        # The freezer is left: it thaws when its owner's pipe closes.
        (signal.SIG_DFL, 60_000, 2.0),
        # It is killed as well: its thawer is left.
        (signal.SIGKILL, 60_000, 2.0),
        # It stands still: its thawer does not wait for it for ever.
        (signal.SIGSTOP, 2_000, 12.0),
    ],
)
def test_a_freeze_is_over_when_everybody_was_killed_who_was_to_end_it(
    store: LeasedStore, tmp_path: Path, freezer_gets: signal.Signals, freeze_ms: int, thawed_within_s: float
) -> None:
    facts = {key: str(value) for key, value in store.mount.identity().items()}
    state = tmp_path / "state"
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, str(state), json.dumps(facts), str(freeze_ms)],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        stdout=subprocess.PIPE,
    )
    assert owner.stdout is not None
    named = [proc.identify(int(pid)) for pid in owner.stdout.readline().split()]
    healer, understudy, freezer = (one for one in named if one is not None)
    writer = Writer(store.mount.mountpoint / "written")
    try:
        wait_until("the freeze", lambda: [one for one in leases_in(state) if one.kind == FREEZE], timeout_s=20)
        wait_until("it to be on", lambda: _is_on(store.mount.mountpoint), timeout_s=20)
        writer.start()
        assert not writer.ends(0.3)
        for guard in (owner.pid, healer.pid, understudy.pid):
            os.kill(guard, signal.SIGSTOP)
        if freezer_gets:
            os.kill(freezer.pid, freezer_gets)
        for guard in (owner.pid, healer.pid, understudy.pid):
            os.kill(guard, signal.SIGKILL)
        assert writer.ends(thawed_within_s)
    finally:
        owner.kill()
        owner.wait()
        owner.stdout.close()
        clean(state)
        writer.close()
    assert proc.wait_gone([freezer], timeout_s=5) == []
    wait_until("its thawer to leave", lambda: not _thawers_of(store.mount.mountpoint), timeout_s=5)
    assert leases_in(state) == []


def _is_on(folder: Path) -> bool:
    """Whether somebody who would write waits: it is tried in a child, which is not waited for."""
    trying = subprocess.Popen(["touch", str(folder / "tried")])
    try:
        trying.wait(0.2)
    except subprocess.TimeoutExpired:
        trying.kill()
        return True
    return False


def _thawers_of(mountpoint: Path) -> list[int]:
    mark = f"\0{mountpoint}\0".encode()
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                command = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            if mark in command and b"harness.faults.programs.thawer" in command:
                found.append(int(entry.name))
    return found
