"""Keys: every key's messages lie in one queue, without which nothing orders them.

Judged for loads that send by key. A key that moved was sent while the route was another one: a selector counts the
queues that it sees, and sees fewer once a broker is gone.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import IntegerType, LongType, StringType, StructField, StructType

from analysis.run_directory import RunDirectory

_SENDS = StructType(
    [
        StructField("type", StringType()),
        StructField("n", LongType()),
        StructField("topic", StringType()),
        StructField("key", StringType()),
        StructField("broker", StringType()),
        StructField("queue", IntegerType()),
        StructField("started_ns", LongType()),
    ]
)


def moved_keys(spark: SparkSession, run: RunDirectory) -> DataFrame:
    """One row for each key with more than one queue: ``key``, ``queues``, and where the first send is that left the
    key's first queue (``file`` relative to the run directory, ``line``).

    The keys are read from the histories themselves: no other table of the analysis carries them.
    """
    read = spark.read.schema(_SENDS).json([str(file) for file in run.history_files()])
    path = F.substring_index(F.col("_metadata.file_path"), "/", -4)
    sends = read.where("type = 'send' AND key IS NOT NULL AND queue IS NOT NULL").select(
        "topic", "key", F.concat_ws(":", "broker", "queue").alias("queue"), "started_ns", "n", path.alias("file")
    )
    first = sends.groupBy("topic", "key", "queue").agg(
        F.min("started_ns").alias("started_ns"),
        F.min_by("n", "started_ns").alias("line"),
        F.min_by("file", "started_ns").alias("file"),
    )
    listed = F.array_sort(F.collect_list(F.struct("started_ns", "queue", "file", "line"))).alias("queues")
    return (
        first.groupBy("topic", "key")
        .agg(listed)
        .where(F.size("queues") > 1)
        .select(
            "key",
            F.expr("transform(queues, item -> item.queue)").alias("queues"),
            F.expr("queues[1].file").alias("file"),
            F.expr("queues[1].line").alias("line"),
        )
    )
