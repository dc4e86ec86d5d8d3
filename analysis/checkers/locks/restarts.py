"""A broker that was restarted: whom it grants locks, and how long the queues of owners stand still.

``queue`` is "given away" for the queue whose lock an outsider was granted after the restart, "restarted" for another one of
that broker, and "other" for those of brokers that stayed.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, queue_words, together
from analysis.evidence.consumption import owned_at_fault, queue_name

OWNERS_STAY, OWNERS_KILLED = "restart-broker", "kill-owners-restart-broker"

_SECOND_NS = 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """What outsiders were granted; by queue the longest delay of a message, and where owners were killed the hand-over."""
    trials = inputs.trials.where(F.col("fault").isin(OWNERS_STAY, OWNERS_KILLED))
    asked = (
        inputs.records.events.where("type = 'lock_probe'")
        .select("trial", "n", "at_ns", "group", F.col("queue").alias("lock_queue"), "granted")
        .join(trials.select("trial", "deployment", "fault_ns"), "trial")
        .where("at_ns > fault_ns")
        .drop("at_ns", "fault_ns")
        .persist()
    )
    return together(_granted(asked), _of_queues(inputs, trials, asked))


def _granted(asked: DataFrame) -> DataFrame:
    return observations(
        asked,
        Value(
            measure="granted_after_restart",
            value=F.col("granted").cast("int"),
            file=events_file(),
            line=F.col("n"),
            operation=F.concat(F.lit("lock of "), F.col("lock_queue"), F.lit(" asked for by a stranger")),
        ),
    )


def _of_queues(inputs: Inputs, trials: DataFrame, asked: DataFrame) -> DataFrame:
    given = asked.where("granted").select("trial", "group", "lock_queue", F.lit(True).alias("given"))
    queues = (
        inputs.consumption.queues.join(trials, ["trial", "topic"])
        .where(owned_at_fault())
        .withColumn("lock_queue", queue_name())
        .join(given, ["trial", "group", "lock_queue"], "left")
    )
    kind = (
        F.when(F.col("given"), "given away")
        .when(F.col("broker") == F.col("fault_target"), "restarted")
        .otherwise("other")
    )
    killed = F.col("fault") == OWNERS_KILLED
    return observations(
        queues,
        _value(
            "restart_handover_s",
            F.when(killed, (F.coalesce("taken_ns", "end_ns") - F.col("fault_ns")) / _SECOND_NS),
            kind,
            censored=F.col("taken_ns").isNull(),
            file=F.coalesce("taken_file", "owned_file"),
            line=F.coalesce("taken_line", "owned_line"),
        ),
        _value(
            "restart_delay_max_s",
            F.when(F.size("delays_ns") > 0, F.element_at("delays_ns", -1) / _SECOND_NS),
            kind,
            censored=~F.coalesce("drained", F.lit(False)),
            file=F.coalesce("delay_max_file", events_file()),
            line=F.coalesce("delay_max_line", "fault_line"),
        ),
    )


def _value(measure: str, value: Column, kind: Column, *, censored: Column, file: Column, line: Column) -> Value:
    return Value(
        measure=measure,
        value=value,
        params={"queue": kind},
        censored=censored,
        file=file,
        line=line,
        operation=F.concat(queue_words(), F.lit(", "), kind),
    )
