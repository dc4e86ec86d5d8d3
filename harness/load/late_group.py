"""A consumer group that starts for the first time when its topic already has messages."""

from harness.backends.cluster import (
    RECORD_S_MAX,
    ask,
    create_topic,
    masters,
    namesrv_addresses,
    record_queue_ends,
    unconsumed,
)
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec
from harness.load.base import OneProcessSession
from harness.model.loads import LateGroup
from harness.trial import TrialContext
from harness.wait import wait_until

HISTORY, LATER = "history", "later"
PRODUCER, CONSUMER = "producer", "consumer"
SENT_S_MAX = 60.0


class LateGroupSession(OneProcessSession):
    """One producer, and in the hold one consumer."""

    def __init__(self, trial: TrialContext, load: LateGroup) -> None:
        super().__init__(trial)
        self._load = load
        self._group = trial.record.groups[0]

    def up(self) -> None:
        """Create the topic, and start the producer."""
        cluster, queues = self._trial.cluster, self._load.queues
        create_topic(cluster, self._topic, read_queues=queues, write_queues=queues)
        self._start_process()
        self._client.start_producer(PRODUCER, f"{self._topic}-p", namesrv_addresses(cluster))
        self._client.wait_for_route(PRODUCER, self._topic, queues * len(masters(cluster)))

    def steady(self) -> None:
        """Send what is history when the group comes."""
        self._send_all(HISTORY, self._load.history, first=0)
        self._trial.stay(self._trial.phases.steady_s)

    def hold(self) -> None:
        """Start the consumer, and where there is more to be sent, send once it has its queues: then it knows where to begin."""
        load = self._load
        if load.committed:
            self._commit_ends()
        spec = ConsumerSpec(
            instance=CONSUMER, group=self._group, topic=self._topic, ordered=load.ordered, begins=load.begins
        )
        if load.later:
            self._start_with_queues(spec, load.queues * len(masters(self._trial.cluster)))
            self._send_all(LATER, load.later, first=load.history)
        else:
            self._start_member(self._client, spec)
        self._trial.stay(self._trial.phases.hold_s_min)

    def _send_all(self, schedule: str, messages: int, *, first: int) -> None:
        sends = SendSettings(topic=self._topic, mode="sync", body_bytes=(self._load.body_bytes,), first=first)
        self._send(self._client, schedule, PRODUCER, self._load.rate_hz, sends, messages)
        wait_until(
            f"the sends of {schedule}", lambda: self._client.schedule_state(schedule).is_through, timeout_s=SENT_S_MAX
        )

    def _commit_ends(self) -> None:
        """5.x takes offsets of groups only that it knows."""
        for master in masters(self._trial.cluster):
            with ask(master, timeout_s=RECORD_S_MAX) as connection:
                connection.create_group(self._group)
                for queue in range(self._load.queues):
                    end = connection.max_offset(self._topic, queue)
                    connection.commit_offset(self._group, self._topic, queue, end)

    def drain(self) -> None:
        """Wait until the group has committed every message, by the broker's own counts."""
        self._drain(
            self._client,
            [],
            lambda: unconsumed(self._trial.cluster, self._topic, self._load.queues, [self._group]),
        )

    def collect(self) -> None:
        """End the consumer, read the queues' ends, and close the history."""
        self._client.shut_down_consumers()
        record_queue_ends(self._trial.cluster, self._trial.events, self._topic, self._load.queues, [self._group])
        self._client.close_history()
