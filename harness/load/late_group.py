"""A consumer group that starts for the first time when its topic already has messages."""

from harness.backends.cluster import RECORD_S_MAX, ask, masters
from harness.load.one_group import OneGroupSession
from harness.model.loads import LateGroup
from harness.trial import TrialContext

HISTORY, LATER = "history", "later"


class LateGroupSession(OneGroupSession):
    """One producer, and in the hold one consumer."""

    def __init__(self, trial: TrialContext, load: LateGroup) -> None:
        super().__init__(trial, load)
        self._load = load

    def steady(self) -> None:
        """Send what is history when the group comes."""
        self._send_all(HISTORY, self._load.history)
        self._trial.stay(self._trial.phases.steady_s)

    def hold(self) -> None:
        """Start the consumer, and where there is more to be sent, send once it has its queues: then it knows where to begin."""
        load = self._load
        if load.committed:
            self._commit_ends()
        spec = self._consumer(load.begins, ordered=load.ordered)
        if load.later:
            self._start_with_queues(spec, self._all_queues)
            self._send_all(LATER, load.later, first=load.history)
        else:
            self._start_member(self._client, spec)
        self._trial.stay(self._trial.phases.hold_s_min)

    def _commit_ends(self) -> None:
        """5.x takes offsets of groups only that it knows."""
        for master in masters(self._trial.cluster):
            with ask(master, timeout_s=RECORD_S_MAX) as connection:
                connection.create_group(self._group)
                for queue in range(self._load.queues):
                    end = connection.max_offset(self._topic, queue)
                    connection.commit_offset(self._group, self._topic, queue, end)
