"""A broker's disk is full, or filled to a share: a balloon takes up room on the file system that its store has for itself."""

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.backends.store_mount import StoreMount
from harness.errors import ConfigurationError, LeaseError
from harness.faults.targets import node_of, store_of, with_own_store
from harness.host.abilities import Abilities
from harness.leases.kernel_kinds import BALLOON, BALLOON_PREFIX
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.model.faults import DiskFilled, DiskFull
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

SLACK_BYTES = 2**20
"""A file system keeps some blocks for its own use."""
SHARE_SLACK = 0.005
"""By so much less than asked a file system may be filled: half of what brokers round to."""


def inflate(fault: DiskFull, trial: TrialContext, load: LoadSession) -> Injected:
    """Leave the fault's ``free_mb`` by fallocate of a file, so that it is full at once whatever its size."""
    store = store_of(node_of(trial, fault.node))
    balloon = fill(trial.leases, store, free_bytes=int(fault.free_mb * 2**20), until_s=trial.until_s)
    return Injected(target=fault.node, detail=f"{fault.free_mb:g} MiB left", end=balloon.end)


def inflate_to(fault: DiskFilled, trial: TrialContext, load: LoadSession) -> Injected:
    """Take up room until the fault's ``share`` of all blocks is used. Raises ConfigurationError for no share, LeaseError."""
    if not 0 < fault.share < 1:
        raise ConfigurationError(
            f"a file system cannot be filled to a share of {fault.share:g}",
            advice="Give one between 0 and 1, such as 0.87.",
        )
    store = store_of(node_of(trial, fault.node))
    room = os.statvfs(store.mountpoint)
    missing = int((fault.share - used_share(room)) * room.f_blocks * room.f_frsize)
    if missing < 0:
        raise LeaseError(f"{store.mountpoint} is used to {used_share(room):.3f} already")
    balloon = fill(trial.leases, store, free_bytes=room.f_bavail * room.f_frsize - missing, until_s=trial.until_s)
    filled = os.statvfs(store.mountpoint)
    achieved = (
        f"{used_share(filled):.3f} was used, {used_share(filled, reserve_is_free=False):.3f} without what is reserved"
    )

    def end() -> Healed:
        balloon.lease.end()
        return Healed(achieved=achieved, exercised=abs(used_share(filled) - fault.share) <= SHARE_SLACK)

    return Injected(target=fault.node, detail=f"{fault.share:g} of its blocks are used", end=end)


def used_share(room: os.statvfs_result, *, reserve_is_free: bool = True) -> float:
    """The share of the blocks that is used. What is reserved for root counts as free, or not at all, as ``df`` has it."""
    used = room.f_blocks - room.f_bfree
    return used / (room.f_blocks if reserve_is_free else used + room.f_bavail)


@dataclass(frozen=True, kw_only=True)
class Balloon:
    """A balloon that takes up room. ``left_bytes`` is what was free once it did."""

    lease: Lease
    asked_bytes: int
    left_bytes: int

    def end(self) -> Healed:
        """Remove it; a file system with more room than asked was not full."""
        self.lease.end()
        left_mb = self.left_bytes / 2**20
        exercised = self.left_bytes <= self.asked_bytes + SLACK_BYTES
        return Healed(achieved=f"{left_mb:.1f} MiB were left", exercised=exercised)


def fill(leases: Leases, store: StoreMount, *, free_bytes: int, until_s: float) -> Balloon:
    """Fill a store's file system up to ``free_bytes``. Raises LeaseError; nothing is left then."""
    path = store.mountpoint / f"{BALLOON_PREFIX}{secrets.token_hex(8)}"
    lease = leases.hold(BALLOON, {"path": str(path)}, until_s=until_s)
    try:
        _blow_up(path, shutil.disk_usage(store.mountpoint).free - free_bytes)
    except OSError as error:
        lease.heal()
        raise LeaseError(f"{store.mountpoint} could not be filled: {error.strerror}") from error
    return Balloon(lease=lease, asked_bytes=free_bytes, left_bytes=shutil.disk_usage(store.mountpoint).free)


def _blow_up(path: Path, size_bytes: int) -> None:
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        # The blocks that describe the balloon take room as well, so the last bit is found by trying less.
        while size_bytes > 0:
            try:
                os.posix_fallocate(handle, 0, size_bytes)
            except OSError as error:
                if size_bytes <= SLACK_BYTES:
                    raise error
                size_bytes -= SLACK_BYTES // 4
            else:
                return
    finally:
        os.close(handle)


# Only a store's own file system is ever filled.
INJECTIONS: Injections = {
    DiskFull: Injection(
        name="balloon",
        asks="root, loop devices and mkfs.ext4",
        inject=inflate,
        can=Abilities.why_no_loop_mount,
        brokers=with_own_store,
    ),
    DiskFilled: Injection(
        name="balloon",
        asks="root, loop devices and mkfs.ext4",
        inject=inflate_to,
        can=Abilities.why_no_loop_mount,
        brokers=with_own_store,
    ),
}
