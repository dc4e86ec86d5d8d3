"""What a rule finds: a pattern of events, when, where, how sure, by which lines, and what speaks against it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property

from analysis.diagnosis.events import Event
from analysis.diagnosis.reading import ReadFile
from analysis.verdicts.order import is_between, natural_key
from harness.model.log_events import Logged, LogPattern
from harness.printable import counted

LINES_MAX = 12
"""Lines of evidence that one finding carries."""


class Sure(StrEnum):
    """How sure a finding is: ``SURE`` rests on two witnesses or on what a broker says of itself, ``POSSIBLE`` on one sign."""

    SURE = "sure"
    LIKELY = "likely"
    POSSIBLE = "possible"


@dataclass(frozen=True, kw_only=True)
class Line:
    """One line that proves it; ``at_s`` is in seconds since 1970, UTC."""

    file: str
    line: int
    at_s: float | None
    text: str


@dataclass(frozen=True, kw_only=True)
class Found:
    """One incident at one time. ``why`` is what was seen, ``against`` what speaks against it or is missing.

    A rule says the ``pattern``; ``incident`` is the name of the one whose sign that is, empty until it is looked up.
    """

    incident: str = ""
    pattern: LogPattern | None = None
    sure: Sure
    from_s: float | None
    to_s: float | None
    why: tuple[str, ...]
    brokers: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    queues: tuple[str, ...] = ()
    against: tuple[str, ...] = ()
    related: tuple[str, ...] = ()
    lines: tuple[Line, ...] = ()
    advice: str = ""
    """In place of the incident's own, whose cures are for another platform."""


@dataclass(frozen=True, kw_only=True)
class Writer:
    """The releases that have all words of some files: the oldest and the newest of them; empty where the words leave that open.

    Files of several releases, as after an upgrade, may leave none.
    """

    since: str = ""
    until: str = ""

    @property
    def is_told(self) -> bool:
        """Whether any words tell of the release."""
        return bool(self.since or self.until)

    def is_from(self, release: str) -> bool:
        """Whether it is that release or a newer one."""
        return bool(self.since) and natural_key(self.since) >= natural_key(release) and not self.is_none

    def is_before(self, release: str) -> bool:
        """Whether it is older than that release."""
        return bool(self.until) and natural_key(self.until) < natural_key(release) and not self.is_none

    def may_be(self, release: str) -> bool:
        """Whether that release may have written the files."""
        return is_between(release, self.since, self.until)

    @property
    def is_none(self) -> bool:
        """Whether no release writes all of it."""
        return bool(self.since and self.until) and natural_key(self.since) > natural_key(self.until)


def writer_of(files: Iterable[ReadFile]) -> Writer:
    """Which releases write all that these files have."""
    spans = [span for one in files for span in one.written_by]
    since = [first for first, _ in spans if first]
    until = [last for _, last in spans if last]
    return Writer(since=max(since, key=natural_key, default=""), until=min(until, key=natural_key, default=""))


@dataclass(frozen=True, kw_only=True)
class Logs:
    """All files, and their events by kind in the order of time."""

    files: Sequence[ReadFile]
    by_kind: Mapping[Logged, Sequence[Event]]
    names: Mapping[str, str] = field(default_factory=dict)
    """A node's broker name, where one of its files has it."""

    def of(self, *kinds: Logged) -> Iterator[Event]:
        """The events of these kinds."""
        for kind in kinds:
            yield from self.by_kind.get(kind, ())

    @cached_property
    def connections_lost(self) -> Mapping[tuple[str, str], Sequence[Event]]:
        """The ends of connections that have a time, in its order, by client and node."""
        lost: dict[tuple[str, str], list[Event]] = {}
        for one in self.of(Logged.CLIENT_GONE):
            if one.from_s is not None:
                lost.setdefault((one.get("client"), one.node), []).append(one)
        return {owner: sorted(events, key=lambda one: one.from_s or 0.0) for owner, events in lost.items()}

    def broker(self, event: Event) -> str:
        """The broker that an event is of, by its name, else the name of the folder."""
        return event.get("broker") or self.names.get(event.node, event.node)

    def broker_at(self, address: str) -> str:
        """The broker that started at this address, by its name, else the address."""
        started = (one for one in self.of(Logged.BOOTED) if one.get("address") == address)
        return next((name for one in started if (name := one.get("broker"))), address)

    def names_broker(self, name: str) -> bool:
        """Whether a node is known to be this broker."""
        return name in self.names.values()

    def writer(self, node: str) -> Writer:
        """Which releases write all that the node's files have."""
        return writer_of(one for one in self.files if one.node == node)

    def setting(self, node: str, key: str) -> str:
        """What a broker printed of a setting when it started; empty where it did not."""
        return next((one.settings[key] for one in self.files if one.node == node and key in one.settings), "")

    def has(self, node: str, name: str) -> bool:
        """Whether a file of this name, such as broker.log, was given of the node."""
        return any(one.node == node and one.name == name for one in self.files)


def gather(files: Sequence[ReadFile]) -> Logs:
    """Order the events of all files."""
    by_kind: dict[Logged, list[Event]] = {}
    told: dict[str, dict[str, None]] = {}
    printed: dict[str, str] = {}
    for one in files:
        if "brokerName" in one.settings:
            printed[one.node] = one.settings["brokerName"]
        for event in one.events:
            by_kind.setdefault(event.kind, []).append(event)
            if event.kind in (Logged.BOOTED, Logged.LOCK_TAKEN, Logged.LOCK_WAITED) and event.get("broker"):
                told.setdefault(event.node, {})[event.get("broker")] = None
    # What is of several brokers, and cannot be told apart, is of none of them.
    names = {node: next(iter(brokers)) for node, brokers in told.items() if len(brokers) == 1} | printed
    for events in by_kind.values():
        events.sort(key=lambda event: (event.from_s is None, event.from_s or 0.0, event.file, event.line))
    return Logs(files=files, by_kind=by_kind, names=names)


def lines_of(events: Iterable[Event], most: int = LINES_MAX) -> tuple[Line, ...]:
    """The first and the last line of each event, for as many as a reader looks at."""
    lines: list[Line] = []
    for event in events:
        if len(lines) >= most:
            break
        lines.append(Line(file=event.file, line=event.line, at_s=event.from_s, text=event.text))
        if event.last_line != event.line and len(lines) < most:
            lines.append(Line(file=event.file, line=event.last_line, at_s=event.to_s, text=event.last_text))
    return tuple(lines)


def span(events: Iterable[Event]) -> tuple[float | None, float | None]:
    """From the first to the last of them; None where no line had a time."""
    times = [at for event in events for at in (event.from_s, event.to_s) if at is not None]
    return (min(times), max(times)) if times else (None, None)


def together(events: Iterable[Event], gap_s: float) -> Iterator[list[Event]]:
    """Events in groups that are at most ``gap_s`` apart; those without a time are one group."""
    group: list[Event] = []
    end_s: float | None = None
    for event in sorted(events, key=lambda one: (one.from_s is None, one.from_s or 0.0)):
        apart = bool(group) and (
            (event.from_s is None) != (end_s is None)
            or (event.from_s is not None and end_s is not None and event.from_s - end_s > gap_s)
        )
        if apart:
            yield group
            group, end_s = [], None
        group.append(event)
        if event.to_s is not None:
            end_s = event.to_s if end_s is None else max(end_s, event.to_s)
    if group:
        yield group


def counted_in(events: Iterable[Event], noun: str, *, were: bool = False) -> str:
    """How many they stand for, as ``counted`` tells it: a burst of lines is one event."""
    return counted(sum(one.count for one in events), noun, were=were)


def distinct(values: Iterable[str]) -> tuple[str, ...]:
    """Each value once, in order, those that RocketMQ itself makes (%RETRY%) last; empty ones left out."""
    return tuple(sorted({value for value in values if value}, key=lambda value: (value.startswith("%"), value)))


def overlap(event: Event, from_s: float | None, to_s: float | None, slack_s: float = 0.0) -> bool:
    """Whether an event lies within this time; never where either has none."""
    if None in (event.from_s, event.to_s, from_s, to_s):
        return False
    return event.from_s <= to_s + slack_s and event.to_s >= from_s - slack_s  # type: ignore[operator]
