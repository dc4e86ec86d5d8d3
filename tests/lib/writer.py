"""Somebody who writes to a file system that may be frozen."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path


class Writer:
    """A thread that writes once; it waits while the file system is frozen."""

    def __init__(self, path: Path) -> None:
        self._handle = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        self.ended_ns = 0
        self._thread = threading.Thread(target=self._write, daemon=True)

    def start(self) -> None:
        self._thread.start()

    def _write(self) -> None:
        os.pwrite(self._handle, b"x", 0)
        self.ended_ns = time.monotonic_ns()

    def ends(self, within_s: float) -> bool:
        self._thread.join(within_s)
        return not self._thread.is_alive()

    def close(self) -> None:
        assert self.ends(10)
        os.close(self._handle)
