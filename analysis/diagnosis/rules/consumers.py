"""Consumers that are slow, or stand still: what their clients log while they wait (DefaultMQPushConsumerImpl, and its like)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, span, together
from analysis.diagnosis.rules.events_alone import queues_of
from harness.language import joined, phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 300.0
"""A client writes one line of a thousand times that it puts a pull off for 50 ms (PULL_TIME_DELAY_MILLS_WHEN_FLOW_CONTROL)."""
LINES_MIN = 3
TIMES_MIN = 1_000
HELD_S_MIN = 60.0
ASKED_MIN = 3
_FIRST = re.compile(r"minOffset\"?[=:]\s?(\d{1,19})")
_TIMES = re.compile(r"flowControlTimes\"?[=:]\s?(\d{1,12})")


def put_off(logs: Logs) -> Iterator[Found]:
    """Consumers that put off their pulls: because of one message that holds the offset of its queue, or since they are slow."""
    by_group: dict[tuple[str, str], list[Event]] = {}
    for one in logs.of(Logged.FLOW_CONTROL, Logged.SPAN_CONTROL):
        by_group.setdefault((one.node, one.get("group")), []).append(one)
    for events in by_group.values():
        for group in together(events, GAP_S):
            held = _held(group)
            if held:
                yield _one_message(group, held)
            elif sum(one.count for one in group) >= LINES_MIN or _most_times(group) >= TIMES_MIN:
                yield _slow(group)


def _held(group: Sequence[Event]) -> Mapping[str, str]:
    """The first offset of each queue that was the same in all lines, for so long that it is one message's."""
    by_queue: dict[str, list[Event]] = {}
    for one in group:
        for queue in queues_of([one]):
            by_queue.setdefault(queue, []).append(one)
    held = {}
    for queue, events in by_queue.items():
        firsts = {found[1] for one in events for text in (one.text, one.last_text) if (found := _FIRST.search(text))}
        from_s, to_s = span(events)
        if len(firsts) == 1 and from_s is not None and to_s is not None and to_s - from_s >= HELD_S_MIN:
            held[queue] = next(iter(firsts))
    return held


def _most_times(group: Sequence[Event]) -> int:
    return max(
        (int(found[1]) for one in group for text in (one.text, one.last_text) if (found := _TIMES.search(text))),
        default=0,
    )


def _one_message(group: Sequence[Event], held: Mapping[str, str]) -> Found:
    of_it = [one for one in group if set(queues_of([one])) & held.keys()]
    from_s, to_s = span(of_it)
    where = joined(
        ", ", (phrase("{offset} of {queue}", offset=offset, queue=queue) for queue, offset in list(held.items())[:3])
    )
    return Found(
        pattern=LogPattern.OFFSET_HELD, sure=Sure.LIKELY, from_s=from_s, to_s=to_s,
        groups=distinct(one.get("group") for one in of_it),
        topics=distinct(one.get("topic") for one in of_it), queues=tuple(held), lines=lines_of(of_it),
        brokers=distinct(one.get("broker") for one in of_it),
        why=(phrase(
            "the message at offset {where} was the first of what was cached all the time, and is not acknowledged: "
            "pulls were put off {times} or more",
            where=where, times=counted_in(of_it, "time"),
        ),),
    )  # fmt: skip


def _slow(group: Sequence[Event]) -> Found:
    from_s, to_s = span(group)
    return Found(
        pattern=LogPattern.CONSUMER_SLOW, sure=Sure.LIKELY, from_s=from_s, to_s=to_s,
        groups=distinct(one.get("group") for one in group),
        topics=distinct(one.get("topic") for one in group), queues=queues_of(group), lines=lines_of(group),
        brokers=distinct(one.get("broker") for one in group),
        why=(phrase(
            "the client had as much cached as it may, and wrote {times} that it puts pulls off",
            times=counted_in(group, "time"),
        ),),
    )  # fmt: skip


def offset_loop(logs: Logs) -> Iterator[Found]:
    """Queues whose consumer asks again and again for the same offset that the queue does not have."""
    asked: dict[tuple[str, ...], list[Event]] = {}
    for one in logs.of(Logged.OFFSET_ILLEGAL):
        if one.get("asked"):
            key = (one.node, *(one.get(name) for name in ("group", "topic", "broker", "queue", "asked")))
            asked.setdefault(key, []).append(one)
    again = [events for events in asked.values() if sum(one.count for one in events) >= ASKED_MIN]
    for node, group in dict.fromkeys((events[0].node, events[0].get("group")) for events in again):
        of_it = [one for events in again for one in events if (one.node, one.get("group")) == (node, group)]
        from_s, to_s = span(of_it)
        yield Found(
            pattern=LogPattern.OFFSET_LOOP, sure=Sure.LIKELY, from_s=from_s, to_s=to_s, groups=distinct([group]),
            topics=distinct(one.get("topic") for one in of_it), queues=queues_of(of_it), lines=lines_of(of_it),
            brokers=distinct(one.get("broker") for one in of_it),
            why=tuple(phrase(
                "offset {asked} was asked for {count} times, and was not there",
                asked=one.get("asked"), count=one.count,
            ) for one in of_it[:3]),
        )  # fmt: skip
