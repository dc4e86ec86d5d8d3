"""Whether the cores had any rest in the last moments, as the kernel counts it.

A plan knows what trials need of the cores on average, as others took them. Where they need more, or where the machine gives
less, all of them are late together and none ends: one more is to begin only when what runs leaves something.
"""

import time
from collections import deque
from collections.abc import Callable

import psutil

WINDOW_S = 3.0
"""So far back is looked, and half of it at least."""

REST_SHARE = 0.05
"""Of the time of all cores, what they rest where one more finds room."""

Times = tuple[float, float]
"""Seconds of all cores together since the boot: at rest, and in all."""


def core_times() -> Times:
    """What nobody computes in, waiting for disks included, and what somebody does who lets all others go first, is rest."""
    times = psutil.cpu_times()
    return times.idle + times.iowait + times.nice, sum(times) - times.guest - times.guest_nice


class CoreRest:
    """Looks whenever it is asked; who has not asked for a while asks again. Not safe for threads."""

    def __init__(self, look: Callable[[], Times] = core_times, now: Callable[[], float] = time.monotonic) -> None:
        self._look, self._now = look, now
        self._seen: deque[tuple[float, Times]] = deque()

    def was_there(self) -> bool:
        """False as well while too little was seen to say so, which takes a second or two."""
        at, (rest, total) = self._now(), self._look()
        while self._seen and at - self._seen[0][0] > WINDOW_S:
            self._seen.popleft()
        self._seen.append((at, (rest, total)))
        since, (rest_then, total_then) = self._seen[0]
        return at - since >= WINDOW_S / 2 and rest - rest_then >= REST_SHARE * (total - total_then)
