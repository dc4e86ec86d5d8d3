"""Base of loads of one producer and one group: how both start, and how they end."""

from collections.abc import Mapping, Sequence
from typing import ClassVar, Literal, Protocol

from harness.backends.cluster import create_topic, masters, namesrv_addresses, record_queue_ends, unconsumed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, Setting
from harness.load.base import OneProcessSession
from harness.trial import TrialContext
from harness.wait import wait_until

PRODUCER, CONSUMER = "producer", "consumer"
SENT_S_MAX = 60.0


class HasQueues(Protocol):
    """What is asked of such a load."""

    @property
    def queues(self) -> int:
        """On each master."""

    @property
    def rate_hz(self) -> float:
        """Sends a second."""

    @property
    def body_bytes(self) -> int:
        """Of a message."""


class OneGroupSession(OneProcessSession):
    """One producer and one consumer of a topic."""

    _settings: ClassVar[Mapping[str, Setting]] = {}
    """Of both clients."""
    _transactional: ClassVar[bool] = False

    def __init__(self, trial: TrialContext, load: HasQueues) -> None:
        super().__init__(trial)
        self._one = load
        self._group = trial.record.groups[0]

    @property
    def _all_queues(self) -> int:
        return self._one.queues * len(masters(self._trial.cluster))

    def up(self) -> None:
        """Create the topic, and start the producer."""
        cluster, queues = self._trial.cluster, self._one.queues
        create_topic(cluster, self._topic, read_queues=queues, write_queues=queues)
        self._start_process()
        self._client.start_producer(
            PRODUCER,
            f"{self._topic}-p",
            namesrv_addresses(cluster),
            transactional=self._transactional,
            **self._settings,
        )
        self._client.wait_for_route(PRODUCER, self._topic, self._all_queues)

    def _consumer(self, begins: Literal["first", "last"] = "first", *, ordered: bool = False) -> ConsumerSpec:
        return ConsumerSpec(
            instance=CONSUMER,
            group=self._group,
            topic=self._topic,
            ordered=ordered,
            begins=begins,
            settings=self._settings,
        )

    def _send_all(self, schedule: str, messages: int, *, first: int = 0) -> None:
        """Send so many, the first of which has that number, and wait until each has ended."""
        sends = SendSettings(topic=self._topic, mode="sync", body_bytes=(self._one.body_bytes,), first=first)
        self._send(self._client, schedule, PRODUCER, self._one.rate_hz, sends, messages)
        wait_until(
            f"the sends of {schedule}", lambda: self._client.schedule_state(schedule).is_through, timeout_s=SENT_S_MAX
        )

    def _left(self) -> int:
        return unconsumed(self._trial.cluster, self._topic, self._one.queues, [self._group])

    def _drain_group(self, schedules: Sequence[str] = ()) -> None:
        """Stop sending, and wait until the group has committed every message, by the broker's own counts."""
        self._drain(self._client, schedules, self._left)

    def drain(self) -> None:
        """Wait until the group has committed every message."""
        self._drain_group()

    def collect(self) -> None:
        """End the consumer, read the queues' ends, and close the history."""
        self._client.shut_down_consumers()
        record_queue_ends(self._trial.cluster, self._trial.events, self._topic, self._one.queues, [self._group])
        self._client.close_history()
