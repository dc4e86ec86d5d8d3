"""Sends by key, several kinds of it side by side: each into a topic of its own, consumed in order by two members."""

from __future__ import annotations

import time

from harness.backends.cluster import RECORD_S_MAX, ask_name_server, create_topic, masters, namesrv_addresses, unconsumed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.load.one_process import OneProcessSession
from harness.load.ordered import start_member
from harness.model.loads import KeyedSends
from harness.trial import TrialContext
from harness.wait import NotYet, wait_until

ROUTES = {"hash": "hash", "strict": "hash", "fixed": "fixed", "keyless": "normal"}
MEMBERS = ("first", "second")
SENDER_THREADS = 5
"""A key stays with its thread, and round robin counts by thread (org.apache.rocketmq.client.common.ThreadLocalIndex): 97 keys
are 19 or 20 a thread, so that a message without a queue of its own moves on. Of four threads three had 24 keys, as many as
there are queues, and each key came back to its queue."""
LONGEST_S = 600.0
POLL_S = 0.5


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
                self._start_member(member, kind, group)
        self._wait_settled()
        for kind in self._load.kinds:
            self._start_sends(kind)
        self._trial.on_rate(self._load.rate_hz * len(self._load.kinds))

    def _make_strict(self, kind: str) -> None:
        queues = {master.broker_name: self._load.queues_per_broker for master in masters(self._trial.cluster)}
        for node in self._trial.cluster.nodes:
            if node.kind == "namesrv":
                with ask_name_server(node, timeout_s=RECORD_S_MAX) as connection:
                    connection.order_topic(self._topic_of(kind), queues)

    def _start_member(self, member: str, kind: str, group: str) -> None:
        spec = ConsumerSpec(
            instance=f"{group}-{member}",
            group=group,
            topic=self._topic_of(kind),
            ordered=True,
            run=self._trial.record.trial,
            settings={"consumeThreadMin": 4, "consumeThreadMax": 4},
        )
        start_member(self._trial, self._client, spec)

    def _wait_settled(self) -> None:
        def settled() -> bool:
            held = self._client.assigned_queues()
            counts = {instance: len(queues) for instance, queues in held.items()}
            if any(count != self._queues // 2 for count in counts.values()):
                raise NotYet(f"members hold {counts}")
            return True

        wait_until(
            "every queue to have its consumer",
            settled,
            timeout_s=self._trial.phases.settle_s_max,
            poll_s=POLL_S,
            cancel=self._trial.cancel,
        )

    def _start_sends(self, kind: str) -> None:
        producer, instance = self._client, f"producer-{kind}"
        producer.start_producer(instance, f"{self._topic_of(kind)}-producers", namesrv_addresses(self._trial.cluster))
        producer.wait_for_route(instance, self._topic_of(kind), self._queues)
        producer.start_schedule(
            ScheduleSpec(
                name=kind,
                instance=instance,
                rate_hz=self._load.rate_hz,
                start_ns=mono_ns(),
                operations=int(LONGEST_S * self._load.rate_hz),
                sends=SendSettings(
                    topic=self._topic_of(kind),
                    mode="sync",
                    route=ROUTES[kind],
                    run=self._trial.record.trial,
                    threads=SENDER_THREADS,
                    keys=self._load.keys,
                    body_bytes=(self._load.body_bytes,),
                ),
            )
        )

    def steady(self) -> None:
        """A window in which every key gets several messages."""
        self._trial.stay(self._trial.phases.steady_s)
        for kind in self._load.kinds:
            if not self._client.schedule_state(kind).sending:
                raise ClientError(f"the producer of {kind} sends stopped by itself")

    def hold(self) -> None:
        """Long enough for every client to ask for the route again."""
        self._trial.stay(self._trial.phases.hold_s_max)

    def recover(self) -> None:
        """The same again, for the way back."""
        self._trial.stay(self._trial.phases.recover_s)

    def drain(self) -> None:
        """Stop sending, and wait until the groups have committed every message."""
        producer = self._client
        for kind in self._load.kinds:
            producer.stop_schedule(kind)
        deadline = time.monotonic() + self._trial.phases.drain_s_max
        left = -1
        while time.monotonic() < deadline and left != 0:
            self._trial.stay(POLL_S)
            if all(producer.schedule_state(kind).is_through for kind in self._load.kinds):
                left = sum(self._unconsumed(kind, group) for kind, group in self._groups.items())
        self._trial.events.drain(complete=left == 0, remaining=left)

    def _unconsumed(self, kind: str, group: str) -> int:
        return unconsumed(self._trial.cluster, self._topic_of(kind), self._load.queues_per_broker, [group])

    def collect(self) -> None:
        """Close the history. Offsets are not recorded: a trial of several topics has no loss to be judged by them."""
        self._client.close_history()
