"""One producer for each kind of send of Python's own clients, each client in a process of its own."""

import time

from harness.backends.cluster import masters, namesrv_addresses
from harness.clients.leased import LeasedClient
from harness.clients.python.process import PythonClient
from harness.load.base import POLL_S
from harness.load.send_kinds import KindsOfSendSession
from harness.model.python_sends import ROUTES_FIRST_S, ROUTES_S, PythonSendKinds
from harness.trial import TrialContext

MARGIN_S = 2.0
"""Within which a question for the routes, and a fault, have come to their end."""


class PythonSendKindsSession(KindsOfSendSession[PythonSendKinds]):
    """Producers ask for their routes every 30 s, which nothing sets: the fault comes when none of them is about to."""

    def __init__(self, trial: TrialContext, load: PythonSendKinds) -> None:
        super().__init__(trial, load)
        self._python: dict[str, PythonClient] = {}
        self._kind_of = {kind.name: kind for kind in load.kinds}
        self._begun_s = 0.0
        self._started_s = 0.0

    def _client_of(self, name: str) -> LeasedClient:
        return self._python[self._kind_of[name].client]

    def _start_producers(self) -> None:
        """Name them: each is made with its sends, and asks for its route then."""
        timeout_s = self._load.timeout_ms / 1000
        for client in dict.fromkeys(kind.client for kind in self._load.kinds):
            # As long as five attempts take, each of which has the whole timeout.
            self._python[client] = self._trial.start_python_client(client, give_up_s=5 * timeout_s)
        names = {broker.address: broker.broker_name for broker in masters(self._trial.cluster)}
        for kind in self._load.kinds:
            process = self._python[kind.client]
            group = f"{self._topic}-{kind.name}"
            process.start_producer(kind.name, group, namesrv_addresses(self._trial.cluster), retries=kind.retries or 0)
            process.record_calls(kind.name, names)
        self._begun_s = time.monotonic()

    def up(self) -> None:
        """The same; the producers have been started when it ends."""
        super().up()
        self._started_s = time.monotonic()

    def steady(self) -> None:
        """The same, until no producer asks for its route in the time in which sends are to meet the fault."""
        super().steady()
        while not self._is_far_from_questions():
            self._trial.stay(POLL_S)

    def _is_far_from_questions(self) -> bool:
        """Whether none comes while messages are sent, by when the first and the last producer began.

        Where the hold is longer than their period they all ask in it, and it makes no difference when.
        """
        sent_s = self._trial.phases.hold_s_min + MARGIN_S
        took_s = self._started_s - self._begun_s
        if sent_s + took_s + MARGIN_S > ROUTES_S:
            return True
        since_first_s = (time.monotonic() - self._begun_s - ROUTES_FIRST_S) % ROUTES_S
        return took_s + MARGIN_S < since_first_s < ROUTES_S - sent_s

    def collect(self) -> None:
        """Close the histories, with the calls that the library's logs tell of."""
        super().collect()
        for client in self._python.values():
            client.close_history()

    def down(self) -> None:
        """End the processes."""
        try:
            super().down()
        finally:
            for client in self._python.values():
                client.stop()
