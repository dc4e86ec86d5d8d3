"""Sends by key, several kinds of it side by side: each into a topic of its own, consumed in order by two members."""

import itertools
from collections.abc import Sequence

from harness.backends.cluster import RECORD_S_MAX, ask_name_server, create_topic, masters, namesrv_addresses, unconsumed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, JavaClient
from harness.errors import ClientError
from harness.load.base import OneProcessSession
from harness.model.loads import KeyedSends
from harness.trial import TrialContext
from harness.wait import wait_until

ROUTES = {"hash": "hash", "strict": "hash", "fixed": "fixed", "keyless": "normal", "normal": "normal"}
NORMAL = "normal"
MEMBERS = ("first", "second")
SENT_S_MAX = 60.0
RENEWED = "clients-renewed"
RENEWED_FIRST = 100_000_000
"""Sequence numbers of the producers that follow others; beyond all of theirs."""


class KeyedSession(OneProcessSession):
    """Every producer and every member is a client of its own, and every kind has a topic of its own."""

    _renewed: JavaClient | None = None
    """The process of another release, while only its consumers work."""

    def __init__(self, trial: TrialContext, load: KeyedSends) -> None:
        super().__init__(trial)
        self._load = load
        self._groups = dict(zip(load.kinds, trial.record.groups, strict=True))
        self._queues = load.queues_per_broker * len(masters(trial.cluster))

    def _topic_of(self, kind: str) -> str:
        return f"{self._topic}-{kind}"

    def up(self) -> None:
        """Create the topics, start the clients, wait until every member has its queues, and send."""
        for kind in self._load.kinds:
            count = self._load.queues_per_broker
            create_topic(self._trial.cluster, self._topic_of(kind), read_queues=count, write_queues=count)
            if kind == "strict":
                self._make_strict(kind)
        self._start_process()
        self._start_consumers(self._client, MEMBERS)
        for kind in self._load.kinds:
            self._start_producer(self._client, kind)
            self._start_sends(self._client, kind)
        self._trial.on_rate(self._load.rate_hz * len(self._load.kinds))

    def _make_strict(self, kind: str) -> None:
        queues = {master.broker_name: self._load.queues_per_broker for master in masters(self._trial.cluster)}
        for node in self._trial.cluster.nodes:
            if node.kind == "namesrv":
                with ask_name_server(node, timeout_s=RECORD_S_MAX) as connection:
                    connection.order_topic(self._topic_of(kind), queues)

    def _start_consumers(self, client: JavaClient, members: Sequence[str], before: Sequence[JavaClient] = ()) -> None:
        """Start these members of every group; those of clients ``before`` them end once the new ones have started."""
        unordered = set()
        for member, (kind, group) in itertools.product(members, self._groups.items()):
            instance = f"{group}-{member}"
            if kind == NORMAL:
                unordered.add(instance)
            spec = ConsumerSpec(
                instance=instance,
                group=group,
                topic=self._topic_of(kind),
                ordered=kind != NORMAL,
                run=self._trial.record.trial,
                settings={"consumeThreadMin": 4, "consumeThreadMax": 4},
            )
            self._start_member(client, spec)
        for old in before:
            old.shut_down_consumers()
        self._wait_settled([client], self._queues // 2, unordered)

    def _start_producer(self, client: JavaClient, kind: str) -> None:
        topic = self._topic_of(kind)
        client.start_producer(f"producer-{kind}", f"{topic}-producers", namesrv_addresses(self._trial.cluster))
        client.wait_for_route(f"producer-{kind}", topic, self._queues)

    def _start_sends(self, client: JavaClient, kind: str, first: int = 0) -> None:
        sends = SendSettings(
            topic=self._topic_of(kind),
            mode="sync",
            route=ROUTES[kind],
            run=self._trial.record.trial,
            threads=self._load.threads,
            keys=0 if kind == NORMAL else self._load.keys,
            body_bytes=(self._load.body_bytes,),
            first=first,
        )
        self._send(client, kind, f"producer-{kind}", self._load.rate_hz, sends)

    def renew_consumers(self, release: str) -> None:
        """A process of that release joins every group; then the members that were there are shut down."""
        with self._trial.boots:
            self._renewed = self._trial.start_clients({RENEWED: None}, release)[RENEWED]
        self._start_consumers(self._renewed, tuple(f"{member}-{RENEWED}" for member in MEMBERS), [self._client])

    def renew_producers(self, release: str) -> None:
        """The renewed process sends instead of the one before, which ends; keys go on in their order.

        Raises ClientError where consumers have not been renewed to that release: one process has both.
        """
        old, new = self._client, self._renewed
        if new is None or new.release != release:
            raise ClientError("producers follow consumers to their release", advice="Let consumers come first.")
        for kind in self._load.kinds:
            self._start_producer(new, kind)
        for kind in self._load.kinds:
            old.stop_schedule(kind)
            wait_until(f"sends of {kind}", lambda: old.schedule_state(kind).is_through, timeout_s=SENT_S_MAX)  # noqa: B023
            self._start_sends(new, kind, RENEWED_FIRST)
        old.close_history()
        self._started, self._renewed = new, None
        old.stop()

    def steady(self) -> None:
        """A window in which every key gets several messages."""
        self._stay_steady(self._client, self._load.kinds, self._load.rate_hz * len(self._load.kinds))

    def drain(self) -> None:
        """Stop sending, and wait until the groups have committed every message."""
        count = self._load.queues_per_broker
        groups = self._groups.items()
        self._drain(
            self._client,
            self._load.kinds,
            lambda: sum(
                unconsumed(self._trial.cluster, self._topic_of(kind), count, [group]) for kind, group in groups
            ),
        )

    def collect(self) -> None:
        """Close the histories. Offsets are not recorded: a trial of several topics has no loss to be judged by them."""
        for client in filter(None, (self._renewed, self._client)):
            client.close_history()

    def down(self) -> None:
        """End the processes."""
        if self._renewed is not None:
            self._renewed.stop()
        super().down()
