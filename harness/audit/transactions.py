"""What keeps transactions of a broker from ending, or would have it ask about ended ones."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading
from harness.audit.settings import whole_of
from harness.model.rocketmq import OP_TOPIC

SPARES_IT = (4, 9, 7)
"""The first release that is known here to leave the queue of what has ended alone as it deletes a topic
(DefaultMessageStore.cleanUnusedTopic); 4.6.0 does not."""
SPINS = (5, 5, 0)
"""The release whose TransactionalOpBatchService does not wait any more once a transaction has ended; 5.3.3 waits."""
LEAST_PAGES, THOROUGH = "commitCommitLogLeastPages", "commitCommitLogThoroughInterval"
THOROUGH_MS = 200
"""Both are of org.apache.rocketmq.store.config.MessageStoreConfig."""
NO_TIME_MS = 1


def commits_lost(broker: BrokerReading) -> Iterator[AuditFinding]:
    """Transactions on a master with the transient store pool: they are to end before their half message can be read.

    Not with SYNC_FLUSH, which acknowledges a half message when it has been committed and flushed (``GroupCommitService``).
    """
    conf = broker.conf
    at_once = (
        conf.get(LEAST_PAGES) == "0"
        or whole_of(conf, THOROUGH, THOROUGH_MS) <= NO_TIME_MS
        or conf.get("flushDiskType") == "SYNC_FLUSH"
    )
    if broker.half_messages and broker.has_pool and not at_once:
        yield AuditFinding(
            kind="half-messages-in-pool",
            severity=Severity.CRITICAL,
            where=broker.words,
            says=f"it has stored {broker.half_messages:,} half messages of transactions, in the transient store pool: what ends a "
            "transaction comes before its half message can be read, and is lost: they wait for the broker's checks",
        )


def deletion_asks_again(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A deletion of any topic would have an old release ask about transactions that ended since its last check."""
    spares = not broker.version or broker.version >= SPARES_IT
    if broker.half_messages and not spares and all(topic.name != OP_TOPIC for topic in broker.topics):
        yield AuditFinding(
            kind="deletion-rechecks-transactions",
            severity=Severity.WARNING,
            where=broker.words,
            says="if a topic is deleted, whichever it is, transactions that ended since the last check are asked about, and "
            "committed messages delivered twice",
        )


def takes_a_core(broker: BrokerReading) -> Iterator[AuditFinding]:
    """A thread that has nothing to do and does not wait, since the first transaction that ended."""
    if broker.half_messages and broker.version == SPINS:
        yield AuditFinding(
            kind="op-thread-spins",
            severity=Severity.WARNING,
            where=broker.words,
            says=f"it has stored {broker.half_messages:,} half messages: if a transaction has ended since its start, its thread "
            "TransactionalOpBatchService takes a whole core whenever no transaction ends for some seconds (TransactionalOp in "
            "top -H)",
        )
