"""A small lab without Java is killed with -9, drawn by a seed: nothing of it is left. ``benchmarks/kills.py`` kills real loads."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.host.abilities import Abilities
from harness.host.cgroups import why_no_controller
from harness.leases.store import leases_in
from harness.paths import PACKAGES
from harness.wait import NotYet, wait_until
from tests.lib.left_behind import Seen

KILLS = int(os.environ.get("KILLS", "8"))
"""``make campaign``: 40."""

GONE_S_MAX = 30.0

FAULTS = {
    "freeze": """
freezer = Freezer.start(leases, mount, until_s=300)
threading.Thread(target=freezer.freeze, args=(300_000,), daemon=True).start()
while not [one for one in leases_in(state) if one.kind == "freeze"]:
    time.sleep(0.01)
time.sleep(0.2)
""",
    "cut": "cut_ports(leases, [21998], until_s=300)",
    "pause": "node.pause(leases, until_s=300)",
    "group": """
group = make_group(leases, node.pid, controller_root("memory"), until_s=300)
group.set("cgroup.procs", str(node.pid))
""",
    "disk-full": "fill(leases, mount, free_bytes=0, until_s=300)",
    "neighbour": "start_neighbour(leases, mount.mountpoint, file_mb=8, seconds=300)",
    "none": "",
}
VICTIMS = ("harness", "healer", "understudy", "node", "program")
BOTH = ("harness", "healer")

OWNER = """
import sys, threading, time
from pathlib import Path
from harness.backends.store_mount import mount_store
from harness.faults.dirty_pages import start_neighbour
from harness.faults.disk_full import fill
from harness.faults.network import cut_ports
from harness.faults.store_freeze import Freezer
from harness.host.cgroups import controller_root, make_group
from harness.host.hiccups import NoiseProbe
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.model.cluster import BrokerSettings
run, state = map(Path, sys.argv[1:])
leases = Leases.open(state)
mount = mount_store(leases, run / "store", BrokerSettings(store="loop-ext4", store_mb=64), until_s=300).mount
node = leases.spawn(["sleep", "300"], name="node", until_s=300)
probe = NoiseProbe.start(leases, run / "hiccups.jsonl", until_s=300)
{fault}
leases.ensure_healer()
print(leases.healer_pid, leases.understudy_pid, node.pid, probe.process.pid, flush=True)
sys.stdin.read()
leases.close()
"""


def possible(host: Abilities) -> list[str]:
    obstacles = {
        "cut": None if host.firewall else "iptables cannot be used here",
        "group": why_no_controller("memory", host),
    }
    return [fault for fault in FAULTS if not obstacles.get(fault)]


SEEN_S_MAX = 60.0
"""For those who watch to have read each lease, on a machine with more to do than it can."""


def _has_all(seen: Seen) -> bool:
    lacking = {"processes", "mounts", "loop devices", "images", "leases"} - seen.left().keys()
    if lacking:
        raise NotYet(f"nothing of {', '.join(sorted(lacking))}")
    return True


@pytest.mark.parametrize("seed", range(KILLS))
def test_nothing_is_left_of_a_lab_that_was_killed(seed: int, tmp_path: Path, host: Abilities) -> None:
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    # Each fault once with both, which nobody was left to heal before there was an understudy, and once with one of all.
    victims = BOTH if seed % 2 else (random.Random(seed).choice(VICTIMS),)
    faults = possible(host)
    fault = faults[seed // 2 % len(faults)]
    run, state = tmp_path / "run", tmp_path / "state"
    temporary = tmp_path / "tmp"
    for folder in (run, temporary):
        folder.mkdir()
    seen = Seen(folders=(run, state), own_temporary=temporary)
    with seen.watching(state):
        owner = subprocess.Popen(
            [sys.executable, "-c", OWNER.replace("{fault}", FAULTS[fault]), str(run), str(state)],
            env={**os.environ, "PYTHONPATH": str(PACKAGES), "TMPDIR": str(temporary)},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        assert owner.stdout is not None
        try:
            names = ("healer", "understudy", "node", "program")
            pids = {**dict(zip(names, map(int, owner.stdout.readline().split()), strict=True)), "harness": owner.pid}
            wait_until("something of each kind that may be left", lambda: _has_all(seen), timeout_s=SEEN_S_MAX)
            for victim in victims:
                os.kill(pids[victim], signal.SIGKILL)
            # One that was not killed ends in an orderly way, whatever it has lost.
            owner.communicate(timeout=60)
        finally:
            owner.kill()
        assert owner.returncode == (-signal.SIGKILL if "harness" in victims else 0), (victims, fault)
        _, left = seen.wait_until_nothing(GONE_S_MAX)
    assert left == {}, (victims, fault)
    assert leases_in(state) == []
