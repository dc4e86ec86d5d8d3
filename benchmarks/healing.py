"""How soon what a killed harness left is healed: freeze, pause, cut and full disk, twenty kills of each.

A harness of its own makes the fault and is killed with -9 while it is on. The time runs from the kill to the moment at
which the fault is seen to be gone from outside: a write goes through, a process runs, no rule is listed, there is room.
Needs root; what this host cannot do is skipped and said.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from harness.backends.store_mount import StoreMount, mount_store
from harness.host.abilities import Abilities
from harness.leases import proc
from harness.leases.kernel_kinds import comment_of, tool
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.model.cluster import BrokerSettings
from harness.wait import wait_until

ROOT = Path(__file__).resolve().parents[1]
HEALED_S_MAX = 1.0
WAIT_S_MAX = 20.0
PORT = 21999
STUCK_S = 0.1

OWNERS = {
    "freeze": """
        with Freezer.start(leases, mount, until_s=60) as freezer:
            print("on", flush=True)
            freezer.freeze(60_000)
    """,
    "pause": """
        child = leases.spawn(["sleep", "300"], name="broker-a", until_s=60)
        leases.hold("stopped-process", child.identity(), until_s=60)
        child.lease.keep()
        child.send_signal(signal.SIGSTOP)
        print("on", child.pid, flush=True)
        time.sleep(60)
    """,
    "cut": """
        print("on", cut_ports(leases, [PORT], until_s=60).record.id, flush=True)
        time.sleep(60)
    """,
    "disk-full": """
        fill(leases, mount, free_bytes=0, until_s=60)
        print("on", flush=True)
        time.sleep(60)
    """,
}


class Writer:
    """Writes to a file on a mount again and again; ``stuck_since_s`` is when a write began that has not ended yet."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        self._over = threading.Event()
        self._began_s = 0.0
        self._ended_s = 0.0
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def is_stuck(self) -> bool:
        """A write takes longer than any write should."""
        return self._ended_s < self._began_s < time.monotonic() - STUCK_S

    def close(self) -> None:
        """End."""
        self._over.set()
        self._thread.join(WAIT_S_MAX)
        os.close(self._handle)

    def _run(self) -> None:
        while not self._over.wait(0.002):
            self._began_s = time.monotonic()
            os.pwrite(self._handle, b"x" * 64, 0)
            self._ended_s = time.monotonic()


def start_owner(kind: str, state: Path, mount: StoreMount | None) -> subprocess.Popen[str]:
    """A harness that makes the fault and waits; it says "on" and what identifies it."""
    facts = {key: str(value) for key, value in dataclasses.asdict(mount).items()} if mount else {}
    body = "\n".join(line.removeprefix("        ") for line in OWNERS[kind].splitlines())
    source = f"""
import json, signal, sys, time
from pathlib import Path
from harness.backends.store_mount import StoreMount
from harness.faults.disk_full import fill
from harness.faults.network import cut_ports
from harness.faults.store_freeze import Freezer
from harness.leases.leases import Leases
facts = json.loads(sys.argv[2])
PORT = {PORT}
mount = facts and StoreMount(**{{**facts, "mountpoint": Path(facts["mountpoint"]), "image": Path(facts["image"])}})
leases = Leases.open(Path(sys.argv[1]))
{body}"""
    return subprocess.Popen(
        [sys.executable, "-c", source, str(state), json.dumps(facts)],
        env={**os.environ, "PYTHONPATH": str(ROOT)},
        stdout=subprocess.PIPE,
        text=True,
    )


def healed_after_s(kind: str, state: Path, mount: StoreMount | None) -> float:
    """Make the fault, kill its harness, and wait until it is seen to be gone."""
    owner = start_owner(kind, state, mount)
    assert owner.stdout is not None
    words = owner.stdout.readline().split()
    assert words[:1] == ["on"], f"{kind}: the harness ended with {owner.poll()}"
    with seen_from_outside(kind, words, mount) as is_on:
        wait_until(f"the {kind}", is_on, timeout_s=WAIT_S_MAX, poll_s=0.005)
        time.sleep(0.2)
        killed_s = time.monotonic()
        owner.kill()
        wait_until(f"the end of the {kind}", lambda: not is_on(), timeout_s=WAIT_S_MAX, poll_s=0.002)
        gone_s = time.monotonic() - killed_s
    owner.wait()
    owner.stdout.close()
    if kind == "pause":
        os.kill(int(words[1]), signal.SIGKILL)
    wait_until("the leases to be struck off", lambda: not still_held(state), timeout_s=WAIT_S_MAX)
    return gone_s


def still_held(state: Path) -> bool:
    """Whether a lease is left that its owner did not mean to outlive it."""
    return any(not record.kept for record in leases_in(state))


@contextmanager
def seen_from_outside(kind: str, words: list[str], mount: StoreMount | None) -> Iterator[Callable[[], bool]]:
    """A look that says whether the fault is on."""
    if kind == "freeze":
        assert mount is not None
        writer = Writer(mount.mountpoint / "written")
        try:
            yield writer.is_stuck
        finally:
            writer.close()
    elif kind == "pause":
        process = proc.identify(int(words[1]))
        assert process is not None
        yield process.is_stopped
    elif kind == "cut":
        yield lambda: comment_of(words[1]) in listed_rules()
    else:
        assert mount is not None
        folder = mount.mountpoint
        yield lambda: os.statvfs(folder).f_bavail * os.statvfs(folder).f_frsize < 2**20


def listed_rules() -> str:
    """iptables' INPUT chain."""
    command = tool("iptables")
    assert command is not None
    done = subprocess.run([command, "-w", "5", "-S", "INPUT"], capture_output=True, text=True, check=True, timeout=20)
    return done.stdout


def main() -> int:
    """Print one line a kind; exit code 1 when one was not healed in time."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--kills", type=int, default=20)
    parser.add_argument("--only", choices=sorted(OWNERS), nargs="*", default=list(OWNERS))
    options = parser.parse_args()
    host = Abilities.of_this_host()
    obstacles = {
        "freeze": host.why_no_loop_mount(),
        "pause": None,
        "cut": None if host.firewall else "iptables cannot be used here",
        "disk-full": host.why_no_loop_mount(),
    }
    in_time = True
    with tempfile.TemporaryDirectory() as scratch, Leases.open(Path(scratch) / "own") as leases:
        needs_mount = not host.why_no_loop_mount()
        settings = BrokerSettings(store="loop-ext4", store_mb=64)
        leased = mount_store(leases, Path(scratch) / "store", settings, until_s=3600) if needs_mount else None
        for kind in options.only:
            if obstacles[kind]:
                print(f"{kind}: skipped, {obstacles[kind]}")
                continue
            state = Path(scratch) / "state"
            mount = leased.mount if leased else None
            times_s = sorted(healed_after_s(kind, state, mount) for _ in range(options.kills))
            soon = sum(time_s <= HEALED_S_MAX for time_s in times_s)
            in_time = in_time and soon == len(times_s)
            print(
                f"{kind}: {soon} of {len(times_s)} healed within {HEALED_S_MAX:g} s of kill -9; "
                f"median {times_s[len(times_s) // 2] * 1000:.0f} ms, slowest {times_s[-1] * 1000:.0f} ms",
                flush=True,
            )
        if leased:
            leased.unmount()
    return 0 if in_time else 1


if __name__ == "__main__":
    sys.exit(main())
