"""A load of the user's own, in a trial's phases: Locust steers, consumers verify, and any fault finds what it is about."""

from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from typing import cast

from harness.backends.cluster import (
    Node,
    create_topic,
    grpc_addresses,
    namesrv_addresses,
    record_queue_ends,
    wait_followed,
)
from harness.backends.proxy import proxy_beside
from harness.clients.java import JavaClient
from harness.clients.python.clients import CLIENTS
from harness.errors import ClientError
from harness.generator.consumers import VerifyingConsumers
from harness.generator.load_run import LoadRun, Progress
from harness.generator.locust_processes import LocustProcesses
from harness.generator.options import DriverSpec, LoadOptions
from harness.generator.senders import java_driver, python_driver
from harness.generator.target import Target, find_target
from harness.model.cells import Parameters
from harness.model.cluster import Topology
from harness.model.loads import LoadValue
from harness.model.timed_faults import Inject
from harness.printable import printable
from harness.protocol.access import OPEN, Access
from harness.protocol.targets import LOOPBACK, Network
from harness.rundir.events import Moment
from harness.rundir.files import write_json
from harness.trial import LoadSession, TrialContext

TOLD_EVERY = 5
"""Of Locust's reports, one a second, so many are left out until the next one is told."""


@dataclass(frozen=True, kw_only=True)
class OwnLoad(LoadValue):
    """What ``mqlab load`` sends and consumes. ``wait_for`` counts Locust workers, our own and those of other machines."""

    options: LoadOptions
    client: str = "java"
    create_queues: int | None = None
    """Queues a broker that the topic is made with where it is not there; None does not make it."""
    allowed: Sequence[Network] = LOOPBACK
    access: Access = OPEN
    proxy: str = ""
    """The address that a gRPC client speaks to; empty starts a proxy beside the cluster."""
    workers: int = 1
    wait_for: int = 1
    bind: str = "127.0.0.1"
    master_port: int = 0
    web_port: int = 0
    join: str = ""
    group: str = ""
    consumers: int = 0
    ordered: bool = False
    keep_groups: bool = False
    """Leave the group on a cluster that is the user's when the load has ended."""

    @property
    def rate_hz(self) -> float:
        """At the peak; what a closed loop comes to is not known before."""
        return 30_000.0 if self.options.closed else self.options.users * self.options.per_user

    def group_names(self) -> tuple[str, ...]:
        """One where there are consumers."""
        return (self.group,) if self.consumers else ()

    def names(self, incident: str, prefix: str) -> tuple[str, tuple[str, ...]]:
        """As the user gave them."""
        return self.options.sends.topic, self.group_names()

    def client_of(self, release: str) -> str:
        """The Java client of that release, or one of Python's own."""
        return CLIENTS[self.client].can.name if self.client in CLIENTS else super().client_of(release)

    def messages_hz(self, topology: Topology, params: Parameters) -> float:
        """At the peak."""
        return self.rate_hz


class OwnLoadSession:
    """The one trial of a load: its Locust processes and its consumers."""

    def __init__(self, trial: TrialContext, load: OwnLoad) -> None:
        self._trial = trial
        self._load = load
        self._stack = ExitStack()
        self._heard = 0

    def up(self) -> None:
        """Find or make the topic, start consumers and Locust; Locust begins to send at the end of it."""
        trial, load = self._trial, self._load
        namesrv = namesrv_addresses(trial.cluster).split(";")
        self._target = find_target(
            namesrv,
            load.options.sends.topic,
            allowed=load.allowed,
            create_queues=load.create_queues,
            access=load.access,
        )
        wait_followed(trial.cluster, self._target.topic)
        self._run = LoadRun(
            record=trial.record,
            target=self._target,
            options=load.options,
            driver=self._driver(self._target),
            leases=trial.leases,
            java=trial.java,
            processes=load.workers,
            wait_for=load.wait_for,
            bind=load.bind,
            master_port=load.master_port,
            web_port=load.web_port,
            join=load.join,
            consumers=load.consumers,
            ordered=load.ordered,
            keep_groups=load.keep_groups,
            user=trial.user.client,
            overrides=trial.client_overrides,
            until_s=trial.until_s,
            say=trial.say,
            note=trial.note,
            on_progress=self._tell,
            cancel=trial.cancel,
            early_end=trial.early_end,
        )
        self._target.record_ends(trial.events, None, "begin")
        self._consumers = VerifyingConsumers(self._run, trial.directory)
        self._stack.callback(self._consumers.stop)
        self._consumers.start()
        self._locust = LocustProcesses(self._run, trial.directory)
        self._stack.callback(self._locust.stop)
        self._locust.start()
        write_json(trial.directory.path / "processes.json", {**self._consumers.pids(), **self._locust.pids()})
        trial.early_end.is_possible.set()

    def _driver(self, target: Target) -> DriverSpec:
        trial, load = self._trial, self._load
        if load.client == "java":
            release, punctual = trial.record.java_release, not load.options.closed
            return java_driver(release, trial.java, target, is_punctual=punctual, user=trial.user.client)
        proxy = load.proxy
        if load.client == "grpc" and not proxy:
            proxy = next(iter(grpc_addresses(trial.cluster)), "")
        if load.client == "grpc" and not proxy:
            home = trial.cluster.folder / "nodes" / "proxy"
            beside = proxy_beside(
                trial.record.release, target.namesrv_list, home, trial.leases, trial.java,
                nodes=trial.cluster.nodes, until_s=trial.until_s,
            )  # fmt: skip
            proxy = self._stack.enter_context(beside)
        return python_driver(load.client, target, proxy)

    def _tell(self, progress: Progress) -> None:
        self._trial.on_rate(progress.rate_hz)
        self._heard += 1
        if self._heard % TOLD_EVERY == 0:
            late = "" if self._load.options.closed else f", {progress.late_p999_ms:.1f} ms late (p99.9)"
            self._trial.say(
                f"{progress.users} users {progress.rate_hz:,.0f}/s: {progress.requests:,} ended, "
                f"{progress.failures:,} failed{commonest(progress)}{late}"
            )

    def steady(self) -> None:
        """Locust sends already; when a fault comes is counted from here."""

    def hold(self) -> None:
        """Until Locust ends by itself or the user ends it."""
        self._locust.watch()

    def recover(self) -> None:
        """What is to be seen after a fault is seen while Locust sends."""

    def drain(self) -> None:
        """Wait until the group has committed every message, by the brokers' own counts."""
        left = self._consumers.drain()
        self._trial.events.record("drain", complete=left == 0, remaining=left)

    def collect(self) -> None:
        """Read the queues' ends and close the histories."""
        self._target.record_ends(self._trial.events, self._run.group or None, "end")
        self._consumers.close()

    def down(self) -> None:
        """End the processes."""
        self._stack.close()

    def of_fault(self, step: Inject) -> LoadSession:
        """The load as a fault finds it."""
        # A fault calls no phase; what it asks for beside that it finds by ``able``.
        return cast(LoadSession, LoadOfFault(self._trial, self._target, self._consumers, self._locust, step.consumer))


class LoadOfFault:
    """A load as one fault finds it: its owners are one of the consumer processes, the same from inject to heal."""

    def __init__(
        self,
        trial: TrialContext,
        target: Target,
        consumers: VerifyingConsumers,
        locust: LocustProcesses,
        consumer: int | None,
    ) -> None:
        self._trial = trial
        self._target = target
        self._consumers = consumers
        self._locust = locust
        self._index = consumer
        self._owners: JavaClient | None = None
        queues = max(target.queues.values())
        self.numbers = (queues, queues)

    def owners(self) -> JavaClient:
        """The consumer that was asked for, else the first that runs, if it is not the last. Raises ClientError."""
        if self._owners is None:
            clients = self._consumers.clients
            running = [client for client in clients if client.is_running()]
            if self._index is not None and clients[self._index] not in running:
                raise ClientError(f"{clients[self._index].name} is gone already")
            if len(running) < 2:
                raise ClientError("no consumer would be left to take the queues over")
            self._owners = running[0] if self._index is None else clients[self._index]
        return self._owners

    def resize(self, write_queues: int, read_queues: int) -> None:
        """Give the topic these numbers of queues on every broker, and wait until the name servers know them."""
        self.numbers = (write_queues, read_queues)
        create_topic(self._trial.cluster, self._target.topic, read_queues=read_queues, write_queues=write_queues)

    def stop_sending(self) -> None:
        """End Locust's test before its time; what is under way may still end."""
        self._locust.end_early()

    def send_one(self) -> None:
        """Raises ClientError: Locust sends no message alone."""
        raise ClientError("a load of Locust's sends no message alone")

    def record_ends(self, moment: Moment, on: Sequence[Node] = ()) -> None:
        """Read the queues' ends, from the masters unless other brokers are named."""
        queues, events = max(self.numbers), self._trial.events
        record_queue_ends(self._trial.cluster, events, self._target.topic, queues, on=on, moment=moment)

    def restore_topic(self) -> None:
        """Create the topic again where it was forgotten; one that is there stays."""
        self.resize(*self.numbers)


def commonest(progress: Progress) -> str:
    """The error that most of the failed ones have, in brackets; empty where there is none."""
    if not progress.errors:
        return ""
    name, count = max(progress.errors.items(), key=lambda one: one[1])
    return f" ({printable(name)})" if count == progress.failures else f" ({printable(name)} {count:,})"
