"""Hand-over: how long the queues of a group's owner wait for the successor, and how late messages come meanwhile.

Time counts from just before the owners are killed or shut down, for every queue that the owner consumed from in the 5 s
before. A queue that the successor does not reach by the end of the trial is censored there.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, at_fault, observations, together
from analysis.evidence.consumption import SECOND_NS, owned_at_fault
from analysis.evidence.trials import OWNERS_END


def observe(inputs: Inputs) -> DataFrame:
    """The hand-over of each queue, and the delays of its messages from 5 s before the fault to the end of the hold."""
    taken = F.col("taken_ns").isNotNull()
    words = F.when(taken, "first consumption by the successor").otherwise("the owner's last; none by the successor")
    queues = inputs.consumption.queues.join(inputs.trials, ["trial", "topic"]).withColumn("taken", words)
    return together(observations(queues, _handover(), *_delays()), _delayed_in_ten_seconds(queues))


def _delayed_in_ten_seconds(queues: DataFrame) -> DataFrame:
    """By group: messages that were due in the 10 s after the fault and came 1 s late or later."""
    return observations(
        lambda: queues.groupBy("trial", "deployment", "group", "fault_line").agg(F.sum("late_in_10s").alias("late")),
        Value("delayed_in_10s_count", "late", "group {group}: {late} messages late", at=at_fault()),
    )


def _handover() -> Value:
    changed = F.col("fault").isin(*OWNERS_END) & owned_at_fault()
    return Value(
        "handover_s",
        F.when(changed, (F.coalesce("taken_ns", "end_ns") - F.col("fault_ns")) / SECOND_NS),
        "group {group} queue {broker}:{queue}: {taken}",
        at=F.coalesce("taken_at", "owned_at"),
        censored=F.col("taken_ns").isNull(),
    )


def _delays() -> list[Value]:
    """Delays are known for messages that were consumed; before a complete drain the largest ones are not in yet."""
    values = {
        "message_delay_max_s": F.col("delay_ns_max") / SECOND_NS,
        "delayed_over_1s_count": F.col("over_1s"),
    }
    return [
        Value(
            measure,
            F.when(F.col("timed") > 0, value),
            "group {group} queue {broker}:{queue}: the latest of {timed} messages",
            at=F.coalesce("delay_max_at", at_fault()),
            censored=~F.coalesce("drained", F.lit(False)),
        )
        for measure, value in values.items()
    ]
