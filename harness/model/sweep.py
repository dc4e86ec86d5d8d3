"""A sweep: one arm of an incident under many settings and loads, each of them a point with an arm of its own."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Point:
    """One choice of settings under one load.

    ``settings`` are by key with its prefix (``broker.waitTimeMillsInSendQueue``), ``load`` by the name of a parameter of the
    cell or of a field of the load. ``steps`` is how far the settings are from those that are there now, in values of each list.
    """

    arm: str
    settings: Mapping[str, str]
    load: Mapping[str, str]
    steps: int


@dataclass(frozen=True, kw_only=True)
class Sweep:
    """All points; the less of ``goal`` (a measure) a point gives the better.

    What differs by up to ``margin`` of what the settings that are there now give does not count. Of each load one
    point has ``steps`` 0.
    """

    incident: str
    points: tuple[Point, ...]
    goal: str
    margin: float

    def by_load(self) -> tuple[tuple[Point, ...], ...]:
        """The points of each load, in the order of the lists; a recommendation is made for each load."""
        found: dict[tuple[tuple[str, str], ...], list[Point]] = {}
        for point in self.points:
            found.setdefault(tuple(point.load.items()), []).append(point)
        return tuple(map(tuple, found.values()))


def words_of(values: Mapping[str, str]) -> str:
    """``waitTimeMillsInSendQueue=400, stall_ms=300``: keys without what comes before their last dot."""
    return ", ".join(f"{key.rpartition('.')[2]}={value}" for key, value in values.items())
