"""Keys: every key's messages lie in one queue, without which nothing orders them.

Loads that send by key are judged by the queues that clients name for their sends and by those that consumers found the
messages in, since some clients name no queue. A key moves when the route changes: a selector counts the queues that it
sees, and it sees fewer once a broker is gone.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import IntegerType, LongType, StringType

from analysis.evidence.tables import table
from analysis.hadoop import location
from harness.rundir.reading import RunDirectory

_RECORDS = table(
    type=StringType(),
    n=LongType(),
    topic=StringType(),
    outcome=StringType(),
    key=StringType(),
    broker=StringType(),
    queue=IntegerType(),
    started_ns=LongType(),
)


def queues_of_keys(spark: SparkSession, run: RunDirectory, topic: str) -> DataFrame:
    """One row for each key of which a queue is known: ``key``, ``queues`` in the order in which they came, and where the
    first record is that left the key's first queue (``file`` relative to the run directory, ``line``), null for a key
    that stayed in one.

    The keys are read from the histories themselves: no other table of the analysis carries them.
    """
    read = spark.read.schema(_RECORDS).json([location(file) for file in run.history_files()])
    path = F.substring_index(F.col("_metadata.file_path"), "/", -4)
    # What consumers met of another run has failed, and may have the same keys.
    told = (F.col("type") == "send") | ((F.col("type") == "consume") & (F.col("outcome") == "ok"))
    known = F.col("key").isNotNull() & F.col("queue").isNotNull() & (F.col("topic") == topic)
    placed = read.where(told & known).select(
        "key", F.concat_ws(":", "broker", "queue").alias("queue"), "started_ns", "n", path.alias("file")
    )
    first = placed.groupBy("key", "queue").agg(F.min(F.struct("started_ns", "n", "file")).alias("at"))
    listed = F.array_sort(F.collect_list(F.struct("at.started_ns", "queue", "at.file", "at.n"))).alias("queues")
    return (
        first.groupBy("key")
        .agg(listed)
        .selectExpr("key", "queues.queue AS queues", "get(queues, 1).file AS file", "get(queues, 1).n AS line")
    )
