"""Flushes that are held up, in a real broker of each release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from harness.backends.cluster import ask, create_topic, masters
from harness.backends.local import LocalCluster
from harness.faults.injections import injection_of
from harness.faults.rules import asked_rule
from harness.model.faults import SlowFlush
from harness.wait import wait_until

TOPIC = "slow-flush"
FOUR_PAGES = 4 * 4096
"""So much is flushed within half a second, which is the default."""


def test_flushes_of_the_commit_log_are_held_up_until_it_ends(cluster: LocalCluster) -> None:
    create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
    broker, fault, readings = masters(cluster)[0], SlowFlush(flush_ms=50.0), dict[str, float]()
    events = SimpleNamespace(reading=lambda name, value, **of: readings.update({name: value}))
    trial = cast(Any, SimpleNamespace(cluster=cluster, events=events))

    def held() -> int:
        return asked_rule(broker, f"FlushHelper {fault.flush_ms}", 1)[0]

    with ask(broker, timeout_s=60) as connection:
        connection.send(TOPIC, 0, b"installs the rule")
        done = injection_of(fault).inject(fault, trial, cast(Any, None))
        before = held()
        connection.send(TOPIC, 0, bytes(FOUR_PAGES))
        wait_until("a flush that is held up", lambda: held() > before, timeout_s=180)
        assert done.end is not None
        healed = done.end()
    assert healed.exercised
    assert readings["flush_count"] >= 1
    assert readings["flush_held_ms"] == fault.flush_ms
