"""A control group of our own that a process moves into, under a lease that moves it back."""

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from harness.errors import LeaseError
from harness.host.abilities import Abilities, cgroup_version
from harness.leases import kernel
from harness.leases.kernel_kinds import CGROUP, CGROUP_PREFIX
from harness.leases.lease import Lease
from harness.leases.leases import Leases

ROOT_V2 = Path("/sys/fs/cgroup")
NAMES_V1: Mapping[str, str] = {"io": "blkio"}
"""Controllers that version 1 has under another name."""
FREEZER = "freezer"
"""A controller of version 1 alone; in version 2 each group can be frozen."""


def unified_root() -> Path | None:
    """Where control groups of version 2 are mounted, which may be beside those of version 1; None without any."""
    return next((Path(mount.mountpoint) for mount in kernel.mounts() if mount.kind == "cgroup2"), None)


def why_no_controller(name: str, host: Abilities) -> str | None:
    """Why no group can be made for the controller, by its name in version 2; None when one can."""
    if not host.root:
        return "control groups need root"
    if host.cgroup == "v1":
        root = controller_root(name)
        return None if (root / "cgroup.procs").exists() else f"there is no {root.name} control group"
    if host.cgroup == "v2":
        controllers = (ROOT_V2 / "cgroup.subtree_control").read_text().split()
        return None if name in controllers else f"the {name} controller is not handed down to control groups"
    return "there are no control groups"


def controller_root(name: str) -> Path:
    """Where groups of the controller are made: one place for all in version 2, one for each in version 1."""
    return ROOT_V2 if is_v2() else ROOT_V2 / NAMES_V1.get(name, name)


def is_v2() -> bool:
    """Whether the controllers are those of version 2."""
    return cgroup_version() == "v2"


@dataclass(frozen=True, kw_only=True)
class Group:
    """A control group of ours below ``root``."""

    root: Path
    path: Path
    lease: Lease

    def set(self, name: str, value: str) -> None:
        """Write one of its files. Raises LeaseError, and the group is gone then."""
        try:
            (self.path / name).write_text(value)
        except OSError as error:
            self.lease.heal()
            raise LeaseError(f"{name} of a control group cannot be {value}: {error.strerror}") from error

    def has(self, pid: int) -> bool:
        """Whether the process is in it, by the kernel's own list."""
        return str(pid) in _read(self.path / "cgroup.procs").split()

    def end(self) -> None:
        """Move its processes back and remove it. Raises LeaseError."""
        self.lease.end()


def make_group(leases: Leases, pid: int, root: Path, *, until_s: float) -> Group:
    """An empty group, whose processes will go back to where ``pid`` is now. Raises LeaseError."""
    path = root / f"{CGROUP_PREFIX}{secrets.token_hex(8)}"
    lease = leases.hold(CGROUP, {"path": str(path), "home": str(_group_of(pid, root))}, until_s=until_s)
    try:
        path.mkdir()
    except OSError as error:
        lease.release()
        raise LeaseError(f"no control group can be made in {root}: {error.strerror}") from error
    return Group(root=root, path=path, lease=lease)


def _group_of(pid: int, root: Path) -> Path:
    """The group below ``root`` that the process is in: a line ``7:blkio:/path`` of version 1, ``0::/path`` of 2."""
    try:
        lines = Path(f"/proc/{pid}/cgroup").read_text().splitlines()
    except OSError as error:
        raise LeaseError(f"there is no process {pid}") from error
    for line in lines:
        _, controllers, path = line.split(":", 2)
        is_of_v1 = root.parent == ROOT_V2 and not (root / "cgroup.controllers").exists()
        if (root.name in controllers.split(",")) if is_of_v1 else not controllers:
            return root / path.lstrip("/")
    raise LeaseError(f"process {pid} is in no control group below {root}")


# --- frozen groups ----------------------------------------------------------------------------------------------------


def is_frozen(pid: int) -> bool:
    """Whether the kernel says that the process's group is frozen, with or without the groups above it."""
    if (v1 := _freezer_group(pid)) is not None and _read(v1 / "freezer.state").strip() == "FROZEN":
        return True
    root = unified_root()
    return root is not None and "frozen 1" in _read(_group_or_root(pid, root) / "cgroup.events").splitlines()


def frozen_with(pid: int) -> list[int]:
    """The processes that are frozen when the group of this one is; itself where nothing says so."""
    root = unified_root()
    groups = [_freezer_group(pid), None if root is None else _group_or_root(pid, root)]
    # In a root there is everything that nobody has put into a group.
    for group in groups:
        if group is not None and group not in (ROOT_V2 / FREEZER, root):
            return [int(word) for word in _read(group / "cgroup.procs").split()] or [pid]
    return [pid]


def _freezer_group(pid: int) -> Path | None:
    """The group of version 1, whose controller is one of its own; None where that is not mounted."""
    root = ROOT_V2 / FREEZER
    return _group_or_root(pid, root) if root.is_dir() and not (root / "cgroup.controllers").exists() else None


def _group_or_root(pid: int, root: Path) -> Path:
    try:
        return _group_of(pid, root)
    except LeaseError:
        return root


def _read(file: Path) -> str:
    """Empty where there is none, or it may not be read."""
    try:
        return file.read_text()
    except OSError:
        return ""
