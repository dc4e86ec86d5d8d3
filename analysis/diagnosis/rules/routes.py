"""Topics that clients ask for, and of which name servers know no broker."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, overlap, span, together
from analysis.diagnosis.moments import words_of
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 300.0
LINES_MIN = 2
MADE_S = 60.0
"""A topic that is made with its first message has a route when its broker has registered, and clients have asked again."""
OWN = ("%", "TBW102", "RMQ_SYS", "rmq_sys", "SELF_TEST_TOPIC", "BenchmarkTest", "OFFSET_MOVED_EVENT", "DefaultCluster")
"""RocketMQ's own, which clients ask for before there is any."""


def without(logs: Logs) -> Iterator[Found]:
    """Topics without a route for longer than one takes that is made with its first message."""
    by_topic: dict[str, list[Event]] = {}
    for one in logs.of(Logged.NO_ROUTE):
        if not one.get("topic").startswith(OWN):
            by_topic.setdefault(one.get("topic"), []).append(one)
    for topic, events in by_topic.items():
        for group in together(events, GAP_S):
            from_s, to_s = span(group)
            lines = sum(one.count for one in group)
            made = [one for one in logs.of(Logged.TOPIC_MADE) if one.get("topic") == topic]
            soon = any(from_s is not None and overlap(one, from_s - MADE_S, from_s + MADE_S) for one in made)
            # One line of a log that stands alone is mostly a pasted exception.
            is_alone = lines < LINES_MIN and len({one.node for one in logs.files}) == 1
            if soon or (lines < LINES_MIN and not is_alone):
                continue
            went = [one for one in logs.of(Logged.BROKER_WENT) if overlap(one, from_s, to_s, GAP_S)]
            against = [
                phrase(
                    "a broker left the routes at {at}: its topics have none without it",
                    at=words_of(one.from_s),
                )
                for one in went[:1]
            ]
            against += [phrase("the topic was made at {at}", at=words_of(one.from_s)) for one in made[:1]]
            against += (
                [phrase("one line: a topic that is made with its first message has no route for a moment")]
                if is_alone
                else []
            )
            yield Found(
                pattern=LogPattern.NO_ROUTE, sure=Sure.POSSIBLE if against else Sure.LIKELY, from_s=from_s, to_s=to_s,
                topics=distinct([topic]), lines=lines_of(group), against=tuple(against),
                why=(phrase("name servers had no route of {topic}, by {lines}",
                    topic=topic or phrase("a topic"),
                    lines=phrase("{count} line" if lines == 1 else "{count} lines", count=lines),
                ),),
            )  # fmt: skip
