"""What brokers say when topics are made or changed (TopicConfigManager of 4.x and 5.x)."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import DEAD_LETTER_PREFIX, RETRY_PREFIX
from harness.printable import counted


def dead_letters(logs: Logs) -> Iterator[Found]:
    """Groups whose dead-letter topic was made: one finding for all of them."""
    made = list(logs.of(Logged.DEAD_LETTERS))
    if made:
        from_s, to_s = span(made)
        groups = distinct(one.get("group") for one in made)
        yield Found(
            pattern=LogPattern.DEAD_LETTERS, sure=Sure.SURE, from_s=from_s, to_s=to_s, brokers=distinct(map(logs.broker, made)),
            groups=groups, topics=distinct(one.get("topic") for one in made), lines=lines_of(made),
            why=(phrase(
                "{groups} had a message that failed to the last retry: its dead-letter topic was made",
                groups=counted(len(groups), "group"),
            ),),
            against=(phrase("how many messages ended there is not logged: only the first makes the topic"),),
        )  # fmt: skip


def queue_numbers(logs: Logs) -> Iterator[Found]:
    """Topics whose numbers of read and write queues differ, until a line makes them equal."""
    lines = sorted(logs.of(Logged.TOPIC_MADE, Logged.TOPIC_CHANGED), key=lambda one: one.from_s or 0.0)
    differ: dict[tuple[str, str], Event] = {}
    ended: list[tuple[Event, Event | None]] = []
    for one in lines:
        key = (one.node, one.get("topic"))
        equal = one.get("read") == one.get("write")
        if equal and key in differ:
            ended.append((differ.pop(key), one))
        elif not equal and one.get("read"):
            differ.setdefault(key, one)
    ended += [(one, None) for one in differ.values()]
    by_topic: dict[tuple[str, str, str], list[tuple[Event, Event | None]]] = {}
    for start, end in ended:
        by_topic.setdefault((start.get("topic"), start.get("read"), start.get("write")), []).append((start, end))
    for (topic, read, write), pairs in by_topic.items():
        events = [one for pair in pairs for one in pair if one is not None]
        from_s, to_s = span(events)
        still = any(end is None for _, end in pairs)
        fewer = (
            phrase("messages in the others are not consumed")
            if int(read) < int(write)
            else phrase("the others stay empty")
        )
        yield Found(
            pattern=LogPattern.QUEUE_NUMBERS_DIFFER, sure=Sure.SURE, from_s=from_s, to_s=to_s, topics=(topic,),
            brokers=distinct(logs.broker(start) for start, _ in pairs), lines=lines_of(events),
            why=(phrase(
                "{topic} has {write} write queues and {read} read queues: {fewer}",
                topic=topic, write=write, read=read, fewer=fewer,
            ),),
            related=(phrase("no later line makes them equal"),) if still else (),
        )  # fmt: skip


def made_anew(logs: Logs) -> Iterator[Found]:
    """Topics that were deleted and made again on one broker, though not by a slave, which has what its master has.

    Retry topics and dead letters come back by themselves.
    """
    by_users = [one for one in logs.of(Logged.TOPIC_DELETED) if not one.get("synced")]
    for topic in distinct(one.get("topic") for one in by_users):
        if topic.startswith((RETRY_PREFIX, DEAD_LETTER_PREFIX)):
            continue
        deleted = [one for one in by_users if one.get("topic") == topic]
        made = [
            one
            for one in logs.of(Logged.TOPIC_MADE)
            if one.get("topic") == topic and any(_after(one, it) for it in deleted)
        ]
        if not made:
            continue
        beyond = [
            one for one in logs.of(Logged.OFFSET_PAST_END)
            if one.get("topic") == topic and int(one.get("new")) < int(one.get("asked")) and any(_after(one, it) for it in made)
        ]  # fmt: skip
        events = [*deleted, *made, *beyond]
        from_s, to_s = span(events)
        yield Found(
            pattern=LogPattern.TOPIC_MADE_ANEW, sure=Sure.SURE if beyond else Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, made)), topics=(topic,), groups=distinct(one.get("group") for one in beyond),
            lines=lines_of(events),
            why=(
                phrase("{topic} was deleted and made again", topic=topic),
                *((phrase("a group that had consumed it asked for what lies beyond its new end"),) if beyond else ()),
            ),
            against=() if beyond else (phrase("5.x deletes the offsets of its groups with a topic"),),
        )  # fmt: skip


def _after(later: Event, earlier: Event) -> bool:
    """Whether one was said after the other had been: what is said twice within a minute is one event."""
    last = (later.to_s or 0.0, max(later.line, later.last_line))
    return later.node == earlier.node and last > (earlier.from_s or 0.0, earlier.line)
