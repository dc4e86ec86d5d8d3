"""What a fault is done to: a node by its name, its process, and the file system of its own that its store lies on."""

import dataclasses
from typing import TypeVar

from harness.backends.cluster import Cluster, Node, masters
from harness.backends.store_mount import StoreMount
from harness.errors import ClientError, ConfigurationError
from harness.model.cluster import BrokerSettings
from harness.model.faults import Fault
from harness.model.timed_faults import MASTER, OTHERS, ROLES
from harness.trial import TrialContext

AnyFault = TypeVar("AnyFault", bound=Fault)


def node_of(trial: TrialContext, name: str) -> Node:
    """The node of that name. Raises ConfigurationError."""
    for node in trial.cluster.nodes:
        if node.name == name:
            return node
    known = ", ".join(node.name for node in trial.cluster.nodes)
    raise ConfigurationError(f"this cluster has no node {name}", advice=f"It has {known}.")


def of_now(fault: AnyFault, trial: TrialContext) -> AnyFault:
    """The fault with the names of nodes in place of roles, as they have them at this moment.

    ``master`` is the first of those that take sends, ``follower`` the first broker that runs and takes none, and ``others``, among
    the peers of a cut, every node that is not cut off itself.

    Raises ClientError: no node has such a role now.
    """
    given = {field.name: getattr(fault, field.name) for field in dataclasses.fields(fault)}
    nodes: tuple[str, ...] = given.get("nodes") or ()
    peers: tuple[str, ...] = given.get("peers") or ()
    found: dict[str, object] = {}
    if given.get("node") in ROLES:
        found["node"] = _with_role(given["node"], trial.cluster)
    if {*ROLES} & {*nodes}:
        nodes = found["nodes"] = tuple(_with_role(name, trial.cluster) for name in nodes)
    if OTHERS in peers:
        others = [node.name for node in trial.cluster.nodes if trial.cluster.pid(node.name) is not None]
        named = (name for name in (*peers, *others) if name != OTHERS and name not in nodes)
        found["peers"] = tuple(dict.fromkeys(named))
    return dataclasses.replace(fault, **found) if found else fault


def _with_role(name: str, cluster: Cluster) -> str:
    """The name of a node of that role; of any other name itself."""
    if name not in ROLES:
        return name
    leading = masters(cluster)
    following = [node for node in cluster.nodes if node.kind == "broker" and node not in leading]
    running = [node for node in (leading if name == MASTER else following) if cluster.pid(node.name) is not None]
    if not running:
        raise ClientError(f"no broker that runs is {name} at this moment")
    return running[0].name


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
