"""What processes have used so far, read when asked: cheap enough to stand between two phases of a trial."""

import contextlib
from collections.abc import Iterable
from pathlib import Path

import psutil


class Meter:
    """CPU seconds and waits for a core since the first reading, and the most private memory.

    A process that has ended keeps its last reading.
    """

    def __init__(self, pids: Iterable[int | None] = ()) -> None:
        """``pids`` have run before; what comes later is counted from its start."""
        self._cpu_s: dict[int, float] = {}
        self._wait_s: dict[int, float] = {}
        self.memory_mb = 0.0
        self.read(pids)
        self._before_s = sum(self._cpu_s.values())
        self._waited_before_s = sum(self._wait_s.values())

    def read(self, pids: Iterable[int | None]) -> None:
        """Read these processes; those that are gone, or not ours to look at, are left out."""
        private_mb = 0.0
        for pid in filter(None, pids):
            try:
                process = psutil.Process(pid)
                times, memory = process.cpu_times(), process.memory_info()
            except psutil.Error:
                continue
            self._cpu_s[pid] = times.user + times.system
            # Threads that have ended take their waits with them.
            self._wait_s[pid] = max(self._wait_s.get(pid, 0.0), run_delay_s(pid))
            # The page cache, which maps a broker's store, is not the process's own.
            private_mb += (memory.rss - getattr(memory, "shared", 0)) / 2**20
        self.memory_mb = max(self.memory_mb, private_mb)

    @property
    def cpu_s(self) -> float:
        """Seconds of a core."""
        return sum(self._cpu_s.values()) - self._before_s

    @property
    def wait_s(self) -> float:
        """Seconds that threads could have run and waited for a core, of all threads together."""
        return sum(self._wait_s.values()) - self._waited_before_s


def run_delay_s(pid: int) -> float:
    """How long the threads of a process have waited for a core, in seconds; 0 where the kernel does not say.

    Source: the second number of ``/proc/PID/task/TID/schedstat``, nanoseconds (Documentation/scheduler/sched-stats.rst).
    """
    waited_ns = 0
    for thread in Path(f"/proc/{pid}/task").glob("*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError):
            waited_ns += int(thread.read_text().split()[1])
    return waited_ns / 1e9


def times_of_threads(pid: int) -> dict[tuple[int, str], tuple[int, int]]:
    """By a thread's number and its name, of which Linux keeps 15 characters: ns for which it computed, and waited for a core."""
    times = {}
    for task in Path(f"/proc/{pid}/task").iterdir():
        try:
            name, (computed, waited, _) = (task / "comm").read_text().strip(), (task / "schedstat").read_text().split()
        except OSError:
            continue  # It has ended meanwhile.
        times[int(task.name), name] = (int(computed), int(waited))
    return times
