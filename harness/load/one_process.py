"""What loads have in common whose producers and members are all clients of one process.

Nobody of them is killed, and the start of a process costs more than all that its clients do.
"""

from __future__ import annotations

from harness.clients.java import JavaClient
from harness.trial import TrialContext

PROCESS = "clients"


class OneProcessSession:
    """The process of a trial's clients, from its start until its end; the rest is the load's own."""

    def __init__(self, trial: TrialContext) -> None:
        self._trial = trial
        self._topic = trial.record.topic
        self._started: JavaClient | None = None

    @property
    def _client(self) -> JavaClient:
        assert self._started is not None
        return self._started

    def _start_process(self) -> None:
        """Start it, with an open history."""
        with self._trial.boots:
            self._started = self._trial.client(PROCESS)
            self._client.wait_started()
            self._client.open_history(self._trial.directory.history_path(PROCESS))

    def down(self) -> None:
        """End the process."""
        if self._started is not None:
            self._started.stop()
