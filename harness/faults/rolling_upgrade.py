"""A rolling upgrade: nodes are stopped in an orderly way and started of another release, one after another, under load.

Their stores, with topics, groups and offsets, and their settings stay. A broker that starts anew, or whose name server does, is
asked to register at once (``wait_registered``); by itself it would do so within 30 s.
"""

from dataclasses import dataclass, field

from harness.backends.abilities import Ability
from harness.backends.cluster import READY_S_MAX, Cluster, Node, ask, ask_name_server, wait_registered
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.model.faults import RollingUpgrade, UpgradeStep
from harness.model.rocketmq import PERM_WRITE, SELF_TEST_TOPIC, version_of
from harness.releases.jars import ensure_jars
from harness.trial import Injected, Injection, Injections, LoadSession, RenewsClients, TrialContext, able
from harness.wait import patience, wait_until

GRACE_S = 60.0
"""A broker of 5.x that has a slave takes 14 s to end."""


@dataclass(frozen=True)
class Step:
    """One restart: of a node, or of all consumers or producers; ``back`` to the release that it had."""

    role: UpgradeStep
    node: Node | None = None
    back: bool = field(default=False, kw_only=True)


def steps_of(fault: RollingUpgrade, nodes: list[Node]) -> list[Step]:
    """The restarts in their order.

    Raises ClientError where the cluster has no node of a role that was named.
    """
    there: list[Step] = []
    for role in fault.order:
        found = [Step(role, node) for node in nodes if _role(node) == role]
        there += found or ([Step(role)] if role in ("consumer", "producer") else [])
        if not there or there[-1].role != role:
            raise ClientError(f"the cluster has no {role} to upgrade", advice="Leave it out of the order.")
    if not fault.back:
        return there
    first_of_last = next(number for number, step in enumerate(there) if step.role == there[-1].role)
    half = there[: first_of_last + 1]
    return [*half, *(Step(step.role, step.node, back=True) for step in reversed(half))]


def _role(node: Node) -> UpgradeStep | None:
    """None of a proxy, which no step names."""
    if node.kind == "proxy":
        return None
    return "namesrv" if node.kind == "namesrv" else "slave" if node.broker_id else "master"


def upgrade(fault: RollingUpgrade, trial: TrialContext, load: LoadSession) -> Injected:
    """All restarts, each stamped; returns when the last node can be used again."""
    before, to = trial.cluster.spec.release, str(trial.params["to"])
    for release in (before, to):
        ensure_jars(release)
    begun_ns, writable = mono_ns(), list[str]()
    for number, step in enumerate(steps_of(fault, list(trial.cluster.nodes)), 1):
        was, becomes = (to, before) if step.back else (before, to)
        if step.node is not None and step.role == "master" and fault.drained_s:
            writable += _wipe_write_permission(trial.cluster, step.node)
            trial.stay(fault.drained_s)
        trial.meter()
        stopping_ns = mono_ns()
        stopped_ns, orderly = stopping_ns, True
        if step.node is not None:
            orderly = trial.cluster.stop_node(step.node.name, grace_s=GRACE_S)
            stopped_ns = mono_ns()
            trial.cluster.start_node(step.node.name, release=becomes)
            wait_registered(trial.cluster, under_load=True)
            _check_release(step.node, becomes)
        elif step.role == "consumer":
            able(load, RenewsClients).renew_consumers(becomes)
        else:
            able(load, RenewsClients).renew_producers(becomes)
        trial.events.record(
            "restart", node=step.node.name if step.node else f"{step.role}s", role=step.role, step=number,
            from_release=was, to_release=becomes, orderly=orderly,
            stopping_ns=stopping_ns, stopped_ns=stopped_ns, ready_ns=mono_ns(),
        )  # fmt: skip
    done_ns = mono_ns()
    return Injected(
        detail=f"{before} to {to}{' and back' if fault.back else ''}" + "".join(f"; {words}" for words in writable),
        exercised=not writable,
        injecting_ns=begun_ns, injected_ns=done_ns, healing_ns=done_ns, healed_ns=done_ns,
    )  # fmt: skip


def _wipe_write_permission(cluster: Cluster, master: Node) -> list[str]:
    """Which name servers list the master as writable all the same, in words."""
    found = []
    for node in cluster.nodes:
        if node.kind == "namesrv":
            with ask_name_server(node) as namesrv:
                namesrv.wipe_write_permission(master.broker_name)
                route = namesrv.route(SELF_TEST_TOPIC)
            if route is not None and route.permissions.get(master.broker_name, 0) & PERM_WRITE:
                found.append(f"{node.name} listed {master.broker_name} as writable all the same")
    return found


def _check_release(node: Node, release: str) -> None:
    """Raises ClientError where a node says that it is of another release than it was started as."""
    told = wait_until(f"{node.name} to say its release", lambda: _told_release(node), timeout_s=READY_S_MAX)
    if told != release:
        raise ClientError(f"{node.name} was started as {release} and says {told}")


def _told_release(node: Node) -> str:
    """A broker's own words; a name server has its release in the header of each answer."""
    with patience():
        if node.kind == "broker":
            with ask(node) as broker:
                version = version_of(broker.runtime_info()["brokerVersionDesc"])
        else:
            with ask_name_server(node) as server:
                server.route(SELF_TEST_TOPIC)
                version = server.version
    return ".".join(map(str, version)) or "nothing"


INJECTIONS: Injections = {
    RollingUpgrade: Injection(
        name="signal",
        inject=upgrade,
        needs=frozenset({Ability.NODES, Ability.RELEASES}),
    ),
}
