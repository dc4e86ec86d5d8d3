"""What this host lets the lab do to its kernel. Each fault says with it whether it can be made here, and if not, why."""

import functools
import os
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from harness.leases.kernel_kinds import tool

Cgroup = Literal["v1", "v2", "none"]

_TOOLS = ("iptables", "tc", "mkfs.ext4", "mkfs.xfs")


@dataclass(frozen=True, kw_only=True)
class Abilities:
    """``file_systems`` are those that the kernel knows and that can be made here; ``firewall`` and ``delay`` were tried
    in a network namespace of their own."""

    root: bool
    loop_devices: bool
    file_systems: frozenset[str]
    tools: frozenset[str]
    cgroup: Cgroup
    firewall: bool
    delay: bool

    @classmethod
    def of_this_host(cls) -> "Abilities":
        """Look; what was found is remembered."""
        return _look()

    def why_no_loop_mount(self, kind: str = "ext4") -> str | None:
        """Why a store cannot have a file system of its own here; None when it can."""
        if not self.root:
            return "mounting needs root"
        if not self.loop_devices:
            return "there are no loop devices (/dev/loop-control cannot be opened)"
        if kind not in self.file_systems:
            return f"mkfs.{kind} is not installed or this kernel has no {kind}"
        return None


@functools.cache
def _look() -> Abilities:
    root = os.geteuid() == 0
    tools = frozenset(name for name in _TOOLS if tool(name))
    return Abilities(
        root=root,
        loop_devices=root and os.access("/dev/loop-control", os.R_OK | os.W_OK),
        file_systems=frozenset(kind for kind in ("ext4", "xfs") if f"mkfs.{kind}" in tools and _kernel_has(kind)),
        tools=tools,
        cgroup=cgroup_version(),
        firewall=root and "iptables" in tools and _works_apart("iptables", *_A_RULE),
        delay=root and "tc" in tools and _works_apart("tc", *_A_DELAY),
    )


_A_RULE = ("-w", "5", "-A", "INPUT", "-i", "lo", "-p", "tcp", "-m", "multiport", "--dports", "1", "-m", "comment",
           "--comment", "mqlab", "-j", "DROP")  # fmt: skip
_A_DELAY = ("qdisc", "add", "dev", "lo", "root", "netem", "delay", "1ms")


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))


def cgroup_version() -> Cgroup:
    """Which hierarchy has the controllers: ``v2``, ``v1`` or ``none``."""
    if Path("/sys/fs/cgroup/cgroup.controllers").exists():
        return "v2"
    return "v1" if Path("/sys/fs/cgroup/memory").exists() else "none"


def _kernel_has(kind: str) -> bool:
    # A module that is not loaded yet is not listed; mounting loads it.
    listed = kind in Path("/proc/filesystems").read_text().split()
    return listed or any(Path("/lib/modules").glob(f"{os.uname().release}/kernel/fs/{kind}/*"))


def _works_apart(name: str, *arguments: str) -> bool:
    """Whether a command succeeds in a network namespace that ends with it."""
    unshare, path = tool("unshare"), tool(name)
    if unshare is None or path is None:
        return False
    try:
        tried = subprocess.run([unshare, "--net", path, *arguments], capture_output=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return tried.returncode == 0
