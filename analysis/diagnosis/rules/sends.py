"""What a client tried again when nobody had answered: asynchronous sends (4.6.0), and sends with no time left."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, span, together
from harness.model.log_events import Logged

GAP_S = 60.0
ATTEMPTS_MIN = 2
"""A single one may be of a host that stood still."""
WHOLE_TIMEOUT = "INFO"
"""The level of the line in 4.6.0, whose next try has the whole timeout again. One of newer releases has nothing of it left."""


def stored_twice(logs: Logs) -> Iterator[Found]:
    """What was tried again without an answer: the broker that did not answer may have stored it, too."""
    again = (one for one in logs.of(Logged.SENT_AGAIN) if one.get("level") == WHOLE_TIMEOUT)
    for group in together(again, GAP_S):
        from_s, to_s = span(group)
        yield Found(
            incident="async-timeout-stored-twice", sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            topics=distinct(one.get("topic") for one in group), lines=lines_of(group),
            why=(f"asynchronous sends were tried again {sum(one.count for one in group):,} times after no answer",),
            against=("whether the broker that did not answer had taken them is in no log: compare keys of messages",),
        )  # fmt: skip


def tried_without_time(logs: Logs) -> Iterator[Found]:
    """Attempts that began when another broker had used up the timeout (DefaultMQProducerImpl.sendDefaultImpl)."""
    # A name server may not answer in time, either, when a client asks it for a route.
    hopeless = (
        one for one in logs.of(Logged.NO_TIME_LEFT) if one.get("address") and one.within is Logged.ATTEMPT_FAILED
    )
    for group in together(hopeless, GAP_S):
        count = sum(one.count for one in group)
        if count < ATTEMPTS_MIN:
            continue
        from_s, to_s = span(group)
        yield Found(
            incident="avoidance-mended", sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=distinct(logs.broker_at(one.get("address")) for one in group), lines=lines_of(group),
            why=(f"{count:,} attempts failed at a broker for want of time, which others had used up",),
            against=("whether sendLatencyFaultEnable is on, and has that broker avoided for it, is in no log",),
        )  # fmt: skip
