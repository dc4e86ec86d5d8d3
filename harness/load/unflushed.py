"""A group that has consumed all, of which the last messages are in the broker's page cache only when the fault comes."""

import dataclasses
from collections.abc import Sequence

from harness.backends.cluster import RECORD_S_MAX, Node, ask, create_topic, masters, record_queue_ends
from harness.load.base import KEPT_ROUTE, POLL_S
from harness.load.one_group import CONSUMER, OneGroupSession
from harness.model.unflushed import UnflushedTail
from harness.rundir.events import Moment
from harness.trial import TrialContext
from harness.wait import NotYet, wait_until

HISTORY, MARKER, TAIL, BACK, LONE = "history", "marker", "tail", "back", "lone"
CONSUMED_S_MAX, FLUSHED_S_MAX = 60.0, 60.0
FLUSH_POLL_S = 0.1
TAKEN_S = 1.5
"""In which a consumer that waits for messages has taken the last ones."""


class UnflushedTailSession(OneGroupSession):
    """One producer, and one consumer that is there before the first message."""

    _settings = KEPT_ROUTE

    def __init__(self, trial: TrialContext, load: UnflushedTail) -> None:
        super().__init__(trial, load)
        self._load = load
        self._sent = 0

    def up(self) -> None:
        """Create the topic, and start both clients."""
        super().up()
        settings = {**self._settings, "heartbeatBrokerInterval": self._load.heartbeat_ms}
        self._start_with_queues(dataclasses.replace(self._consumer(), settings=settings), self._all_queues)

    def steady(self) -> None:
        """Send what is to be on disk, wait until it is, and send the rest at once.

        The broker flushes what is less than four pages every 10 s only (``flushCommitLogThoroughInterval``). Just after it has
        flushed a single message, which is less, the next such flush is nearly 10 s away.
        """
        self._send_next(HISTORY, self._load.history)
        wait_until("the history to be consumed", self._is_consumed, timeout_s=CONSUMED_S_MAX, poll_s=POLL_S)
        self._send_next(MARKER, 1)
        wait_until("the broker's flush", self._is_flushed, timeout_s=FLUSHED_S_MAX, poll_s=FLUSH_POLL_S)
        self._send_next(TAIL, self._load.tail)
        self._trial.stay(TAKEN_S)
        if self._load.waits:
            self._client.suspend_consumer(CONSUMER)

    def _send_next(self, schedule: str, messages: int) -> None:
        self._send_all(schedule, messages, first=self._sent)
        self._sent += messages

    def _is_consumed(self) -> bool:
        if (left := self._left()) != 0:
            raise NotYet(f"{left} messages are not committed")
        return True

    def _is_flushed(self) -> bool:
        for master in masters(self._trial.cluster):
            with ask(master, timeout_s=RECORD_S_MAX) as connection:
                left = connection.runtime_info()["remainHowManyDataToFlush"]
            if not left.startswith("0 "):
                raise NotYet(f"{master.name} has {left} to flush")
        return True

    def recover(self) -> None:
        """Read the queues' ends, send what comes after the broker's return, and let the group ask again."""
        self.record_ends("held")
        if self._load.sent_back:
            self._send_next(BACK, self._load.sent_back)
        if self._load.waits:
            self._client.resume_consumer(CONSUMER)
        self._trial.stay(self._trial.phases.recover_s)

    # --- what a fault that ends the broker asks for

    def stop_sending(self) -> None:
        """Nothing is under way when a fault comes."""

    def send_one(self) -> None:
        """Send one message and wait until it has ended."""
        self._send_next(LONE, 1)

    def record_ends(self, moment: Moment, on: Sequence[Node] = ()) -> None:
        """Read the queues' ends, from the masters unless other brokers are named."""
        trial = self._trial
        record_queue_ends(
            trial.cluster, trial.events, self._topic, self._load.queues, [self._group], on=on, moment=moment
        )

    def restore_topic(self) -> None:
        """Create the topic where it is not there; one that is stays."""
        queues = self._load.queues
        create_topic(self._trial.cluster, self._topic, read_queues=queues, write_queues=queues)
