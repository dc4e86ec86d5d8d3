"""Keys: every key's messages lie in one queue, without which nothing orders them.

Loads that send by key are judged by the queues that clients name for their sends and by those that consumers found the
messages in, since some clients name no queue. A key moves when the route changes: a selector counts the queues that it
sees, and it sees fewer once a broker is gone.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import Records


def queues_of_keys(records: Records, topic: str) -> DataFrame:
    """One row for each key of which a queue is known: ``key``, ``queues`` in the order in which they came, and where the
    first record is that left the key's first queue (``file`` relative to the run directory, ``line``), null for a key
    that stayed in one.
    """
    # What consumers met of another run has failed, and may have the same keys.
    told = (records.sends, records.consumptions.where("outcome = 'ok'"))
    columns = ("topic", "key", "broker", "queue", "started_ns", "n", "file")
    known = F.col("key").isNotNull() & F.col("queue").isNotNull() & (F.col("topic") == topic)
    sent, consumed = (table.select(*columns).where(known) for table in told)
    placed = sent.unionByName(consumed).withColumn("queue", F.concat_ws(":", "broker", "queue"))
    first = placed.groupBy("key", "queue").agg(F.min(F.struct("started_ns", "n", "file")).alias("at"))
    listed = F.array_sort(F.collect_list(F.struct("at.started_ns", "queue", "at.file", "at.n"))).alias("queues")
    return (
        first.groupBy("key")
        .agg(listed)
        .selectExpr("key", "queues.queue AS queues", "get(queues, 1).file AS file", "get(queues, 1).n AS line")
    )
