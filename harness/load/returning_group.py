"""A consumer group that leaves, and comes back when its topic has new messages."""

from harness.load.base import POLL_S
from harness.load.one_group import OneGroupSession
from harness.model.loads import ReturningGroup
from harness.trial import TrialContext
from harness.wait import wait_until

HISTORY, LATER = "history", "later"
CONSUMED_S_MAX = 60.0


class ReturningGroupSession(OneGroupSession):
    """One producer, and one consumer that is away while the fault is made."""

    def __init__(self, trial: TrialContext, load: ReturningGroup) -> None:
        super().__init__(trial, load)
        self._load = load

    def up(self) -> None:
        """Create the topic, and start both clients."""
        super().up()
        self._start_with_queues(self._consumer(), self._all_queues)

    def steady(self) -> None:
        """Send the history, wait until the group has committed all of it, and end the consumer."""
        self._send_all(HISTORY, self._load.history)
        wait_until(
            f"{self._group} to commit its history",
            lambda: self._left() == 0,
            timeout_s=CONSUMED_S_MAX,
            poll_s=POLL_S,
            cancel=self._trial.cancel,
        )
        self._client.shut_down_consumers()

    def hold(self) -> None:
        """Send the rest, and start the consumer again."""
        self._send_all(LATER, self._load.later, first=self._load.history)
        self._start_member(self._client, self._consumer())
        self._trial.stay(self._trial.phases.hold_s_min)
