"""What a fault is done to: a node by its name, its process, and the file system of its own that its store lies on."""

import dataclasses

from harness.backends.cluster import Node
from harness.backends.store_mount import StoreMount
from harness.errors import ConfigurationError
from harness.model.cluster import BrokerSettings
from harness.trial import TrialContext


def node_of(trial: TrialContext, name: str) -> Node:
    """The node of that name. Raises ConfigurationError."""
    for node in trial.cluster.nodes:
        if node.name == name:
            return node
    known = ", ".join(node.name for node in trial.cluster.nodes)
    raise ConfigurationError(f"this cluster has no node {name}", advice=f"It has {known}.")


def pid_of(trial: TrialContext, name: str) -> int:
    """The process of a node or of a client of the trial, as this host numbers it. Raises ConfigurationError."""
    pids = {client.name: client.pid for client in trial.clients if client.name == name}
    if (pid := trial.cluster.pid(name) or pids.get(name)) is None:
        raise ConfigurationError(f"{name} is no process that runs, so that nothing can be done to it")
    return pid


def with_own_store(settings: BrokerSettings) -> BrokerSettings:
    """The settings with a store on a file system of its own."""
    return settings if settings.store != "folder" else dataclasses.replace(settings, store="loop-ext4")


def store_of(node: Node) -> StoreMount:
    """The file system of its own that the node's store lies on. Raises ConfigurationError."""
    if node.store is None:
        raise ConfigurationError(
            f"the store of {node.name} has no file system of its own",
            advice="Give its arm BrokerSettings(store='loop-ext4').",
        )
    return node.store
