"""Delayed messages whose delivery threw an exception (ScheduleMessageService of 4.x and 5.x)."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span, together
from harness.model.log_events import Logged

GAP_S = 60.0


def failed(logs: Logs) -> Iterator[Found]:
    """Deliveries that threw: a message each is lost where the release goes on with the next one."""
    for group in together(logs.of(Logged.DELIVERY_THREW), GAP_S):
        lost = sum(one.count for one in group if one.get("lost"))
        all_of_them = sum(one.count for one in group)
        from_s, to_s = span(group)
        yield Found(
            incident="delayed-message-fails-once", sure=Sure.SURE if lost else Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), topics=distinct(one.get("topic") for one in group if one.get("topic")),
            lines=lines_of(group),
            why=(
                f"{all_of_them} deliveries of delayed messages threw an exception",
                *((f"{lost} by a release that goes on with the message after it: they are lost",) if lost else ()),
            ),
            against=() if lost else ("this release tries the same message again 100 ms later",),
        )  # fmt: skip
