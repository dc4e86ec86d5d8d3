"""What ended in a load, as Locust counts it. Its twin in Java is ``Tally.java``."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass
class Tally:
    """Counts of the messages that ended since they were taken last. Times are milliseconds."""

    requests: int = 0
    failures: int = 0
    bytes: int = 0
    sum_ms: int = 0
    min_ms: int = 2**31
    max_ms: int = 0
    response_ms: Counter[int] = field(default_factory=Counter)
    errors: Counter[str] = field(default_factory=Counter)

    def add(self, latency_ns: int, count: int, error: str) -> None:
        """Count one message."""
        ms = round(latency_ns / 1e6)
        self.requests += 1
        self.bytes += count
        self.sum_ms += ms
        self.min_ms, self.max_ms = min(self.min_ms, ms), max(self.max_ms, ms)
        # As Locust rounds: to two digits above 100 ms.
        self.response_ms[ms if ms < 100 else round(ms, 2 - len(str(ms)))] += 1
        if error:
            self.failures += 1
            self.errors[error] += 1
