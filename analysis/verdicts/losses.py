"""Acknowledged messages that were lost, as plain values: one by one, and as the record keeps them, by step and queue.

A step is a restart of a rolling upgrade; step 0 is a trial without any.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

NAMED_MAX = 64
"""A range of more messages names the first and the last one's number and key alone; its offsets name them all."""


@dataclass(frozen=True, kw_only=True)
class LostMessage:
    """One message: what was exchanged then, where its acknowledgement says that it lies, and when it was sent.

    ``back``: the node was exchanged for the second time, by a roll-back. ``sent_s`` is from the moment when the step's node was
    told to end, of a trial without steps from when its hold began; ``stop_s`` is how much later its own broker's
    master was told to end next, null where it was not. ``file`` and ``line`` are the record of its send.
    """

    trial: str
    step: int
    role: str
    node: str
    from_release: str
    to_release: str
    back: bool
    topic: str
    key: str
    seq: int | None
    broker: str
    queue: int | None
    offset: int | None
    sent_s: float
    stop_s: float | None
    file: str
    line: int

    def exchange(self) -> tuple[int, str, str, str, str, bool]:
        """The step that it is of."""
        return self.step, self.role, self.node, self.from_release, self.to_release, self.back


@dataclass(frozen=True, kw_only=True)
class LostRange:
    """Messages of one queue whose offsets follow each other, from ``first`` to ``last``: all of these are lost.

    ``seqs`` and ``keys`` are in the order of the offsets, the first and the last alone where ``count`` is beyond ``NAMED_MAX``;
    ``keys`` is empty where messages have none. ``sent_s`` and ``sent_to_s`` are the earliest and the latest send's, ``stop_s`` the
    least.
    """

    topic: str
    broker: str
    queue: int | None
    first: int | None
    last: int | None
    count: int
    seqs: tuple[int | None, ...]
    sent_s: float
    sent_to_s: float
    stop_s: float | None = None
    keys: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LostStep:
    """What was lost in one step of a trial, and what was exchanged then; ``count`` is that of all ranges."""

    step: int
    role: str
    node: str
    count: int
    ranges: tuple[LostRange, ...]
    from_release: str = ""
    to_release: str = ""
    back: bool = False


def by_step(messages: Iterable[LostMessage]) -> dict[str, tuple[LostStep, ...]]:
    """The steps of each trial that has lost something; every message is in one range."""
    found: dict[str, dict[tuple[int, str, str, str, str, bool], list[LostMessage]]] = defaultdict(
        lambda: defaultdict(list)
    )
    for message in messages:
        found[message.trial][message.exchange()].append(message)
    return {
        trial: tuple(
            LostStep(
                step=step, role=role, node=node, from_release=was, to_release=becomes, back=back,
                count=len(lost), ranges=tuple(_ranges(lost)),
            )
            for (step, role, node, was, becomes, back), lost in sorted(steps.items())
        )
        for trial, steps in found.items()
    }  # fmt: skip


def _ranges(messages: Sequence[LostMessage]) -> list[LostRange]:
    """In the order of topics, brokers, queues and offsets."""
    queues: dict[tuple[str, str, int, int], list[LostMessage]] = defaultdict(list)
    given: Counter[tuple[str, str, int, int | None]] = Counter()
    for one in sorted(messages, key=_in_queue):
        queue = one.topic, one.broker, _or_none(one.queue)
        # A store that forgot its end gives an offset again, and then both of its messages may be lost.
        given[*queue, one.offset] += 1
        queues[*queue, given[*queue, one.offset]].append(one)
    found = []
    for ordered in queues.values():
        begin = 0
        for end in range(1, len(ordered) + 1):
            if end == len(ordered) or not _follow(ordered[end - 1].offset, ordered[end].offset):
                found.append(_range(ordered[begin:end]))
                begin = end
    return sorted(found, key=lambda one: (one.topic, one.broker, _or_none(one.queue), _or_none(one.first), one.sent_s))


def _range(messages: Sequence[LostMessage]) -> LostRange:
    named = messages if len(messages) <= NAMED_MAX else (messages[0], messages[-1])
    stops = [one.stop_s for one in messages if one.stop_s is not None]
    begin, end = messages[0], messages[-1]
    return LostRange(
        topic=begin.topic,
        broker=begin.broker,
        queue=begin.queue,
        first=begin.offset,
        last=end.offset,
        count=len(messages),
        seqs=tuple(one.seq for one in named),
        keys=tuple(one.key for one in named) if any(one.key for one in named) else (),
        sent_s=min(one.sent_s for one in messages),
        sent_to_s=max(one.sent_s for one in messages),
        stop_s=min(stops, default=None),
    )


def _in_queue(message: LostMessage) -> tuple[int, float]:
    return _or_none(message.offset), message.sent_s


def _follow(offset: int | None, other: int | None) -> bool:
    return offset is not None and other == offset + 1


def _or_none(number: int | None) -> int:
    """In an order what is not known comes first."""
    return -1 if number is None else number
