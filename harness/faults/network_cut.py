"""Nodes that nobody can talk to, or some cannot: packets to and from their loopback ports are dropped."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import psutil

from harness.backends.cluster import Node
from harness.errors import ConfigurationError, LeaseError
from harness.faults.targets import node_of
from harness.host.abilities import Abilities
from harness.host.cgroups import Group, make_group, unified_root
from harness.host.ports import BROKER_PORTS
from harness.leases.kernel_kinds import RULE, comment_of, tool
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.model.faults import NetworkCut
from harness.protocol.connection import split_address
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

COMMAND_S_MAX = 20.0
PORTS_A_RULE_MAX = 15
"""The limit of iptables' multiport match."""


class CutByFirewall(Injection[NetworkCut]):
    """Rules of iptables that carry the lease's id as their comment."""

    name = "iptables"

    def can(self, host: Abilities) -> str | None:
        """It needs root and iptables."""
        return why_no_firewall(host)

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Drop what goes to and comes from the ports of the fault's nodes."""
        ports = _ports_of_all(trial, self.fault.nodes)
        target, asked = ", ".join(self.fault.nodes), f"no packet to or from the ports {_listed(ports)}"
        if not self.fault.peers:
            lease = cut_ports(trial.leases, ports, until_s=trial.until_s)
            return Injected(target=target, detail=asked, held=Cut(lease=lease))
        nodes = {node.name for node in trial.cluster.nodes}
        pairs = [(_pid_of(trial, peer), ports) for peer in self.fault.peers]
        # A node may also be the one that talks first: a broker to a name server, a slave to its master.
        to_peers = _ports_of_all(trial, [peer for peer in self.fault.peers if peer in nodes])
        pairs += [(_pid_of(trial, name), to_peers) for name in self.fault.nodes if to_peers]
        cut = cut_processes(trial.leases, pairs, until_s=trial.until_s)
        return Injected(target=target, detail=f"{asked} of {', '.join(self.fault.peers)}", held=cut)


def why_no_firewall(host: Abilities) -> str | None:
    """Why no packet can be dropped on this host; None when they can."""
    if not host.root:
        return "firewall rules need root"
    if "iptables" not in host.tools:
        return "iptables is not installed"
    return None if host.firewall else "this kernel does not take iptables' rules"


def _ports_of_all(trial: TrialContext, names: Iterable[str]) -> list[int]:
    return sorted({port for name in names for port in ports_of(node_of(trial, name))})


def _pid_of(trial: TrialContext, name: str) -> int:
    """The process of a node, or of a client by the name that its lease has."""
    if any(node.name == name for node in trial.cluster.nodes):
        pid = trial.cluster.pid(name)
    else:
        mine = [record for record in leases_in(trial.leases.state_dir) if record.owner == trial.leases.owner]
        pids = [record.data.get("pid") for record in mine if record.data.get("name") == f"client {name}"]
        pid = next((pid for pid in pids if isinstance(pid, int)), None)
    if pid is None:
        raise ConfigurationError(f"{name} is no process of this host that could be cut off")
    return pid


def ports_of(node: Node) -> list[int]:
    """Every port that the node listens on."""
    _, port = split_address(node.address)
    return [port + offset for offset in BROKER_PORTS] if node.kind == "broker" else [port]


def cut_ports(leases: Leases, ports: Sequence[int], *, until_s: float) -> Lease:
    """Drop packets on the loopback device to and from these TCP ports. Raises LeaseError; nothing is left then."""
    matches = [
        f"INPUT -i lo -p tcp -m multiport {side} {_listed(some)}"
        for some in _as_rules_take_them(ports)
        for side in ("--dports", "--sports")
    ]
    return _drop(leases, matches, ports, until_s=until_s)


def cut_processes(leases: Leases, pairs: Sequence[tuple[int, Sequence[int]]], *, until_s: float) -> Cut:
    """Drop packets between processes (by pid) and TCP ports, on connections that are there and on new ones.

    A new connection is known by the control group that its socket was made in, so each process moves into one of ours;
    an old one by its port. Raises LeaseError; nothing is left then.
    """
    root = unified_root()
    if root is None:
        raise LeaseError(
            "there are no control groups of version 2 by which one process's packets are told from others'"
        )
    groups: list[Group] = []
    matches: list[str] = []
    try:
        for pid, ports in pairs:
            groups.append(make_group(leases, pid, root, until_s=until_s))
            groups[-1].set("cgroup.procs", str(pid))
            for some in map(_listed, _as_rules_take_them(ports)):
                matches.append(
                    f"OUTPUT -o lo -p tcp -m cgroup --path {groups[-1].path.name} -m multiport --dports {some}"
                )
                # Rules are removed one by one: forty clients in a process have 120 ports, and 240 rules took two minutes.
                for own in map(_listed, _as_rules_take_them(_ports_to(pid, ports))):
                    matches.append(f"INPUT -i lo -p tcp -m multiport --sports {own} -m multiport --dports {some}")
                    matches.append(f"INPUT -i lo -p tcp -m multiport --dports {own} -m multiport --sports {some}")
        all_ports = sorted({port for _, ports in pairs for port in ports})
        return Cut(lease=_drop(leases, matches, all_ports, until_s=until_s), groups=tuple(groups))
    except BaseException:
        for group in groups:
            group.lease.heal()
        raise


def _ports_to(pid: int, ports: Sequence[int]) -> list[int]:
    """The process's own ports of its connections to these ports."""
    try:
        connections = psutil.Process(pid).net_connections(kind="tcp")
    except psutil.Error as error:
        raise LeaseError(f"the connections of process {pid} cannot be seen: {error}") from error
    return sorted({one.laddr.port for one in connections if one.raddr and one.raddr.port in ports})


def _as_rules_take_them(ports: Sequence[int]) -> list[Sequence[int]]:
    return [ports[first : first + PORTS_A_RULE_MAX] for first in range(0, len(ports), PORTS_A_RULE_MAX)]


def _drop(leases: Leases, matches: Sequence[str], ports: Sequence[int], *, until_s: float) -> Lease:
    """Rules in front of all others, each with the lease's comment."""
    lease = leases.hold(RULE, {"ports": _listed(ports)}, until_s=until_s)
    mark = f"-m comment --comment {comment_of(lease.record.id)} -j DROP"
    try:
        _restore(
            leases, "".join(f"{line}\n" for line in ["*filter", *(f"-I {match} {mark}" for match in matches), "COMMIT"])
        )
    except BaseException:
        lease.heal()
        raise
    return lease


def _restore(leases: Leases, rules: str) -> None:
    """All rules at once or none. The command runs under a lease, so that no rule comes after the healer has looked."""
    command = tool("iptables-restore")
    if command is None:
        raise LeaseError("iptables-restore is not installed")
    with tempfile.TemporaryFile() as given, tempfile.TemporaryFile() as said:
        given.write(rules.encode())
        given.seek(0)
        argv = [command, "--noflush", "--wait", "5"]
        process = leases.spawn(argv, name="iptables-restore", until_s=60, stdin=given, stderr=said)
        try:
            code = process.wait(COMMAND_S_MAX)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            process.release()
        said.seek(0)
        if code != 0:
            raise LeaseError(f"iptables refused the rules: {said.read().decode(errors='replace').strip()}")


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A cut that is on, with the groups of the processes that it cuts off."""

    lease: Lease
    groups: tuple[Group, ...] = ()

    def end(self) -> Healed:
        """Remove the rules; a cut that dropped nothing did not bite."""
        dropped = dropped_packets(self.lease)
        healed = self.lease.heal()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be removed: {healed.action}")
        for group in self.groups:
            group.end()
        return Healed(achieved=f"{dropped} packets were dropped", exercised=dropped > 0)


def dropped_packets(lease: Lease) -> int:
    """What the lease's rules have dropped so far."""
    command = tool("iptables")
    assert command is not None
    listed = subprocess.run(
        [command, "-w", "5", "-nvxL"], capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False
    )
    mark = f"/* {comment_of(lease.record.id)} */"
    lines = [line for line in listed.stdout.splitlines() if mark in line]
    return sum(int(match[1]) for line in lines if (match := re.match(r"\s*(\d+)", line)))


def _listed(ports: Sequence[int]) -> str:
    return ",".join(map(str, ports))


INJECTIONS: Injections = {NetworkCut: CutByFirewall}
