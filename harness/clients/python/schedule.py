"""The schedule of an open loop. Its twin in Java is ``Schedule.java``."""

from __future__ import annotations

import bisect
import math

from harness.clock import mono_ns


class Schedule:
    """When each operation is due, by pieces of constant rate: a new rate neither loses an operation nor adds one."""

    def __init__(self, start_ns: int, rate_hz: float) -> None:
        self._pieces = [(start_ns, 0.0, rate_hz)]

    def steer(self, rate_hz: float) -> None:
        """A new rate from now on."""
        start_ns, before, old_hz = self._pieces[-1]
        now_ns = max(mono_ns(), start_ns)
        self._pieces.append((now_ns, before + (now_ns - start_ns) * old_hz / 1e9, rate_hz))

    def due_ns(self, index: int) -> int | None:
        """When the operation is due at the present rate; None while the rate is 0."""
        pieces = self._pieces
        at = max(bisect.bisect_right(pieces, float(index), key=lambda piece: piece[1]) - 1, 0)
        start_ns, before, rate_hz = pieces[at]
        return None if rate_hz <= 0 else start_ns + int((index - before) * 1e9 / rate_hz)

    def due(self) -> int:
        """How many operations are due by now."""
        start_ns, before, rate_hz = self._pieces[-1]
        return math.ceil(before + max(0, mono_ns() - start_ns) * rate_hz / 1e9)
