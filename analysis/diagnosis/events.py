"""From lines to typed events: what a line says is kept once for as long as it is said again and again."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache

from harness.model.log_events import WORDINGS, Logged, Wording

TEXT_MAX = 600
"""Characters of a line that are kept."""
SEARCHED_MAX = 4 * TEXT_MAX
"""Characters of a line in which its fields are looked for: two subscriptions of a topic with a long name are longer."""
SAME_S = 65.0
"""A lock is asked for every 20 s, a registration made every 30 s: what comes again within this is the same."""
BURST_S = 5.0
EVENTS_MAX = 200_000
"""Of one file; those beyond are counted only."""

_IDENTITY: Mapping[Logged, tuple[str, ...]] = {
    Logged.REFUSED_FOR_AGE: ("keyword", "address"),
    Logged.REFUSED_FOR_CACHE: ("keyword", "address"),
    Logged.REFUSED_FULL: ("keyword", "address"),
    Logged.POOL_BUSY: ("code", "state"),
    Logged.POOL_LOW: ("left",),
    Logged.FRAME_TOO_LONG: ("limit",),
    Logged.CLIENT_GONE: ("client",),
    Logged.UNREACHABLE: ("address", "error"),
    Logged.NO_ANSWER: ("address", "error"),
}
"""By which fields two events are the same; all fields where none are named."""
_BURSTS = frozenset({Logged.REFUSED_FOR_AGE, Logged.REFUSED_FOR_CACHE, Logged.REFUSED_FULL})
_SINGLE = frozenset({Logged.SLOW_APPEND, Logged.SLOW_PUT, Logged.LOCK_EXPIRED, Logged.LOCK_TAKEN, Logged.BOOTED})


@dataclass(slots=True)
class Event:
    """What a file says from ``from_s`` to ``to_s``, in ``count`` lines, of which the first and the last are kept.

    Times are seconds since 1970, of the file's clock face until its zone is known and of UTC from then on; they are None
    where no line before had one. ``most_ms`` is the largest duration, in milliseconds, ``within`` the event whose
    stack trace the line belongs to.
    """

    kind: Logged
    file: str
    line: int
    text: str
    from_s: float | None
    to_s: float | None
    fields: dict[str, str]
    count: int = 1
    last_line: int = 0
    last_text: str = ""
    most_ms: float = 0.0
    within: Logged | None = None
    node: str = ""

    def get(self, name: str) -> str:
        """A field, empty where the line has none of that name."""
        return self.fields.get(name, "")


GATES: tuple[bytes, ...] = (
    b"lock", b"_QUEUE]", b"egister", b"NETTY EVENT", b"putMessage cost", b"Remoting", b"new topic", b"topic config",
    b"to name server", b"TransientStorePool", b"mmap timeout", b"abnormally", b"[OVERLOAD]", b"[REJECTREQUEST]",
    b"[PC_SYNCHRONIZED]", b"too many requests", b"Adjusted frame", b"decode exception", b"broker channel", b"broker's channel",
    b"brokerLiveTable", b"%DLQ%", b"boot success", b"consumer connected", b"subscription changed", b" remove topic ",
    b"store.CommitLog.",
)  # fmt: skip
"""Short words, one of which is in every wording: most lines have none, and are done with."""


_Asked = tuple[int, bytes, Wording, re.Pattern[str]]


@cache
def _by_gate() -> Mapping[bytes, tuple[_Asked, ...]]:
    compiled = [(at, one.words.encode(), one, re.compile(one.fields)) for at, one in enumerate(WORDINGS)]
    return {gate: tuple(one for one in compiled if gate in one[1]) for gate in GATES}


def wording_of(line: bytes, gates: Sequence[bytes]) -> _Asked | None:
    """The first wording that a line has, if any; ``gates`` are those words of ``GATES`` that it has."""
    found = [one for gate in gates for one in _by_gate().get(gate, ()) if one[1] in line]
    return min(found, key=lambda one: one[0]) if found else None


@dataclass(slots=True)
class Collected:
    """The events of one file, as they come."""

    file: str
    events: list[Event] = field(default_factory=list)
    left_out: int = 0
    families: set[str] = field(default_factory=set)
    """4.x or 5.x, where words are those of one alone."""
    _open: dict[tuple[object, ...], Event] = field(default_factory=dict)
    _last: Event | None = None
    _last_number: int = 0

    def take(
        self, line: bytes, number: int, at_s: float | None, gates: Sequence[bytes], head: int | None = None
    ) -> None:
        """A line that may be an event; ``head`` is the number of the line that it goes on from, as a stack trace does."""
        found = wording_of(line, gates)
        if found is None:
            return
        _, _, wording, pattern = found
        if wording.releases:
            self.families.add(wording.releases)
        whole = line.decode("utf-8", "replace").rstrip()
        text = whole[:TEXT_MAX]
        match = pattern.search(whole, 0, SEARCHED_MAX) if wording.fields else None
        fields = {name: value for name, value in (match.groupdict() if match else {}).items() if value is not None}
        above = self._last if head is not None and head == self._last_number else None
        if above is not None and "error" in fields:
            above.fields.setdefault("error", fields["error"])
        if above is not None and above.kind is Logged.UNDECODABLE and "address" in above.fields:
            fields.setdefault("address", above.fields["address"])
        event = self._kept(wording.event, fields, text, number, at_s, above.kind if above else None)
        if head is None:
            self._last, self._last_number = event, number

    def _kept(
        self, kind: Logged, fields: dict[str, str], text: str, number: int, at_s: float | None, within: Logged | None
    ) -> Event | None:
        ms = float(fields.get("ms", 0))
        names = _IDENTITY.get(kind)
        same = [fields.get(name) for name in names] if names else sorted(_same(kind, fields).items())
        key = (kind, within, *same)
        known = self._open.get(key)
        if known is not None and kind not in _SINGLE and _close(known, at_s):
            known.to_s = at_s if at_s is not None else known.to_s
            known.count += 1
            known.last_line, known.last_text = number, text
            known.most_ms = max(known.most_ms, ms)
            known.fields.update((name, value) for name, value in fields.items() if name not in known.fields)
            return known
        if len(self.events) >= EVENTS_MAX:
            self.left_out += 1
            return None
        event = Event(
            kind,
            self.file,
            number,
            text,
            at_s,
            at_s,
            fields,
            last_line=number,
            last_text=text,
            most_ms=ms,
            within=within,
        )
        self._open[key] = event
        self.events.append(event)
        return event


def _same(kind: Logged, fields: dict[str, str]) -> dict[str, str]:
    if kind is Logged.TOPIC_MADE and fields.get("read") == fields.get("write"):
        # Tens of thousands of retry topics are one event with a count.
        return {"retry": str(fields.get("topic", "").startswith("%RETRY%"))}
    return {name: value for name, value in fields.items() if name != "error"}


def _close(known: Event, at_s: float | None) -> bool:
    if at_s is None or known.to_s is None:
        return True
    return -1 <= at_s - known.to_s <= (BURST_S if known.kind in _BURSTS else SAME_S)
