"""Producers that avoid brokers, or do not: each sends at its own small rate, and where its sends go is all that is looked at."""

import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from harness.backends.cluster import ask, create_topic, masters, namesrv_addresses
from harness.clients.commands import SendSettings
from harness.clients.leased import ScheduleSpec
from harness.errors import ClientError
from harness.load.base import OneProcessSession
from harness.load.readings import take
from harness.model.avoiders import Avoider, AvoidingProducers
from harness.model.faults import NoFault
from harness.trial import TrialContext

MILLION = 1_000_000
"""Sequence numbers of a schedule; longer than any trial."""
RETURN_POLL_S = 3.0
ALONE_SHARE = 0.5
FIXED_HZ = 0.1
"""So seldom that the slow one is followed by none within the shortest time of any release: a quick one could end it."""


class AvoidingSession(OneProcessSession):
    """Each producer has a topic on all masters; one whose slow send is not a normal one has another on the first master."""

    def __init__(self, trial: TrialContext, load: AvoidingProducers) -> None:
        super().__init__(trial)
        self._load = load
        self._ends: dict[str, int] = {}

    def _watched(self, producer: Avoider) -> str:
        return f"{self._topic}-{producer.name}"

    def _slowed(self, producer: Avoider) -> str:
        return self._watched(producer) + ("" if producer.slow_is == "normal" else f"-{producer.slow_is}")

    def slow_sends(self) -> Sequence[Mapping[str, float]]:
        """For each master by topic for how many milliseconds one send is held up."""
        producers = self._load.producers
        return (
            {self._slowed(one): one.slow_ms for one in producers if one.slow_ms},
            {self._watched(one): one.second_slow_ms for one in producers if one.second_slow_ms},
        )

    def up(self) -> None:
        """Create the topics and start the producers."""
        for one in self._load.producers:
            create_topic(self._trial.cluster, self._watched(one), read_queues=one.queues, write_queues=one.queues)
            if one.slow_is != "normal":
                first = masters(self._trial.cluster)[:1]
                create_topic(self._trial.cluster, self._slowed(one), read_queues=1, write_queues=1, on=first)
        self._start_process()
        steered: list[ScheduleSpec] = []
        for index, one in enumerate(self._load.producers):
            schedules = list(self._start(index, one))
            if self._load.locust is None:
                self._start_sending(self._client, schedules)
            else:
                steered += schedules
        if steered:
            self._start_sending(self._client, steered, self._load.locust)

    def _start(self, index: int, one: Avoider) -> Iterator[ScheduleSpec]:
        """Start a producer; its schedules."""
        own: dict[str, Any] = {**one.settings}
        if one.durations_ms:
            own["notAvailableDuration"] = list(one.durations_ms)
        self._client.start_producer(
            one.name,
            f"{self._topic}-{one.name}",
            namesrv_addresses(self._trial.cluster),
            pollNameServerInterval=self._load.poll_route_ms,
            retryTimesWhenSendFailed=one.retries,
            retryTimesWhenSendAsyncFailed=one.retries,
            sendLatencyFaultEnable=False,
            **own,
        )
        queues = one.queues * len(masters(self._trial.cluster))
        self._client.wait_for_route(one.name, self._watched(one), queues)
        sends = self._sends(one, self._watched(one), 2 * index)
        yield self._spec(one.name, one.name, self._load.rate_hz, sends)
        if one.slow_is != "normal":
            self._client.wait_for_route(one.name, self._slowed(one), 1)
            beside = self._sends(one, self._slowed(one), 2 * index + 1)
            rate_hz = FIXED_HZ if one.slow_is == "fixed" else self._load.rate_hz * ALONE_SHARE
            yield self._spec(f"{one.name}-{one.slow_is}", one.name, rate_hz, beside)

    def _sends(self, one: Avoider, topic: str, index: int) -> SendSettings:
        is_fixed = one.slow_is == "fixed" and topic != self._watched(one)
        return SendSettings(
            topic=topic,
            mode=one.mode,
            route="fixed" if is_fixed else "normal",
            threads=one.threads,
            keys=0,
            body_bytes=(self._load.body_bytes,),
            timeout_ms=one.timeout_ms,
            first=index * MILLION,
        )

    def _schedules(self) -> list[str]:
        beside = [f"{one.name}-{one.slow_is}" for one in self._load.producers if one.slow_is != "normal"]
        return [*(one.name for one in self._load.producers), *beside]

    def steady(self) -> None:
        """A window of plain load; the first sends of a process are slow, so that avoidance is switched on at its end."""
        self._stay_steady(self._client, self._schedules(), self._load.rate_hz * len(self._load.producers))
        for one in self._load.producers:
            if one.avoidance:
                self._client.change_producer(one.name, sendLatencyFaultEnable=True)

    def hold(self) -> None:
        """Until the first master gets sends of every producer, by its own count, or the longest hold is over."""
        started, phases = time.monotonic(), self._trial.phases
        is_calm = isinstance(self._trial.arm.fault, NoFault)
        while not is_calm and time.monotonic() - started < phases.hold_s_max and not self._have_returned():
            self._trial.stay(RETURN_POLL_S)
        self._trial.stay(started + phases.hold_s_min - time.monotonic())

    def _have_returned(self) -> bool:
        """Whether each topic's queues on the first master have grown since this was asked last."""
        before = self._ends
        try:
            with ask(masters(self._trial.cluster)[0]) as connection:
                self._ends = {
                    one.name: sum(connection.max_offset(self._watched(one), queue) for queue in range(one.queues))
                    for one in self._load.producers
                }
        except ClientError:
            return False
        return all(end > before.get(name, end) for name, end in self._ends.items())

    def drain(self) -> None:
        """Stop sending, and wait until nothing is under way; nobody consumes."""
        self._drain(self._client, self._schedules(), lambda: 0)

    def collect(self) -> None:
        """Read what the arm names off the release's code, and close the history."""
        node = masters(self._trial.cluster)[0]
        for name, reading in take(self._trial.cluster, node, self._load.readings):
            self._trial.events.reading(name, reading.value, target=node.name, detail=reading.detail)
        self._client.close_history()
