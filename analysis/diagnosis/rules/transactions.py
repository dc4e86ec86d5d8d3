"""What a broker says when transactions cannot end (MappedFile of 4.x and 5.x), or seem not to have (DefaultMessageStore of 4.x)."""

from __future__ import annotations

from collections.abc import Iterator

from analysis.diagnosis.found import Found, Logs, Sure, counted_in, distinct, lines_of, span, together
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 60.0


def asked_again(logs: Logs) -> Iterator[Found]:
    """Deletions of a topic that took the broker's own queue with them in which it keeps what ended transactions."""
    for group in together(logs.of(Logged.OP_QUEUE_DELETED), GAP_S):
        from_s, to_s = span(group)
        deleted = [one for one in logs.of(Logged.TOPIC_DELETED) if _is_near(from_s, one.from_s)]
        yield Found(
            pattern=LogPattern.OP_QUEUE_DELETED, sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), topics=distinct(one.get("topic") for one in deleted),
            lines=lines_of([*deleted, *group]),
            why=(phrase(
                "with a topic that was deleted the broker deleted its queue of what had ended transactions",
            ),),
            against=(phrase("how many transactions it asks about then stands in transaction.log"),),
        )  # fmt: skip


def unreadable(logs: Logs) -> Iterator[Found]:
    """Transactions whose half message could not be read when they were to end. Other threads read beyond the end, too."""
    ends = [one for one in logs.of(Logged.HALF_UNREADABLE) if one.get("thread")]
    for group in together(ends, GAP_S):
        from_s, to_s = span(group)
        yield Found(
            pattern=LogPattern.HALF_UNREADABLE, sure=Sure.SURE, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, group)), lines=lines_of(group),
            why=(phrase(
                "{transactions} to end whose half message could not be read yet",
                transactions=counted_in(group, "transaction", were=True),
            ),),
            against=(phrase("whether the broker's checks ended them later is not in these lines"),),
        )  # fmt: skip


def _is_near(at_s: float | None, other_s: float | None) -> bool:
    return at_s is not None and other_s is not None and abs(at_s - other_s) <= GAP_S
