"""A node of the user's own cluster that a nodes file names by its container, which the engine of this machine runs."""

from collections.abc import Sequence
from typing import Any

from harness.backends.docker.client_containers import kill_container, pause_container, processes_of
from harness.backends.docker.engine import ENGINE_ERRORS, find_engine
from harness.backends.nodes_file import Means, NamedNode, on_loopback
from harness.clock import mono_ns
from harness.leases import proc
from harness.leases.given_kinds import KILLED_CONTAINER
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.proc import ProcessId
from harness.protocol.connection import split_address


class NamedContainer:
    """What ``harness.backends.reached.ReachedProcess`` is for a process."""

    def __init__(self, named: NamedNode) -> None:
        self.named = named
        self._engine = find_engine()

    def check(self) -> str:
        """Its name and id. Raises ConfigurationError."""
        facts = self._inspect()
        return f"container {facts['Name'].lstrip('/')} ({facts['Id'][:12]})"

    def why_no_kill(self) -> str:
        """The engine starts it again."""
        return ""

    def means(self) -> Means:
        """By the engine."""
        name = self._inspect()["Name"].lstrip("/")
        return Means(
            stop=f"docker pause {name}",
            go_on=f"docker unpause {name}",
            kill=f"docker kill {name}",
            start=f"docker start {name}",
        )

    def pause(self, leases: Leases, *, until_s: float) -> tuple[Lease, Sequence[ProcessId]]:
        """Freeze its control group."""
        facts = self._inspect()
        client = self._engine.client()
        try:
            lease = pause_container(leases, self._engine, client, facts["Id"], None, until_s=until_s)
        finally:
            client.close()
        first = proc.identify(facts["State"]["Pid"])
        return lease, () if first is None else processes_of(first)

    def kill(self, leases: Leases, *, until_s: float) -> tuple[int, int, Lease]:
        """SIGKILL by the engine. Raises LeaseError."""
        facts = self._inspect()
        process = proc.identify(facts["State"]["Pid"])
        if process is None:
            raise self.named.mistake(f"the process of container {facts['Id'][:12]} is not one of this host's")
        data = {"name": self.named.name, "socket": str(self._engine.socket), "container": facts["Id"]}
        lease = leases.hold(KILLED_CONTAINER, data, until_s=until_s)
        client = self._engine.client()
        try:
            asked_ns = mono_ns()
            return asked_ns, kill_container(client, facts["Id"], process), lease
        except BaseException:
            lease.heal()
            raise
        finally:
            client.close()

    def _inspect(self) -> dict[str, Any]:
        """The engine's facts of the one container that runs and is meant."""
        named = self.named
        what = named.container or f"label {named.container_label}"
        client = self._engine.client()
        try:
            by = {"label": named.container_label} if named.container_label else {"name": f"^/{named.container}$"}
            found = [client.api.inspect_container(one["Id"]) for one in client.api.containers(filters=by)]
        except ENGINE_ERRORS as error:
            raise named.mistake(f"the Docker Engine at {self._engine.socket} cannot be asked of it: {error}") from error
        finally:
            client.close()
        if len(found) != 1:
            raise named.mistake(
                f"{len(found) or 'no'} containers that run have {'the ' if named.container_label else 'the name '}{what}",
                "docker ps names them; one has to be meant.",
            )
        (facts,) = found
        own = {network.get("IPAddress") for network in facts["NetworkSettings"]["Networks"].values()}
        if not on_loopback(named.address) and split_address(named.address)[0] not in own:
            raise named.mistake(
                f"{named.address} is neither in 127.0.0.0/8 nor an address of container {what}",
                "Faults are done to nodes of this host alone.",
            )
        if facts["State"]["Paused"]:
            raise named.mistake(f"container {what} is paused already", "Let it go on first (docker unpause).")
        return dict(facts)
