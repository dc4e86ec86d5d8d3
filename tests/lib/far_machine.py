"""A machine elsewhere: a real sshd in process and mount namespaces of its own, in the caller's network, on loopback.

sshd is the package's of this system, unpacked and never installed, so that no daemon of it starts.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from harness.wait import wait_until

CLONE_NEWNET = 0x40000000
START_S_MAX = 60.0
OTHER_USER = "rocketmq"
PACKAGES = ("openssh-server", "libwrap0")
SSHD_CONFIG = """
ListenAddress 127.0.0.1:{port}
HostKey {folder}/host_key
AuthorizedKeysFile /run/authorized_keys
PidFile none
UsePAM no
PermitRootLogin yes
PasswordAuthentication yes
StrictModes no
UseDNS no
LogLevel ERROR
MaxStartups 100:100:200
"""
BEGINS = """
set -e
mount --make-rprivate /
mount -t tmpfs none /run
mkdir -p /run/sshd
cp {folder}/key.pub /run/authorized_keys
chmod 644 /run/authorized_keys
mount --bind {folder}/passwd /etc/passwd
mount --bind {folder}/shadow /etc/shadow
exec {sshd} -D -e -f {folder}/sshd_config
"""


def unpacked_sshd(folder: Path) -> tuple[Path, Path] | str:
    """The program and the folder of libraries that only its package needs; else why there is none."""
    if shutil.which("apt-get") is None or shutil.which("dpkg") is None:
        return "no apt-get, whose openssh-server would be unpacked"
    folder.mkdir(parents=True)
    done = subprocess.run(
        ["apt-get", "download", "-q", *PACKAGES], cwd=folder, capture_output=True, text=True, timeout=120, check=False
    )
    if done.returncode:
        return f"apt-get cannot download {' and '.join(PACKAGES)}: {done.stderr.strip()[-200:]}"
    for package in folder.glob("*.deb"):
        subprocess.run(["dpkg", "-x", package, folder / "root"], check=True, timeout=60)
    libraries = next((folder / "root").glob("**/libwrap.so.0")).parent
    return folder / "root/usr/sbin/sshd", libraries


@contextlib.contextmanager
def own_network() -> Iterator[None]:
    """The calling thread, and what it starts, in a network with nothing but loopback."""
    libc = ctypes.CDLL(None, use_errno=True)
    before = os.open("/proc/thread-self/ns/net", os.O_RDONLY)
    try:
        if libc.unshare(CLONE_NEWNET):
            raise OSError(ctypes.get_errno(), "no network of its own")
        try:
            loopback("up")
            yield
        finally:
            assert libc.setns(before, CLONE_NEWNET) == 0
    finally:
        os.close(before)


def loopback(state: str) -> None:
    """``up`` or ``down``: as a cable that is pulled."""
    subprocess.run(["ip", "link", "set", "lo", state], check=True, timeout=30)


@dataclass(frozen=True, kw_only=True)
class FarMachine:
    """It runs; ``pid`` is that of its first process, here."""

    folder: Path
    port: int
    pid: int

    def means(self, host: str = "root@127.0.0.1", **other: object) -> str:
        """The keys of a nodes file that lead there."""
        keys: dict[str, object] = {
            "ssh": host, "ssh-port": self.port, "ssh-identity": str(self.folder / "key"),
            "ssh-known-hosts": str(self.folder / "known_hosts"), **other,
        }  # fmt: skip
        return "".join(
            f"{key} = {str(value) if isinstance(value, int) else repr(value)}\n" for key, value in keys.items()
        )

    def run(self, script: str, *words: str) -> str:
        """A script of sh on it; what it prints."""
        enter = ("nsenter", "-t", str(self.pid), "-m", "-p", "sh", "-c", script, "sh", *words)
        return subprocess.run(
            enter, check=True, stdout=subprocess.PIPE, text=True, timeout=60, stdin=subprocess.DEVNULL
        ).stdout

    def here(self, pid: int) -> int | None:
        """The pid that a process of it has here; None when it has none."""
        return next((one for one, of in self.processes().items() if of == pid), None)

    def processes(self) -> dict[int, int]:
        """All of its processes but zombies: pids there by pids here."""
        found = {}
        space = (Path("/proc") / str(self.pid) / "ns/pid").readlink()
        for entry in Path("/proc").iterdir():
            if not entry.name.isdigit():
                continue
            with contextlib.suppress(OSError, StopIteration):
                if (entry / "ns/pid").readlink() == space:
                    lines = (entry / "status").read_text().splitlines()
                    if not next(line for line in lines if line.startswith("State:")).split()[1].startswith("Z"):
                        spaces = next(line for line in lines if line.startswith("NSpid:")).split()
                        found[int(entry.name)] = int(spaces[-1])
        return found

    def guards(self) -> list[int]:
        """What a fault has left there, as pids of here."""
        found = []
        for pid in self.processes():
            with contextlib.suppress(OSError):
                if b"mqlab-guard-" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(pid)
        return found

    def is_asked(self) -> bool:
        """Whether a connection to it is on its way, or something that one has asked for."""
        ours, theirs = str(self.folder / "key").encode(), b"/bin/sh\0-s\0"
        for entry in Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes() if entry.name.isdigit() else b""
                if words == theirs or (b"BatchMode=yes" in words and ours in words):
                    return True
        return False

    def is_stopped(self, pid: int) -> bool:
        """Of a pid of its own: whether it stands still."""
        here = self.here(pid)
        return here is not None and " (stopped)" in Path(f"/proc/{here}/status").read_text()


@contextlib.contextmanager
def far_machine(folder: Path, sshd: tuple[Path, Path], port: int) -> Iterator[FarMachine]:
    """Started in the caller's network, and ended with all of its processes."""
    folder.mkdir(parents=True)
    for key in ("key", "host_key", "other_key"):
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", folder / key], check=True, timeout=60)
    (folder / "known_hosts").write_text(f"[127.0.0.1]:{port} {(folder / 'host_key.pub').read_text()}")
    # sshd gives up its rights to a user of that name, which its package would make.
    (folder / "passwd").write_text(
        f"{Path('/etc/passwd').read_text()}{OTHER_USER}:x:4242:4242::/:/bin/sh\nsshd:x:4243:65534::/run/sshd:/bin/false\n"
    )
    (folder / "shadow").write_text(f"{Path('/etc/shadow').read_text()}{OTHER_USER}:*:19000:0:99999:7:::\n")
    (folder / "sshd_config").write_text(SSHD_CONFIG.format(port=port, folder=folder))
    program, libraries = sshd
    popen = subprocess.Popen(
        ["unshare", "--mount", "--pid", "--fork", "--kill-child=KILL", "--mount-proc", "sh", "-c",
         BEGINS.format(folder=folder, sshd=program)],
        env={"PATH": os.environ["PATH"], "LD_LIBRARY_PATH": str(libraries)},
        start_new_session=True, stdin=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        wait_until("sshd to listen", lambda: _listens(port), timeout_s=START_S_MAX)
        (first,) = (Path("/proc") / str(popen.pid) / "task" / str(popen.pid) / "children").read_text().split()
        yield FarMachine(folder=folder, port=port, pid=int(first))
    finally:
        os.killpg(popen.pid, signal.SIGKILL)
        popen.wait()


def _listens(port: int) -> bool:
    with socket.create_connection(("127.0.0.1", port), timeout=5):
        return True
