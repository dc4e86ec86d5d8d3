"""Sends by key, several kinds of it side by side: each into a topic of its own, consumed in order by two members."""

from harness.backends.cluster import RECORD_S_MAX, ask_name_server, create_topic, masters, namesrv_addresses, unconsumed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec
from harness.load.base import OneProcessSession
from harness.model.loads import KeyedSends
from harness.trial import TrialContext

ROUTES = {"hash": "hash", "strict": "hash", "fixed": "fixed", "keyless": "normal"}
MEMBERS = ("first", "second")
SENDER_THREADS = 5
"""A key stays with its thread, and round robin counts by thread (org.apache.rocketmq.client.common.ThreadLocalIndex): 97 keys
are 19 or 20 a thread, so that a message without a queue of its own moves on. Of four threads three had 24 keys, as many as
there are queues, and each key came back to its queue."""


class KeyedSession(OneProcessSession):
    """Every producer and every member is a client of its own, and every kind has a topic of its own."""

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
        for member in MEMBERS:
            for kind, group in self._groups.items():
                self._start_consumer(member, kind, group)
        self._wait_settled([self._client], self._queues // 2)
        for kind in self._load.kinds:
            self._start_sends(kind)
        self._trial.on_rate(self._load.rate_hz * len(self._load.kinds))

    def _make_strict(self, kind: str) -> None:
        queues = {master.broker_name: self._load.queues_per_broker for master in masters(self._trial.cluster)}
        for node in self._trial.cluster.nodes:
            if node.kind == "namesrv":
                with ask_name_server(node, timeout_s=RECORD_S_MAX) as connection:
                    connection.order_topic(self._topic_of(kind), queues)

    def _start_consumer(self, member: str, kind: str, group: str) -> None:
        spec = ConsumerSpec(
            instance=f"{group}-{member}",
            group=group,
            topic=self._topic_of(kind),
            ordered=True,
            run=self._trial.record.trial,
            settings={"consumeThreadMin": 4, "consumeThreadMax": 4},
        )
        self._start_member(self._client, spec)

    def _start_sends(self, kind: str) -> None:
        producer, instance = self._client, f"producer-{kind}"
        producer.start_producer(instance, f"{self._topic_of(kind)}-producers", namesrv_addresses(self._trial.cluster))
        producer.wait_for_route(instance, self._topic_of(kind), self._queues)
        sends = SendSettings(
            topic=self._topic_of(kind),
            mode="sync",
            route=ROUTES[kind],
            run=self._trial.record.trial,
            threads=SENDER_THREADS,
            keys=self._load.keys,
            body_bytes=(self._load.body_bytes,),
        )
        self._send(producer, kind, instance, self._load.rate_hz, sends)

    def steady(self) -> None:
        """A window in which every key gets several messages."""
        self._stay_steady(self._client, self._load.kinds)

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
        """Close the history. Offsets are not recorded: a trial of several topics has no loss to be judged by them."""
        self._client.close_history()
