"""Whether a run is slower than its plan said, and when it will be over by what has ended so far."""

import os
from collections.abc import Mapping

from harness.host.abilities import usable_cores

LATE_SHARE, LATE_S = 1.1, 15.0
"""A run is late that has lasted so many times as long as its plan said, and so many seconds more."""

FORESEEN_SHARE, FORESEEN_TIMES = 0.2, 1.5
"""When this share of it has ended it is foreseen that it will last so many times as long."""

AGAIN_TIMES, AGAIN_S_MIN = 1.5, 60.0
"""It is said again when so many times as long has passed as when it was said last, and so many seconds more."""

BUSY_TIMES = 1.5
"""So many processes a core that want to run, for a minute."""


class Pace:
    """Told what has ended, it says now and then how late the run is. ``trials`` are the seconds that the plan has for each."""

    def __init__(self, planned_s: float, trials: Mapping[str, float]) -> None:
        self._planned_s = planned_s
        self._left = dict(trials)
        self._all_s = sum(trials.values())
        self._again_s = 0.0

    def ended(self, trial: str) -> None:
        """A trial of the plan is over."""
        self._left.pop(trial, None)

    def words(self, elapsed_s: float, why: str) -> str:
        """What is to be said now; empty where the run is on time, has ended, or has been told not long ago."""
        if not self._left or elapsed_s < self._again_s or not self._all_s:
            return ""
        share = 1 - sum(self._left.values()) / self._all_s
        all_s = elapsed_s / share if share > 0 else 0.0
        is_late = elapsed_s > self._planned_s * LATE_SHARE + LATE_S
        if not is_late and not (share >= FORESEEN_SHARE and all_s > self._planned_s * FORESEEN_TIMES + LATE_S):
            return ""
        self._again_s = max(elapsed_s * AGAIN_TIMES, elapsed_s + AGAIN_S_MIN)
        left = f"about {duration(all_s - elapsed_s)} left" if share > 0 else "and nothing has ended yet"
        said = f"the {duration(self._planned_s)} that were expected"
        return f"this takes longer than {said}: {duration(elapsed_s)} so far, {left}; {why}"


def why_slow() -> str:
    """What of this host explains it."""
    load, cores = os.getloadavg()[0], usable_cores()
    if load > BUSY_TIMES * cores:
        return f"the host is busy (load average {load:.1f} on {cores} cores)"
    return "its trials take longer here than in what the plan was made by; the next plan goes by these"


def duration(seconds: float) -> str:
    """``3 min 20 s`` of 200."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest:02d} s" if minutes else f"{rest} s"
