"""A broker's writes to its store reach the disk slowly: a limit of its control group on the store's loop device.

With cgroup v2 the limit meets write-back as well. With v1 it meets only what the broker's own threads hand to the disk
(its flushes); what the kernel writes back later goes past it, and the trial then says that it was not exercised.
"""

from dataclasses import dataclass
from pathlib import Path

from harness.backends.abilities import PROCESSES
from harness.backends.store_mount import StoreMount
from harness.clock import mono_ns
from harness.faults.targets import node_of, pid_of, store_of, with_own_store
from harness.host.abilities import Abilities
from harness.host.block_devices import SECTORS_WRITTEN, device_bytes
from harness.host.cgroups import Group, controller_root, is_v2, make_group, why_no_controller
from harness.leases.leases import Leases
from harness.model.faults import ThrottledWrites
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

REACHED_SHARE_MIN, PASSED_SHARE_MAX = 0.5, 1.5
"""A group that wrote less than half of what its limit allows was not held back by it; a device that took one and a half
times as much was written to past the limit."""


def throttle(fault: ThrottledWrites, trial: TrialContext, load: LoadSession) -> Injected:
    """Limit the node by blkio (v1) or io (v2), in a group of our own that it moves into and leaves again."""
    node = node_of(trial, fault.node)
    limited = limit(
        trial.leases, pid_of(trial, node.name), store_of(node), rate_bps=fault.bytes_per_s, until_s=trial.until_s
    )
    return Injected(target=node.name, detail=f"{fault.bytes_per_s / 2**20:g} MiB/s at most", end=limited.end)


def why_no_throttle(host: Abilities) -> str | None:
    """It needs a store on a device of its own and a controller of its writes."""
    return host.why_no_loop_mount() or why_no_controller("io", host)


@dataclass(frozen=True, kw_only=True)
class Throttle:
    """A limit that is on since ``from_ns``; ``device`` is ``MAJOR:MINOR``."""

    group: Group
    device: str
    rate_bps: int
    from_ns: int
    device_bytes_before: int

    def end(self) -> Healed:
        """Remove the limit; the group has to have reached it, and nothing much to have gone past it."""
        seconds = (mono_ns() - self.from_ns) / 1e9
        group_bps = _group_bytes(self.group.path, self.device) / seconds
        device_bps = (device_bytes(self.device, SECTORS_WRITTEN) - self.device_bytes_before) / seconds
        self.group.end()
        reached = group_bps >= REACHED_SHARE_MIN * self.rate_bps
        passed = device_bps > PASSED_SHARE_MAX * self.rate_bps
        words = f"its process wrote {group_bps / 2**20:.2f} MiB/s, the device took {device_bps / 2**20:.2f} MiB/s"
        if not reached:
            words += "; the limit was not reached"
        if passed:
            words += "; write-back went past the limit"
        return Healed(achieved=words, exercised=reached and not passed)


def limit(leases: Leases, pid: int, store: StoreMount, *, rate_bps: int, until_s: float) -> Throttle:
    """Limit what a process writes to its store's device. Raises LeaseError; nothing is left then."""
    device = store.mounted().device
    group = make_group(leases, pid, controller_root("io"), until_s=until_s)
    if is_v2():
        group.set("io.max", f"{device} wbps={rate_bps}")
    else:
        group.set("blkio.throttle.write_bps_device", f"{device} {rate_bps}")
    group.set("cgroup.procs", str(pid))
    return Throttle(
        group=group,
        device=device,
        rate_bps=rate_bps,
        from_ns=mono_ns(),
        device_bytes_before=device_bytes(device, SECTORS_WRITTEN),
    )


def _group_bytes(group: Path, device: str) -> int:
    """What the group's processes have handed to the device to be written."""
    if (group / "io.stat").exists():
        for line in (group / "io.stat").read_text().splitlines():
            name, *values = line.split()
            if name == device:
                return int(dict(value.split("=") for value in values).get("wbytes", 0))
        return 0
    for line in (group / "blkio.throttle.io_service_bytes").read_text().splitlines():
        words = line.split()
        if words[:2] == [device, "Write"]:
            return int(words[2])
    return 0


INJECTIONS: Injections = {
    ThrottledWrites: Injection(
        name="cgroup",
        asks="root, loop devices and mkfs.ext4, and a control group of writes",
        inject=throttle,
        needs=PROCESSES,
        can=why_no_throttle,
        brokers=with_own_store,
    )
}
