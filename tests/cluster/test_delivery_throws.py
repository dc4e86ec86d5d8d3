"""A delivery of a delayed message that throws, in a real broker of each release."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

from harness.backends.cluster import ask, create_topic, masters
from harness.backends.local import LocalCluster
from harness.clock import mono_ns
from harness.faults.injections import injection_of
from harness.model.faults import DELAY_LEVEL_HIT, DeliveryThrows
from harness.model.rocketmq import RETRY_PREFIX
from harness.wait import wait_until

TOPIC, GROUP = "delivery-throws", "delivery-throws-group"


def test_one_delivery_of_level_2_throws_and_the_next_one_comes(cluster: LocalCluster) -> None:
    """A message that a consumer gives back is a delayed one: of two the release drops the first, and goes on."""
    create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
    broker, retry = masters(cluster)[0], RETRY_PREFIX + GROUP
    fault, trial = DeliveryThrows(), cast(Any, SimpleNamespace(cluster=cluster))
    with ask(broker, timeout_s=60) as connection:
        connection.create_group(GROUP)
        for body in (b"is dropped", b"comes"):
            sent = connection.send(TOPIC, 0, body)
            connection.send_back(GROUP, TOPIC, sent.commit_log_offset, delay_level=DELAY_LEVEL_HIT)
        begun_ns = mono_ns()
        done = injection_of(fault).inject(fault, trial, cast(Any, None))
        assert done.target == broker.name
        assert done.injected_ns is not None
        assert begun_ns < done.injected_ns < mono_ns()
        assert done.healed_ns == done.injected_ns
        wait_until("the second message", lambda: connection.max_offset(retry, 0) > 0, timeout_s=180)
        assert connection.max_offset(retry, 0) == 1
