"""Numbers of write and read queues: where messages go, who is given which queue, and what nobody is given.

Counts end with the hold, before the numbers are mended, unless ``moment`` says "end". A stranded message lies in a queue
that no member is given: the queue's number is not below the topic's read queues at that moment, the group has not
committed the message by the broker's offsets, and none of its members has consumed it by their histories (an owner may drop
a queue before it has committed its last). A backlog in a queue that is consumed is not stranded. At the end the numbers are
mended and nothing is sent any more; then what counts is what is left in the queues that nobody read before.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, in_events, observations, together
from analysis.checkers.delivery.ends import came_to_its_end, store_readings
from analysis.evidence.records import place
from harness.model.rocketmq import ILLEGAL_QUEUE

_SHAPE_KEY = ["trial", "topic", "broker", "moment"]
_GROUP_QUEUE = [*_SHAPE_KEY, "queue", "group"]


def observe(inputs: Inputs) -> DataFrame:
    """The counts of every trial whose topic's numbers were recorded."""
    shapes = _shapes(inputs).persist()
    trials = inputs.trials.join(shapes.select("trial").distinct(), "trial").select(
        "trial", "deployment", "topic", "fault_ns", "fault_line", "hold_to_ns"
    )
    return together(
        _sent(inputs, trials),
        _assigned(inputs, trials),
        _in_store(inputs, shapes),
        _stranded(inputs, shapes),
        _consumed(inputs, trials, shapes),
        _refused(inputs, trials),
    )


def _shapes(inputs: Inputs) -> DataFrame:
    """What the topic was on each broker, by moment."""
    return (
        inputs.records.events.where("type = 'topic_shape'")
        .select(*_SHAPE_KEY, "write_queues", "read_queues", "folders", F.col("n").alias("shape_line"))
        .join(inputs.trials.select("trial", "deployment"), "trial")
    )


def _sent(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Queues of a broker that got an accepted send from the fault to the end of the hold, less its first half minute.

    A producer knows a topic's new numbers when it asks for the route again, which it does every 30 s.
    """
    sends = inputs.records.sends.where("outcome = 'ok'").join(trials.drop("topic"), "trial")
    used = (
        sends.where("finished_ns > fault_ns + 35000000000L AND finished_ns < hold_to_ns")
        .groupBy("trial", "deployment", "broker")
        .agg(F.countDistinct("queue").alias("queues"), F.min_by(place(), "n").alias("at"))
    )
    return observations(used, Value("sent_queues_count", "queues", "{broker}: sends in {queues} queues", at="at"))


def _assigned(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Different queues of a broker that the members of a group have at the end of the hold."""
    flags = (
        inputs.records.queue_flags.where(F.col("event").isin("assigned", "dropped"))
        .join(trials, "trial")
        .where("at_ns < hold_to_ns")
        .groupBy("trial", "deployment", "group", "broker", "queue", "instance")
        .agg(F.max_by("event", "at_ns").alias("event"), F.max_by(place(), "at_ns").alias("at"))
    )
    held = (
        flags.where("event = 'assigned'")
        .groupBy("trial", "deployment", "group", "broker")
        .agg(F.countDistinct("queue").alias("queues"), F.max("at").alias("at"))
    )
    return observations(
        held, Value("assigned_queues_count", "queues", "{group} has {queues} queues of {broker}", at="at")
    )


def _ends(inputs: Inputs) -> DataFrame:
    return store_readings(inputs).select(
        *_SHAPE_KEY, "group", "queue", "min_offset", "max_offset", "consumer_offset", "n"
    )


def _in_store(inputs: Inputs, shapes: DataFrame) -> DataFrame:
    """Folders of the consume queue, and read queues into which nothing ever came, by broker."""
    ends = _ends(inputs).groupBy(*_SHAPE_KEY, "queue").agg(F.max("max_offset").alias("max_offset"))
    empty = (
        ends.join(shapes, _SHAPE_KEY)
        .where("max_offset = 0 AND queue < read_queues")
        .groupBy(*_SHAPE_KEY)
        .agg(F.count("*").alias("empty"))
    )
    brokers = shapes.where("moment = 'held'").join(empty, _SHAPE_KEY, "left")
    at = in_events("shape_line")
    said = "{broker}: {value} of its read queues never had a message"
    return observations(
        brokers,
        Value("queue_folders_count", "folders", "{broker}: {folders} folders", at=at),
        Value("empty_read_queues_count", F.coalesce("empty", F.lit(0)), said, at=at),
    )


def _stranded(inputs: Inputs, shapes: DataFrame) -> DataFrame:
    """Stranded messages by group and moment.

    At the end the mended numbers have no unread queue, so the queues that were unread in the hold are taken. Where the trial did
    not come to its end, some may not have been read then: none stranded is no value.
    """
    left = F.col("max_offset") - F.coalesce("consumer_offset", "min_offset")
    beyond = F.col("queue") >= F.least("read_queues", F.coalesce("read_queues_held", "read_queues"))
    held = shapes.where("moment = 'held'").select(
        "trial", "topic", "broker", F.col("read_queues").alias("read_queues_held")
    )
    queues = (
        _ends(inputs)
        .where("group IS NOT NULL")
        .join(shapes.drop("folders"), _SHAPE_KEY)
        .join(held, ["trial", "topic", "broker"], "left")
        .withColumn("left", F.when(beyond, left).otherwise(0))
    )
    groups = (
        queues.join(_unread(inputs, queues.where("left > 0")), _GROUP_QUEUE, "left")
        .groupBy("trial", "deployment", "group", "moment")
        .agg(F.sum(F.least("left", F.coalesce("unread", F.lit(0)))).alias("stranded"), F.min("n").alias("line"))
    )
    said = "{group}: {stranded} messages where nobody reads"
    is_known = (F.col("moment") != "end") | (F.col("stranded") > 0) | came_to_its_end(inputs)
    stranded = F.when(is_known, F.col("stranded"))
    return observations(
        groups, Value("stranded_count", stranded, said, at=in_events("line"), params={"moment": "moment"})
    )


def _unread(inputs: Inputs, queues: DataFrame) -> DataFrame:
    """Accepted sends into these queues that no member of the group had consumed at the moment, by the clients' histories."""
    until = F.when(F.col("moment") == "held", F.col("hold_to_ns"))
    trials = inputs.trials.select("trial", "hold_to_ns")
    asked = queues.select(*_GROUP_QUEUE).join(trials, "trial").select(*_GROUP_QUEUE, until.alias("until_ns"))
    place_of = ["trial", "topic", "broker", "queue"]
    sent = inputs.records.sends.where("outcome = 'ok'").select(*place_of, "offset", "finished_ns")
    consumed = inputs.records.consumptions.select(*place_of, "offset", "group", "started_ns")
    return (
        asked.join(sent, place_of)
        .where("until_ns IS NULL OR finished_ns < until_ns")
        .join(consumed, [*place_of, "offset", "group"], "left")
        .groupBy(*_GROUP_QUEUE, "offset", "until_ns")
        .agg(F.min("started_ns").alias("first_ns"))
        .where("first_ns IS NULL OR first_ns >= until_ns")
        .groupBy(*_GROUP_QUEUE)
        .agg(F.count("*").alias("unread"))
    )


def _consumed(inputs: Inputs, trials: DataFrame, shapes: DataFrame) -> DataFrame:
    """Consumptions from the fault to the end of the hold: by member, and of queues beyond the read ones."""
    reads = shapes.where("moment = 'held'").groupBy("trial").agg(F.max("read_queues").alias("read_queues"))
    window = trials.drop("topic").join(reads, "trial")
    base = (
        inputs.records.consumptions.join(window, "trial")
        .where("started_ns > fault_ns AND started_ns < hold_to_ns")
        .groupBy("trial", "deployment", "group")
        .agg(
            F.count("*").alias("all"),
            F.count_if(F.col("instance").endswith("-first")).alias("first"),
            F.count_if(F.col("queue") >= F.col("read_queues")).alias("beyond"),
            F.min(place()).alias("at"),
        )
    )
    said, share = "{group}: {all} consumptions, {first} first", F.col("first") / F.col("all")
    return observations(
        base,
        Value("consumed_beyond_read_count", "beyond", said, at="at"),
        Value("member_share", share, said, at="at", params={"member": F.lit("first")}),
        Value("member_share", 1 - share, said, at="at", params={"member": F.lit("second")}),
    )


def _refused(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Sends from the fault to the end of the hold that a broker refused since it has no such queue any more.

    A broker that is busy refuses as well, whatever the numbers are.
    """
    refused = (
        inputs.records.sends.where("outcome = 'failed'")
        .where(F.col("remark").contains(ILLEGAL_QUEUE))
        .join(trials.select("trial", "fault_ns", "hold_to_ns"), "trial")
        .where("started_ns > fault_ns AND started_ns < hold_to_ns")
        .groupBy("trial")
        .agg(F.count("*").alias("refused"), F.min(place()).alias("at"))
    )
    every = trials.select("trial", "deployment", "fault_line").join(refused, "trial", "left")
    count = F.coalesce("refused", F.lit(0))
    said = "{value} sends were refused for their queue"
    return observations(every, Value("illegal_queue_count", count, said, at=F.coalesce("at", at_fault())))
