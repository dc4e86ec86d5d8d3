"""A client process of a trial, under a lease: the Java client of any release and Python's own alike."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.clients.commands import CommandedClient, ScheduleState, SendSettings
from harness.leases.client_process import ClientProcess


@dataclass(frozen=True, kw_only=True)
class ScheduleSpec:
    """An open-loop schedule: ``operations`` sends, operation i due at ``start_ns`` + i / ``rate_hz`` seconds."""

    name: str
    instance: str
    rate_hz: float
    start_ns: int
    operations: int
    sends: SendSettings


class LeasedClient(CommandedClient):
    """The commands that the processes of all clients take. Not safe for threads: one trial drives it."""

    def __init__(self, process: ClientProcess, name: str, logs: Path, temporary: Path | None = None) -> None:
        super().__init__(process, name, logs, temporary)
        self._leased = process

    def record_calls(self, instance: str, brokers: Mapping[str, str]) -> None:
        """Record each call that hands a message of the producer to the network, also to a broker that refuses connections.

        ``brokers`` are their names by address. The records go to the history that is open now.
        """
        self.call("record_calls", instance=instance, brokers=dict(brokers))

    def start_schedule(self, spec: ScheduleSpec) -> None:
        """Start sending."""
        fields = {name: value for name, value in vars(spec).items() if name != "sends"}
        self.call("start_schedule", settings=spec.sends.to_worker(), **fields)

    def schedule_state(self, name: str) -> ScheduleState:
        """How many sends of a schedule are due, issued and ended."""
        return ScheduleState.of(self.call("schedule_state", name=name))

    def steer(self, name: str, rate_hz: float) -> None:
        """Change a schedule's rate from now on."""
        self.call("steer", name=name, to=rate_hz)

    def stop_schedule(self, name: str) -> None:
        """Issue nothing more."""
        self.call("stop_schedule", name=name)

    def stop(self) -> None:
        """End the process; it exits by itself if it still listens."""
        self.end()
        self._leased.release()
        self.remove_temporary()
        self.cut_open_history()
