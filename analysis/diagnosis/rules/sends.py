"""What a client tried again when nobody had answered: asynchronous sends (4.6.0), and sends with no time left."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, overlap, span, together
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 60.0
NEAR_S = 10.0
"""A wait of a whole timeout ends as the attempt without time begins."""
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
            pattern=LogPattern.SENT_AGAIN, sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            topics=distinct(one.get("topic") for one in group), lines=lines_of(group),
            why=(phrase(
                "asynchronous sends were tried again {times} after no answer",
                times=counted_in(group, "time"),
            ),),
            against=(phrase(
                "whether the broker that did not answer had taken them is in no log: compare keys of messages",
            ),),
        )  # fmt: skip


def tried_without_time(logs: Logs) -> Iterator[Found]:
    """Attempts that began when another broker had used up the timeout (DefaultMQProducerImpl.sendDefaultImpl)."""
    # A name server may not answer in time, either, when a client asks it for a route.
    hopeless = (
        one
        for one in logs.of(Logged.NO_TIME_LEFT)
        if (one.get("address") or one.get("unnamed")) and one.within is Logged.ATTEMPT_FAILED
    )
    for group in together(hopeless, GAP_S):
        count = sum(one.count for one in group)
        if count < ATTEMPTS_MIN:
            continue
        from_s, to_s = span(group)
        silent = [
            one
            for one in logs.of(Logged.NO_ANSWER)
            if one.within is Logged.ATTEMPT_FAILED
            and one.file in {of.file for of in group}
            and overlap(one, from_s, to_s, NEAR_S)
        ]
        hopeless_at = distinct(_broker(logs, one) for one in group)
        waited_at = distinct(_broker(logs, one) for one in silent)
        why = [
            phrase(
                "{count:,} attempts failed at {brokers} for want of time, which others had used up",
                count=count,
                brokers=", ".join(hopeless_at),
            )
        ]
        if silent:
            addresses = ", ".join(distinct(one.get("address") for one in silent))
            waited = sum(one.count for one in silent)
            why.append(
                phrase(
                    "{count:,} had waited at {brokers} ({addresses}), which did not answer: look there",
                    count=waited,
                    brokers=", ".join(waited_at),
                    addresses=addresses,
                )
            )
        yield Found(
            pattern=LogPattern.NO_TIME_LEFT, sure=Sure.POSSIBLE, from_s=from_s, to_s=to_s,
            brokers=waited_at or hopeless_at, lines=lines_of([*silent, *group]),
            why=tuple(why),
            against=(phrase(
                "whether sendLatencyFaultEnable is on, and has that broker avoided for it, is in no log",
            ),),
        )  # fmt: skip


def _broker(logs: Logs, event: Event) -> str:
    address = event.get("address")
    started = logs.broker_at(address) if address else ""
    return started if started != address else event.get("broker") or address
