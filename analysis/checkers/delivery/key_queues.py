"""Keys of ordered sends: which queues a key's messages lie in, and whether its order holds across all of them.

The kind of send is the end of the topic's name (``hash``, ``strict``, ``fixed``, ``keyless``). Only accepted sends count
for queues. A key is out of order where a message of it is consumed for the first time after one that was sent later.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import LongType, StringType

from analysis.checkers.base import Inputs, Value, observations, together
from analysis.evidence.records import place
from analysis.evidence.tables import frame_of, table

KINDS = ("hash", "strict", "fixed", "keyless")
QUEUES_PER_BROKER, BROKERS = 8, 3
INDEX = 20
"""The article's example."""

_HASHES = table(key=StringType(), hash=LongType())
_KEYS_MAX = 512


def observe(inputs: Inputs) -> DataFrame:
    """The counts of every trial that has sends of these kinds."""
    trials = inputs.trials.where("grouped").select("trial", "deployment", "topic", "fault_ns")
    kinds = F.array(*[F.concat(F.col("trial_topic"), F.lit(f"-{kind}")) for kind in KINDS])
    sends = (
        inputs.records.sends.where("key IS NOT NULL AND key != ''")
        .join(trials.withColumnRenamed("topic", "trial_topic"), "trial")
        .where(F.array_contains(kinds, F.col("topic")))
        .withColumn("send", F.element_at(F.split("topic", "-"), -1))
    )
    accepted = sends.where("outcome = 'ok'")
    return together(_queues(accepted), _computed(inputs, accepted), _order(inputs, sends), _unsent(sends))


def _value(measure: str, value: Column | str, said: str) -> Value:
    return Value(measure, value, said, at="at", params={"send": "send"})


def _queues(accepted: DataFrame) -> DataFrame:
    keys = accepted.groupBy("trial", "deployment", "send", "key").agg(
        F.countDistinct("broker", "queue").alias("queues"),
        F.count("*").alias("sends"),
        F.max(place()).alias("at"),
    )
    return observations(keys, _value("queues_of_key_count", "queues", "{key}: {sends} sends in {queues} queues"))


def _computed(inputs: Inputs, accepted: DataFrame) -> DataFrame:
    """Before the fault: whether a key lies in the queue that abs(hash % 24) names, and where index 20 is."""
    hashes = frame_of(inputs.spark, [{"key": f"k{i}", "hash": java_hash(f"k{i}")} for i in range(_KEYS_MAX)], _HASHES)
    index = F.abs(F.col("hash") % (QUEUES_PER_BROKER * BROKERS))
    broker = F.ascii(F.substring_index("broker", "-", -1)) - ord("a")
    at = broker * QUEUES_PER_BROKER + F.col("queue")
    keys = (
        accepted.where("send IN ('hash', 'strict') AND finished_ns < fault_ns")
        .join(F.broadcast(hashes), "key")
        .withColumns({"index": index, "broker_number": broker, "at": at})
        .groupBy("trial", "deployment", "send", "key", "index")
        .agg(
            F.min((F.col("at") == F.col("index")).cast("int")).alias("computed"),
            F.max("queue").alias("queue"),
            F.max("broker_number").alias("broker_number"),
            F.max(place()).alias("at"),
        )
    )
    example, said = F.col("index") == INDEX, "{key} has index {index}"
    return observations(
        keys,
        _value("key_in_computed_queue", "computed", said),
        _value("queue_of_index_20", F.when(example, F.col("queue")), said),
        _value("broker_of_index_20", F.when(example, F.col("broker_number")), said),
    )


def java_hash(text: str) -> int:
    """``String.hashCode`` of ASCII text: a signed 32-bit number."""
    value = 0
    for character in text:
        value = (31 * value + ord(character)) & 0xFFFFFFFF
    return value - (1 << 32) if value >= 1 << 31 else value


def _order(inputs: Inputs, sends: DataFrame) -> DataFrame:
    """First consumptions of a key's messages that came after one of a later message, by key."""
    kinds = sends.select("trial", "deployment", "topic", "send").distinct()
    first = (
        inputs.records.consumptions.where("seq IS NOT NULL AND key IS NOT NULL")
        .join(F.broadcast(kinds), ["trial", "topic"])
        .groupBy("trial", "deployment", "send", "group", "key", "seq")
        .agg(F.min("started_ns").alias("started_ns"), F.min(place()).alias("at"))
    )
    of_key = Window.partitionBy("trial", "send", "group", "key").orderBy("started_ns", "seq")
    before = F.max("seq").over(of_key.rowsBetween(Window.unboundedPreceding, -1))
    late = F.col("seq") < F.col("highest_before")
    keys = (
        first.withColumn("highest_before", before)
        .groupBy("trial", "deployment", "send", "key")
        .agg(
            F.count_if(late).alias("late"),
            F.coalesce(F.min(F.when(late, F.col("at"))), F.max("at")).alias("at"),
        )
    )
    return observations(keys, _value("key_out_of_order_count", "late", "{key}: {late} messages after a later one"))


def _unsent(sends: DataFrame) -> DataFrame:
    """The share of a key's sends from the fault on that was not accepted."""
    unsent = F.col("outcome") != "ok"
    keys = (
        sends.where("started_ns >= fault_ns")
        .groupBy("trial", "deployment", "send", "key")
        .agg(
            F.avg(unsent.cast("double")).alias("share"),
            F.coalesce(F.min(F.when(unsent, place())), F.max(place())).alias("at"),
        )
    )
    return observations(keys, _value("unsent_share", "share", "{key}: share of its sends that was not accepted"))
