"""Sends of several delay levels, and a group that is given each message when its time has come."""

from harness.backends.cluster import has_committed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec
from harness.load.one_group import PRODUCER, OneGroupSession
from harness.model.loads import LEVEL_PREFIX, DelayedMessages
from harness.model.rocketmq import delays_s
from harness.trial import TrialContext

SCHEDULE = "delayed"
LATE_S_MAX = 2.0
"""So long after its time the last message may come."""


class DelayedSession(OneGroupSession):
    """One producer, and one consumer that is there before the first message."""

    def __init__(self, trial: TrialContext, load: DelayedMessages) -> None:
        super().__init__(trial, load)
        self._load = load

    def up(self) -> None:
        """Create the topic, and start both clients."""
        super().up()
        self._start_with_queues(self._spec_of_member, self._all_queues)

    @property
    def _spec_of_member(self) -> ConsumerSpec:
        return self._consumer(ordered=self._load.ordered)

    def leave(self) -> None:
        """The consumer shuts down, as an application that stops."""
        self._client.shut_down_consumers()

    def come_back(self) -> None:
        """Start it again."""
        self._start_with_queues(self._spec_of_member, self._all_queues)

    def steady(self) -> None:
        """Send, and stay; then wait until the group has read of each queue.

        A client that leaves out the heartbeat after its first rebalance is given nothing until the next one, and a member
        whose connection broke keeps its queues for two minutes.
        """
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
        self._stay_steady(self._client, [SCHEDULE], load.rate_hz)
        self._wait_for(
            "the group to read", lambda: has_committed(self._trial.cluster, self._topic, load.queues, self._group)
        )

    def drain(self) -> None:
        """Stop sending, let the last message's time come, and wait until the group has committed what its topic has then.

        What still waits in the queue of its level is in no topic.
        """
        self._client.stop_schedule(SCHEDULE)
        self._trial.stay((0.0, *delays_s())[self._load.levels] + LATE_S_MAX)
        self._drain_group([SCHEDULE])
