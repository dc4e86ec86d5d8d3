"""What a master's flushes let it take."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading
from harness.language import phrase

WAITS = (4, 6)
"""The last releases known here whose send threads wait for a flush (CommitLog.handleDiskFlush of 4.6.0; those of 4.9.7 do not)."""
SEND_THREADS_DEFAULT = "1"
"""org.apache.rocketmq.common.BrokerConfig of 4.6.0."""


def one_send_thread(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A SYNC_FLUSH that stores one message a flush."""
    threads = broker.conf.get("sendMessageThreadPoolNums", SEND_THREADS_DEFAULT)
    waits = bool(broker.version) and broker.version[: len(WAITS)] <= WAITS
    if waits and threads == SEND_THREADS_DEFAULT and broker.conf.get("flushDiskType") == "SYNC_FLUSH":
        yield AuditFinding(
            kind="one-message-a-flush",
            severity=Severity.WARNING,
            where=broker.words,
            says=phrase("SYNC_FLUSH with one send thread stores one message a flush, however many producers send"),
        )
