"""When an exchange with a node has to be over."""

from __future__ import annotations

import time
from dataclasses import dataclass
from typing import Self


@dataclass(frozen=True, kw_only=True)
class Deadline:
    """A moment of the monotonic clock. ``given_s`` is how long there was until it when it was set."""

    at_s: float
    given_s: float

    @classmethod
    def after(cls, seconds: float) -> Self:
        """So many seconds from now."""
        return cls(at_s=time.monotonic() + seconds, given_s=seconds)

    def within(self, other: Deadline | None) -> Deadline:
        """The earlier one of the two."""
        return self if other is None or self.at_s <= other.at_s else other

    def is_over(self) -> bool:
        """Whether the moment has passed."""
        return time.monotonic() >= self.at_s

    def left_s(self) -> float:
        """The seconds that are left, more than none. Raises TimeoutError once it is over."""
        left_s = self.at_s - time.monotonic()
        if left_s <= 0:
            raise TimeoutError("timed out")
        return left_s
