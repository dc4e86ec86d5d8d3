"""From lines to typed events: what a line says is kept once for as long as it is said again and again."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from harness.model.log_events import WORDINGS, Logged

TEXT_MAX = 600
"""Characters of a line that are kept."""
SEARCHED_MAX = 4 * TEXT_MAX
"""Characters of a line in which its fields are looked for: two subscriptions of a topic with a long name are longer."""
SAME_S = 65.0
"""A lock is asked for every 20 s, a registration made every 30 s: what comes again within this is the same."""
BURST_S = 5.0
REPEATED_S = 10.0
"""A client tries a pull again after 1 s (DefaultMQPushConsumer.pullTimeDelayMillsWhenException), or after a timeout."""
EVENTS_MAX = 200_000
"""Of one file; those beyond are counted only."""

_QUEUE = ("group", "topic", "broker", "queue")
_IDENTITY: Mapping[Logged, tuple[str, ...]] = {
    Logged.REFUSED_FOR_AGE: ("keyword", "address"),
    Logged.REFUSED_FOR_CACHE: ("keyword", "address"),
    Logged.REFUSED_FULL: ("keyword", "address"),
    Logged.POOL_BUSY: ("code", "state"),
    Logged.POOL_LOW: ("left",),
    Logged.FRAME_TOO_LONG: ("limit",),
    Logged.SLAVE_SILENT: ("address",),
    Logged.CLIENT_GONE: ("client",),
    Logged.UNREACHABLE: ("address", "error"),
    Logged.NO_ANSWER: ("address", "error"),
    Logged.NO_TIME_LEFT: ("address", "broker"),
    Logged.SLAVE_LATE: (),
    Logged.FLOW_CONTROL: _QUEUE,
    Logged.SPAN_CONTROL: _QUEUE,
    Logged.SLAVE_BEHIND: (),
    Logged.NOT_WRITABLE: ("address",),
    Logged.SLAVE_LACKS: ("topic", "group"),
    Logged.SENT_AGAIN: ("topic", "level"),
}
"""By which fields two events are the same; all fields where none are named."""
_BURSTS = frozenset({Logged.REFUSED_FOR_AGE, Logged.REFUSED_FOR_CACHE, Logged.REFUSED_FULL})
_REPEATED = frozenset({Logged.GROUP_UNKNOWN, Logged.PULL_PUT_OFF, Logged.PULL_FAILED})
_SINGLE = frozenset(
    {
        Logged.SLOW_APPEND,
        Logged.SLOW_PUT,
        Logged.LOCK_EXPIRED,
        Logged.LOCK_TAKEN,
        Logged.BOOTED,
        Logged.QUEUE_ASSIGNED,
        Logged.BROKER_CAME,
        Logged.BROKER_WENT,
    }
)
_OF_ATTEMPT = frozenset({Logged.NO_ANSWER, Logged.NO_TIME_LEFT, Logged.UNREACHABLE})


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


MESSAGES_MAX = 20_000
"""Messages of one file whose fields are kept, for when they come again."""
_LAZY = ".*?"
_ESCAPED = re.compile(r"\\.")


def fields_of(pattern: str) -> re.Pattern[str]:
    """The pattern, to be matched from a line's beginning, in which nothing that was found is looked for again.

    What stands between two ``.*?`` is found where it comes first. Where nothing follows there, nothing follows what comes later,
    so that looking on would find nothing: it would only take seconds for a line that was made to have many of each.
    """
    pieces: list[str] = []
    for part in pattern.split(_LAZY):
        unescaped = _ESCAPED.sub("", pieces[-1]) if pieces else ""
        if unescaped.count("(") > unescaped.count(")"):
            pieces[-1] += _LAZY + part
        else:
            pieces.append(part)
    # What a class of characters took, it keeps.
    return re.compile("".join(f"(?>{_LAZY}{piece.replace('+', '++')})" for piece in pieces))


_FIELDS = tuple(fields_of(one.fields) if one.fields else None for one in WORDINGS)


@dataclass(slots=True)
class _Said:
    """What a message says by itself: lines that differ in time and thread only say the same.

    ``opened`` is of its kind of event outside of stack traces, None until it was looked up.
    """

    fields: dict[str, str]
    same: tuple[object, ...]
    ms: float
    opened: _Open | None = None


@dataclass(slots=True)
class _Open:
    """The last event of those that are the same, what its last line said, and that line.

    What comes within ``same_s`` is the same event still; never, where that is None.
    """

    same_s: float | None
    event: Event | None = None
    said: _Said | None = None
    line: bytes = b""

    def goes_on(self, at_s: float | None) -> bool:
        """Whether a line of that time belongs to the event."""
        if self.event is None or self.same_s is None:
            return False
        to_s = self.event.to_s
        return at_s is None or to_s is None or -1 <= at_s - to_s <= self.same_s

    def settle(self) -> None:
        """Have the event's last line as text, which is made once and not for each line."""
        if self.event is not None and self.line:
            self.event.last_text = _text(self.line)
            self.line = b""


def _text(line: bytes) -> str:
    return line.decode("utf-8", "replace").rstrip()[:TEXT_MAX]


def _said(wording_at: int, text: str) -> _Said:
    pattern = _FIELDS[wording_at]
    match = pattern.match(text, 0, SEARCHED_MAX) if pattern else None
    # What one release has in one place and another one elsewhere has a name of its own for each, after two underscores.
    found = match.groupdict() if match else {}
    fields = {name.partition("__")[0]: value for name, value in found.items() if value is not None}
    return _Said(fields, _same(WORDINGS[wording_at].event, fields), float(fields.get("ms", 0)))


@dataclass(slots=True)
class Collected:
    """The events of one file, as they come."""

    file: str
    events: list[Event] = field(default_factory=list)
    left_out: int = 0
    written_by: set[tuple[str, str]] = field(default_factory=set)
    """The first and the last release that has words which were found, where not all have them."""
    _open: dict[tuple[object, ...], _Open] = field(default_factory=dict)
    _known: dict[bytes, _Said] = field(default_factory=dict)
    _last: Event | None = None
    _last_number: int = 0

    def take(
        self,
        line: bytes,
        number: int,
        at_s: float | None,
        wording_at: int,
        message_at: int = 0,
        head: int | None = None,
    ) -> None:
        """A line with the words of ``WORDINGS[wording_at]``, with so many bytes before its message.

        ``head`` is the number of the line that it goes on from, as those of a stack trace do.
        """
        said = self._known.get(message := line[message_at:])
        if said is not None and head is None and (opened := said.opened) is not None:
            # Most lines say what the last one of their event did.
            event = opened.event
            if event is not None and opened.said is said and opened.goes_on(at_s):
                _again(event, opened, line, number, at_s)
                self._last, self._last_number = event, number
                return
        wording = WORDINGS[wording_at]
        if said is None:
            if wording.since or wording.until:
                self.written_by.add((wording.since, wording.until))
            said = _said(wording_at, line.decode("utf-8", "replace").rstrip())
            if len(self._known) >= MESSAGES_MAX:
                self._known.clear()
            self._known[message] = said
        kind = wording.event
        above = self._last if head is not None and head == self._last_number else None
        if above is not None:
            if "error" in said.fields:
                above.fields.setdefault("error", said.fields["error"])
            if above.kind is Logged.UNDECODABLE and "address" in above.fields:
                fields = {"address": above.fields["address"], **said.fields}
                said = _Said(fields, _same(kind, fields), said.ms)
            if above.kind is Logged.ATTEMPT_FAILED and "broker" in above.fields and kind in _OF_ATTEMPT:
                fields = {"broker": above.fields["broker"], **said.fields}
                said = _Said(fields, _same(kind, fields), said.ms)
            if above.kind is Logged.PULL_FAILED and "keyword" in said.fields:
                # What a pull was answered is no send that was refused.
                kind = Logged.PULL_FAILED
                fields = {name: above.fields[name] for name in _QUEUE if name in above.fields} | said.fields
                said = _Said(fields, _same(kind, fields), said.ms)
            opened = self._opened(kind, above.kind, said)
        else:
            opened = said.opened = said.opened or self._opened(kind, None, said)
        event = self._kept(kind, said, opened, line, number, at_s, above.kind if above else None)
        if head is None:
            self._last, self._last_number = event, number

    def end(self) -> None:
        """No line comes any more."""
        for one in self._open.values():
            one.settle()

    def _opened(self, kind: Logged, within: Logged | None, said: _Said) -> _Open:
        key = (kind, within, said.same)
        known = self._open.get(key)
        if known is None:
            known = self._open[key] = _Open(_same_s(kind))
        return known

    def _kept(
        self,
        kind: Logged,
        said: _Said,
        opened: _Open,
        line: bytes,
        number: int,
        at_s: float | None,
        within: Logged | None,
    ) -> Event | None:
        known = opened.event
        if known is not None and opened.goes_on(at_s):
            _again(known, opened, line, number, at_s)
            if opened.said is not said:
                opened.said = said
                known.most_ms = max(known.most_ms, said.ms)
                for name, value in said.fields.items():
                    known.fields.setdefault(name, value)
            return known
        if len(self.events) >= EVENTS_MAX:
            self.left_out += 1
            return None
        opened.settle()
        text = _text(line)
        event = Event(
            kind,
            self.file,
            number,
            text,
            at_s,
            at_s,
            dict(said.fields),
            last_line=number,
            last_text=text,
            most_ms=said.ms,
            within=within,
        )
        opened.event, opened.said = event, said
        self.events.append(event)
        return event


def _same(kind: Logged, fields: Mapping[str, str]) -> tuple[object, ...]:
    """What two events of a kind have in common that are the same."""
    names = _IDENTITY.get(kind)
    if names is not None:
        return tuple(fields.get(name) for name in names)
    if kind is Logged.TOPIC_MADE and fields.get("read") == fields.get("write"):
        # Tens of thousands of retry topics are one event with a count.
        return (fields.get("topic", "").startswith("%RETRY%"),)
    return tuple(sorted(one for one in fields.items() if one[0] != "error"))


def _again(event: Event, opened: _Open, line: bytes, number: int, at_s: float | None) -> None:
    """One more line of an event."""
    if at_s is not None:
        event.to_s = at_s
    event.count += 1
    event.last_line, opened.line = number, line


def _same_s(kind: Logged) -> float | None:
    if kind in _SINGLE:
        return None
    return BURST_S if kind in _BURSTS else REPEATED_S if kind in _REPEATED else SAME_S
