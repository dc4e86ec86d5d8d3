"""A topic is deleted and made anew, with as many queues: its messages are gone, and what groups had consumed of it may stay."""

from collections.abc import Sequence

from harness.backends.cluster import RECORD_S_MAX, Cluster, ask, ask_name_server, create_topic, masters
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.model.faults import RecreateTopic
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext


def recreate(fault: RecreateTopic, trial: TrialContext, load: LoadSession) -> Injected:
    """Delete the topic on all masters and name servers, and make it; then the cure. Raises ClientError."""
    cluster, topic, asked_ns = trial.cluster, trial.record.topic, mono_ns()
    read_queues, write_queues = delete_topic(cluster, topic)
    create_topic(cluster, topic, read_queues=read_queues, write_queues=write_queues)
    made_ns = mono_ns()
    done = f"{topic} was deleted and made"
    if fault.cure == "offsets":
        _zero_offsets(cluster, topic, read_queues, trial.record.groups)
        done += f"; {', '.join(trial.record.groups)} begins at 0"
    return Injected(
        target=topic,
        detail=done,
        injecting_ns=asked_ns,
        injected_ns=made_ns,
        healing_ns=made_ns,
        healed_ns=mono_ns(),
    )


def delete_topic(cluster: Cluster, topic: str) -> tuple[int, int]:
    """Delete it on all masters and name servers; returns its numbers of read and write queues.

    Raises ClientError where no master has it.
    """
    numbers = None
    for master in masters(cluster):
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            for found in connection.topic_table().topics:
                if found.name == topic:
                    numbers = (found.read_queues, found.write_queues)
                    connection.delete_topic(topic)
    if numbers is None:
        raise ClientError(f"no broker has the topic {topic}, so that it cannot be deleted")
    for node in cluster.nodes:
        if node.kind == "namesrv":
            with ask_name_server(node) as namesrv:
                namesrv.delete_route(topic)
    return numbers


def _zero_offsets(cluster: Cluster, topic: str, queues: int, groups: Sequence[str]) -> None:
    for master in masters(cluster):
        with ask(master, timeout_s=RECORD_S_MAX) as connection:
            for group in groups:
                for queue in range(queues):
                    connection.commit_offset(group, topic, queue, 0)


INJECTIONS: Injections = {RecreateTopic: Injection(name="client call", inject=recreate)}
