"""What keeps messages that a broker has accepted from coming, or from coming once: delay levels, dispatch, resets of offsets."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import OVERDUE_S, BrokerReading
from harness.audit.settings import whole_of
from harness.language import phrase
from harness.model.rocketmq import DELAY_OFFSETS, DELAY_OFFSETS_MS, SERVER_SIDE_RESET

WRITES_AT_SHUTDOWN = (4, 9, 7)
"""The first release that is known here to write how far its delay levels are as it is shut down (ScheduleMessageService.shutdown);
4.6.0 does not."""
SELDOM_MS = 1000.0


def levels_stopped(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Delay levels whose messages are overdue."""
    if broker.overdue:
        levels = ", ".join(f"{count} of level {level}" for level, count in sorted(broker.overdue.items()))
        yield AuditFinding(
            kind="delayed-messages-overdue",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"delayed messages ought to have come {OVERDUE_S:.0f} s ago and more, at least {levels}",
            advice="An error in one delivery ends its level, or all, on 4.6.0 and 4.9.7: look whether the levels' offsets move "
            "(mqadmin brokerStatus, scheduleMessageOffset). A restart delivers them.",
        )


def delivers_again(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A restart would deliver delayed messages again."""
    interval_ms = whole_of(broker.conf, DELAY_OFFSETS, int(DELAY_OFFSETS_MS))
    writes = not broker.version or broker.version >= WRITES_AT_SHUTDOWN
    if broker.has_delayed and not writes and interval_ms > SELDOM_MS:
        yield AuditFinding(
            kind="restart-delivers-again",
            severity=Severity.WARNING,
            where=broker.words,
            says="a restart delivers again what delayed messages it delivered in up to "
            f"{interval_ms / 1000:g} s before: how far its levels are is written every {interval_ms:,.0f} ms "
            f"({DELAY_OFFSETS}), and not as it is shut down",
        )


def reset_stops(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A broker of 5.x that has members reset their offsets, which stops them."""
    if broker.conf.get(SERVER_SIDE_RESET) == "false":
        yield AuditFinding(
            kind="reset-stops-members",
            severity=Severity.WARNING,
            where=broker.words,
            says=phrase(
                "{server_side_reset} is false: a reset of offsets stops each member of its group for 10 s, as on "
                "4.6.0 and 4.9.7",
                server_side_reset=SERVER_SIDE_RESET,
            ),
        )


def dispatch_stopped(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Messages that are in the commit log, and in no queue."""
    if broker.undispatched_bytes:
        yield AuditFinding(
            kind="dispatch-stands-still",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"{broker.undispatched_bytes:,} bytes of messages are stored, and in no consume queue: sends are acknowledged "
            "and nobody gets them; look for the thread ReputMessageService",
        )
