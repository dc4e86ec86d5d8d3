"""A node of the user's own cluster that a nodes file names by its container, which the engine of this machine runs.

The address has to be the container's, by its own network or by a port that the engine publishes; who answers there has to say that
it is the node that is listed, and that connection has to arrive in the container, at a process with one of RocketMQ's main classes.
The last two are looked at where the container's processes are to be seen: not in another machine's, such as Docker Desktop's.
"""

from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import psutil

from harness.backends.docker.client_containers import kill_container, pause_container, processes_of
from harness.backends.docker.engine import ENGINE_ERRORS, find_engine
from harness.backends.nodes_file import Means, NamedNode, on_loopback
from harness.backends.said_of_itself import Listed, asked
from harness.clock import mono_ns
from harness.leases import proc, sockets
from harness.leases.given_kinds import KILLED_CONTAINER
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.main_class import main_class_of
from harness.leases.proc import ProcessId
from harness.leases.sockets import End, TcpSocket
from harness.protocol.connection import split_address


class NamedContainer:
    """What ``harness.backends.reached.ReachedProcess`` is for a process."""

    def __init__(self, named: NamedNode, listed: Listed) -> None:
        self.named = named
        self._listed = listed
        self._engine = find_engine()

    def check(self) -> str:
        """Its name and id. Raises ConfigurationError."""
        facts = self._shown()
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
        facts = self._shown()
        client = self._engine.client()
        try:
            lease = pause_container(leases, self._engine, client, facts["Id"], None, until_s=until_s)
        finally:
            client.close()
        first = proc.identify(facts["State"]["Pid"])
        return lease, () if first is None else processes_of(first)

    def kill(self, leases: Leases, *, until_s: float) -> tuple[int, int, Lease]:
        """SIGKILL by the engine. Raises LeaseError."""
        facts = self._shown()
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

    def _shown(self) -> dict[str, Any]:
        """The engine's facts of the container, once it was shown to be the node. Raises ConfigurationError."""
        named, facts = self.named, self._inspect()
        port = self._port_within(facts)
        first = self._first(facts)
        before = _arrived(first, port)
        with asked(named, self._listed) as ends:
            after = _arrived(first, port)
            if first is None or before is None or after is None:
                return facts
            # In this host's own network it is known by both of its ends; a published port leads to another connection.
            in_own_network = facts["HostConfig"]["NetworkMode"] == "host"
            arrived = {
                one.inode
                for one in after - before
                if not in_own_network or (_written(one.local), _written(one.remote)) == ends[::-1]
            }
            mains = {main_class_of(pid) for pid in _takers(first, arrived)}
        container = f"container {facts['Name'].lstrip('/')} ({facts['Id'][:12]})"
        if not arrived:
            raise named.mistake(
                f"a connection to {named.address} does not arrive at port {port} of {container}",
                "Look who else takes connections there.",
            )
        if not mains & set(self._listed.main_classes):
            raise named.mistake(
                f"{container} has no process of RocketMQ's that answers at {named.address}",
                f"Its main class would be {' or '.join(self._listed.main_classes)}.",
            )
        return facts

    def _first(self, facts: Mapping[str, Any]) -> ProcessId | None:
        """The container's first process, where it is one of this machine's, and is numbered as here."""
        pid = int(facts["State"]["Pid"])
        try:
            is_its = facts["Id"] in Path(f"/proc/{pid}/cgroup").read_text()
        except OSError:
            return None
        return proc.identify(pid) if is_its and not self._engine.is_desktop else None

    def _port_within(self, facts: Mapping[str, Any]) -> int:
        """The port of the container's network that the address is of."""
        named = self.named
        host, port = split_address(named.address)
        if facts["HostConfig"]["NetworkMode"] == "host" or host in _own_addresses(facts):
            return port
        for within, places in (facts["NetworkSettings"].get("Ports") or {}).items():
            number, _, protocol = within.partition("/")
            for place in places or ():
                if protocol == "tcp" and place["HostPort"] == str(port) and place["HostIp"] in ("", "0.0.0.0", host):  # noqa: S104
                    return int(number)
        raise named.mistake(
            f"container {facts['Name'].lstrip('/')} publishes no port at {named.address}",
            "docker port NAME says which it does. Give the container that the node itself runs in.",
        )

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
        if facts["HostConfig"]["NetworkMode"].startswith("container:"):
            facts["NetworkSettings"] = self._network_of(facts["HostConfig"]["NetworkMode"].partition(":")[2])
        if not on_loopback(named.address) and split_address(named.address)[0] not in _own_addresses(facts):
            raise named.mistake(
                f"{named.address} is neither in 127.0.0.0/8 nor an address of container {what}",
                "Faults are done to nodes of this host alone.",
            )
        if facts["State"]["Paused"]:
            raise named.mistake(f"container {what} is paused already", "Let it go on first (docker unpause).")
        return dict(facts)

    def _network_of(self, container: str) -> Mapping[str, Any]:
        """Of a container whose network another one shares. Raises ConfigurationError."""
        client = self._engine.client()
        try:
            network: Mapping[str, Any] = client.api.inspect_container(container)["NetworkSettings"]
        except ENGINE_ERRORS as error:
            raise self.named.mistake(f"container {container} cannot be asked of its network: {error}") from error
        finally:
            client.close()
        return network


def _own_addresses(facts: Mapping[str, Any]) -> set[str]:
    return {
        network["IPAddress"] for network in facts["NetworkSettings"]["Networks"].values() if network.get("IPAddress")
    }


def _arrived(first: ProcessId | None, port: int) -> set[TcpSocket] | None:
    """The connections at a port of a container's network; None where it cannot be seen."""
    try:
        return None if first is None else sockets.connections(first.pid, port)
    except (OSError, ValueError):
        return None


def _takers(first: ProcessId, inodes: Collection[str]) -> list[int]:
    """The processes of a container that have one of these sockets; all of them where that is not ours to look at."""
    family = {one.pid for one in processes_of(first)}
    try:
        family |= {one.pid for one in psutil.Process(first.pid).children(recursive=True)}
        return [pid for pid in family if sockets.sockets_of(pid) & set(inodes)]
    except (OSError, psutil.Error):
        return [*family]


def _written(end: tuple[object, int]) -> End:
    return str(end[0]), end[1]
