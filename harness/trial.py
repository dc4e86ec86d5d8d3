"""What a trial has at hand, what the runner asks of its load, and what it asks of a fault."""

from __future__ import annotations

import abc
import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Generic, Protocol, TypeVar

from harness.backends.cluster import Cluster
from harness.clients.java import JavaClient
from harness.errors import Interrupted
from harness.host.abilities import Abilities
from harness.leases.leases import Leases
from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings
from harness.model.faults import Fault
from harness.model.scenario import Arm, Phases
from harness.releases.java import Java
from harness.rundir.events import EventLog
from harness.rundir.manifest import TrialRecord
from harness.rundir.writing import TrialDirectory


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
    on_rate: Callable[[float], None]
    """Told the messages a second, now and then."""

    @property
    def params(self) -> Parameters:
        """The cell."""
        return self.record.params

    def client(self, name: str, properties: Mapping[str, str] | None = None, folder: Path | None = None) -> JavaClient:
        """Start a client process of this trial's client release."""
        return JavaClient.start(
            self.cluster.client_host,
            name=name,
            release=self.record.client.split()[-1],
            java=self.java,
            folder=folder or self.directory.client_folder(name),
            until_s=self.until_s,
            properties=properties,
        )

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

    def owners(self) -> JavaClient | None:
        """The process that holds every group's owner, where there is one."""

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


@dataclass(frozen=True, kw_only=True)
class Healed:
    """The end of a fault: what it achieved, in words and where it was to last for a time in milliseconds.

    ``exercised`` says whether it took effect, where the injection can tell by itself.
    """

    achieved: str = ""
    achieved_ms: float | None = None
    exercised: bool | None = None


class Held(Protocol):
    """Something that is on."""

    def end(self) -> Healed:
        """Switch it off. Raises LabError when something of it stays."""


@dataclass(frozen=True, kw_only=True)
class Injected:
    """What an injection did, to which node or process.

    Stamps are CLOCK_MONOTONIC in nanoseconds; the runner takes those that are not given, before ``inject`` is called and
    after it has returned. Only a fault that has ended by itself has ``healing_ns`` and ``healed_ns``. ``held`` is what is
    on: the runner ends it in the heal phase, or earlier when the trial fails.
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
    held: Held | None = None


F = TypeVar("F", bound=Fault)


class Injection(abc.ABC, Generic[F]):
    """One fault of one trial, and how it is made. The runner stamps its states into the trial's events."""

    name: ClassVar[str]
    """How it is done, as the ledger names it: ``byteman``, ``freeze``, ``signal``, ``client call``, ``none``."""

    def __init__(self, fault: F) -> None:
        self.fault = fault

    def can(self, host: Abilities) -> str | None:
        """Why it cannot be made on this host; None when it can."""
        return None

    def brokers(self, settings: BrokerSettings) -> BrokerSettings:
        """What the brokers have to be started with beyond what their arm asks for."""
        return settings

    @abc.abstractmethod
    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Make it happen; returns when it has happened, or is over. Nothing of it is left on when this raises."""

    def heal(self, trial: TrialContext, load: LoadSession) -> Healed:
        """Undo it, where that is more than to end what is held."""
        return Healed()


Injections = Mapping[type[Fault], type[Injection[Any]]]
"""What a file of ``harness/faults`` declares as its ``INJECTIONS``."""
