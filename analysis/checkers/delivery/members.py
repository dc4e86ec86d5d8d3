"""What becomes of the messages of a group whose members differ: read by nobody, by two, passed over, or copied.

Counted are the accepted messages that were due in the hold and that a member of the group subscribes to, by topic and
tag. They are known by their sequence numbers, which their bodies carry through every retry.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations, together
from analysis.checkers.delivery.ends import came_to_its_end, read_at_end
from analysis.evidence.records import place

_GROUP = ["trial", "deployment", "group"]


def observe(inputs: Inputs) -> DataFrame:
    """Shares, ids and copies for each group whose members' subscriptions were recorded."""
    members = inputs.records.events.where("type = 'member'").join(inputs.trials.select("trial", "deployment"), "trial")
    read = _read(inputs, members).persist()
    groups = members.groupBy(*_GROUP).agg(F.min("n").alias("line"))
    return together(
        _shares(read, groups), _tags(read), _passed_over(inputs, read), _copies(inputs, read), _ids(inputs, groups)
    )


def _wanted(inputs: Inputs, members: DataFrame) -> DataFrame:
    """One row for each group and message of the hold that one of its members subscribes to."""
    windows = inputs.trials.select("trial", "fault_ns", "hold_to_ns")
    sent = (
        inputs.records.sends.where("outcome = 'ok'")
        .join(windows, "trial")
        .where("intended_ns >= fault_ns AND intended_ns < hold_to_ns")
        .select(
            "trial", "topic", "seq", F.col("key").alias("tag"), "broker", "queue", "offset", place().alias("sent_at")
        )
    )
    subscribed = members.select(*_GROUP, "topic", F.explode(F.split("tags", r"\s*\|\|\s*")).alias("asked"))
    is_asked_for = (F.col("asked") == "*") | (F.col("asked") == F.col("tag"))
    return sent.join(subscribed, ["trial", "topic"]).where(is_asked_for).drop("asked").distinct()


def _read(inputs: Inputs, members: DataFrame) -> DataFrame:
    """The same with how many members were given it for the first time; none is 0."""
    first = (
        _consumed(inputs)
        .where("reconsume = 0")
        .groupBy("trial", "group", "topic", "seq")
        .agg(F.countDistinct("instance").alias("readers"))
    )
    joined = _wanted(inputs, members).join(first, ["trial", "group", "topic", "seq"], "left")
    return joined.withColumn("readers", F.coalesce("readers", F.lit(0)))


def _consumed(inputs: Inputs) -> DataFrame:
    """Consumptions until the members were told to stop, when those that go on are given the queues of the others."""
    ends = inputs.trials.select("trial", "end_ns")
    return inputs.records.consumptions.join(ends, "trial").where("started_ns <= end_ns")


def _shares(read: DataFrame, groups: DataFrame) -> DataFrame:
    counted = read.groupBy(*_GROUP).agg(
        F.count("*").alias("wanted"),
        F.count_if(F.col("readers") == 0).alias("unread"),
        F.count_if(F.col("readers") > 1).alias("doubled"),
        F.min_by("sent_at", "readers").alias("at"),
    )
    table = counted.join(groups.select(*_GROUP), _GROUP)
    return observations(
        table,
        Value(
            "unread_share", F.col("unread") / F.col("wanted"), "{group}: {unread} of {wanted} read by nobody", at="at"
        ),
        Value(
            "doubled_share", F.col("doubled") / F.col("wanted"), "{group}: {doubled} of {wanted} read by two", at="at"
        ),
    )


def _tags(read: DataFrame) -> DataFrame:
    """Of the tag of which the group was given least; nothing where messages have none."""
    each = (
        read.where("tag IS NOT NULL")
        .groupBy(*_GROUP, "tag")
        .agg(
            (F.count_if(F.col("readers") > 0) / F.count("*")).alias("share"), F.min_by("sent_at", "readers").alias("at")
        )
        .groupBy(*_GROUP)
        .agg(F.min("share").alias("share"), F.min_by("tag", "share").alias("tag"), F.min_by("at", "share").alias("at"))
    )
    return observations(each, Value("least_tag_share", "share", "{group}: {tag} is read least", at="at"))


def _passed_over(inputs: Inputs, read: DataFrame) -> DataFrame:
    """Of the messages that nobody read, those below the offset that the group has committed: they will not come any more.

    A group of which an offset was not read at the end has no share.
    """
    ends = (
        read_at_end(inputs)
        .where("group IS NOT NULL")
        .select(
            "trial",
            "topic",
            "broker",
            "queue",
            "group",
            F.coalesce("consumer_offset", F.lit(0)).alias("committed"),
            "n",
        )
    )
    unread = (
        read.where("readers = 0 AND broker IS NOT NULL AND queue IS NOT NULL")
        .join(ends, ["trial", "topic", "broker", "queue", "group"], "left")
        .groupBy(*_GROUP)
        .agg(
            F.count("*").alias("unread"),
            F.count_if(F.col("offset") < F.col("committed")).alias("passed"),
            F.bool_and(F.col("committed").isNotNull()).alias("all_read"),
            F.min("n").alias("line"),
        )
    )
    said = "{group}: {passed} of {unread} unread ones lie below its offset"
    share = F.when(F.col("all_read") & came_to_its_end(inputs), F.col("passed") / F.col("unread"))
    return observations(unread, Value("passed_over_share", share, said, at=in_events("line")))


def _copies(inputs: Inputs, read: DataFrame) -> DataFrame:
    """Consumptions at each retry, for each message that failed at its first."""
    failed = _consumed(inputs).where("outcome = 'failed'")
    failed = failed.select("trial", "group", "seq", "reconsume", "started_ns", place().alias("at"))
    wanted = read.select(*_GROUP, "seq").distinct()
    each = (
        failed.join(wanted, ["trial", "group", "seq"])
        .groupBy(*_GROUP, "reconsume")
        .agg(
            F.count("*").alias("all"),
            F.countDistinct("seq").alias("messages"),
            F.max_by("at", "started_ns").alias("at"),
        )
    )
    copies, said = (
        F.col("all") / F.col("messages"),
        "{group}, retry {reconsume}: {all} consumptions of {messages} messages",
    )
    return observations(each, Value("retry_copies_count", copies, said, at="at", params={"retry": "reconsume"}))


def _ids(inputs: Inputs, groups: DataFrame) -> DataFrame:
    """Different client ids of a group's members."""
    ids = (
        inputs.records.instances.where("event = 'started'")
        .groupBy("trial", "group")
        .agg(F.countDistinct("client_id").alias("ids"), F.min("client_id").alias("id"))
        .join(groups, ["trial", "group"])
    )
    said = "{group}: {ids} different client ids, the first {id}"
    return observations(ids, Value("client_ids_count", "ids", said, at=in_events("line")))
