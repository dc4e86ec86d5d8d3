"""A broker's disk is full: a balloon takes up the room on the file system that its store has for itself."""

import os
import secrets
import shutil
from dataclasses import dataclass
from pathlib import Path

from harness.backends.store_mount import StoreMount
from harness.errors import LeaseError
from harness.faults.targets import node_of, store_of, with_own_store
from harness.host.abilities import Abilities
from harness.leases.kernel_kinds import BALLOON, BALLOON_PREFIX
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.model.faults import DiskFull
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

SLACK_BYTES = 2**20
"""A file system keeps some blocks for its own use."""


def inflate(fault: DiskFull, trial: TrialContext, load: LoadSession) -> Injected:
    """Leave the fault's ``free_mb`` by fallocate of a file, so that it is full at once whatever its size."""
    store = store_of(node_of(trial, fault.node))
    balloon = fill(trial.leases, store, free_bytes=int(fault.free_mb * 2**20), until_s=trial.until_s)
    return Injected(target=fault.node, detail=f"{fault.free_mb:g} MiB left", end=balloon.end)


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
    )
}
