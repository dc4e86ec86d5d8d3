"""Sends into a topic whose numbers of write and read queues differ, and groups of two concurrent members each.

The producer takes every write queue in turn. The members are named so that their client ids sort in their order, since
queues are given out in the order of client ids.
"""

import contextlib

from harness.backends.cluster import Node, create_topic, masters, namesrv_addresses, record_queue_ends, unconsumed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec
from harness.errors import WaitTimeout
from harness.load.base import POLL_S, OneProcessSession
from harness.model.loads import QueueNumbers
from harness.rundir.events import Moment
from harness.trial import TrialContext
from harness.wait import wait_until

SCHEDULE = "load"
MEMBERS = ("first", "second")
QUEUES_MAX = 8
"""Queues that are read at the end, whatever the numbers are by then."""


class QueueNumbersSession(OneProcessSession):
    """The producer and each member are clients of their own; the topic lies on the first brokers."""

    def __init__(self, trial: TrialContext, load: QueueNumbers) -> None:
        super().__init__(trial)
        self._load = load
        self._groups = trial.record.groups
        self._on: list[Node] = masters(trial.cluster)[: int(trial.params["brokers"])]
        self.numbers = (load.write_queues, load.read_queues)

    def up(self) -> None:
        """Create the topic, start the clients, and send into every write queue."""
        self.resize(*self.numbers)
        self._start_process()
        for member in MEMBERS:
            for group in self._groups:
                spec = ConsumerSpec(
                    instance=f"{group}-{member}",
                    group=group,
                    topic=self._topic,
                    ordered=False,
                    run=self._trial.record.trial,
                    settings={"consumeThreadMin": 2, "consumeThreadMax": 2},
                )
                self._start_member(self._client, spec)
        producer = self._client
        producer.start_producer("producer", f"{self._topic}-producers", namesrv_addresses(self._trial.cluster))
        producer.wait_for_route("producer", self._topic, self.numbers[0] * len(self._on))
        sends = SendSettings(
            topic=self._topic, run=self._trial.record.trial, keys=0, body_bytes=(self._load.body_bytes,)
        )
        self._send(producer, SCHEDULE, "producer", self._load.rate_hz, sends)
        self._trial.on_rate(self._load.rate_hz)

    def resize(self, write_queues: int, read_queues: int) -> None:
        """Give the topic these numbers of queues, and wait until the name servers know them."""
        self.numbers = (write_queues, read_queues)
        create_topic(self._trial.cluster, self._topic, write_queues=write_queues, read_queues=read_queues, on=self._on)

    def wait_until_read(self, first_queue: int) -> None:
        """Until every group has committed every message of that queue and of those behind it."""
        wait_until(
            f"the groups to have read the queues from {first_queue} on",
            lambda: self._unread(first_queue) == 0,
            timeout_s=self._trial.phases.drain_s_max,
            poll_s=POLL_S,
            cancel=self._trial.cancel,
        )

    def steady(self) -> None:
        """Let every member have its queues, and every queue some messages."""
        self._stay_steady(self._client, [SCHEDULE], self._load.rate_hz)

    def hold(self) -> None:
        """Stay until members have all queues to read, and then record what the brokers have before anything is mended."""
        with contextlib.suppress(WaitTimeout):  # a group that never has them is a result
            self._wait_for("the groups to have every queue", self._all_given)
        super().hold()
        self._record("held")

    def drain(self) -> None:
        """Stop sending, and wait until the groups have committed every message that is in a queue."""
        self._drain(self._client, [SCHEDULE], self._unread)

    def collect(self) -> None:
        """Read the brokers and close the history."""
        self._record("end")
        self._client.close_history()

    def _all_given(self) -> bool:
        counts, queues = self._client.queue_counts(self._topic), self.numbers[1] * len(self._on)
        return all(sum(counts[f"{group}-{member}"] for member in MEMBERS) == queues for group in self._groups)

    def _unread(self, first_queue: int = 0) -> int:
        return unconsumed(self._trial.cluster, self._topic, QUEUES_MAX, self._groups, on=self._on, first=first_queue)

    def _record(self, moment: Moment) -> None:
        """The offsets, the numbers, and the folders of the consume queue, which is where a queue's files are."""
        record_queue_ends(
            self._trial.cluster,
            self._trial.events,
            self._topic,
            QUEUES_MAX,
            self._groups,
            on=self._on,
            moment=moment,
        )
        for broker in self._on:
            store = self._trial.cluster.folder / "nodes" / broker.name / "store" / "consumequeue" / self._topic
            self._trial.events.record(
                "topic_shape",
                topic=self._topic,
                broker=broker.broker_name,
                write_queues=self.numbers[0],
                read_queues=self.numbers[1],
                folders=sum(folder.is_dir() for folder in store.iterdir()) if store.is_dir() else 0,
                moment=moment,
            )
