"""A topic is deleted and made anew, with as many queues: its messages are gone, and what groups had consumed of it may stay."""

from collections.abc import Sequence
from dataclasses import dataclass

from harness.backends.cluster import RECORD_S_MAX, Cluster, ask, ask_name_server, create_topic, masters
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.model.faults import RecreateTopic
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext


def recreate(fault: RecreateTopic, trial: TrialContext, load: LoadSession) -> Injected:
    """Delete the topic on all masters and name servers, and make it; then the cure. Raises ClientError."""
    cluster, topic, asked_ns = trial.cluster, trial.record.topic, mono_ns()
    gone = delete_topic(cluster, topic)
    create_topic(cluster, topic, read_queues=gone.read_queues, write_queues=gone.write_queues)
    made_ns = mono_ns()
    done, others = f"{gone.in_words} and made", list[str]()
    if fault.cure == "offsets":
        others = _zero_offsets(cluster, topic, gone.read_queues, trial.record.groups)
        done += f"; {', '.join(others) if others else ', '.join(trial.record.groups) + ' begins at 0'}"
    return Injected(
        target=topic,
        detail=done,
        exercised=not gone.left_on and not others,
        injecting_ns=asked_ns,
        injected_ns=made_ns,
        healing_ns=made_ns,
        healed_ns=mono_ns(),
    )


@dataclass(frozen=True, kw_only=True)
class Deleted:
    """A topic that was deleted, with the queues that it had. ``left_on`` are the nodes that have it all the same."""

    topic: str
    read_queues: int
    write_queues: int
    left_on: tuple[str, ...] = ()

    @property
    def in_words(self) -> str:
        """What became of it."""
        still = f", and is on {', '.join(self.left_on)} still" if self.left_on else ""
        return f"{self.topic} was deleted{still}"


def delete_topic(cluster: Cluster, topic: str) -> Deleted:
    """Delete it on all masters and name servers, and look at each whether it is gone.

    Raises ClientError where no master has it.
    """
    numbers, left_on = None, list[str]()
    for master in masters(cluster):
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            for found in connection.topic_table().topics:
                if found.name == topic:
                    numbers = (found.read_queues, found.write_queues)
                    connection.delete_topic(topic)
                    left_on += [master.name for one in connection.topic_table().topics if one.name == topic]
    if numbers is None:
        raise ClientError(f"no broker has the topic {topic}, so that it cannot be deleted")
    for node in cluster.nodes:
        if node.kind == "namesrv":
            with ask_name_server(node) as namesrv:
                namesrv.delete_route(topic)
                left_on += [node.name] if namesrv.route(topic) is not None else []
    return Deleted(topic=topic, read_queues=numbers[0], write_queues=numbers[1], left_on=tuple(left_on))


def _zero_offsets(cluster: Cluster, topic: str, queues: int, groups: Sequence[str]) -> list[str]:
    """Where a group begins that does not begin at 0 then, in words."""
    others = []
    for master in masters(cluster):
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            for group in groups:
                for queue in range(queues):
                    connection.commit_offset(group, topic, queue, 0)
                    if (offset := connection.consumer_offset(group, topic, queue)) != 0:
                        others.append(f"{group} begins at {offset} in queue {queue} of {master.name}")
    return others


INJECTIONS: Injections = {RecreateTopic: Injection(name="client call", inject=recreate)}
