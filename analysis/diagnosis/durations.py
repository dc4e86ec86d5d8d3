"""How many appends took how long, as brokers write it each minute: ``[<=0ms]:28 [0~10ms]:1`` and so on (StoreStatsService)."""

from __future__ import annotations

import re

MARK = b"[PAGECACHERT]"
"""In each such line, before its buckets."""
_BUCKET = re.compile(rb"\[([^\[\]]{1,40})\]:(\d{1,12})\b")
_BYTES_MAX = 2_000
BUCKETS_MAX = 100
"""RocketMQ has 14."""


def count_durations(durations: dict[str, int], line: bytes) -> None:
    """Add what a line with the mark says, by bucket."""
    begins = line.index(MARK) + len(MARK)
    for name, count in _BUCKET.findall(line, begins, begins + _BYTES_MAX):
        bucket = name.decode("utf-8", "replace")
        if bucket in durations or len(durations) < BUCKETS_MAX:
            durations[bucket] = durations.get(bucket, 0) + int(count)
