"""A dispatch that throws an exception, in a real broker of each release."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

from harness.backends.cluster import ask, create_topic, masters
from harness.backends.local import LocalCluster
from harness.faults.injections import injection_of
from harness.model.faults import DispatchThrows
from harness.wait import wait_until

TOPIC = "dispatch-throws"


def test_one_dispatch_throws_and_the_message_is_dispatched_a_moment_later(cluster: LocalCluster) -> None:
    create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
    broker, fault = masters(cluster)[0], DispatchThrows(throws="exception")
    trial = cast(Any, SimpleNamespace(cluster=cluster))
    with ask(broker, timeout_s=60) as connection, ThreadPoolExecutor() as pool:
        connection.send(TOPIC, 0, b"installs the rule")
        throwing = pool.submit(injection_of(fault).inject, fault, trial, cast(Any, None))
        sent = 1
        while not throwing.done():
            connection.send(TOPIC, 0, b"until one throws")
            sent += 1
        done = throwing.result()
        assert done.target == broker.name
        assert done.healed_ns == done.injected_ns is not None
        wait_until("all messages in the queue", lambda: connection.max_offset(TOPIC, 0) == sent, timeout_s=180)
