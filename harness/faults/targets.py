"""What a fault is done to: a node by its name, and the file system of its own that its store lies on."""

from __future__ import annotations

from harness.backends.cluster import Node
from harness.backends.store_mount import StoreMount
from harness.errors import ConfigurationError
from harness.trial import TrialContext


def node_of(trial: TrialContext, name: str) -> Node:
    """The node of that name. Raises ConfigurationError."""
    for node in trial.cluster.nodes:
        if node.name == name:
            return node
    known = ", ".join(node.name for node in trial.cluster.nodes)
    raise ConfigurationError(f"this cluster has no node {name}", advice=f"It has {known}.")


def store_of(node: Node) -> StoreMount:
    """The file system of its own that the node's store lies on. Raises ConfigurationError."""
    if node.store is None:
        raise ConfigurationError(
            f"the store of {node.name} has no file system of its own",
            advice="Give its arm BrokerSettings(store='loop-ext4').",
        )
    return node.store
