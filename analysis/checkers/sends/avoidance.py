"""Where the sends of producers go that avoid brokers, or do not, after one of their sends was slow or failed.

A producer's normal sends go to a topic of its own on all masters, with one message at a time. What befell it is told by the
broker's stamps of the slow send, or by the last of its sends that failed; the first master is the one that it befell last.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place

INCIDENTS = ("broker-slow", "broker-killed", "all-brokers-avoided")
SLOW_SENDS = "slow-sends"
JUST_AFTER_S, AT_LAST_S = 5.0, 10.0
"""Shares by broker and queue are those of the seconds after a send was slow; which queues are used, of the last ones."""
PRODUCER = {"producer": "instance"}


def observe(inputs: Inputs) -> DataFrame:
    """By producer: how long the first master got nothing, the turns and shares of queues, and what failed."""
    windows = inputs.trials.where(F.col("incident").isin(*INCIDENTS)).select(
        "trial",
        "deployment",
        "fault",
        "fault_ns",
        "fault_line",
        "healed_ns",
        "hold_to_ns",
        F.col("topic").alias("base"),
    )
    sends = inputs.records.sends.join(F.broadcast(windows), "trial").withColumns(
        {"is_watched": F.col("topic") == F.concat_ws("-", "base", "instance"), "at": place()}
    )
    struck = _slow(inputs, sends).unionByName(_failed(sends))
    watched = sends.where("is_watched AND outcome = 'ok'").withColumn(
        "first", F.min("broker").over(Window.partitionBy("trial"))
    )
    after = watched.join(struck, ["trial", "instance"]).where("started_ns > struck_ns")
    return together(
        _avoided(struck, after, windows), _just_after(after), _turns(watched), _unused(watched), _shares(sends)
    )


def _slow(inputs: Inputs, sends: DataFrame) -> DataFrame:
    """By producer the end of its last send that a broker held up: of those to that topic the last one that had begun before."""
    stamped = inputs.records.events.where("type = 'reading' AND name = 'slow_send_ms'").select(
        "trial", F.col("target").alias("topic"), (F.col("at_ns") - F.col("value") * 1e6).cast("long").alias("begin_ns")
    )
    met = sends.join(F.broadcast(stamped), ["trial", "topic"]).where("started_ns <= begin_ns")
    of_stamp = met.groupBy("trial", "instance", "topic", "begin_ns").agg(
        F.max_by("finished_ns", "started_ns").alias("struck_ns"),
        (F.max_by("finished_ns", "started_ns") - F.max("started_ns")).alias("took_ns"),
    )
    return of_stamp.groupBy("trial", "instance").agg(
        F.max("struck_ns").alias("struck_ns"), F.max_by("took_ns", "struck_ns").alias("took_ns")
    )


def _failed(sends: DataFrame) -> DataFrame:
    """Where no broker held up a send: the end of the producer's last send that failed in the hold."""
    failed = sends.where(
        (F.col("fault") != SLOW_SENDS)
        & (F.col("outcome") != "ok")
        & F.col("started_ns").between(F.col("fault_ns"), F.col("hold_to_ns"))
    )
    return failed.groupBy("trial", "instance").agg(
        F.max("finished_ns").alias("struck_ns"),
        F.max_by(F.col("finished_ns") - F.col("started_ns"), "finished_ns").alias("took_ns"),
    )


def _avoided(struck: DataFrame, after: DataFrame, windows: DataFrame) -> DataFrame:
    """A producer that sent nothing to the first master until the end of the hold is censored."""
    returned = F.when(F.col("broker") == F.col("first"), F.col("started_ns"))
    first = after.groupBy("trial", "instance").agg(
        F.min(returned).alias("returned_ns"), F.min_by("at", returned).alias("at")
    )
    each = struck.join(first, ["trial", "instance"], "left").join(windows, "trial")
    until_ns, took_ms = F.coalesce("returned_ns", "hold_to_ns"), F.round(F.col("took_ns") / 1e6)
    return observations(
        each.withColumn("took_ms", took_ms),
        Value(
            "avoided_s",
            (until_ns - F.col("struck_ns")) / SECOND_NS,
            "{instance}: its first send to that broker after one of {took_ms} ms",
            at=F.coalesce("at", at_fault()),
            params=PRODUCER,
            censored=F.col("returned_ns").isNull(),
        ),
    )


def _just_after(after: DataFrame) -> DataFrame:
    soon = after.where(F.col("started_ns") - F.col("struck_ns") <= JUST_AFTER_S * SECOND_NS)
    by_queue = soon.groupBy("trial", "deployment", "instance", "broker", "queue", "first").agg(
        F.count("*").alias("sends"), F.min_by("at", "started_ns").alias("at")
    )
    to_first = F.sum(F.when(F.col("broker") == F.col("first"), F.col("sends")).otherwise(0))
    each = by_queue.groupBy("trial", "deployment", "instance").agg(
        F.sum("sends").alias("all"), to_first.alias("to_first"), F.max("sends").alias("most"), F.min("at").alias("at")
    )
    said = "{instance}: of {all} sends in the first seconds"
    return observations(
        each,
        Value("first_broker_share", F.col("to_first") / F.col("all"), said, at="at", params=PRODUCER),
        Value("busiest_queue_share", F.col("most") / F.col("all"), said, at="at", params=PRODUCER),
    )


def _held() -> Column:
    return F.col("started_ns").between(F.col("fault_ns"), F.col("hold_to_ns"))


def _turns(watched: DataFrame) -> DataFrame:
    """Whether each send lies as many places on in the list of queues, by broker and number, as it is sends later."""
    places = Window.partitionBy("trial", "instance").orderBy("broker", "queue")
    in_turn = Window.partitionBy("trial", "instance").orderBy("seq")
    placed = watched.withColumn("place", F.dense_rank().over(places))
    placed = placed.withColumn("queues", F.max("place").over(Window.partitionBy("trial", "instance"))).where(_held())
    on = F.col("place") - F.lag("place").over(in_turn) - (F.col("seq") - F.lag("seq").over(in_turn))
    each = (
        placed.withColumn("out", F.pmod(on, F.col("queues")) != 0)
        .where("out IS NOT NULL")
        .groupBy("trial", "deployment", "instance")
        .agg(
            F.count_if("out").alias("count"),
            F.count("*").alias("sends"),
            F.coalesce(F.min_by("at", F.when(F.col("out"), F.col("seq"))), F.min_by("at", "seq")).alias("at"),
        )
    )
    said = "{instance}: {count} of {sends} sends did not go to the queue whose turn it was"
    return observations(
        each, Value("out_of_turn_share", F.col("count") / F.col("sends"), said, at="at", params=PRODUCER)
    )


def _unused(watched: DataFrame) -> DataFrame:
    """Of the queues that a producer has sent to, those that get nothing any more."""
    is_late = F.col("started_ns").between(F.col("hold_to_ns") - int(AT_LAST_S * SECOND_NS), F.col("hold_to_ns"))
    by_queue = watched.groupBy("trial", "deployment", "instance", "broker", "queue").agg(
        F.count_if(is_late).alias("late"), F.max_by("at", "started_ns").alias("at")
    )
    each = by_queue.groupBy("trial", "deployment", "instance").agg(
        F.count_if(F.col("late") == 0).alias("unused"), F.count("*").alias("queues"), F.min_by("at", "late").alias("at")
    )
    said = "{instance}: {unused} of {queues} queues got nothing at last"
    return observations(each, Value("unused_queues_count", "unused", said, at="at", params=PRODUCER))


def _shares(sends: DataFrame) -> DataFrame:
    """What failed from the fault on: until the hold's end, or where a broker was away, until it was back."""
    until_ns = F.when(F.col("fault") == SLOW_SENDS, F.col("hold_to_ns")).otherwise(
        F.coalesce("healed_ns", "hold_to_ns")
    )
    failed = F.col("outcome") != "ok"
    each = (
        sends.where(F.col("started_ns").between(F.col("fault_ns"), until_ns))
        .groupBy("trial", "deployment", "instance")
        .agg(
            F.count_if(failed).alias("failed"),
            F.count("*").alias("sends"),
            F.coalesce(F.min_by("at", F.when(failed, F.col("started_ns"))), F.min("at")).alias("at"),
        )
    )
    said = "{instance}: {failed} of {sends} sends failed"
    return observations(
        each, Value("failed_of_producer_share", F.col("failed") / F.col("sends"), said, at="at", params=PRODUCER)
    )
