"""Why a queue stands still: a lock that is held, a listener at work, or a process that stops.

Each queue that an owner had at the fault is asked in this order. The owner's *listener* is at work when its last
consumption takes 5 s and more. The owner's *process* stood still when its own count of threads, which it writes every
second, pauses for 5 s and more and then goes on. A *lock* is held when the successor's requests for it were refused. A queue
that none of these explains stays unexplained. ``diagnosed_right`` compares with what was done to the owners. It says nothing of a
queue that needs no explanation, since a successor had it within 5 s of its owner's end.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations
from analysis.checkers.locks.requests import LOCKED_QUEUE, owned_queues
from analysis.evidence.consumption import OWNER, SUCCESSOR
from analysis.evidence.records import place
from analysis.evidence.trials import OWNERS_END
from harness.model.faults import FAULTS, Standstill
from harness.model.rocketmq import LOCK_BATCH_MQ

STILL_NS = 5_000_000_000
LOOK_BACK_NS = 30_000_000_000
NOTHING = "unexplained"
CAUSES = {fault.kind: fault.standstill for fault in FAULTS if fault.standstill}
"""What a fault does to owners. The order of questions was made on kills, pauses and shutdowns with a listener at work."""

_QUEUE = ("trial", "group", "broker", "queue")


def observe(inputs: Inputs) -> DataFrame:
    """1 for a queue whose cause was told, else 0, with what was told as a parameter."""
    trials = inputs.trials.where(F.col("fault").isin(*CAUSES))
    queues = (
        owned_queues(inputs, trials)
        .join(_last_consumption(inputs, trials), list(_QUEUE), "left")
        .join(_stood_still(inputs, trials), "trial", "left")
        .join(_refusals(inputs, trials), list(LOCKED_QUEUE), "left")
    )
    told = (
        F.when(F.col("listener_ns") >= STILL_NS, F.lit(Standstill.LISTENER))
        .when(F.col("still_ns") >= STILL_NS, F.lit(Standstill.PROCESS))
        .when(F.col("refusals") > 0, F.lit(Standstill.LOCK))
        .otherwise(NOTHING)
    )
    cause = F.create_map(*[F.lit(word) for pair in CAUSES.items() for word in pair])[F.col("fault")]
    soon = F.col("taken_ns") - F.col("fault_ns") < STILL_NS
    handed_over = F.coalesce(F.col("fault").isin(*OWNERS_END) & soon, F.lit(False))
    return observations(
        queues.withColumn("told", told),
        Value(
            "diagnosed_right",
            F.when((F.col("told") != NOTHING) | ~handed_over, (F.col("told") == cause).cast("int")),
            "group {group} queue {broker}:{queue}: stands still because of {told}",
            params={"told": "told"},
            at=F.coalesce(F.when(F.col("told") == Standstill.LOCK, F.col("refused_at")), "owned_at"),
        ),
    )


def _last_consumption(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """How long the owner's last consumption before the fault took."""
    return (
        inputs.records.consumptions.where(F.col("process") == OWNER)
        .join(trials.select("trial", "fault_ns"), "trial")
        .where(F.col("started_ns").between(F.col("fault_ns") - LOOK_BACK_NS, F.col("fault_ns")))
        .groupBy(*_QUEUE)
        .agg(F.max_by(F.col("finished_ns") - F.col("started_ns"), "started_ns").alias("listener_ns"))
    )


def _stood_still(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """The longest time from one count of the owners' threads to the next, around the fault."""
    of_trial = Window.partitionBy("trial").orderBy("at_ns")
    return (
        inputs.records.threads.where(F.col("process") == OWNER)
        .join(trials.select("trial", "fault_ns"), "trial")
        .withColumn("still_ns", F.col("at_ns") - F.lag("at_ns").over(of_trial))
        .where("at_ns >= fault_ns")
        .groupBy("trial")
        .agg(F.max("still_ns").alias("still_ns"))
    )


def _refusals(inputs: Inputs, trials: DataFrame) -> DataFrame:
    """Requests of the successor for a queue's lock that were refused after the fault."""
    asked = (
        inputs.records.lock_requests.where((F.col("code") == LOCK_BATCH_MQ) & (F.col("process") == SUCCESSOR))
        .where("finished_ns IS NOT NULL")
        .join(trials.select("trial", "fault_ns", "hold_to_ns"), "trial")
        .where("started_ns BETWEEN fault_ns AND hold_to_ns")
        .select("*", F.explode("asked").alias("lock_queue"))
    )
    refused = ~F.coalesce(F.array_contains("granted", F.col("lock_queue")), F.lit(False))
    return (
        asked.where(refused)
        .groupBy(*LOCKED_QUEUE)
        .agg(F.count("*").alias("refusals"), F.min(place()).alias("refused_at"))
    )
