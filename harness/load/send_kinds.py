"""One producer for each kind of send, and readers of the stores at the end."""

import abc
import time
from collections.abc import Callable
from typing import Generic, TypeVar

from harness.backends.cluster import Node, create_topic, masters, namesrv_addresses, unconsumed, wait_registered
from harness.clients.commands import ScheduleState, SendSettings
from harness.clients.java import ConsumerSpec, Setting
from harness.clients.leased import LeasedClient
from harness.load.base import POLL_S, OneProcessSession
from harness.model.send_kinds import BOTH, DEFAULT_RETRIES, ONE, KindOfSend, KindsOfSend, SendKind, SendKinds
from harness.trial import TrialContext

QUEUES = 1
PERSIST_MS = 500
"""How often a reader commits; by default the end would be known 5 s later."""


Load = TypeVar("Load", bound=KindsOfSend)


class Senders:
    """The schedules of all kinds by their names, whichever process each is in."""

    def __init__(self, client_of: Callable[[str], LeasedClient]) -> None:
        self._client_of = client_of

    def schedule_state(self, name: str) -> ScheduleState:
        """How many sends of a kind are due, issued and ended."""
        return self._client_of(name).schedule_state(name)

    def stop_schedule(self, name: str) -> None:
        """Issue no more of a kind."""
        self._client_of(name).stop_schedule(name)


class KindsOfSendSession(OneProcessSession, abc.ABC, Generic[Load]):
    """The part that is the same of all clients. The one process is Java's, which has the readers."""

    def __init__(self, trial: TrialContext, load: Load) -> None:
        super().__init__(trial)
        self._load = load
        self._names = [kind.name for kind in load.kinds]
        self._senders = Senders(self._client_of)
        brokers = masters(trial.cluster)
        faulty = brokers[0] if load.at == "first" else brokers[-1]
        on: dict[str, list[Node]] = {BOTH: brokers, ONE: [faulty]}
        self._on = {topic: on[topic] for topic in load.group_names()}

    def _client_of(self, name: str) -> LeasedClient:
        """The process that a kind's producer is in."""
        return self._client

    def _topic_of(self, topic: str) -> str:
        return f"{self._topic}-{topic}"

    @abc.abstractmethod
    def _start_producers(self) -> None:
        """Start one for each kind, or name it where its sends start it."""

    def up(self) -> None:
        """Create the topics and start the producers, then their sends."""
        for topic, brokers in self._on.items():
            create_topic(
                self._trial.cluster,
                self._topic_of(topic),
                read_queues=QUEUES,
                write_queues=QUEUES,
                on=brokers,
                order=self._load.order_topic,
            )
        self._start_process()
        self._start_producers()
        for number, kind in enumerate(self._load.kinds):
            self._start_sends(number, kind)

    def _start_sends(self, number: int, kind: KindOfSend) -> None:
        load = self._load
        sends = SendSettings(
            topic=self._topic_of(kind.topic),
            run=self._trial.record.trial,
            mode=kind.mode,
            route=kind.route,
            threads=kind.threads,
            keys=load.keys,
            body_bytes=(load.body_bytes,),
            timeout_ms=load.timeout_ms,
            first=number,
            step=len(load.kinds),
        )
        self._send(self._client_of(kind.name), kind.name, kind.name, load.rate_hz, sends)

    def steady(self) -> None:
        """A window in which every key is sent."""
        rate_hz = self._load.rate_hz * len(self._names)
        self._trial.on_rate(rate_hz)
        self._stay_steady(self._senders, self._names, rate_hz)

    def hold(self) -> None:
        """Send for the least time of the phase, then wait while the broker is as it is until every send has ended."""
        phases = self._trial.phases
        self._trial.stay(phases.hold_s_min)
        for name in self._names:
            self._senders.stop_schedule(name)
        deadline = time.monotonic() + phases.hold_s_max - phases.hold_s_min
        while time.monotonic() < deadline and not self._is_through():
            self._trial.stay(POLL_S)

    def _is_through(self) -> bool:
        return all(self._senders.schedule_state(name).is_through for name in self._names)

    def recover(self) -> None:
        """Until the name servers list every broker again, which one that was forgotten would otherwise wait for 30 s for."""
        super().recover()
        wait_registered(self._trial.cluster)

    def drain(self) -> None:
        """Read both topics from their beginning, wherever the brokers are well again."""
        for topic, group in zip(self._on, self._trial.record.groups, strict=True):
            spec = ConsumerSpec(
                instance=f"reader-{topic}",
                group=group,
                topic=self._topic_of(topic),
                ordered=False,
                run=self._trial.record.trial,
                settings={"persistConsumerOffsetInterval": PERSIST_MS, "pollNameServerInterval": 1000},
            )
            self._start_member(self._client, spec)
        self._drain(self._senders, self._names, self._unread)

    def _unread(self) -> int:
        left = 0
        for (topic, brokers), group in zip(self._on.items(), self._trial.record.groups, strict=True):
            unread = unconsumed(self._trial.cluster, self._topic_of(topic), QUEUES, [group], on=brokers)
            left = -1 if unread < 0 or left < 0 else left + unread
        return left

    def collect(self) -> None:
        """Close the history."""
        self._client.close_history()


class SendKindsSession(KindsOfSendSession[SendKinds]):
    """Kinds of Java's client. Every producer has a client of its own, so that no other's timeout closes its connections."""

    def _start_producers(self) -> None:
        for kind in self._load.kinds:
            self._start_producer(kind)
        for kind in self._load.kinds:
            self._client.wait_for_route(kind.name, self._topic_of(kind.topic), QUEUES * len(self._on[kind.topic]))

    def _start_producer(self, kind: SendKind) -> None:
        period_ms = self._load.poll_route_ms
        settings: dict[str, Setting] = {"pollNameServerInterval": period_ms, "heartbeatBrokerInterval": period_ms}
        if kind.retries != DEFAULT_RETRIES:
            settings |= {"retryTimesWhenSendFailed": kind.retries, "retryTimesWhenSendAsyncFailed": kind.retries}
        addresses = namesrv_addresses(self._trial.cluster)
        group = f"{self._topic}-{kind.name}"
        self._client.start_producer(kind.name, group, addresses, transactional=False, **settings)
        names = {broker.address: broker.broker_name for broker in masters(self._trial.cluster)}
        self._client.record_calls(kind.name, names)

    def steady(self) -> None:
        """The same, and avoidance is switched on at its end.

        The first sends of a process take as long as those to a slow broker, and would have both brokers avoided for half a
        minute and more. Before it is on a producer learns nothing (``updateFaultItem`` of MQFaultStrategy).
        """
        super().steady()
        for kind in self._load.kinds:
            if kind.avoids:
                self._client.change_producer(kind.name, sendLatencyFaultEnable=True)
