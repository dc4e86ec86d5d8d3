"""What stops ordered consumption beside its locks: a full collection, a disk that is slow, a lock of the application.

Each befalls the process that holds every group's owner, which stays and goes on when it is over.
"""

import re
from collections.abc import Callable
from pathlib import Path

from harness.backends.abilities import PROCESSES
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults.owners import owners_of
from harness.faults.write_throttle import limit, why_no_throttle
from harness.model.faults import CollectOwners, LockOwners, ThrottleOwners
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext, WritesToDisk, able

LISTENERS_MIN = 2
"""A lock that fewer wait for is not what keeps queues from being consumed."""
_FULL = re.compile(r"Pause Full .* (\d+\.\d+)ms$", re.MULTILINE)


def collect(fault: CollectOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """Keep more and more, until a full collection takes that long; the JVM's own log says how long it did."""
    owners = owners_of(load)
    is_all = False
    while not is_all:
        began_ns, ended_ns, is_all = owners.grow_live_set(fault.stop_s * 1000)
    stopped_ms = _longest_full_ms(trial.directory.client_folder(owners.name) / "gc.log")

    def end() -> Healed:
        owners.clear_live_set()
        words = f"the longest full collection of its gc.log took {stopped_ms:.0f} ms"
        return Healed(achieved=words, achieved_ms=stopped_ms, exercised=stopped_ms >= fault.stop_s * 1000)

    return Injected(
        target=f"pid {owners.pid}",
        detail="full collections of more and more live objects",
        injecting_ns=began_ns,
        injected_ns=ended_ns,
        end=end,
    )


def _longest_full_ms(log: Path) -> float:
    """Raises ClientError where the log has no full collection."""
    found = [float(ms) for ms in _FULL.findall(log.read_text(errors="replace"))]
    if not found:
        raise ClientError(f"{log} tells of no full collection")
    return max(found)


def throttle(fault: ThrottleOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """Limit what the process writes to its listeners' disk, as ``ThrottledWrites`` does to a broker's store."""
    owners = owners_of(load)
    disk = able(load, WritesToDisk).disk()
    limited = limit(trial.leases, owners.pid, disk, rate_bps=fault.bytes_per_s, until_s=trial.until_s)
    return _looked_at(trial, fault.since_s, f"{fault.bytes_per_s / 1024:g} KiB/s at most", owners.name, limited.end)


def hold_lock(fault: LockOwners, trial: TrialContext, load: LoadSession) -> Injected:
    """Take the lock and keep it; listeners have to wait for it when it is let go."""
    owners = owners_of(load)
    owners.hold_lock()

    def end() -> Healed:
        waiting = owners.let_lock_go()
        return Healed(achieved=f"{waiting} listeners waited for it", exercised=waiting >= LISTENERS_MIN)

    return _looked_at(trial, fault.since_s, "the lock of its listeners is held", owners.name, end)


def _looked_at(trial: TrialContext, since_s: float, detail: str, target: str, end: Callable[[], Healed]) -> Injected:
    """Once what is on has lasted for so long."""
    try:
        trial.stay(since_s)
    except BaseException:
        end()
        raise
    at_ns = mono_ns()
    return Injected(target=target, detail=detail, injecting_ns=at_ns, injected_ns=at_ns, end=end)


INJECTIONS: Injections = {
    CollectOwners: Injection(name="client call", inject=collect),
    ThrottleOwners: Injection(
        name="cgroup",
        asks="root, loop devices and mkfs.ext4, and a control group of writes",
        inject=throttle,
        needs=PROCESSES,
        can=why_no_throttle,
    ),
    LockOwners: Injection(name="client call", inject=hold_lock),
}
