"""What a node that a file names says of itself, at its address: whether it is the broker or name server that is listed there."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from harness.backends.nodes_file import NamedNode
from harness.errors import ClientError
from harness.leases.sockets import End
from harness.model.rocketmq import BROKER_CLASSES, NAMESRV_CLASSES
from harness.printable import excerpt
from harness.protocol.access import OPEN, Access
from harness.protocol.broker import Broker
from harness.protocol.connection import split_address
from harness.protocol.name_server import NameServer

BROKER_NAME, BROKER_ID, CLUSTER_NAME, LISTEN_PORT = "brokerName", "brokerId", "brokerClusterName", "listenPort"
"""Of a broker's configuration (BrokerConfig and NettyServerConfig)."""


@dataclass(frozen=True, kw_only=True)
class Listed:
    """What is listed at an address: a broker by its name, id and cluster, or with no name a name server."""

    broker: str = ""
    broker_id: int = 0
    cluster: str = ""
    access: Access = field(default=OPEN)

    @property
    def main_classes(self) -> tuple[str, ...]:
        """Of the process that it may be."""
        return BROKER_CLASSES if self.broker else NAMESRV_CLASSES


@contextmanager
def asked(named: NamedNode, listed: Listed) -> Iterator[tuple[End, End]]:
    """Both ends of a connection, ours first, over which the node has just said that it is what is listed. It stays open meanwhile.

    Raises ConfigurationError: somebody else answers there, or nobody.
    """
    what = f"broker {listed.broker}" if listed.broker else "a name server"
    try:
        with (Broker if listed.broker else NameServer)(
            named.address, name=named.name, access=listed.access
        ) as connection:
            if isinstance(connection, Broker):
                _check_broker(named, listed, connection.broker_config())
            else:
                connection.cluster_brokers()
            yield connection.ends()
    except ClientError as error:
        raise named.mistake(
            f"{named.address} does not answer as {what}: {error.message}",
            error.advice or "Look what listens there, and whether the node is well.",
        ) from error


def _check_broker(named: NamedNode, listed: Listed, says: dict[str, str]) -> None:
    wanted = {
        BROKER_NAME: listed.broker,
        BROKER_ID: str(listed.broker_id),
        CLUSTER_NAME: listed.cluster,
        LISTEN_PORT: str(split_address(named.address)[1]),
    }
    for key, value in wanted.items():
        if (said := says.get(key, "")) != value:
            raise named.mistake(
                f"what answers at {named.address} has {key} {excerpt(said) or 'nowhere'}, and the name server lists {value} there",
                "Look which broker listens there, and give the address of the one that is meant.",
            )
