"""Sends of several delay levels, and a group that is given each message when its time has come."""

from harness.backends.cluster import create_topic, masters, namesrv_addresses, record_queue_ends, unconsumed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec
from harness.load.base import OneProcessSession
from harness.model.loads import LEVEL_PREFIX, DelayedMessages
from harness.model.rocketmq import delays_s
from harness.trial import TrialContext

PRODUCER, CONSUMER, SCHEDULE = "producer", "consumer", "delayed"
LATE_S_MAX = 2.0
"""So long after its time the last message may come."""


class DelayedSession(OneProcessSession):
    """One producer, and one consumer that is there before the first message."""

    def __init__(self, trial: TrialContext, load: DelayedMessages) -> None:
        super().__init__(trial)
        self._load = load
        self._group = trial.record.groups[0]

    def up(self) -> None:
        """Create the topic, and start both clients."""
        cluster, queues = self._trial.cluster, self._load.queues
        create_topic(cluster, self._topic, read_queues=queues, write_queues=queues)
        self._start_process()
        self._client.start_producer(PRODUCER, f"{self._topic}-p", namesrv_addresses(cluster))
        self._client.wait_for_route(PRODUCER, self._topic, queues * len(masters(cluster)))
        spec = ConsumerSpec(instance=CONSUMER, group=self._group, topic=self._topic, ordered=False)
        self._start_with_queues(spec, queues * len(masters(cluster)))

    def steady(self) -> None:
        """Send, and stay until messages of every level have come."""
        load = self._load
        sends = SendSettings(
            topic=self._topic,
            mode="sync",
            keys=load.levels + 1,
            key_prefix=LEVEL_PREFIX,
            delayed=True,
            body_bytes=(load.body_bytes,),
        )
        self._send(self._client, SCHEDULE, PRODUCER, load.rate_hz, sends)
        self._stay_steady(self._client, [SCHEDULE])

    def drain(self) -> None:
        """Stop sending, let the last message's time come, and wait until the group has committed what its topic has then.

        What still waits in the queue of its level is in no topic.
        """
        self._client.stop_schedule(SCHEDULE)
        self._trial.stay((0.0, *delays_s())[self._load.levels] + LATE_S_MAX)
        self._drain(
            self._client,
            [SCHEDULE],
            lambda: unconsumed(self._trial.cluster, self._topic, self._load.queues, [self._group]),
        )

    def collect(self) -> None:
        """End the consumer, read the queues' ends, and close the history."""
        self._client.shut_down_consumers()
        record_queue_ends(self._trial.cluster, self._trial.events, self._topic, self._load.queues, [self._group])
        self._client.close_history()
