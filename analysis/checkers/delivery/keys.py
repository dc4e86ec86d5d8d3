"""Keys: every key's messages lie in one queue, without which nothing orders them.

Loads that send by key are judged by the queues that clients name for their sends and by those that consumers found the
messages in, since some clients name no queue. A key moves when the route changes: a selector counts the queues that it
sees, and it sees fewer once a broker is gone.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import Records


def keys_in_queues(records: Records, topic: str) -> DataFrame:
    """One row for each key of which a queue is known: ``key``, and how many ``queues`` it was in."""
    return (
        _placed(records, topic)
        .select("key", "broker", "queue")
        .distinct()
        .groupBy("key")
        .agg(F.count("*").alias("queues"))
    )


def queues_of_key(records: Records, topic: str, key: str) -> DataFrame:
    """One row: the ``queues`` of a key in the order in which they came, and where the first record is that left its first queue
    (``file`` relative to the run directory, ``line``), null where none did.
    """
    of_key = _placed(records, topic).where(F.col("key") == key).withColumn("queue", F.concat_ws(":", "broker", "queue"))
    first = of_key.groupBy("queue").agg(F.min(F.struct("started_ns", "n", "file")).alias("at"))
    listed = F.array_sort(F.collect_list(F.struct("at.started_ns", "queue", "at.file", "at.n"))).alias("queues")
    return first.agg(listed).selectExpr(
        "queues.queue AS queues", "get(queues, 1).file AS file", "get(queues, 1).n AS line"
    )


def _placed(records: Records, topic: str) -> DataFrame:
    # What consumers met of another run has failed, and may have the same keys.
    told = (records.sends, records.consumptions.where("outcome = 'ok'"))
    columns = ("topic", "key", "broker", "queue", "started_ns", "n", "file")
    known = F.col("key").isNotNull() & F.col("queue").isNotNull() & (F.col("topic") == topic)
    sent, consumed = (table.select(*columns).where(known) for table in told)
    return sent.unionByName(consumed)
