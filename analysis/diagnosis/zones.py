"""The zone of an application's log that says nothing of it, by what other logs with a known one have of the same events."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.moments import ASSUMED, QUARTER_S, ZONE_S_MAX, Zone
from analysis.diagnosis.reading import ReadFile, shift
from analysis.diagnosis.skew import BURSTS_MIN, distance
from harness.language import phrase
from harness.model.log_events import Logged

BESIDE = phrase("by what lies beside the events of other logs then")
IN_THEIR_TIME = phrase("as other logs, in whose time it lies then")
REFUSED = (Logged.REFUSED_FOR_AGE, Logged.REFUSED_FOR_CACHE)
NEAR_S = 15.0
"""A client notices that a broker is gone, and back, with its next attempt."""

BESIDE_S = 600.0
"""Logs of one incident begin and end within minutes of each other."""


def settle_zones(files: Sequence[ReadFile]) -> None:
    """Give files whose zone was assumed the one in which they agree with the others, where there is such a zone."""
    known = [one for one in files if one.zone is not None and one.zone.known_by != ASSUMED and not one.undated]
    for file in files:
        if file.zone is None or file.zone.known_by != ASSUMED or file.undated or not known:
            continue
        offset_s, known_by = _by_events(file, known), BESIDE
        if offset_s is None:
            offset_s, known_by = _by_span(file, known), IN_THEIR_TIME
        if offset_s is not None:
            shift(file, offset_s)
            file.zone = Zone(offset_s=offset_s, known_by=known_by)


def _by_events(file: ReadFile, known: Iterable[ReadFile]) -> float | None:
    others = [event for one in known for event in one.events]
    bursts, appends = list(_ends(file.events, REFUSED)), list(_ends(others, (Logged.SLOW_APPEND,)))
    found = distance(bursts, appends, least=BURSTS_MIN)
    if found is not None and (zone_s := _quarter(found[0])) is not None and abs(found[0] - zone_s) <= NEAR_S:
        return zone_s
    # A broker that was away, by a name server, and by a client that could not connect.
    for gone in file.events:
        for went, came in _absences(others, gone) if gone.kind is Logged.UNREACHABLE else ():
            zone_s = _quarter((gone.from_s or 0.0) - went)
            if zone_s is not None and all(
                abs((at or 0.0) - zone_s - other) <= NEAR_S for at, other in ((gone.from_s, went), (gone.to_s, came))
            ):
                return zone_s
    return None


def _absences(events: Sequence[Event], gone: Event) -> Iterator[tuple[float, float]]:
    of_it = [one for one in events if one.get("address") == gone.get("address") and one.from_s is not None]
    for went in of_it:
        if went.kind is Logged.BROKER_WENT:
            back = [
                one.from_s
                for one in of_it
                if one.kind is Logged.BROKER_CAME and one.from_s is not None and one.from_s >= (went.from_s or 0.0)
            ]
            if back:
                yield went.from_s or 0.0, min(back)


def _by_span(file: ReadFile, known: Sequence[ReadFile]) -> float | None:
    """A zone of others in which the file has the time of one of them, where it has that of none as it is."""
    if _is_beside(file, known, 0.0):
        return None
    zones = sorted({one.zone.offset_s for one in known if one.zone is not None and one.zone.offset_s})
    return next((zone_s for zone_s in zones if _is_beside(file, known, zone_s)), None)


def _is_beside(file: ReadFile, known: Iterable[ReadFile], zone_s: float) -> bool:
    return any(
        None not in (file.from_s, file.to_s, one.from_s, one.to_s)
        and file.from_s - zone_s <= one.to_s + BESIDE_S  # type: ignore[operator]
        and file.to_s - zone_s >= one.from_s - BESIDE_S  # type: ignore[operator]
        for one in known
    )


def _ends(events: Iterable[Event], kinds: Sequence[Logged]) -> Iterator[float]:
    return (one.to_s for one in events if one.kind in kinds and one.to_s is not None)


def _quarter(ahead_s: float) -> float | None:
    """The zone next to this distance; None where that is UTC, or none."""
    zone_s = QUARTER_S * round(ahead_s / QUARTER_S)
    return zone_s if zone_s and abs(zone_s) <= ZONE_S_MAX else None
