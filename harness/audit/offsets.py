"""Offsets that a group has committed and its queue does not have."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity, some
from harness.audit.reading import BrokerReading, PastEnd

FROM_THE_END = (4, 9, 7)
"""The first release known here that has a group go on from the end (DefaultMessageStore.nextOffsetCorrection); 4.6.0 has it begin
at 0 where the queue does."""


def past_the_end(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Groups that are ahead of their queue: it lost its last messages, or its topic was made anew."""
    by_topic: dict[str, list[PastEnd]] = {}
    for one in broker.past_end:
        by_topic.setdefault(one.topic, []).append(one)
    for topic, found in sorted(by_topic.items()):
        first, groups = found[0], sorted({one.group for one in found})
        again = bool(broker.version) and broker.version < FROM_THE_END
        does = "begins at 0 and consumes all again" if again else "goes on from the end and skips what was sent since"
        yield AuditFinding(
            kind="offsets-past-end",
            severity=Severity.CRITICAL,
            where=f"{topic} on {broker.words}",
            says=f"groups have committed offsets beyond the ends of {len(found)} queues: {some(groups)}; {first.group} has "
            f"{first.offset:,} of queue {first.queue}, which ends at {first.end:,}: the queue lost its last messages, or the topic "
            f"was made anew (4.6.0 and 4.9.7 keep its offsets). A group that asks now {does}; once the queue has reached the "
            "offset, it skips as many as are missing",
        )
