"""A put lock that counts as held, for which a broker answers that it is busy."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading
from harness.audit.settings import whole_of
from harness.model.rocketmq import PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS

STUCK_MS = 60_000
"""An append that waits for a disk takes seconds."""
FORGIVEN_MS = 10_000_000
"""From this age on the lock counts as busy no more (DefaultMessageStore.isOSPageCacheBusy of 4.x and 5.x)."""


def busy_flag_stuck(broker: BrokerReading) -> Iterator[AuditFinding]:
    """The begin of the lock that a failed append left behind: each append that comes through sets it anew, and clears it."""
    limit_ms = whole_of(broker.conf, PAGE_CACHE_BUSY, int(PAGE_CACHE_BUSY_MS))
    if limit_ms + STUCK_MS <= broker.lock_held_ms < FORGIVEN_MS:
        yield AuditFinding(
            kind="lock-counts-as-held",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"its put lock counts as held for {broker.lock_held_ms / 1000:,.0f} s, with {PAGE_CACHE_BUSY}={limit_ms:.0f}: it "
            f"refuses every send as busy, until {FORGIVEN_MS / 1000:,.0f} s are over; an append that threw an exception leaves "
            "that behind on 4.6.0 and 5.3.3, or one stands still: see the broker's logs and its disk",
        )
