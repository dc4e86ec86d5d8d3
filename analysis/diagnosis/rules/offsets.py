"""Offsets that a group has and its queue does not (PullMessageProcessor of 4.x, DefaultPullMessageResultHandler of 5.x)."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from analysis.diagnosis.events import Event
from analysis.diagnosis.found import Found, Logs, Sure, distinct, lines_of, overlap, span, together
from harness.language import phrase
from harness.model.log_events import Logged, LogPattern

GAP_S = 60.0


def past_the_end(logs: Logs) -> Iterator[Found]:
    """Pulls beyond the end of a queue.

    A topic that was deleted, a pull before the begin of a queue, and one that a reset of offsets was for, are other matters.
    """
    resets = list(logs.of(Logged.RESET_ASKED, Logged.PULL_RESET))
    deleted = {one.get("topic") for one in logs.of(Logged.TOPIC_DELETED)}
    beyond = [
        one
        for one in logs.of(Logged.OFFSET_PAST_END)
        if one.get("asked")
        and one.get("topic") not in deleted
        and int(one.get("asked")) > int(one.get("new"))
        and not _was_reset(one, resets)
    ]
    for found in together(beyond, GAP_S):
        from_s, to_s = span(found)
        anew = [one for one in found if one.get("new") == "0"]
        first = (anew or found)[0]
        then = (
            phrase("it begins at 0, and consumes all again")
            if anew
            else phrase("it goes on from {new}, the end", new=first.get("new"))
        )
        yield Found(
            pattern=LogPattern.OFFSET_PAST_END, sure=Sure.LIKELY, from_s=from_s, to_s=to_s,
            brokers=distinct(map(logs.broker, found)), groups=distinct(one.get("group") for one in found),
            topics=distinct(one.get("topic") for one in found), lines=lines_of(found),
            why=(phrase(
                "{group} asked for offset {asked}, beyond the end of its queue: {then}",
                group=first.get("group"), asked=first.get("asked"), then=then,
            ),),
            against=(phrase("a topic that was deleted and made anew looks the same"),),
        )  # fmt: skip


def _was_reset(pull: Event, resets: Sequence[Event]) -> bool:
    """Whether the offsets were set back: a broker of 5.x tells a group so at its next pull (useServerSideResetOffset)."""
    return any(
        one.node == pull.node
        and overlap(pull, one.from_s, one.to_s, GAP_S)
        and all(one.get(name) == pull.get(name) for name in ("topic", "group", "new") if one.get(name))
        for one in resets
    )
