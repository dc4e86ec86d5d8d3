"""Offsets of groups are set back while their members consume, or while these are away."""

import time
from collections.abc import Iterable

from harness.backends.cluster import RECORD_S_MAX, Node, ask, masters
from harness.clock import mono_ns
from harness.model.faults import COMMITTED_S, ResetOffsets
from harness.trial import Injected, Injection, Injections, LoadSession, MembersCanLeave, TrialContext, able
from harness.wait import NotYet, wait_until

POLL_S = 0.5
Offsets = dict[tuple[str, int], int]
"""By group and queue of one broker."""


def reset(fault: ResetOffsets, trial: TrialContext, load: LoadSession) -> Injected:
    """Set the offsets of all queues that the groups have committed. Raises ClientError, WaitTimeout."""
    brokers, groups = masters(trial.cluster), trial.record.groups
    ends = {broker.name: _wait_committed(trial, broker) for broker in brokers}
    asked_ns, asked_s = mono_ns(), time.time()
    back_ms = int((asked_s - fault.back_s) * 1000)
    told: dict[str, Offsets] = {}
    if fault.cure == "away":
        members = able(load, MembersCanLeave)
        members.leave()
        for broker in brokers:
            told[broker.name] = _set_offsets(trial, broker, ends[broker.name], back_ms)
        members.come_back()
    else:
        for broker in brokers:
            with ask(broker, timeout_s=RECORD_S_MAX) as connection:
                told[broker.name] = {
                    (group, queue): offset
                    for group in groups
                    for queue, offset in connection.reset_offsets(group, trial.record.topic, back_ms).items()
                }
    done_ns = mono_ns()
    # By group: what lies between where it goes on and the ends that there were before.
    again = dict.fromkeys(groups, 0)
    for name, offsets in told.items():
        for (group, queue), offset in offsets.items():
            again[group] += max(0, ends[name].get(queue, 0) - offset)
    return Injected(
        target=trial.record.topic,
        detail=", ".join(f"{group} set back by {fault.back_s:g} s, {count} messages" for group, count in again.items()),
        exercised=all(again.values()),
        injecting_ns=asked_ns,
        injected_ns=asked_ns,
        healing_ns=done_ns,
        healed_ns=done_ns,
    )


def _wait_committed(trial: TrialContext, broker: Node) -> dict[int, int]:
    """The ends of the read queues, once each group has an offset in all of them: without one 4.x resets nothing."""
    topic = trial.record.topic

    def committed() -> dict[int, int]:
        with ask(broker, timeout_s=RECORD_S_MAX) as connection:
            queues = next(one.read_queues for one in connection.topic_table().topics if one.name == topic)
            for group in trial.record.groups:
                # Of a queue whose messages are all in memory 4.x tells 0 where a group has committed nothing.
                if not all(connection.consumer_offset(group, topic, queue) for queue in range(queues)):
                    raise NotYet(f"{group} has not")
            return {queue: connection.max_offset(topic, queue) for queue in range(queues)}

    return wait_until(
        f"the groups of {topic} to commit", committed, timeout_s=2 * COMMITTED_S, poll_s=POLL_S, cancel=trial.cancel
    )


def _set_offsets(trial: TrialContext, broker: Node, queues: Iterable[int], back_ms: int) -> Offsets:
    """Set them, and read back what the broker has then."""
    topic = trial.record.topic
    found: Offsets = {}
    with ask(broker, timeout_s=RECORD_S_MAX) as connection:
        for queue in queues:
            offset = connection.offset_at(topic, queue, back_ms)
            for group in trial.record.groups:
                connection.commit_offset(group, topic, queue, offset)
                if (now := connection.consumer_offset(group, topic, queue)) is not None:
                    found[group, queue] = now
    return found


INJECTIONS: Injections = {ResetOffsets: Injection(name="client call", inject=reset)}
