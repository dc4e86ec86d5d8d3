"""How leases on the kernel's own things are healed: mounts, freezes, balloons, firewall rules, control groups, queues.

Each kind says by which mark a thing is shown to be ours; what does not carry it is never touched. Standard library
only, since the healer imports this.
"""

import contextlib
import errno
import os
import shlex
import shutil
import signal
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from harness.leases import kernel, proc
from harness.leases.proc import ProcessId
from harness.leases.store import Healable, LeaseRecord, OneByOne

MOUNT, FREEZE, BALLOON, RULE, CGROUP, QUEUE = "mount", "freeze", "balloon", "rule", "cgroup", "queue"

BALLOON_PREFIX = ".mqlab-balloon-"
CGROUP_PREFIX = "mqlab-"
QUEUE_HANDLE = "6d71"
"""Handle of the queueing discipline that delays; "mq" in ASCII."""

_TOOL_FOLDERS = "/usr/sbin:/sbin:/usr/bin:/bin"
"""The healer's environment is empty, and root's own path may lack the sbin folders."""

_POLL_S = 0.01


def tool(name: str) -> str | None:
    """The path of a system command, or None."""
    return shutil.which(name, path=_TOOL_FOLDERS)


def comment_of(lease_id: str) -> str:
    """The comment that marks a firewall rule as this lease's."""
    return f"mqlab:{lease_id}"


class _Mount(OneByOne):
    """A file system in an image file. data: mountpoint, image, uuid (in its superblock), kind.

    Ours is what is mounted at that very place from that very image with that UUID.
    """

    # The mount is gone after a restart; its image is not.
    survives_boot = True

    def describe(self, lease: LeaseRecord) -> str:
        return f"{lease.data.get('kind')} file system at {lease.data.get('mountpoint')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        return _mount_of(lease) is not None or Path(str(lease.data.get("image"))).exists()

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        image, mountpoint = str(lease.data.get("image")), str(lease.data.get("mountpoint"))
        was_mounted = False
        while _mount_of(lease) is not None:
            was_mounted = True
            # A frozen file system that is unmounted stays in the kernel, where nobody can thaw it any more.
            _thaw(lease)
            try:
                kernel.unmount(mountpoint)
            except OSError as error:
                if error.errno != errno.EBUSY:
                    return f"it cannot be unmounted: {error.strerror}", False
                if time.monotonic() < deadline_s:
                    time.sleep(_POLL_S)
                    continue
                # Something that is not ours looks into it. It goes out of sight now and ends with its last user.
                kernel.unmount(mountpoint, lazily=True)
        kernel.clear_loops(image)
        existed = Path(image).exists()
        Path(image).unlink(missing_ok=True)
        if was_mounted:
            return "unmounted, and its image removed", True
        return ("its image removed", True) if existed else ("it is gone", True)


class _Freeze(OneByOne):
    """A file system of ours that is, or is about to be, frozen. data: as a mount's, and pid, start_ticks, token of the
    freezer.

    The freezer ends first: as long as it lives it may freeze behind the thaw. It is known by its pid, and no other
    process is looked at: reading the environment of one that waits for the frozen file system may wait as well.
    """

    def describe(self, lease: LeaseRecord) -> str:
        return f"freeze of {lease.data.get('mountpoint')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        return _mount_of(lease) is not None

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        pid, start_ticks = lease.data.get("pid"), lease.data.get("start_ticks")
        if isinstance(pid, int) and isinstance(start_ticks, int):
            freezer = ProcessId(pid=pid, start_ticks=start_ticks)
            proc.send_signal(freezer, str(lease.data.get("token")), signal.SIGKILL)
            if proc.wait_gone([freezer], timeout_s=max(0.0, deadline_s - time.monotonic())):
                return f"its freezer (pid {pid}) does not end", False
        if _mount_of(lease) is None:
            return "it is gone", True
        return "thawed" if _thaw(lease) else "it was thawed already", True


class _Balloon(OneByOne):
    """A file that takes up room on a file system of ours. data: path. Its name is its mark."""

    survives_boot = True

    def describe(self, lease: LeaseRecord) -> str:
        return f"balloon {lease.data.get('path')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        path = Path(str(lease.data.get("path")))
        return path.name.startswith(BALLOON_PREFIX) and path.is_file() and not path.is_symlink()

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        if not self.is_ours(lease):
            return "it is gone", True
        Path(str(lease.data.get("path"))).unlink(missing_ok=True)
        return "removed", True


class _Rule(OneByOne):
    """Rules of iptables. data: ports, for people. Their comment carries the lease's id."""

    def describe(self, lease: LeaseRecord) -> str:
        return f"firewall rules for ports {lease.data.get('ports')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        return bool(self._rules(lease))

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        rules = self._rules(lease)
        for words in rules:
            _run("iptables", "-w", "5", "-D", *words[1:])
        return (f"{len(rules)} rules removed" if rules else "it is gone"), not self._rules(lease)

    @staticmethod
    def _rules(lease: LeaseRecord) -> list[list[str]]:
        """Each rule of the lease as the words that list it, ``-A`` first."""
        listed = [shlex.split(line) for line in _run("iptables", "-w", "5", "-S").splitlines()]
        return [words for words in listed if words[:1] == ["-A"] and comment_of(lease.id) in words]


class _Cgroup(OneByOne):
    """A control group of ours. data: path, home (the group that its processes came from). Its name is its mark."""

    def describe(self, lease: LeaseRecord) -> str:
        return f"control group {lease.data.get('path')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        path = Path(str(lease.data.get("path")))
        return path.name.startswith(CGROUP_PREFIX) and path.is_dir()

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        if not self.is_ours(lease):
            return "it is gone", True
        path, home = Path(str(lease.data.get("path"))), Path(str(lease.data.get("home")))
        while True:
            for pid in (path / "cgroup.procs").read_text().split():
                with contextlib.suppress(ProcessLookupError):
                    (home / "cgroup.procs").write_text(pid)
            try:
                path.rmdir()
                return "its processes moved back, and removed", True
            except OSError as error:
                if error.errno != errno.EBUSY or time.monotonic() >= deadline_s:
                    return f"it cannot be removed: {error.strerror}", False
                time.sleep(_POLL_S)


class _Queue(OneByOne):
    """The queueing discipline that delays packets. data: device. Its handle is its mark."""

    def describe(self, lease: LeaseRecord) -> str:
        return f"delay on {lease.data.get('device')}"

    def is_ours(self, lease: LeaseRecord) -> bool:
        return f" {QUEUE_HANDLE}: root " in _run("tc", "qdisc", "show", "dev", str(lease.data.get("device")))

    def undo(self, lease: LeaseRecord, deadline_s: float) -> tuple[str, bool]:
        if not self.is_ours(lease):
            return "it is gone", True
        _run("tc", "qdisc", "del", "dev", str(lease.data.get("device")), "root", "handle", f"{QUEUE_HANDLE}:")
        return "removed", not self.is_ours(lease)


KERNEL_KINDS: Mapping[str, Healable] = {
    MOUNT: _Mount(),
    FREEZE: _Freeze(),
    BALLOON: _Balloon(),
    RULE: _Rule(),
    CGROUP: _Cgroup(),
    QUEUE: _Queue(),
}
"""What ``harness.leases.healing`` heals besides processes."""


def _mount_of(lease: LeaseRecord) -> kernel.Mount | None:
    data = lease.data
    return kernel.our_mount(str(data.get("mountpoint")), str(data.get("image")), str(data.get("uuid")))


def _thaw(lease: LeaseRecord) -> bool:
    handle = kernel.open_mountpoint(str(lease.data.get("mountpoint")))
    try:
        return kernel.thaw(handle)
    finally:
        os.close(handle)


def _run(name: str, *arguments: str) -> str:
    """The output of a system command; empty where it is not installed, since then there is nothing of ours.

    Raises OSError when it fails: what could not be looked at is not healed.
    """
    path = tool(name)
    if path is None:
        return ""
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=20, check=False)
    except subprocess.TimeoutExpired as error:
        raise OSError(errno.ETIMEDOUT, f"{name} did not answer") from error
    if done.returncode != 0:
        raise OSError(errno.EIO, f"{shlex.join([name, *arguments])}: {done.stderr.strip()}")
    return done.stdout
