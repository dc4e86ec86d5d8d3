"""What a trial has at hand, what the runner asks of its load, and what it asks of a fault."""

import re
import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar, runtime_checkable

from harness.backends.abilities import Ability
from harness.backends.cluster import Cluster, Node
from harness.backends.store_mount import StoreMount
from harness.clients.java import CLIENT_JVM_OPTIONS, JavaClient
from harness.clients.leased import LeasedClient
from harness.clients.python.process import PythonClient
from harness.errors import ClientError, Interrupted
from harness.host.abilities import Abilities
from harness.leases.leases import Leases
from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, UserSettings
from harness.model.faults import Fault
from harness.model.scenario import Arm, Phases
from harness.model.timed_faults import Inject
from harness.releases.java import Java
from harness.rundir.events import EventLog, Moment
from harness.rundir.manifest import TrialRecord
from harness.rundir.writing import TrialDirectory
from harness.signals import EarlyEnd


class SharedClient:
    """Base of what stays up from one trial of a deployment to the next: a client process, and what is known of it."""

    def __init__(self, client: JavaClient) -> None:
        self.client = client


Shared = TypeVar("Shared", bound=SharedClient)


class SharedClients:
    """Clients that stay up from one trial of a deployment to the next."""

    def __init__(self) -> None:
        self._kept: dict[type[SharedClient], SharedClient] = {}

    def once(self, kind: type[Shared], start: Callable[[], Shared]) -> Shared:
        """Those of this kind, which the first trial that asks for them starts."""
        if (kept := self._kept.get(kind)) is None:
            kept = self._kept[kind] = start()
        assert isinstance(kept, kind)
        return kept

    def drop(self, kind: type[SharedClient]) -> None:
        """End those of this kind, since their start failed: the next trial that asks for them starts anew."""
        if (kept := self._kept.pop(kind, None)) is not None:
            kept.client.stop()

    def pids(self) -> list[int]:
        """The processes that are up."""
        return [kept.client.pid for kept in self._kept.values()]

    def stop(self) -> None:
        """End all of them."""
        while self._kept:
            self._kept.popitem()[1].client.stop()


@dataclass(frozen=True, kw_only=True)
class TrialContext:
    """What one trial has at hand."""

    record: TrialRecord
    arm: Arm
    phases: Phases
    cluster: Cluster
    directory: TrialDirectory
    events: EventLog
    leases: Leases
    java: Java
    until_s: float
    cancel: threading.Event
    boots: threading.Semaphore
    """Taken while clients boot and until they have their queues: more at once would make each other late."""
    starts: threading.Semaphore
    """Taken while their processes start, which keeps cores busy: those of the trials that ask first are up first."""
    on_rate: Callable[[float], None]
    """Told the messages a second, now and then."""
    shared: SharedClients
    early_end: EarlyEnd = field(default_factory=EarlyEnd)
    """Of a load by itself, which is drained and judged then."""
    user: UserSettings = field(default_factory=UserSettings)
    say: Callable[[str], None] = lambda text: None
    """Told what the user is to see now."""
    note: Callable[[str], None] = lambda text: None
    """Told what the user, and a reader of the report, has to know."""
    meter: Callable[[], None] = lambda: None
    """Reads what the processes that are up have used: a fault that ends some of them asks for it before."""
    client_overrides: dict[str, str] = field(default_factory=dict)
    """What of the user's settings of clients the load has changed, as ``old -> new`` by key."""
    clients: list[LeasedClient] = field(default_factory=list)
    """Every client process that was started for it."""

    @property
    def params(self) -> Parameters:
        """The cell."""
        return self.record.params

    def client(
        self,
        name: str,
        properties: Mapping[str, str] | None = None,
        folder: Path | None = None,
        release: str = "",
        heap_mb: int = 0,
    ) -> JavaClient:
        """Start a client process of this trial's client release, or of another one; 0: with the heap that every client has."""
        client = JavaClient.start(
            self.cluster.client_host,
            name=name,
            release=release or self.record.java_release,
            java=self.java,
            folder=folder or self.directory.client_folder(name),
            until_s=self.until_s,
            properties=properties,
            jvm_options=(*CLIENT_JVM_OPTIONS, *((f"-Xms{heap_mb}m", f"-Xmx{heap_mb}m") if heap_mb else ())),
            user=self.user.client,
            overrides=self.client_overrides,
        )
        self.clients.append(client)
        return client

    def start_clients(
        self,
        properties: Mapping[str, Mapping[str, str] | None],
        release: str = "",
        heaps_mb: Mapping[str, int] | None = None,
    ) -> dict[str, JavaClient]:
        """Client processes by their names, each with options of its JVM, up and with an open history. Raises ClientError."""
        with self.starts:
            found = {
                name: self.client(name, options, release=release, heap_mb=(heaps_mb or {}).get(name, 0))
                for name, options in properties.items()
            }
            try:
                for name, client in found.items():
                    client.wait_started()
                    client.open_history(self.directory.history_path(name))
            except BaseException:
                for client in found.values():
                    client.stop()
                raise
            return found

    def start_python_client(self, kind: str, *, give_up_s: float) -> PythonClient:
        """A process of one of Python's own clients, which has the name of its kind, up and with an open history.

        A send that has not returned ``give_up_s`` after its timeout counts as unknown. Raises ClientError, ReleaseError.
        """
        with self.starts:
            folder = self.directory.client_folder(kind)
            host = self.cluster.client_host
            client = PythonClient.start(host, kind=kind, folder=folder, until_s=self.until_s, give_up_s=give_up_s)
            self.clients.append(client)
            try:
                client.wait_started()
                client.open_history(self.directory.history_path(kind))
            except BaseException:
                client.stop()
                raise
            return client

    def stay(self, seconds: float) -> None:
        """Let a window of the trial pass. Raises Interrupted at once when the run is cancelled."""
        if self.cancel.wait(max(0.0, seconds)):
            raise Interrupted("stopped by the user")


class LoadSession(Protocol):
    """The clients of one trial. The runner calls these in the order of its phases."""

    def up(self) -> None:
        """Start the clients and the load; returns when every client does its part."""

    def steady(self) -> None:
        """Let the load run until it has shown that it makes progress."""

    def hold(self) -> None:
        """Stay until the fault's effect is over, within the phases' bounds."""

    def recover(self) -> None:
        """Stay a little longer, so that the way back is recorded."""

    def drain(self) -> None:
        """Stop the load, wait until nothing is under way, and record whether that was reached."""

    def collect(self) -> None:
        """Record what the brokers themselves say."""

    def down(self) -> None:
        """End the clients. Called however the trial ends."""


@runtime_checkable
class HasOwners(Protocol):
    """A load one of whose processes holds the owner of every group."""

    def owners(self) -> JavaClient:
        """That process."""


@runtime_checkable
class WritesToDisk(Protocol):
    """A load whose owners' listeners write to a disk."""

    def disk(self) -> StoreMount:
        """That disk, a file system of its own."""


@runtime_checkable
class HasLocks(Protocol):
    """A load whose owners lock their queues."""

    def held_on(self, broker_name: str) -> dict[str, int]:
        """One of this broker's queues for each group whose owner has any of them."""

    def ask_for_locks(self, broker_name: str, held: Mapping[str, int]) -> None:
        """Ask this broker, as an outsider, for the lock of the queue of each group."""


@runtime_checkable
class HasQueueNumbers(Protocol):
    """A load into one topic, whose numbers of queues it can set."""

    numbers: tuple[int, int]
    """Write and read queues on each of its brokers."""

    def resize(self, write_queues: int, read_queues: int) -> None:
        """Give the topic these numbers, and wait until the name servers know them."""


@runtime_checkable
class CanWaitUntilRead(Protocol):
    """A load that knows what its groups have left unread."""

    def wait_until_read(self, first_queue: int) -> None:
        """Until every group has committed every message of that queue and of those behind it.

        Raises:
            WaitTimeout: a group had some left when ``drain_s_max`` was over.
        """


@runtime_checkable
class RenewsClients(Protocol):
    """A load whose consumers and producers others of another release can take over from."""

    def renew_consumers(self, release: str) -> None:
        """Consumers of that release join their groups, and those before them leave in an orderly way."""

    def renew_producers(self, release: str) -> None:
        """Producers of that release go on where those before them stop."""


@runtime_checkable
class MembersCanLeave(Protocol):
    """A load whose consumers can leave their groups in an orderly way, and come back."""

    def leave(self) -> None:
        """Shut all of them down."""

    def come_back(self) -> None:
        """Start them again, and wait until they have their queues."""


@runtime_checkable
class HasSlowSends(Protocol):
    """A load that says which of its sends are to be slow."""

    def slow_sends(self) -> Sequence[Mapping[str, float]]:
        """For each master by topic for how many milliseconds one send is held up."""


@runtime_checkable
class CanStopSending(Protocol):
    """A load that can stop, send one message more, and give a broker that lost its store the topic back."""

    def stop_sending(self) -> None:
        """Issue nothing more; what is under way may still end."""

    def send_one(self) -> None:
        """Send one message and wait until it has ended."""

    def record_ends(self, moment: Moment, on: Sequence[Node] = ()) -> None:
        """Read the queues' ends, from the masters that have the topic unless other brokers are named."""

    def restore_topic(self) -> None:
        """Create the topic again where it was forgotten; one that is there stays."""


@runtime_checkable
class TakesTimedFaults(Protocol):
    """A load that any fault can be put on: to each it shows itself in its own way."""

    def of_fault(self, step: Inject) -> LoadSession:
        """The load as this fault finds it."""


Capability = TypeVar("Capability")


def able(load: LoadSession, to: type[Capability]) -> Capability:
    """The load, which has to offer what the fault asks for. Raises ClientError when it does not."""
    if not isinstance(load, to):
        what = re.sub(r"(?<!^)(?=[A-Z])", " ", to.__name__).lower()
        raise ClientError(f"the fault needs a load that {what}", advice="Use a fault that goes with the arm's load.")
    return load


@dataclass(frozen=True, kw_only=True)
class Healed:
    """The end of a fault: what it achieved, in words and where it was to last for a time in milliseconds.

    ``exercised`` says whether it took effect, by something that was observed at the thing itself and would be otherwise if it had
    not; None where that cannot be told. ``achieved`` says what was observed. ``healed_ns`` is when it was over; without it the
    runner takes the time at which ``end`` or ``heal`` returned, which may come later since it was looked at something.
    """

    achieved: str = ""
    achieved_ms: float | None = None
    exercised: bool | None = None
    healed_ns: int | None = None


@dataclass(frozen=True, kw_only=True)
class Injected:
    """What an injection did, to which node or process.

    Stamps are CLOCK_MONOTONIC in nanoseconds; the runner takes those that are not given, before ``inject`` is called and
    after it has returned. Only a fault that has ended by itself has ``healing_ns`` and ``healed_ns``. ``end`` switches off
    what is on, and raises LabError when something of it stays: the runner calls it in the heal phase, or earlier when the
    trial fails. ``exercised`` is that of ``Healed``, where it is known already, and ``detail`` says why where it is False.
    """

    target: str = ""
    detail: str = ""
    asked_ms: float | None = None
    achieved_ms: float | None = None
    exercised: bool | None = None
    injecting_ns: int | None = None
    injected_ns: int | None = None
    healing_ns: int | None = None
    healed_ns: int | None = None
    end: Callable[[], Healed] | None = None


F = TypeVar("F", bound=Fault)


@dataclass(frozen=True, kw_only=True)
class Injection(Generic[F]):
    """How a fault is made. The runner stamps its states into the trial's events."""

    name: str
    """How it is done, as the ledger names it: ``byteman``, ``freeze``, ``signal``, ``client call``, ``none``."""
    inject: Callable[[F, TrialContext, LoadSession], Injected]
    """Makes it happen; returns when it has happened, or is over. Nothing of it is left on when this raises."""
    prepare: Callable[[F, TrialContext], None] = lambda fault, trial: None
    """Makes ready, before the load begins, what it needs and what the trial's records are not to show being made. ``inject`` does
    it where that was not done."""
    rehearse: Callable[[F, TrialContext], None] = lambda fault, trial: None
    """Does once, under the load and before anything is measured, what takes longer for the first time."""
    heal: Callable[[F, TrialContext, LoadSession], Healed] = lambda fault, trial, load: Healed()
    """Undoes it, where that is more than to end what is on."""
    asks: str = ""
    """What it asks of the host, in words; empty where that is nothing but a cluster of the lab's own."""
    needs: frozenset[Ability] = frozenset()
    """What it asks of the backend, beside rules where its fault needs them."""
    can: Callable[[Abilities], str | None] = lambda host: None
    """Why it cannot be made on this host; None when it can."""
    brokers: Callable[[BrokerSettings], BrokerSettings] = lambda settings: settings
    """What the brokers have to be started with beyond what their arm asks for."""


Injections = Mapping[type[Fault], Injection[Any]]
"""What a file of ``harness/faults`` declares as its ``INJECTIONS``."""
