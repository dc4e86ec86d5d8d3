"""What processes have used so far, read when asked: cheap enough to stand between two phases of a trial."""

from collections.abc import Iterable

import psutil


class Meter:
    """CPU seconds since the first reading and the most private memory; a process that has ended keeps its last reading."""

    def __init__(self, pids: Iterable[int | None] = ()) -> None:
        """``pids`` have run before; what comes later is counted from its start."""
        self._cpu_s: dict[int, float] = {}
        self.memory_mb = 0.0
        self.read(pids)
        self._before_s = sum(self._cpu_s.values())

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
            # The page cache, which maps a broker's store, is not the process's own.
            private_mb += (memory.rss - getattr(memory, "shared", 0)) / 2**20
        self.memory_mb = max(self.memory_mb, private_mb)

    @property
    def cpu_s(self) -> float:
        """Seconds of a core."""
        return sum(self._cpu_s.values()) - self._before_s
