"""A cluster that is there already: the lab finds its nodes, and starts and ends none of them.

Faults are done to those alone that the user's file names with the means to reach them (``harness.backends.nodes_file``).
"""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NoReturn

from harness.backends.cluster import ClusterSpec, Node
from harness.backends.reached import Reached, ReachedNode, wait_back
from harness.errors import ConfigurationError
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.proc import ProcessId
from harness.protocol.access import OPEN, Access


class GivenCluster:
    """Name servers and masters by their addresses, and the nodes that a file names.

    Whatever would be done to another node raises ConfigurationError.
    """

    def __init__(
        self,
        spec: ClusterSpec,
        folder: Path,
        leases: Leases,
        *,
        namesrv: Sequence[str],
        brokers: Mapping[str, str],
        access: Access = OPEN,
        reached: Reached | None = None,
        until_s: float = 0.0,
    ) -> None:
        """``brokers`` are the masters' addresses by broker name. What was killed is started again in ``until_s`` seconds at
        the latest."""
        self.spec = spec
        self.folder = folder
        self.client_host = leases
        self.overrides: Mapping[str, str] = {}
        self._leases = leases
        self._until_s = until_s
        self._namesrv = tuple(namesrv)
        self._access = access
        self._reached = reached or Reached()
        self._pauses: dict[str, Lease] = {}
        self._kills: dict[str, Lease] = {}
        found = (
            *(Node(name=f"namesrv-{i}", kind="namesrv", address=address) for i, address in enumerate(namesrv)),
            *(
                Node(name=name, kind="broker", address=address, broker_name=name, role="ASYNC_MASTER")
                for name, address in brokers.items()
            ),
        )
        names = {one.named.address: name for name, one in self._reached.nodes.items()}
        others = set(names) - {node.address for node in found}
        self.nodes: Sequence[Node] = (
            *(replace(node, name=names.get(node.address, node.name), access=access) for node in found),
            *(self._other(names[address], address, access) for address in sorted(others)),
        )

    def _other(self, name: str, address: str, access: Access) -> Node:
        """A broker that is none of the topic's masters."""
        broker, number = self._reached.listed[address]
        role = "SLAVE" if number else "ASYNC_MASTER"
        return Node(
            name=name, kind="broker", address=address, broker_name=broker, broker_id=number, role=role, access=access
        )

    def pid(self, name: str) -> int | None:
        """None: its processes are not the lab's, wherever they run."""
        return None

    def check_running(self) -> None:
        """Nothing of it was started here, so that nothing can have ended."""

    def keep(self) -> None:
        """It stays anyway."""

    def down(self) -> None:
        """It stays; what stands still or was killed goes on."""
        for name in list(self._pauses):
            self.resume_node(name)
        for name in list(self._kills):
            self._kills.pop(name).end()

    def _node(self, name: str) -> ReachedNode:
        if (found := self._reached.nodes.get(name)) is None:
            self._refuse(name)
        return found

    def _refuse(self, name: str) -> NoReturn:
        raise ConfigurationError(
            f"{name} is no node of the lab's, and no file says how to reach it",
            advice="Of a given cluster the load's own clients can be disturbed, and the nodes that --nodes names.",
        )

    def kill_node(self, name: str) -> tuple[int, int]:
        """SIGKILL of a node that the file names; monotonic nanoseconds just before it and when the node was gone."""
        before_ns, gone_ns, lease = self._node(name).kill(self._leases, until_s=self._until_s)
        self._kills[name] = lease
        if (pause := self._pauses.pop(name, None)) is not None:
            pause.release()
        return before_ns, gone_ns

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        """Refused: how a node of the user's is told to end is theirs to know."""
        self._refuse(name)

    def restart_node(self, name: str, *, release: str = "") -> None:
        """Start a node that was killed, and wait until it listens and name servers list it."""
        if release or name not in self._kills:
            self._refuse(name)
        self._kills.pop(name).end()
        node = self._node(name)
        wait_back(node, self._namesrv, self._reached.listed.get(node.named.address), self._access)

    def start_node(
        self, name: str, *, options: Sequence[str] = (), release: str = "", conf: Mapping[str, str] | None = None
    ) -> None:
        """Refused."""
        self._refuse(name)

    def pause_node(self, name: str, *, until_s: float) -> Sequence[ProcessId]:
        """Pause every thread of a node that the file names, until it is resumed or ``until_s`` seconds are over; its processes."""
        self._pauses[name], processes = self._node(name).pause(self._leases, until_s=until_s)
        return processes

    def resume_node(self, name: str) -> None:
        """Resume a paused node."""
        self._node(name)
        if (pause := self._pauses.pop(name, None)) is not None:
            pause.end()
