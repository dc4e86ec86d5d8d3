"""A broker's store on its own file system, so that a fault of the kernel affects this store only."""

import os
import subprocess
import uuid
from dataclasses import dataclass
from pathlib import Path

import psutil

from harness.errors import LeaseError
from harness.leases import kernel
from harness.leases.kernel_kinds import MOUNT, tool
from harness.leases.lease import Lease
from harness.leases.leases import Leases
from harness.leases.store import LeaseData
from harness.model.cluster import BrokerSettings

MAKE_S_MAX = 60.0
MEMORY = Path("/dev/shm")

_MAKE_OPTIONS = {
    # A small journal: the file system is small, and what freezes has to write the journal out.
    "ext4": ("-q", "-F", "-L", "mqlab-store", "-J", "size=8", "-E", "lazy_itable_init=0"),
    "xfs": ("-q", "-f", "-L", "mqlab-store"),
}


@dataclass(frozen=True, kw_only=True)
class StoreMount:
    """A mounted file system of ours. It is ours by its place, its image and the UUID in its superblock together."""

    mountpoint: Path
    image: Path
    uuid: str
    kind: str

    def mounted(self) -> kernel.Mount:
        """As the kernel has it. Raises LeaseError where it is not mounted."""
        mount = kernel.our_mount(str(self.mountpoint), str(self.image), self.uuid)
        if mount is None:
            raise LeaseError(f"{self.mountpoint} is not mounted")
        return mount

    def identity(self) -> LeaseData:
        """The data of a lease on the file system, or on a fault that is injected into it."""
        return {
            "mountpoint": str(self.mountpoint),
            "image": str(self.image),
            "uuid": self.uuid,
            "kind": self.kind,
        }


@dataclass(frozen=True, kw_only=True)
class LeasedStore:
    """A mount and the lease that ends it."""

    mount: StoreMount
    lease: Lease

    def unmount(self) -> None:
        """Unmount it and remove its image. Raises LeaseError if it is still in use."""
        healed = self.lease.heal()
        if not healed.complete:
            raise LeaseError(f"{healed.what} could not be ended: {healed.action}")


def mount_store(leases: Leases, folder: Path, settings: BrokerSettings, *, until_s: float) -> LeasedStore | None:
    """Mount what ``settings`` ask for at ``folder``; None where that is a plain folder.

    Raises LeaseError when the file system cannot be made or mounted; nothing of it is left then.
    """
    if settings.store == "folder":
        return None
    kind = settings.store.removeprefix("loop-")
    folder.mkdir(parents=True, exist_ok=True)
    # The kernel tells a loop device's file by its real path.
    mountpoint, name = folder.resolve(), str(uuid.uuid4())
    mount = StoreMount(mountpoint=mountpoint, image=_image(mountpoint, name, settings), uuid=name, kind=kind)
    leased = LeasedStore(mount=mount, lease=leases.hold(MOUNT, mount.identity(), until_s=until_s))
    try:
        with mount.image.open("xb") as file:
            file.truncate(settings.store_mb * 2**20)
        _make_file_system(mount, settings.store_reserve_percent)
        kernel.mount_image(mount.image, mountpoint, kind)
        if settings.store_read_ahead_kb:
            kernel.set_read_ahead(mount.mounted(), settings.store_read_ahead_kb)
    except (OSError, LeaseError) as error:
        leased.unmount()
        raise LeaseError(
            f"no {kind} file system of {settings.store_mb} MiB could be mounted at {mountpoint}: {error}",
            advice="It needs root, loop devices and room for its image; `mqlab doctor` says what is missing.",
        ) from error
    return leased


def _image(mountpoint: Path, name: str, settings: BrokerSettings) -> Path:
    """In memory only if twice the size is free: an image that cannot grow breaks its file system."""
    if settings.store_image == "memory" and (MEMORY.is_dir() and _room_mb(MEMORY) >= 2 * settings.store_mb):
        return MEMORY / f"mqlab-{name}.img"
    return mountpoint.with_name(f"{mountpoint.name}.img")


def _room_mb(folder: Path) -> float:
    """Free bytes of a file system in memory; 0 if it is not one."""
    if not any(mount.mountpoint == str(folder) and mount.kind == "tmpfs" for mount in kernel.mounts()):
        return 0.0
    status = os.statvfs(folder)
    return min(status.f_bavail * status.f_frsize, psutil.virtual_memory().available) / 2**20


def _make_file_system(mount: StoreMount, reserve_percent: int) -> None:
    command = tool(f"mkfs.{mount.kind}")
    if command is None:
        raise LeaseError(f"mkfs.{mount.kind} is not installed")
    # Only ext4 reserves room for root.
    own = ("-m", f"uuid={mount.uuid}") if mount.kind == "xfs" else ("-m", str(reserve_percent), "-U", mount.uuid)
    made = subprocess.run(
        [command, *_MAKE_OPTIONS[mount.kind], *own, str(mount.image)],
        capture_output=True,
        text=True,
        timeout=MAKE_S_MAX,
        check=False,
    )
    if made.returncode != 0:
        raise LeaseError(f"mkfs.{mount.kind}: {made.stderr.strip()}")
