"""Packets to and from some nodes' loopback ports arrive later: netem, below a classifier that leaves all others alone."""

from __future__ import annotations

import re
import subprocess
from dataclasses import dataclass

from harness.errors import ConfigurationError, LeaseError
from harness.faults.network_cut import COMMAND_S_MAX, ports_of
from harness.faults.targets import node_of
from harness.host.abilities import Abilities
from harness.leases.kernel_kinds import QUEUE, QUEUE_HANDLE, tool
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.model.faults import NetworkDelay
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

DEVICE = "lo"
_NETEM_HANDLE = "6d72:"
_BANDS = 4
"""prio's own three, into which all other traffic is sorted as without it, and one that is delayed."""


class DelayByNetem(Injection[NetworkDelay]):
    """netem in a band of its own that filters by port choose."""

    name = "netem"

    def can(self, host: Abilities) -> str | None:
        """It needs root, tc and a kernel with netem."""
        if not host.root:
            return "queueing disciplines need root"
        if "tc" not in host.tools:
            return "tc is not installed"
        return None if host.delay else "this kernel has no netem"

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Delay what goes to and comes from the ports of the fault's nodes."""
        ports = sorted({port for name in self.fault.nodes for port in ports_of(node_of(trial, name))})
        lease = delay_ports(trial.leases, ports, delay_ms=self.fault.delay_ms, until_s=trial.until_s)
        asked = f"{self.fault.delay_ms:g} ms for each packet to or from the ports {','.join(map(str, ports))}"
        return Injected(target=", ".join(self.fault.nodes), detail=asked, held=Delay(lease=lease))


def delay_ports(leases: Leases, ports: list[int], *, delay_ms: float, until_s: float) -> Lease:
    """Delay packets on the loopback device to and from these TCP ports. Raises LabError; nothing is left then."""
    root = _tc(leases, "qdisc", "show", "dev", DEVICE)
    if "noqueue" not in root:
        raise ConfigurationError(
            f"{DEVICE} has a queueing discipline that is not the lab's: {root.strip()}", advice="It is left alone."
        )
    lease = leases.hold(QUEUE, {"device": DEVICE}, until_s=until_s)
    handle, band = f"{QUEUE_HANDLE}:", f"{QUEUE_HANDLE}:{_BANDS}"
    try:
        _tc(leases, "qdisc", "add", "dev", DEVICE, "root", "handle", handle, "prio", "bands", str(_BANDS))
        _tc(leases, "qdisc", "add", "dev", DEVICE, "parent", band, "handle", _NETEM_HANDLE, "netem", "delay",
            f"{delay_ms}ms")  # fmt: skip
        for port in ports:
            for side in ("dport", "sport"):
                _tc(leases, "filter", "add", "dev", DEVICE, "parent", handle, "protocol", "ip", "u32", "match", "ip",
                    side, str(port), "0xffff", "flowid", band)  # fmt: skip
    except BaseException:
        lease.heal()
        raise
    return lease


@dataclass(frozen=True, kw_only=True)
class Delay:
    """A delay that is on."""

    lease: Lease

    def end(self) -> Healed:
        """Remove it; a delay through which nothing went did not bite."""
        command = tool("tc")
        assert command is not None
        argv = [command, "-s", "qdisc", "show", "dev", DEVICE]
        listed = subprocess.run(argv, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False).stdout
        match = re.search(rf"netem {_NETEM_HANDLE}.*?Sent \d+ bytes (\d+) pkt", listed, re.DOTALL)
        delayed = int(match[1]) if match else 0
        healed = self.lease.heal()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be removed: {healed.action}")
        return Healed(achieved=f"{delayed} packets were delayed", exercised=delayed > 0)


def _tc(leases: Leases, *arguments: str) -> str:
    """The command runs under a lease, so that nothing is added after the healer has looked."""
    command = tool("tc")
    if command is None:
        raise LeaseError("tc is not installed")
    process = leases.spawn(
        [command, *arguments], name="tc", until_s=60, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
    )
    try:
        code = process.wait(COMMAND_S_MAX)
    except subprocess.TimeoutExpired:
        code = -1
    finally:
        process.release()
    assert process.stdout is not None
    with process.stdout as said:
        text = said.read().decode(errors="replace")
    if code != 0:
        raise LeaseError(f"tc {' '.join(arguments)}: {text.strip()}")
    return text


INJECTIONS: Injections = {NetworkDelay: DelayByNetem}
