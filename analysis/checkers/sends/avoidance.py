"""Where the sends of producers go that avoid brokers, or do not, after one of their sends was slow or failed.

A producer's normal sends go to a topic of its own on all masters, with one message at a time. What befell it is told by the
broker's stamps of the slow send, or by the last of its sends that failed; the first master is the one that it befell last.

What a producer does is that one send's doing only while none of its others was slow by itself: else another broker may be
avoided too, and where all are avoided none is. A producer has no value of such a time.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together, trials_of
from analysis.evidence.consumption import SECOND_NS
from analysis.evidence.records import place
from harness.model.faults import SlowSends

SLOW_SENDS = SlowSends.kind
LONGEST_S = ((500.0, 30), (900.0, 60), (1900.0, 120), (2900.0, 180), (14_000.0, 600))
"""The longest time for which any release avoids a broker after a send of so many ms or more (that of 4.x), and a little less."""
FAILED_S = 600
SWITCHED_S = 5
"""Avoidance is switched on within so many seconds before the fault; sends that had ended before have nobody avoided."""
JUST_AFTER_S, AT_LAST_S = 5.0, 10.0
"""Shares by broker and queue are those of the seconds after a send was slow; which queues are used, of the last ones."""
PRODUCER = {"producer": "instance"}


def observe(inputs: Inputs) -> DataFrame:
    """By producer: how long the first master got nothing, the turns and shares of queues, and what failed."""
    windows = trials_of(inputs, "avoidance").select(
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
    held = _held_up(inputs, sends)
    struck = _last(held).unionByName(_last(_failed(sends)))
    watched = sends.where("is_watched AND outcome = 'ok'").withColumn(
        "first", F.min("broker").over(Window.partitionBy("trial"))
    )
    after = watched.join(struck, ["trial", "instance"]).where("started_ns > struck_ns")
    spoiled = _slow_by_themselves(sends, held)
    return together(
        _avoided(struck, after, windows, spoiled.unionByName(_ended_last(watched, struck))),
        _just_after(after, spoiled),
        _turns(watched, spoiled),
        _unused(watched),
        _shares(sends),
    )


def _held_up(inputs: Inputs, sends: DataFrame) -> DataFrame:
    """The sends that a broker held up: of those to that topic the last one that had begun before."""
    stamped = inputs.records.events.where("type = 'reading' AND name = 'slow_send_ms'").select(
        "trial", F.col("target").alias("topic"), (F.col("at_ns") - F.col("value") * 1e6).cast("long").alias("begin_ns")
    )
    met = sends.join(F.broadcast(stamped), ["trial", "topic"]).where("started_ns <= begin_ns")
    return met.groupBy("trial", "instance", "topic", "begin_ns").agg(
        F.max_by("seq", "started_ns").alias("seq"),
        F.max("started_ns").alias("started_ns"),
        F.max_by("finished_ns", "started_ns").alias("finished_ns"),
    )


def _last(sends: DataFrame) -> DataFrame:
    """By producer the end of the last of these sends."""
    return sends.groupBy("trial", "instance").agg(
        F.max("finished_ns").alias("struck_ns"),
        F.max_by(F.col("finished_ns") - F.col("started_ns"), "finished_ns").alias("took_ns"),
    )


def _failed(sends: DataFrame) -> DataFrame:
    """Where no broker holds up a send: those that failed in the hold."""
    return sends.where(
        (F.col("fault") != SLOW_SENDS)
        & (F.col("outcome") != "ok")
        & F.col("started_ns").between(F.col("fault_ns"), F.col("hold_to_ns"))
    )


def _slow_by_themselves(sends: DataFrame, held: DataFrame) -> DataFrame:
    """When a broker may have been avoided for a send that was slow, or failed, though no fault held it up."""
    took_ms = (F.col("finished_ns") - F.col("started_ns")) / 1e6
    longest_s = F.greatest(*(F.when(took_ms >= slow_ms, seconds).otherwise(0) for slow_ms, seconds in LONGEST_S))
    failed = (F.col("fault") == SLOW_SENDS) & (F.col("outcome") != "ok")
    others = sends.join(held, ["trial", "instance", "seq"], "left_anti")
    return (
        others.withColumn("seconds", F.when(failed, FAILED_S).otherwise(longest_s))
        .where((F.col("seconds") > 0) & (F.col("finished_ns") > F.col("fault_ns") - SWITCHED_S * SECOND_NS))
        .select(
            "trial",
            "instance",
            F.col("finished_ns").alias("spoiled_from_ns"),
            (F.col("finished_ns") + F.col("seconds").cast("long") * SECOND_NS).alias("spoiled_to_ns"),
        )
    )


def _ended_last(watched: DataFrame, struck: DataFrame) -> DataFrame:
    """Where a quick send to the first broker was under way when the slow one ended: the quick one is what ended last."""
    under_way = (F.col("started_ns") < F.col("struck_ns")) & (F.col("finished_ns") > F.col("struck_ns"))
    return (
        watched.where(F.col("broker") == F.col("first"))
        .join(struck, ["trial", "instance"])
        .where(under_way)
        .select(
            "trial",
            "instance",
            F.col("struck_ns").alias("spoiled_from_ns"),
            F.col("finished_ns").alias("spoiled_to_ns"),
        )
    )


def _unspoiled(each: DataFrame, spoiled: DataFrame, from_ns: str, until_ns: Column) -> DataFrame:
    """Of these those whose time no other slow send of the producer has a part in."""
    others = spoiled.withColumnsRenamed({"trial": "of_trial", "instance": "of_instance"})
    meets = (
        (F.col("trial") == F.col("of_trial"))
        & (F.col("instance") == F.col("of_instance"))
        & (F.col("spoiled_from_ns") <= F.col("until_ns"))
        & (F.col("spoiled_to_ns") >= F.col(from_ns))
    )
    return each.withColumn("until_ns", until_ns).join(others, meets, "left_anti")


def _avoided(struck: DataFrame, after: DataFrame, windows: DataFrame, spoiled: DataFrame) -> DataFrame:
    """A producer that sent nothing to the first master until the end of the hold is censored."""
    returned = F.when(F.col("broker") == F.col("first"), F.col("started_ns"))
    first = after.groupBy("trial", "instance").agg(
        F.min(returned).alias("returned_ns"), F.min_by("at", returned).alias("at")
    )
    each = struck.join(first, ["trial", "instance"], "left").join(windows, "trial")
    until_ns, took_ms = F.coalesce("returned_ns", "hold_to_ns"), F.round(F.col("took_ns") / 1e6)
    return observations(
        _unspoiled(each, spoiled, "struck_ns", until_ns).withColumn("took_ms", took_ms),
        Value(
            "avoided_s",
            (until_ns - F.col("struck_ns")) / SECOND_NS,
            "{instance}: its first send to that broker after one of {took_ms} ms",
            at=F.coalesce("at", at_fault()),
            params=PRODUCER,
            censored=F.col("returned_ns").isNull(),
        ),
    )


def _just_after(after: DataFrame, spoiled: DataFrame) -> DataFrame:
    end_ns = F.col("struck_ns") + int(JUST_AFTER_S * SECOND_NS)
    soon = _unspoiled(after.where(F.col("started_ns") <= end_ns), spoiled, "struck_ns", end_ns)
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


def _turns(watched: DataFrame, spoiled: DataFrame) -> DataFrame:
    """Whether each send lies as many places on in the list of queues, by broker and number, as it is sends later."""
    places = Window.partitionBy("trial", "instance").orderBy("broker", "queue")
    in_turn = Window.partitionBy("trial", "instance").orderBy("seq")
    placed = _unspoiled(watched, spoiled, "fault_ns", F.col("hold_to_ns")).withColumn(
        "place", F.dense_rank().over(places)
    )
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
