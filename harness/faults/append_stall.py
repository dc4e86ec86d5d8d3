"""One append to the commit log takes as long as asked, inside the put lock: a Byteman rule in the broker's own JVM.

The rule is loaded when the broker starts and armed over a loopback connection (``byteman/StallHelper.java``). It ends by
itself and dies with the broker, so that there is nothing that could be left behind.
"""

from __future__ import annotations

import socket

from harness.backends.base import Node, masters
from harness.clock import mono_ns
from harness.errors import ClientError, WaitTimeout
from harness.load.session import LoadSession, TrialContext
from harness.wait import wait_until

ANSWER_S_MAX = 45.0
FIRST_APPEND_S_MAX = 10.0
"""Byteman installs a rule when it is triggered for the first time, and only then the stall can be armed."""


class StallByByteman:
    """Stalls the next append of the first master."""

    way = "byteman"

    def inject(self, trial: TrialContext, load: LoadSession) -> None:
        """Arm, and wait until the stalled append has ended; its own stamps are the fault's."""
        broker = masters(trial.cluster)[0]
        asked_ms = float(trial.params["stall_ms"])
        trial.events.fault("append-stall", "asked", target=broker.name, asked_ms=asked_ms)
        asked_ns = mono_ns()
        entry_ns, delay_end_ns, exit_ns = stall_next_append(broker, asked_ms)
        stamps = {"target": broker.name, "asked_ms": asked_ms, "achieved_ms": (exit_ns - entry_ns) / 1e6}
        trial.events.fault("append-stall", "injecting", target=broker.name, asked_ms=asked_ms, at_ns=asked_ns)
        trial.events.fault("append-stall", "injected", at_ns=entry_ns, **stamps)  # type: ignore[arg-type]
        trial.events.fault("append-stall", "healing", at_ns=delay_end_ns, **stamps)  # type: ignore[arg-type]
        trial.events.fault("append-stall", "healed", at_ns=exit_ns, **stamps)  # type: ignore[arg-type]
        trial.events.append(node=broker.name, entry_ns=entry_ns, delay_end_ns=delay_end_ns, exit_ns=exit_ns)

    def heal(self, trial: TrialContext, load: LoadSession) -> None:
        """It has ended by itself."""


def stall_next_append(broker: Node, stall_ms: float) -> tuple[int, int, int]:
    """Entry, end of the delay and exit of the stalled append, in monotonic nanoseconds.

    Raises:
        ClientError: the broker has no rule, or no append came.
    """
    try:
        with wait_until(
            "the broker's first append", lambda: _connect(broker), timeout_s=FIRST_APPEND_S_MAX
        ) as connection:
            connection.sendall(f"stall {stall_ms}\n".encode())
            answer = connection.makefile("r").readline().strip()
    except (OSError, WaitTimeout) as error:
        raise ClientError(f"the stall of {broker.name} could not be armed: {error}") from error
    stamps = answer.split()
    if len(stamps) != 3 or not all(stamp.isdigit() for stamp in stamps):
        raise ClientError(f"the stall of {broker.name} did not happen: {answer or 'the broker ended'}")
    entry_ns, delay_end_ns, exit_ns = map(int, stamps)
    return entry_ns, delay_end_ns, exit_ns


def _connect(broker: Node) -> socket.socket:
    return socket.create_connection(("127.0.0.1", broker.stall_port), timeout=ANSWER_S_MAX)
