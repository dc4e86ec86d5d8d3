"""Delayed messages whose delivery threw an exception (ScheduleMessageService of 4.x and 5.x)."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span, together
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 60.0
GOES_ON_SINCE = "5.0.0"
"""By the classes; it was measured on 5.3.3 and 5.5.0."""
TRIES_AGAIN = phrase("this release tries the same message again 100 ms later")
UNKNOWN_RELEASE = phrase(
    "the lines here do not say which release this is: 4.9.7 tries the same message again, 5.3.3 and 5.5.0 lose it",
)


def failed(logs: Logs) -> Iterator[Found]:
    """Deliveries that threw: a message each is lost where the release goes on with the next one."""
    for group in together(logs.of(Logged.DELIVERY_THREW), GAP_S):
        # 5.0.0 and 5.1.0 write what 4.9.7 does, and go on with the next message all the same.
        lost = sum(one.count for one in group if one.get("lost") or logs.writer(one.node).is_from(GOES_ON_SINCE))
        is_known = lost or any(logs.writer(one.node).is_before(GOES_ON_SINCE) for one in group)
        all_of_them = sum(one.count for one in group)
        from_s, to_s = span(group)
        yield Found(
            pattern=LogPattern.DELIVERY_THREW, sure=Sure.SURE if lost else Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), topics=distinct(one.get("topic") for one in group if one.get("topic")),
            lines=lines_of(group),
            why=(
                phrase("{count} deliveries of delayed messages threw an exception", count=all_of_them),
                *((phrase("{lost} by a release that goes on with the message after it: they are lost", lost=lost),)
                  if lost else ()),
            ),
            against=() if lost else (TRIES_AGAIN if is_known else UNKNOWN_RELEASE,),
        )  # fmt: skip
