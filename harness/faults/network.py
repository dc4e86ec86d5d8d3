"""Packets to and from some nodes' loopback ports are dropped, or arrive later.

A delay is netem's, below a classifier that leaves all other packets alone.
"""

import re
import subprocess
import tempfile
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import psutil

from harness.backends.abilities import PROCESSES
from harness.backends.cluster import Node
from harness.backends.proxy_node import PROXY_PORTS
from harness.errors import ConfigurationError, LeaseError
from harness.faults.targets import node_of, pid_of
from harness.host.abilities import Abilities
from harness.host.cgroups import Group, make_group, unified_root
from harness.host.ports import BROKER_PORTS
from harness.leases.kernel_kinds import QUEUE, QUEUE_HANDLE, RULE, comment_of, tool
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.model.faults import NetworkCut, NetworkDelay
from harness.protocol.connection import split_address
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

COMMAND_S_MAX = 20.0
PORTS_A_RULE_MAX = 15
"""The limit of iptables' multiport match."""

DEVICE = "lo"
_NETEM_HANDLE = "6d72:"
_BANDS = 4
"""prio's own three, into which all other traffic is sorted as without it, and one that is delayed."""


def _told(name: str, *arguments: str) -> str:
    command = tool(name)
    assert command is not None
    argv = [command, *arguments]
    return subprocess.run(argv, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False).stdout


def dropped_packets(lease: Lease) -> int:
    """What the lease's rules have dropped so far."""
    mark = f"/* {comment_of(lease.record.id)} */"
    lines = [line for line in _told("iptables", "-w", "5", "-nvxL").splitlines() if mark in line]
    return sum(int(match[1]) for line in lines if (match := re.match(r"\s*(\d+)", line)))


@dataclass(frozen=True, kw_only=True)
class Cut:
    """A cut that is on, with the groups of the processes that it cuts off."""

    lease: Lease
    groups: tuple[Group, ...] = ()

    def end(self) -> Healed:
        """Remove the rules; a cut that dropped nothing did not take effect."""
        dropped = dropped_packets(self.lease)
        self.lease.end()
        for group in self.groups:
            group.end()
        return Healed(achieved=f"{dropped} packets were dropped", exercised=dropped > 0)


def cut(fault: NetworkCut, trial: TrialContext, load: LoadSession) -> Injected:
    """Drop what goes to and comes from the ports of the fault's nodes, by rules with the lease's id as their comment."""
    ports = ports_of_all(trial, fault.nodes)
    target, asked = ", ".join(fault.nodes), f"no packet to or from the ports {listed(ports)}"
    if not fault.peers:
        lease = cut_ports(trial.leases, ports, until_s=trial.until_s)
        return Injected(target=target, detail=asked, end=Cut(lease=lease).end)
    nodes = {node.name for node in trial.cluster.nodes}
    pairs = [(pid_of(trial, peer), ports) for peer in fault.peers]
    # A node may also be the one that talks first: a broker to a name server, a slave to its master.
    to_peers = ports_of_all(trial, [peer for peer in fault.peers if peer in nodes])
    pairs += [(pid_of(trial, name), to_peers) for name in fault.nodes if to_peers]
    processes = cut_processes(trial.leases, pairs, until_s=trial.until_s)
    return Injected(target=target, detail=f"{asked} of {', '.join(fault.peers)}", end=processes.end)


def why_no_firewall(host: Abilities) -> str | None:
    """Why no packet can be dropped on this host; None when they can."""
    if not host.root:
        return "firewall rules need root"
    if "iptables" not in host.tools:
        return "iptables is not installed"
    return None if host.firewall else "this kernel does not take iptables' rules"


def ports_of_all(trial: TrialContext, names: Iterable[str]) -> list[int]:
    """The ports of the nodes of these names."""
    return sorted({port for name in names for port in ports_of(node_of(trial, name))})


def ports_of(node: Node) -> list[int]:
    """Every port that the node listens on."""
    _, port = split_address(node.address)
    if node.kind == "namesrv":
        return [port, node.controller_port] if node.controller_port else [port]
    return [port + offset for offset in (BROKER_PORTS if node.kind == "broker" else PROXY_PORTS)]


def cut_ports(leases: Leases, ports: Sequence[int], *, until_s: float) -> Lease:
    """Drop packets on the loopback device to and from these TCP ports. Raises LeaseError; nothing is left then."""
    matches = [
        f"INPUT -i lo -p tcp -m multiport {side} {listed(some)}"
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
            for some in map(listed, _as_rules_take_them(ports)):
                matches.append(
                    f"OUTPUT -o lo -p tcp -m cgroup --path {groups[-1].path.name} -m multiport --dports {some}"
                )
                # Rules are removed one by one: forty clients in a process have 120 ports, and 240 rules took two minutes.
                for own in map(listed, _as_rules_take_them(_ports_to(pid, ports))):
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
    lease = leases.hold(RULE, {"ports": listed(ports)}, until_s=until_s)
    mark = f"-m comment --comment {comment_of(lease.record.id)} -j DROP"
    rules = ["*filter", *(f"-I {match} {mark}" for match in matches), "COMMIT"]
    try:
        # All of them at once or none.
        run_tool(leases, "iptables-restore", "--noflush", "--wait", "5", given="".join(f"{rule}\n" for rule in rules))
    except BaseException:
        lease.heal()
        raise
    return lease


def run_tool(leases: Leases, name: str, *arguments: str, given: str = "") -> str:
    """What a system command says. It runs under a lease, so that nothing is added after the healer has looked.

    Raises LeaseError when it is not installed, does not end in time, or refuses.
    """
    command = tool(name)
    if command is None:
        raise LeaseError(f"{name} is not installed")
    with tempfile.TemporaryFile() as asked, tempfile.TemporaryFile() as said:
        asked.write(given.encode())
        asked.seek(0)
        process = leases.spawn([command, *arguments], name=name, until_s=60, stdin=asked, stdout=said, stderr=said)
        try:
            code = process.wait(COMMAND_S_MAX)
        except subprocess.TimeoutExpired:
            code = -1
        finally:
            process.release()
        said.seek(0)
        text = said.read().decode(errors="replace")
    if code != 0:
        raise LeaseError(f"{name} {' '.join(arguments)} was refused: {text.strip()}")
    return text


def listed(ports: Sequence[int]) -> str:
    """The ports in words."""
    return ",".join(map(str, ports))


def delay(fault: NetworkDelay, trial: TrialContext, load: LoadSession) -> Injected:
    """Delay what goes to and comes from the ports of the fault's nodes, by netem in a band that filters by port choose."""
    ports = ports_of_all(trial, fault.nodes)
    lease = delay_ports(trial.leases, ports, delay_ms=fault.delay_ms, until_s=trial.until_s)

    def end() -> Healed:
        delayed = _delayed_packets()
        lease.end()
        return Healed(achieved=f"{delayed} packets were delayed", exercised=delayed > 0)

    asked = f"{fault.delay_ms:g} ms for each packet to or from the ports {listed(ports)}"
    return Injected(target=", ".join(fault.nodes), detail=asked, end=end)


def why_no_netem(host: Abilities) -> str | None:
    """It needs root, tc and a kernel with netem."""
    if not host.root:
        return "queueing disciplines need root"
    if "tc" not in host.tools:
        return "tc is not installed"
    return None if host.delay else "this kernel has no netem"


def delay_ports(leases: Leases, ports: list[int], *, delay_ms: float, until_s: float) -> Lease:
    """Delay packets on the loopback device to and from these TCP ports. Raises LabError; nothing is left then."""
    root = run_tool(leases, "tc", "qdisc", "show", "dev", DEVICE)
    if "noqueue" not in root:
        raise ConfigurationError(
            f"{DEVICE} has a queueing discipline that is not the lab's: {root.strip()}", advice="It is left alone."
        )
    lease = leases.hold(QUEUE, {"device": DEVICE}, until_s=until_s)
    handle, band = f"{QUEUE_HANDLE}:", f"{QUEUE_HANDLE}:{_BANDS}"
    try:
        run_tool(leases, "tc", "qdisc", "add", "dev", DEVICE, "root", "handle", handle, "prio", "bands", str(_BANDS))
        run_tool(leases, "tc", "qdisc", "add", "dev", DEVICE, "parent", band, "handle", _NETEM_HANDLE, "netem", "delay",
            f"{delay_ms}ms")  # fmt: skip
        for port in ports:
            for side in ("dport", "sport"):
                run_tool(leases, "tc", "filter", "add", "dev", DEVICE, "parent", handle, "protocol", "ip", "u32", "match", "ip",
                    side, str(port), "0xffff", "flowid", band)  # fmt: skip
    except BaseException:
        lease.heal()
        raise
    return lease


def _delayed_packets() -> int:
    said = _told("tc", "-s", "qdisc", "show", "dev", DEVICE)
    match = re.search(rf"netem {_NETEM_HANDLE}.*?Sent \d+ bytes (\d+) pkt", said, re.DOTALL)
    return int(match[1]) if match else 0


INJECTIONS: Injections = {
    NetworkCut: Injection(name="iptables", asks="root and iptables", inject=cut, needs=PROCESSES, can=why_no_firewall),
    NetworkDelay: Injection(name="netem", asks="root, tc and a kernel with netem", inject=delay, can=why_no_netem),
}
