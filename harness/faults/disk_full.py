"""A broker's disk is full: a balloon takes up the room on the file system that its store has for itself."""

from __future__ import annotations

import dataclasses
import os
import secrets
from dataclasses import dataclass
from pathlib import Path

from harness.backends.store_mount import StoreMount
from harness.errors import LeaseError
from harness.faults.targets import node_of, store_of
from harness.host.abilities import Abilities
from harness.leases.kernel_kinds import BALLOON, BALLOON_PREFIX
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings
from harness.model.faults import DiskFull
from harness.trial import Healed, Injected, Injection, Injections, LoadSession, TrialContext

SLACK_BYTES = 2**20
"""A file system keeps some blocks for its own use."""


class FillByBalloon(Injection[DiskFull]):
    """fallocate of a file, so that it is full at once whatever its size."""

    name = "balloon"

    def can(self, host: Abilities) -> str | None:
        """Only a store's own file system is ever filled."""
        return host.why_no_loop_mount()

    def brokers(self, settings: BrokerSettings) -> BrokerSettings:
        """A store on a file system of its own."""
        return settings if settings.store != "folder" else dataclasses.replace(settings, store="loop-ext4")

    def inject(self, trial: TrialContext, load: LoadSession) -> Injected:
        """Leave the fault's ``free_mb``."""
        store = store_of(node_of(trial, self.fault.node))
        balloon = fill(trial.leases, store, free_bytes=int(self.fault.free_mb * 2**20), until_s=trial.until_s)
        return Injected(target=self.fault.node, detail=f"{self.fault.free_mb:g} MiB left", held=balloon)


@dataclass(frozen=True, kw_only=True)
class Balloon:
    """A balloon that takes up room. ``left_bytes`` is what was free once it did."""

    lease: Lease
    asked_bytes: int
    left_bytes: int

    def end(self) -> Healed:
        """Remove it; a file system with more room than asked was not full."""
        healed = self.lease.heal()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be removed: {healed.action}")
        left_mb = self.left_bytes / 2**20
        exercised = self.left_bytes <= self.asked_bytes + SLACK_BYTES
        return Healed(achieved=f"{left_mb:.1f} MiB were left", exercised=exercised)


def fill(leases: Leases, store: StoreMount, *, free_bytes: int, until_s: float) -> Balloon:
    """Fill a store's file system up to ``free_bytes``. Raises LeaseError; nothing is left then."""
    path = store.mountpoint / f"{BALLOON_PREFIX}{secrets.token_hex(8)}"
    lease = leases.hold(BALLOON, {"path": str(path)}, until_s=until_s)
    try:
        _blow_up(path, _free_bytes(store.mountpoint) - free_bytes)
    except OSError as error:
        lease.heal()
        raise LeaseError(f"{store.mountpoint} could not be filled: {error.strerror}") from error
    return Balloon(lease=lease, asked_bytes=free_bytes, left_bytes=_free_bytes(store.mountpoint))


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


def _free_bytes(folder: Path) -> int:
    status = os.statvfs(folder)
    return status.f_bavail * status.f_frsize


INJECTIONS: Injections = {DiskFull: FillByBalloon}
