"""Makes a fault on a node elsewhere and stays, until whoever started it kills it. Run by test_nodes_elsewhere.py.

``python -m tests.root.fault_elsewhere NODES_FILE NAMESRV pause|kill STATE_FOLDER``. Its lines: ``PID PID`` of the healer and of its
understudy as the fault begins, and ``done``.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from harness.backends import node_elsewhere
from harness.backends.nodes_file import read_nodes_file
from harness.backends.reached import reach
from harness.leases.leases import Leases
from harness.protocol.access import OPEN
from harness.protocol.targets import LOOPBACK

STAYS_S, HEALED_LATER_S = 4.0, 2.0


def main(nodes_file: str, namesrv: str, kind: str, state: str) -> None:
    """Never returns by itself."""
    node_elsewhere.HEALED_LATER_S = HEALED_LATER_S
    found = reach(read_nodes_file(Path(nodes_file)), [namesrv], LOOPBACK, OPEN, {"broker-a": STAYS_S})
    with Leases.open(Path(state)) as leases:
        leases.ensure_healer()
        print(leases.healer_pid, leases.understudy_pid, flush=True)
        node = found.nodes["broker-a"]
        _ = node.pause(leases, until_s=300) if kind == "pause" else node.kill(leases, until_s=300)
        print("done", flush=True)
        time.sleep(600)


if __name__ == "__main__":
    main(*sys.argv[1:])
