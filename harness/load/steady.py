"""Normal sends and groups of two consumers that go on while something happens to the cluster's routes."""

import itertools
import random
import time

from harness.backends.cluster import create_topic, masters, record_queue_ends, unconsumed
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec
from harness.load.base import POLL_S, OneProcessSession
from harness.load.route_watch import RouteWatch
from harness.model.loads import SteadyClients
from harness.trial import TrialContext
from harness.wait import patience, wait_until

THREADS = 4
ROUTE_S_MAX = 120.0
TOPIC_S_MAX = 180.0


class SteadySession(OneProcessSession):
    """Producers, and two consumers of each group."""

    def __init__(self, trial: TrialContext, load: SteadyClients) -> None:
        super().__init__(trial)
        self._load = load
        self._groups = trial.record.groups
        self.numbers = (load.queues, load.queues)
        self._watch: RouteWatch | None = None

    def up(self) -> None:
        """Create the topic, start the clients one after another, and wait until ordered ones have their queues' locks."""
        trial, load = self._trial, self._load
        wait_until("the topic", self._create_topic, timeout_s=TOPIC_S_MAX, cancel=trial.cancel)
        self._start_process()
        self._start_producers()
        for group, (name, servers) in itertools.product(
            self._groups, (("first", load.first_servers), ("second", load.second_servers))
        ):
            spec = ConsumerSpec(
                instance=f"{group}-{name}",
                group=group,
                topic=self._topic,
                ordered=load.ordered,
                settings={"pollNameServerInterval": load.poll_route_ms},
            )
            self._start_member(self._client, spec, self._addresses(servers))
        if load.ordered:
            self._wait_settled([self._client], share=self._queues // 2)
        self._watch = RouteWatch(trial.cluster, trial.events, self._topic)
        wait_until("every broker on every name server", self._watch.agree, timeout_s=ROUTE_S_MAX, poll_s=POLL_S)

    def _create_topic(self) -> bool:
        """A broker that has 70,000 topics takes its time for one more."""
        with patience():
            self.resize(*self.numbers)
        return True

    def resize(self, write_queues: int, read_queues: int) -> None:
        """Give the topic these numbers of queues on every broker, and wait until the name servers know them."""
        self.numbers = (write_queues, read_queues)
        create_topic(self._trial.cluster, self._topic, read_queues=read_queues, write_queues=write_queues)

    @property
    def _queues(self) -> int:
        """On all brokers together, as many as the topic is made with."""
        return self._load.queues * len(masters(self._trial.cluster))

    def _addresses(self, servers: tuple[int, ...]) -> str:
        all_of_them = [node.address for node in self._trial.cluster.nodes if node.kind == "namesrv"]
        return ";".join(all_of_them[index] for index in servers) if servers else ";".join(all_of_them)

    def _start_producers(self) -> None:
        """Each has a client and so a route timer of its own, whose phase is drawn within its own part of the period.

        Phases that are drawn from all of the period lie close together now and then, and tell nothing of the others.
        """
        load, client = self._load, self._client
        draw = random.Random(self._trial.record.seed)
        part_s = load.poll_route_ms / 1000 / load.producers
        starts = [(index + draw.random()) * part_s for index in range(load.producers)]
        began = time.monotonic()
        specs = []
        for index, at_s in enumerate(starts):
            if load.producers > 1:
                self._trial.stay(began + at_s - time.monotonic())
            name = f"producer-{index}"
            client.start_producer(
                name,
                f"{self._topic}-producers",
                self._addresses(load.first_servers),
                pollNameServerInterval=load.poll_route_ms,
                retryTimesWhenSendFailed=load.retries,
                sendLatencyFaultEnable=load.avoidance,
            )
            client.wait_for_route(name, self._topic, self._queues)
            sends = SendSettings(
                topic=self._topic,
                mode="sync",
                threads=THREADS,
                body_bytes=(load.body_bytes,),
                first=index,
                step=load.producers,
            )
            specs.append(self._spec(name, name, load.rate_hz / load.producers, sends))
        self._start_sending(client, specs, load.locust)

    def steady(self) -> None:
        """A window of plain load."""
        self._trial.on_rate(self._load.rate_hz)
        self._stay_steady(self._client, self._schedules(), self._load.rate_hz)

    def _schedules(self) -> list[str]:
        return [f"producer-{index}" for index in range(self._load.producers)]

    def recover(self) -> None:
        """Until all name servers agree again, and a period of the clients' route timer longer, within the phase's time."""
        assert self._watch is not None
        if self._trial.arm.fault.lasts:
            return
        deadline = time.monotonic() + self._trial.phases.recover_s
        while time.monotonic() < deadline and not self._watch.agree():
            self._trial.stay(POLL_S)
        if self._watch.agree():
            self._trial.stay(min(1.2 * self._load.poll_route_ms / 1000, deadline - time.monotonic()))

    def drain(self) -> None:
        """Stop sending; wait until the group has committed every message, by the brokers' own counts."""
        self._drain(
            self._client,
            self._schedules(),
            lambda: unconsumed(self._trial.cluster, self._topic, self._load.queues, self._groups),
        )

    def collect(self) -> None:
        """Read the queues' ends, and close what is open."""
        if self._watch is not None:
            self._watch.stop()
        record_queue_ends(self._trial.cluster, self._trial.events, self._topic, self._load.queues, self._groups)
        self._client.close_history()

    def down(self) -> None:
        """Stop asking, and end the process."""
        if self._watch is not None:
            self._watch.stop()
        super().down()
