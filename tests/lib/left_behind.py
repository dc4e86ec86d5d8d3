"""What a lab that was killed has left on its machine: processes, mounts, loop devices, rules, control groups, leases, files.

It is looked for without the lab's own code of healing: by the tokens of all leases that were ever written down, by folders that
command lines, mounts and loop devices name, and by sessions.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PERIOD_S = 0.02
LOOK_S = 0.25
CONTROL_GROUPS = Path("/sys/fs/cgroup")
COUNTERS = "hsperfdata_"


@dataclass
class Seen:
    """What was ever there of the folders' lab; ``watching`` notes it while a block runs."""

    folders: tuple[Path, ...]
    """Its run and its state."""
    temporary: Path = Path("/tmp")
    """Java's, which heeds no TMPDIR."""
    own_temporary: Path | None = None
    """What TMPDIR names for the lab and nobody else."""
    leases: dict[str, dict[str, Any]] = field(default_factory=dict)
    pids: set[int] = field(default_factory=set)
    sessions: set[int] = field(default_factory=set)
    unpacked: set[str] = field(default_factory=set)
    """Files of the temporary folder that its processes have mapped."""
    before: frozenset[str] = frozenset()

    @contextlib.contextmanager
    def watching(self, state: Path) -> Iterator[None]:
        """Look at the leases again and again."""
        self.before = frozenset(_names(self.temporary))
        over = threading.Event()

        def watch() -> None:
            mapped_s = 0.0
            while not over.wait(PERIOD_S):
                self._note_leases(state)
                if time.monotonic() - mapped_s > 1.0:
                    self.note_files()
                    mapped_s = time.monotonic()

        thread = threading.Thread(target=watch, daemon=True)
        thread.start()
        try:
            yield
        finally:
            over.set()
            thread.join()

    def _note_leases(self, state: Path) -> None:
        for path in state.glob("**/leases/*.json"):
            with contextlib.suppress(OSError, ValueError):
                self.leases[path.stem] = json.loads(path.read_text())
                pid = self.leases[path.stem]["data"].get("pid")
                if pid and pid not in self.pids:
                    self.pids.add(pid)
                    self.sessions.add(os.getsid(pid))

    def note_files(self) -> None:
        """Note which files of the temporary folder the processes use. Others' tests run on the same machine."""
        for pid in self.pids:
            with contextlib.suppress(OSError):
                for line in Path(f"/proc/{pid}/maps").read_text().splitlines():
                    words = line.split(None, 5)
                    if len(words) > 5 and Path(words[5]).parent == self.temporary:
                        self.unpacked.add(Path(words[5]).name)

    def named(self, kind: str, start: str = "") -> dict[str, Mapping[str, Any]]:
        """Leases of a kind whose name begins so."""
        found = {token: lease["data"] for token, lease in self.leases.items() if lease["kind"] == kind}
        return {token: data for token, data in found.items() if str(data.get("name", "")).startswith(start)}

    def left(self) -> dict[str, list[str]]:
        """What is there now, by what it is; empty where nothing is."""
        found = {
            "processes": self._processes(),
            "mounts": [line.split()[4] for line in _lines("/proc/self/mountinfo") if self._is_ours(line)],
            "loop devices": self._loops(),
            "images": [path for path in self._values("image") if Path(path).exists()],
            "rules": [line for line in _rules() if any(token in line for token in self.leases)],
            "control groups": [path for path in self._values("path", kind="cgroup") if Path(path).exists()],
            "leases": [path.stem for folder in self.folders for path in folder.glob("**/leases/*.json")],
            "temporary files": self._temporary_files(),
        }
        return {what: some for what, some in found.items() if some}

    def wait_until_nothing(self, within_s: float) -> tuple[dict[str, float], dict[str, list[str]]]:
        """When each kind of thing that is gone was seen last, in seconds; and what is left when so many have passed."""
        began_s = time.monotonic()
        last_s: dict[str, float] = {}
        while True:
            left, waited_s = self.left(), time.monotonic() - began_s
            last_s |= dict.fromkeys(left, round(waited_s, 1))
            if not left or waited_s > within_s:
                return {what: seen_s for what, seen_s in last_s.items() if what not in left}, left
            time.sleep(LOOK_S)

    def _is_ours(self, text: str) -> bool:
        return any(str(folder) in text for folder in self.folders)

    def _values(self, name: str, *, kind: str = "") -> list[str]:
        leases = [lease for lease in self.leases.values() if not kind or lease["kind"] == kind]
        return sorted({str(lease["data"][name]) for lease in leases if name in lease["data"]})

    def _loops(self) -> list[str]:
        backing = {
            path.parts[3]: path.read_text().strip() for path in Path("/sys/block").glob("loop*/loop/backing_file")
        }
        images = self._values("image")
        return [name for name, file in backing.items() if self._is_ours(file) or any(one in file for one in images)]

    def _processes(self) -> list[str]:
        return [what for entry in Path("/proc").iterdir() if entry.name.isdigit() and (what := self._what_of(entry))]

    def _what_of(self, entry: Path) -> str:
        """How one of the lab's is called, and why it is taken for that; empty for others'."""
        try:
            (
                state,
                *_,
            ) = (fields := (entry / "stat").read_text().rsplit(")", 1)[1].split())
            command = (entry / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            environment = (entry / "environ").read_bytes().decode(errors="replace")
        except OSError:
            return ""
        pid, session = int(entry.name), int(fields[3])
        if state in "ZX" or pid == os.getpid():
            return ""
        by = {
            "token": any(f"MQLAB_LEASE={token}" in environment for token in self.leases),
            "command line": self._is_ours(command),
            "session": session in self.sessions,
        }
        why = ", ".join(reason for reason, is_so in by.items() if is_so)
        # A session's number may be another's by now; a token or a folder is not.
        return f"{pid} {_name(command)} ({why}{', stopped' if state in 'Tt' else ''})" if why else ""

    def _temporary_files(self) -> list[str]:
        new = set(_names(self.temporary)) - self.before
        pids = {str(pid) for pid in self.pids}
        own = [path.name for path in self.own_temporary.iterdir()] if self.own_temporary else []
        return own + sorted(name for name in new if name in self.unpacked or name.rpartition("/")[2] in pids)


def _names(folder: Path) -> Iterator[str]:
    """Names in a temporary folder, and those of Java's counters, which are pids."""
    for path in folder.iterdir():
        yield path.name
        if path.name.startswith(COUNTERS):
            with contextlib.suppress(OSError):
                yield from (f"{path.name}/{one.name}" for one in path.iterdir())


def _name(command: str) -> str:
    words = command.split()
    known = [word for word in words if word.startswith(("org.apache.rocketmq.", "harness.", "mqlab"))]
    return known[-1] if known else " ".join(words)[:60]


def _lines(path: str) -> list[str]:
    return Path(path).read_text().splitlines()


def _rules() -> list[str]:
    with contextlib.suppress(OSError):
        listed = subprocess.run(["iptables", "-w", "5", "-S"], capture_output=True, text=True, timeout=20, check=False)
        return listed.stdout.splitlines()
    return []
