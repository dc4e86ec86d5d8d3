"""Python's own clients by their names for ``--client``."""

from __future__ import annotations

from collections.abc import Mapping

from harness.clients.python.client import Client
from harness.clients.python.grpc import Grpc
from harness.clients.python.native import Native
from harness.clients.python.rocketmq_client_python import RocketmqClientPython

CLIENTS: Mapping[str, type[Client]] = {
    "native": Native,
    "rocketmq-client-python": RocketmqClientPython,
    "grpc": Grpc,
}
"""A process opens clients of one kind only, since all of them own the package ``rocketmq``."""
