"""Keys and body sizes, drawn by the number of the operation. Its twin in Java is ``Draws.java``."""

from __future__ import annotations

import bisect
import functools
import itertools
import random

from harness.clients.commands import SendSettings

KEYS_KEPT = 4096


class Draws:
    """The same operation has the same key and size in every repetition, and whichever thread asks."""

    def __init__(self, sends: SendSettings) -> None:
        self._sends = sends
        weights = ((rank + 1) ** -sends.key_skew for rank in range(sends.keys))
        self._zipf = list(itertools.accumulate(weights)) if sends.key_distribution == "zipf" else []
        # Every thread asks for every operation's key, at about the same time.
        self.key = functools.lru_cache(KEYS_KEPT)(self._key)

    def _key(self, index: int) -> int:
        """The number of the operation's key; 0 when there are no keys."""
        sends = self._sends
        if sends.keys <= 1:
            return 0
        if sends.key_distribution == "cycle":
            return index % sends.keys
        drawn = random.Random(sends.seed * 1_000_003 + index).random()
        match sends.key_distribution:
            case "hot":
                if drawn < sends.key_skew:
                    return 0
                return 1 + int((drawn - sends.key_skew) / (1 - sends.key_skew) * (sends.keys - 1))
            case "zipf":
                return min(bisect.bisect_right(self._zipf, drawn * self._zipf[-1]), sends.keys - 1)
            case _:
                return int(drawn * sends.keys)

    def body_bytes(self, index: int) -> int:
        """The size of the operation's body."""
        sends = self._sends
        return random.Random(index ^ sends.seed).choices(sends.body_bytes, sends.body_shares)[0]
