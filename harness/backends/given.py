"""A cluster that is there already: the lab finds its nodes, and starts, ends and disturbs none of them."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from harness.backends.cluster import ClusterSpec, Node
from harness.errors import ConfigurationError
from harness.leases.client_process import ClientHost
from harness.protocol.access import OPEN, Access


class GivenCluster:
    """Name servers and masters by their addresses. Whatever would be done to a node raises ConfigurationError."""

    def __init__(
        self,
        spec: ClusterSpec,
        folder: Path,
        client_host: ClientHost,
        *,
        namesrv: Sequence[str],
        brokers: Mapping[str, str],
        access: Access = OPEN,
    ) -> None:
        """``brokers`` are the masters' addresses by broker name."""
        self.spec = spec
        self.folder = folder
        self.client_host = client_host
        self.overrides: Mapping[str, str] = {}
        self.nodes: Sequence[Node] = (
            *(
                Node(name=f"namesrv-{i}", kind="namesrv", address=address, access=access)
                for i, address in enumerate(namesrv)
            ),
            *(
                Node(name=name, kind="broker", address=address, broker_name=name, role="ASYNC_MASTER", access=access)
                for name, address in brokers.items()
            ),
        )

    def pid(self, name: str) -> int | None:
        """None: its processes are not the lab's, wherever they run."""
        return None

    def check_running(self) -> None:
        """Nothing of it was started here, so that nothing can have ended."""

    def keep(self) -> None:
        """It stays anyway."""

    def down(self) -> None:
        """It stays as it is."""

    def _refuse(self, name: str) -> NoReturn:
        raise ConfigurationError(
            f"{name} is no node of the lab's", advice="Of a given cluster only the load's own clients can be disturbed."
        )

    def kill_node(self, name: str) -> tuple[int, int]:
        """Refused."""
        self._refuse(name)

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        """Refused."""
        self._refuse(name)

    def restart_node(self, name: str, *, release: str = "") -> None:
        """Refused."""
        self._refuse(name)

    def start_node(self, name: str, *, options: Sequence[str] = (), release: str = "") -> None:
        """Refused."""
        self._refuse(name)

    def pause_node(self, name: str, *, until_s: float) -> None:
        """Refused."""
        self._refuse(name)

    def resume_node(self, name: str) -> None:
        """Refused."""
        self._refuse(name)
