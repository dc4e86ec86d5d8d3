"""What a broker has accepted and gives to nobody: delay levels that have stopped, and a dispatch that stands still."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import OVERDUE_S, BrokerReading


def levels_stopped(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Delay levels whose messages are overdue."""
    if broker.overdue:
        levels = ", ".join(f"{count} of level {level}" for level, count in sorted(broker.overdue.items()))
        yield AuditFinding(
            kind="delayed-messages-overdue",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"delayed messages ought to have come {OVERDUE_S:.0f} s ago and more, at least {levels}",
            advice="An error in one delivery ends its level, or all, on 4.x: look whether the levels' offsets move (mqadmin "
            "brokerStatus, scheduleMessageOffset). A restart delivers them.",
        )


def dispatch_stopped(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Messages that are in the commit log, and in no queue."""
    if broker.undispatched_bytes:
        yield AuditFinding(
            kind="dispatch-stands-still",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"{broker.undispatched_bytes:,} bytes of messages are stored, and in no consume queue",
            advice="Sends are acknowledged and nobody gets them: look for the thread ReputMessageService. A restart builds the "
            "queues.",
        )
