"""A topic that nobody uses is deleted: what becomes of topics that a broker keeps for itself shows afterwards."""

from harness.backends.cluster import RECORD_S_MAX, ask, checked_up_to, create_topic, masters
from harness.clock import mono_ns
from harness.faults.recreate_topic import delete_topic
from harness.model.faults import DeleteTopic
from harness.model.rocketmq import CHECKS_S_MAX, OP_TOPIC
from harness.trial import Injected, Injection, Injections, LoadSession, TrialContext
from harness.wait import wait_until

QUEUES, POLL_S = 1, 0.2
CHECK_S_MAX = 2 * CHECKS_S_MAX
"""A broker's first check comes an interval after its start."""


def delete_another(fault: DeleteTopic, trial: TrialContext, load: LoadSession) -> Injected:
    """Make a topic beside the trial's own, wait for a check of transactions if that is asked for, and delete it."""
    cluster, topic = trial.cluster, f"{trial.record.topic}-unused"
    if fault.cure == "op-topic":
        for master in masters(cluster):
            with ask(master, timeout_s=RECORD_S_MAX) as connection:
                connection.create_topic(OP_TOPIC, read_queues=QUEUES, write_queues=QUEUES)
    create_topic(cluster, topic, read_queues=QUEUES, write_queues=QUEUES)
    if fault.after_check_s:
        _wait_checked(trial)
        trial.stay(fault.after_check_s)
    asked_ns = mono_ns()
    gone = delete_topic(cluster, topic)
    deleted_ns = mono_ns()
    return Injected(
        target=topic,
        detail=gone.in_words,
        exercised=not gone.left_on,
        injecting_ns=asked_ns,
        injected_ns=deleted_ns,
        healing_ns=deleted_ns,
        healed_ns=deleted_ns,
    )


def _wait_checked(trial: TrialContext) -> None:
    broker = masters(trial.cluster)[0]
    before = checked_up_to(broker)
    wait_until(
        "a check of transactions",
        lambda: checked_up_to(broker) > before,
        timeout_s=CHECK_S_MAX,
        poll_s=POLL_S,
        cancel=trial.cancel,
    )


INJECTIONS: Injections = {DeleteTopic: Injection(name="client call", inject=delete_another)}
