"""The neighbour that dirties the page cache: it rewrites one nameless file until its time or its owner is over.

The file has no name, so that it ends with this process, and never grows beyond its size. Arguments: folder, size of the
file in bytes, bytes a second (0: as fast as it can), seconds. It writes ``BYTES_WRITTEN DIRTY_BYTES_MAX`` at its end,
the latter the most that /proc/meminfo showed as dirty or being written back.
"""

import os
import select
import sys
import time

from harness.leases.with_parent import end_with_parent

_CHUNK_BYTES = 2**20


def dirty_bytes() -> int:
    """What waits to be written back, on the whole machine."""
    with open("/proc/meminfo", encoding="ascii") as file:  # noqa: PTH123 - a file that is read a thousand times
        values = dict(line.split(":", 1) for line in file)
    return sum(int(values[name].split()[0]) * 1024 for name in ("Dirty", "Writeback"))


def main(argv: list[str]) -> None:
    """Write until the time is over or standard input closes."""
    end_with_parent()
    folder, file_bytes, rate_bps, seconds = argv[0], int(argv[1]), int(argv[2]), float(argv[3])
    handle = os.open(folder, os.O_TMPFILE | os.O_WRONLY | os.O_CLOEXEC, 0o600)
    chunk = os.urandom(_CHUNK_BYTES)
    written = most = 0
    started_s = time.monotonic()
    while (elapsed_s := time.monotonic() - started_s) < seconds:
        ahead_s = written / rate_bps - elapsed_s if rate_bps else 0.0
        if select.select([0], [], [], max(0.0, ahead_s))[0]:
            break
        written += os.pwrite(handle, chunk, written % max(_CHUNK_BYTES, file_bytes - file_bytes % _CHUNK_BYTES))
        most = max(most, dirty_bytes())
    os.write(1, f"{written} {most}\n".encode())


if __name__ == "__main__":
    main(sys.argv[1:])
