"""The lock manager of a broker: who asked for a queue's lock and what became of it.

Wordings: org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager of 4.6.0 and 4.9.7 ("tryLockBatch, message
queue locked by other client. Group: ...") and of 5.x ("RebalanceLockManager#tryLockBatch: message queue has been
locked by other client, group=..."). The file is lock.log with the lab's logging and where 4.x says so; stock 5.x
writes the lines elsewhere, so every file is searched.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.logs.lines import PLACE, contains_any, number, part
from harness.model.log_events import WORDINGS, Logged

WAITING, EXPIRED, FIRST, UNLOCKED = "waiting", "expired", "first", "unlocked"
UNLOCK_REFUSED, UNLOCK_NOTHING, FAILED = "unlock refused", "unlock of nothing", "failed"

_LOGGED = {
    Logged.UNLOCKED: UNLOCKED,
    Logged.LOCK_WAITED: WAITING,
    Logged.LOCK_EXPIRED: EXPIRED,
    Logged.LOCK_TAKEN: FIRST,
}
_EVENTS = (
    # The longer wordings come before those that they contain.
    ("unlockBatch, but mq locked by other client", UNLOCK_REFUSED),
    ("unlockBatch: mq locked by other client", UNLOCK_REFUSED),
    ("unlockBatch, but mq not locked", UNLOCK_NOTHING),
    ("unlockBatch: mq not locked", UNLOCK_NOTHING),
    ("unlockBatch, group not exist", UNLOCK_NOTHING),
    ("unlockBatch: group not exist", UNLOCK_NOTHING),
    *((one.words, _LOGGED[one.event]) for one in WORDINGS if one.event in _LOGGED),
    ("unexpected error", FAILED),
)


def wanted() -> Column:
    """Lines of the lock manager, in whatever file they are."""
    return contains_any("tryLock", "unlockBatch, ", "RebalanceLockManager#")


def unknown() -> Column:
    """Lines of the lock manager in a wording of no known release."""
    return wanted() & _happened().isNull()


def parse(lines: DataFrame) -> DataFrame:
    """One row a line: what happened to which queue of which group.

    ``client`` asked (or unlocked), ``holder`` had the lock. ``happened`` is null for a wording that is not known.
    """
    client = _first_of(
        r"NewClientId: (\S+)",
        r"(?:new|current) client id=([^,\s]+)",
        r"(?:, |current )clientId=([^,\s]+)",
        r"queueId=\d+\] (\S+)$",  # what follows the queue of a 4.x unlock line is the client's id alone
    )
    holder = _first_of(
        r"(?:OtherClientId|OldClientId|other client): ([^,\s]+)",
        r"(?:locked|old) client id=([^,\s]+)",
        r"locked clientId=([^,\s]+)",
    )
    return lines.where(wanted()).select(
        *(*PLACE, "name", "resolution_us"),
        _happened().alias("happened"),
        _first_of(r"Group: (\S+)", r"group=([^,\s]+)").alias("group"),
        _first_of(r"topic=([^,\]]+)").alias("topic"),
        _first_of(r"brokerName=([^,\]]+)").alias("broker"),
        number(r"queueId=(\d+)", "int").alias("queue"),
        client.alias("client"),
        holder.alias("holder"),
        F.octet_length("text").alias("bytes"),
    )


def _happened() -> Column:
    return F.coalesce(*[F.when(F.col("text").contains(words), F.lit(event)) for words, event in _EVENTS])


def _first_of(*patterns: str) -> Column:
    return F.coalesce(*[F.nullif(part(pattern), F.lit("")) for pattern in patterns])
