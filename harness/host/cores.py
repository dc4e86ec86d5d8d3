"""How many cores there are for us."""

from __future__ import annotations

import os


def usable_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0))
