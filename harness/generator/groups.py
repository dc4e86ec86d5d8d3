"""The consumer group of a load on a cluster that is the user's: it begins at the topic's end, and leaves nothing behind."""

from __future__ import annotations

import time

from harness.backends.cluster import RECORD_S_MAX
from harness.generator.target import Target
from harness.model.rocketmq import RETRY_PREFIX
from harness.protocol.broker import Broker
from harness.protocol.name_server import NameServer

HELD_S_MAX = 21.0
"""For so long after its consumers have gone a broker may carry out pulls of theirs that it held, and each makes the group
again: they are held for 15 s (DefaultMQPushConsumerImpl), and looked at every 5 s (PullRequestHoldService)."""


def begin_at_end(target: Target, group: str) -> None:
    """Make the group, with the end of every queue as its offset. Raises ClientError.

    CONSUME_FROM_LAST_OFFSET does not do it: for a group without an offset a broker answers 0 while the queue has its first
    message and that lies in memory (ConsumerManageProcessor.queryConsumerOffset), and the group gets everything. 5.x takes
    offsets of groups only that it knows (updateConsumerOffset), which is why the group is made first.
    """
    for name, address in target.masters().items():
        with Broker(address, timeout_s=RECORD_S_MAX, access=target.access) as connection:
            connection.create_group(group)
            for queue in range(target.read_queues[name]):
                connection.commit_offset(group, target.topic, queue, connection.max_offset(target.topic, queue))


def remove(target: Target, group: str) -> None:
    """Remove the group, whose consumers have just gone, and its retry topic. Raises ClientError.

    4.6.0 keeps the group's offsets, a few bytes a queue.
    """
    time.sleep(HELD_S_MAX)
    retry = RETRY_PREFIX + group
    for address in target.masters().values():
        with Broker(address, timeout_s=RECORD_S_MAX, access=target.access) as connection:
            connection.delete_group(group)
            connection.delete_topic(retry)
    for address in target.namesrv:
        with NameServer(address, timeout_s=RECORD_S_MAX, access=target.access) as connection:
            connection.delete_route(retry)
