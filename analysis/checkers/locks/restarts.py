"""A broker that was restarted: whom it grants locks, and how long the queues of owners stand still.

``queue`` is "given away" for the queue whose lock an outsider was granted after the restart, "restarted" for another one of
that broker, and "other" for those of brokers that stayed.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, in_events, observations, together
from analysis.checkers.locks.requests import owned_queues
from analysis.evidence.consumption import SECOND_NS

OWNERS_STAY, OWNERS_KILLED = "restart-broker", "kill-owners-restart-broker"


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
    granted = F.col("granted").cast("int")
    probed = Value("granted_after_restart", granted, "lock of {lock_queue} asked for by another client", at=in_events())
    return together(observations(asked, probed), _of_queues(inputs, trials, asked))


def _of_queues(inputs: Inputs, trials: DataFrame, asked: DataFrame) -> DataFrame:
    given = asked.where("granted").select("trial", "group", "lock_queue", F.lit(True).alias("given"))
    kind = (
        F.when(F.col("given"), "given away")
        .when(F.col("broker") == F.col("fault_target"), "restarted")
        .otherwise("other")
    )
    queues = owned_queues(inputs, trials).join(given, ["trial", "group", "lock_queue"], "left").withColumn("kind", kind)
    waited_ns = F.coalesce("taken_ns", "end_ns") - F.col("fault_ns")
    said, params = "group {group} queue {broker}:{queue}, {kind}", {"queue": "kind"}
    return observations(
        queues,
        Value(
            "restart_handover_s",
            F.when(F.col("fault") == OWNERS_KILLED, waited_ns / SECOND_NS),
            said,
            params=params,
            at=F.coalesce("taken_at", "owned_at"),
            censored=F.col("taken_ns").isNull(),
        ),
        Value(
            "restart_delay_max_s",
            F.col("delay_ns_max") / SECOND_NS,
            said,
            params=params,
            at=F.coalesce("delay_max_at", at_fault()),
            censored=~F.coalesce("drained", F.lit(False)),
        ),
    )
