"""A broker that is back: when groups get its messages again, and what they get twice of the others.

A group waits from the answer to the first send that the broker accepts after its return until a member is given a message that the
broker has accepted since. Where nothing was restarted any broker will do, and the fault's moment.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, in_events, observations, together, trials_of
from analysis.evidence.records import place

_GROUP = ["trial", "deployment", "group"]
_SECOND_NS = 1e9


def observe(inputs: Inputs) -> DataFrame:
    """By group how long it waits and what it gets twice; by trial the median, the longest, and how many heartbeats members send."""
    trials = F.broadcast(
        trials_of(inputs, "returned").select(
            *("trial", "deployment", "fault_ns", "fault_line", "fault_target", "hold_to_ns", "end_ns"),
            F.coalesce("injected_ns", "fault_ns").alias("from_ns"),
        )
    )
    members = inputs.records.events.where("type = 'member'").join(trials.select("trial", "deployment"), "trial")
    groups = members.groupBy(*_GROUP).agg(F.min("n").alias("line"))
    sends = _accepted(inputs, trials).persist()
    consumed = inputs.records.consumptions.where("outcome = 'ok'").select(
        "trial", "group", "seq", "instance", "started_ns", place().alias("read_at")
    )
    waits = _waits(groups, sends, consumed).persist()
    is_open = F.col("is_open")
    return together(
        observations(waits, Value("again_s", "waited_s", "{group}: {value} s", at="at", censored=is_open)),
        observations(
            _of_trial(waits),
            Value("median_again_s", "median_s", "the median of {groups} groups", at="at"),
            Value("slowest_again_s", "waited_s", "{group}, the last of all", at="at", censored=is_open),
        ),
        _doubled(groups, sends, consumed),
        _heartbeats(inputs, trials),
    )


def _accepted(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Accepted sends, each with whether its broker is the one that returns."""
    sends = (
        inputs.records.sends.where("outcome = 'ok'")
        .select("trial", "seq", "broker", "finished_ns", place().alias("sent_at"))
        .join(trials, "trial")
    )
    any_broker = sends.groupBy("trial").agg(F.min("broker").alias("any_broker"))
    target = F.coalesce("fault_target", "any_broker")
    return sends.join(F.broadcast(any_broker), "trial").withColumn("is_target", F.col("broker") == target)


def _waits(groups: DataFrame, sends: DataFrame, consumed: DataFrame) -> DataFrame:
    since = sends.where(F.col("is_target") & (F.col("finished_ns") > F.col("from_ns")))
    back = since.groupBy("trial", "end_ns").agg(
        F.min("finished_ns").alias("back_ns"), F.min_by("sent_at", "finished_ns").alias("back_at")
    )
    first = (
        consumed.join(since.select("trial", "seq"), ["trial", "seq"])
        .groupBy("trial", "group")
        .agg(F.min("started_ns").alias("first_ns"), F.min_by("read_at", "started_ns").alias("first_at"))
    )
    # A member may be given a message before its sender is told that it is stored.
    waited_ns = F.greatest(F.coalesce("first_ns", "end_ns") - F.col("back_ns"), F.lit(0))
    return (
        groups.join(back, "trial")
        .join(first, ["trial", "group"], "left")
        .withColumn("waited_s", waited_ns / _SECOND_NS)
        .withColumn("at", F.coalesce("first_at", "back_at"))
        .withColumn("is_open", F.col("first_ns").isNull())
    )


def _of_trial(waits: DataFrame) -> DataFrame:
    return waits.groupBy("trial", "deployment").agg(
        F.median("waited_s").alias("median_s"),
        F.count("*").alias("groups"),
        F.max("waited_s").alias("waited_s"),
        F.bool_or("is_open").alias("is_open"),
        F.max_by("group", "waited_s").alias("group"),
        F.max_by("at", "waited_s").alias("at"),
    )


def _doubled(groups: DataFrame, sends: DataFrame, consumed: DataFrame) -> DataFrame:
    """Messages of brokers that stayed that two members of a group were given, until the members were told to stop."""
    elsewhere = sends.where(~F.col("is_target")).select("trial", "seq", "end_ns")
    twice = (
        consumed.join(elsewhere, ["trial", "seq"])
        .where("started_ns <= end_ns")
        .groupBy("trial", "group", "seq")
        .agg(F.countDistinct("instance").alias("readers"), F.max_by("read_at", "started_ns").alias("again_at"))
        .where("readers > 1")
        .groupBy("trial", "group")
        .agg(F.count("*").alias("doubled"), F.min_by("again_at", "seq").alias("again_at"))
    )
    table = groups.join(twice, ["trial", "group"], "left").withColumn("doubled", F.coalesce("doubled", F.lit(0)))
    at: Column = F.coalesce("again_at", in_events("line"))
    return observations(
        table, Value("doubled_elsewhere_count", "doubled", "{group}: {doubled} messages given to both members", at=at)
    )


def _heartbeats(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """From the fault to the end of the hold."""
    counted = (
        inputs.records.heartbeats.join(trials, "trial")
        .where("started_ns BETWEEN fault_ns AND hold_to_ns")
        .groupBy("trial", "deployment", "fault_line", "fault_ns", "hold_to_ns")
        .agg(F.count("*").alias("count"))
        .withColumn("seconds", (F.col("hold_to_ns") - F.col("fault_ns")) / _SECOND_NS)
    )
    per_s = F.col("count") / F.col("seconds")
    return observations(counted, Value("heartbeats_per_s", per_s, "{count} heartbeats", at=at_fault()))
