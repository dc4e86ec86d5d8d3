"""Whether a process stands still: each of its threads is stopped, or frozen with its control group, and none computes.

A thread that a signal stopped is in state T, one that a tracer stopped in state t (proc(5)). What ``docker pause`` freezes has no
such state, and its control group says that it is frozen.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.host.cgroups import is_frozen
from harness.leases import proc
from harness.leases.elsewhere import ProcessElsewhere
from harness.leases.proc import ProcessId
from harness.leases.ssh import SshError

TICKS_MAX = 1
"""A thread shows as stopped some microseconds before it leaves its core, by which a count of ticks of 10 ms may go on by one."""

_STOPPED, _ENDED = "Tt", "XZ"


@dataclass(frozen=True, kw_only=True)
class Look:
    """What a process was like at one moment."""

    process: ProcessId
    threads: int
    cpu_ticks: int
    running: str = ""
    """Why it does not stand still, in words; empty where it does."""
    unseen: str = ""
    """Why nothing can be said of it, in words."""


def look(process: ProcessId) -> Look:
    """What it is like now."""
    if isinstance(process, ProcessElsewhere):
        return _look_elsewhere(process)
    found = proc.read_stat(process.pid)
    if found is None or found.start_ticks != process.start_ticks or not found.runs:
        return Look(process=process, threads=0, cpu_ticks=0, running=f"process {process.pid} has ended")
    codes = list(_codes(process.pid))
    running = "" if is_frozen(process.pid) else _moving(process, codes)
    return Look(process=process, threads=len(codes), cpu_ticks=found.cpu_ticks, running=running)


def _look_elsewhere(process: ProcessElsewhere) -> Look:
    try:
        found = process.threads()
    except SshError as error:
        return Look(process=process, threads=0, cpu_ticks=0, unseen=f"process {process.pid} was not seen: {error.says}")
    if found is None:
        return Look(process=process, threads=0, cpu_ticks=0, running=f"process {process.pid} has ended")
    cpu_ticks, all_codes = found
    codes = [(name, code) for name, code in all_codes if code not in _ENDED]
    return Look(process=process, threads=len(codes), cpu_ticks=cpu_ticks, running=_moving(process, codes))


def _moving(process: ProcessId, codes: Sequence[tuple[str, str]]) -> str:
    moving = [name for name, code in codes if code not in _STOPPED]
    if not moving:
        return ""
    return f"{len(moving)} of {len(codes)} threads of process {process.pid} were not stopped, such as {moving[0]}"


def _codes(pid: int) -> Iterator[tuple[str, str]]:
    """Name and state of each thread that has not ended."""
    for thread in Path(f"/proc/{pid}/task").glob("*/stat"):
        try:
            name, _, fields = thread.read_text(errors="replace").partition(" (")[2].rpartition(") ")
        except OSError:
            continue  # It has ended meanwhile.
        if fields[0] not in _ENDED:
            yield name, fields[0]


def why_not_still(first: Look, last: Look) -> str:
    """Why a process did not stand still from one look to another, in words; empty where it did."""
    if words := first.running or last.running:
        return words
    if first.unseen or last.unseen:
        return ""
    if (ticks := last.cpu_ticks - first.cpu_ticks) > TICKS_MAX:
        return f"process {last.process.pid} computed for {ticks} clock ticks while it was to stand still"
    return ""
