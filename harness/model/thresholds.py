"""What a load must not come to, in the user's own words: ``p99>50ms``, ``failed>0.1%``, ``lost>0``, ``accepted<480``."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

LATENCIES = ("p50", "p99", "p99.9")
"""Of accepted sends from their intended times, in milliseconds."""
SHARES = ("failed", "unknown")
"""Sends: a count, or with ``%`` a share of all."""
COUNTS = ("lost", "twice", "out-of-order")
"""Messages: acknowledged and never consumed, consumed again, first consumed after a later one of their queue."""
RATE = "accepted"
"""Sends a second."""
UNITS: Mapping[str, Mapping[str, float]] = {
    **{name: {"": 1.0, "ms": 1.0, "s": 1000.0} for name in LATENCIES},
    **{name: {"": 1.0, "%": 1.0} for name in SHARES},
    **{name: {"": 1.0} for name in COUNTS},
    RATE: {"": 1.0, "/s": 1.0},
}
NOUN = "a threshold such as p99>50ms, failed>0.1%, lost>0 or accepted<480"

_NAMES = "|".join(map(re.escape, sorted(UNITS, key=len, reverse=True)))
_FORM = re.compile(rf"\s*({_NAMES})\s*([<>])\s*(\d{{1,12}}(?:\.\d{{1,6}})?)\s*(ms|s|%|/s)?\s*")


@dataclass(frozen=True, kw_only=True)
class Threshold:
    """The load fails where the number of this name is above or below ``value``, which is in the name's own unit.

    ``is_share`` is of a count that is told in per cent of all sends. ``text`` is what the user wrote.
    """

    name: str
    relation: str
    value: float
    is_share: bool
    text: str

    def is_met_by(self, number: float) -> bool:
        """Whether a number makes the load fail."""
        return number > self.value if self.relation == ">" else number < self.value


def parse_threshold(text: str) -> Threshold:
    """Raises ValueError: it has no such form, or a unit that the name does not have."""
    found = _FORM.fullmatch(text)
    if not found or (found[4] or "") not in UNITS[found[1]]:
        raise ValueError(f"no threshold: {text}")
    scale = UNITS[found[1]][found[4] or ""]
    return Threshold(
        name=found[1], relation=found[2], value=float(found[3]) * scale, is_share=found[4] == "%", text=text.strip()
    )
