"""Nodes that nobody can talk to: packets to and from their loopback ports are dropped."""

from __future__ import annotations

import re
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from harness.abilities import Abilities
from harness.backends.base import Node
from harness.backends.ports import BROKER_PORTS
from harness.clients.remoting import split_address
from harness.errors import LeaseError
from harness.faults.held import Begun, HeldInjection, node_of
from harness.kernel_leases import RULE, comment_of, tool
from harness.leases import Lease, Leases
from harness.load.session import FaultEnd, TrialContext
from harness.model import NetworkCut

COMMAND_S_MAX = 20.0
PORTS_A_RULE_MAX = 15
"""The limit of iptables' multiport match."""


class CutByFirewall(HeldInjection):
    """Rules of iptables that carry the lease's id as their comment."""

    way = "iptables"
    kind = "network-cut"

    def can(self, host: Abilities) -> str | None:
        """It needs root and iptables."""
        if not host.root:
            return "firewall rules need root"
        if "iptables" not in host.tools:
            return "iptables is not installed"
        return None if host.firewall else "this kernel does not take iptables' rules"

    def begin(self, trial: TrialContext) -> Begun:
        """Drop what goes to and comes from the ports of the fault's nodes."""
        fault = trial.arm.fault
        assert isinstance(fault, NetworkCut)
        ports = sorted({port for name in fault.nodes for port in ports_of(node_of(trial, name))})
        target = ", ".join(fault.nodes)
        cut = Cut(lease=cut_ports(trial.leases, ports, until_s=trial.until_s))
        return Begun(target=target, asked=f"no packet to or from the ports {_listed(ports)}", held=cut)


def ports_of(node: Node) -> list[int]:
    """Every port that the node listens on."""
    _, port = split_address(node.address)
    return [port + offset for offset in BROKER_PORTS] if node.kind == "broker" else [port]


def cut_ports(leases: Leases, ports: Sequence[int], *, until_s: float) -> Lease:
    """Drop packets on the loopback device to and from these TCP ports. Raises LeaseError; nothing is left then."""
    lease = leases.hold(RULE, {"ports": _listed(ports)}, until_s=until_s)
    try:
        _restore(leases, "".join(f"{line}\n" for line in _rules(lease.record.id, ports)))
    except BaseException:
        lease.heal()
        raise
    return lease


def _rules(lease_id: str, ports: Sequence[int]) -> Iterator[str]:
    yield "*filter"
    for first in range(0, len(ports), PORTS_A_RULE_MAX):
        some = ports[first : first + PORTS_A_RULE_MAX]
        for side in ("--dports", "--sports"):
            match = f"-i lo -p tcp -m multiport {side} {_listed(some)} -m comment --comment {comment_of(lease_id)}"
            yield f"-I INPUT {match} -j DROP"
    yield "COMMIT"


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
    """A cut that is on."""

    lease: Lease

    def end(self) -> FaultEnd:
        """Remove the rules; a cut that dropped nothing did not bite."""
        dropped = dropped_packets(self.lease)
        healed = self.lease.heal()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be removed: {healed.action}")
        return FaultEnd(achieved=f"{dropped} packets were dropped", exercised=dropped > 0)


def dropped_packets(lease: Lease) -> int:
    """What the lease's rules have dropped so far."""
    command = tool("iptables")
    assert command is not None
    listed = subprocess.run(
        [command, "-w", "5", "-nvxL", "INPUT"], capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False
    )
    mark = f"/* {comment_of(lease.record.id)} */"
    lines = [line for line in listed.stdout.splitlines() if mark in line]
    return sum(int(match[1]) for line in lines if (match := re.match(r"\s*(\d+)", line)))


def _listed(ports: Sequence[int]) -> str:
    return ",".join(map(str, ports))
