"""The cores that trials share which mostly wait: who comes first is served first, and takes what it needs on average.

Averages are of others, and may be too low: who may wait until the cores had some rest does so, too.
"""

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator, Sequence

POLL_S = 0.5
"""How soon one that waits sees that the run is cancelled."""


class CoreBudget:
    """So many cores. One that needs more than there are is served when nobody else has any. Safe for threads."""

    def __init__(self, cores: float, cancel: threading.Event, rested: Callable[[], bool] = lambda: True) -> None:
        self._cores = cores
        self._rested = rested
        self._cancel = cancel
        self._taken: list[float] = []
        self._waiting: deque[object] = deque()
        self._expected = 0
        self._changed = threading.Condition()

    def has(self, cores: float) -> None:
        """There are so many from now on."""
        with self._changed:
            self._cores = cores
            self._changed.notify_all()

    def expect(self, trials: int) -> None:
        """So many more will come (less: will not), each once."""
        with self._changed:
            self._expected += trials
            self._changed.notify_all()

    @contextlib.contextmanager
    def taken(self, cores: float, after_rest: bool = False) -> Iterator[None]:
        """Wait for room, and have it in the block; ``after_rest``, beside others only when the cores had some rest lately.

        A cancelled run lets everybody in, to see that it is.
        """
        me = object()
        with self._changed:
            self._waiting.append(me)
            while not (self._cancel.is_set() or (self._waiting[0] is me and self._has_room(cores, after_rest))):
                self._changed.wait(POLL_S)
            self._waiting.remove(me)
            self._taken.append(cores)
            self._expected -= 1
            self._changed.notify_all()
        try:
            yield
        finally:
            with self._changed:
                self._taken.remove(cores)
                self._changed.notify_all()

    def _has_room(self, cores: float, after_rest: bool) -> bool:
        return fits(self._taken, cores, self._cores) and (not (after_rest and self._taken) or self._rested())

    def expects_few(self, few: int, timeout_s: float) -> bool:
        """Whether at most so many have still to find room, within so many seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: self._expected <= few, timeout_s)


def fits(taken: Sequence[float], cores: float, of: float) -> bool:
    """Whether so many cores are free beside those taken; anything fits where nobody has any."""
    return not taken or sum(taken) + cores <= of + 1e-9
