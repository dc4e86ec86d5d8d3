"""Transactional sends: committed, rolled back, or left undecided, and a group that is given the committed ones."""

from collections.abc import Callable

from harness.backends.cluster import checked_up_to, has_committed, masters
from harness.clients.commands import SendSettings
from harness.clients.java import Setting
from harness.load.base import POLL_S
from harness.load.one_group import PRODUCER, OneGroupSession
from harness.model.loads import STATE_PREFIX, Transactions
from harness.trial import TrialContext
from harness.wait import wait_until

FIRST, SCHEDULE = "first", "transactions"
FIRST_HZ, FIRST_FROM = 10.0, 10**9
"""Plain messages before the first transaction, whose numbers no transaction comes to."""
HEARTBEATS: dict[str, Setting] = {"heartbeatBrokerInterval": 1000}
"""By default a producer that starts tells a broker of itself up to 30 s later, and is not asked before."""


class TransactionsSession(OneGroupSession):
    """One producer of transactions, and one consumer that is there before the first of them."""

    _settings = HEARTBEATS
    _transactional = True

    def __init__(self, trial: TrialContext, load: Transactions) -> None:
        super().__init__(trial, load)
        self._load = load

    def up(self) -> None:
        """Create the topic, start both clients, and wait until the consumer is given messages.

        A client that leaves out the heartbeat after its first rebalance is given none until the next one.
        """
        super().up()
        self._start_with_queues(self._consumer(), self._all_queues)
        plain = SendSettings(
            topic=self._topic, mode="sync", body_bytes=(self._load.body_bytes,), keys=0, first=FIRST_FROM
        )
        self._send(self._client, FIRST, PRODUCER, FIRST_HZ, plain)
        self._wait("the group to read", self._has_read, self._trial.phases.settle_s_max)
        self._client.stop_schedule(FIRST)

    def _has_read(self) -> bool:
        return has_committed(self._trial.cluster, self._topic, self._load.queues, self._group)

    def steady(self) -> None:
        """Send transactions, and stay."""
        load = self._load
        rate_hz = float(self._trial.params.get("rate_hz", load.rate_hz))
        sends = SendSettings(
            topic=self._topic,
            mode="transaction",
            keys=load.states,
            key_prefix=STATE_PREFIX,
            body_bytes=(load.body_bytes,),
        )
        self._send(self._client, SCHEDULE, PRODUCER, rate_hz, sends, load.transactions)
        self._stay_steady(self._client, [] if load.transactions else [SCHEDULE], rate_hz)

    def hold(self) -> None:
        """Stay for the least time of the phase; then, where it may last longer, until brokers have looked for transactions.

        Raises:
            WaitTimeout: none had when the hold was over.
        """
        phases = self._trial.phases
        self._trial.stay(phases.hold_s_min)
        if phases.hold_s_max > phases.hold_s_min:
            brokers = masters(self._trial.cluster)
            before = [checked_up_to(broker) for broker in brokers]
            self._wait(
                "a check of transactions",
                lambda: all(checked_up_to(broker) > then for broker, then in zip(brokers, before, strict=True)),
                phases.hold_s_max - phases.hold_s_min,
            )

    def _wait(self, what: str, is_so: Callable[[], bool], seconds: float) -> None:
        wait_until(what, is_so, timeout_s=seconds, poll_s=POLL_S, cancel=self._trial.cancel)

    def drain(self) -> None:
        """Stop sending, and wait until the group has committed what its topic has then.

        A transaction that no broker has committed is in no topic.
        """
        self._drain_group([FIRST, SCHEDULE])
