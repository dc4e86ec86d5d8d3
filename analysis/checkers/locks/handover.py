"""Hand-over: how long the queues of a group's owner wait for the successor, and how late messages come meanwhile.

Time counts from just before the owners are killed or shut down, for every queue that the owner consumed from in the 5 s
before. A queue that the successor does not reach by the end of the trial is censored there.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations, queue_words, together
from analysis.evidence.consumption import owned_at_fault
from analysis.evidence.trials import OWNERS_END

_SECOND_NS = 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """The hand-over of each queue, and the delays of its messages from 5 s before the fault to the end of the hold."""
    queues = inputs.consumption.queues.join(inputs.trials, ["trial", "topic"])
    return together(observations(queues, _handover(), *_delays()), _delayed_in_ten_seconds(queues))


def _delayed_in_ten_seconds(queues: DataFrame) -> DataFrame:
    """By group: messages that were due in the 10 s after the fault and came 1 s late or later."""
    groups = queues.groupBy("trial", "deployment", "group", "fault_line").agg(F.sum("late_in_10s").alias("late"))
    return observations(
        groups,
        Value(
            measure="delayed_in_10s_count",
            value=F.col("late"),
            file=events_file(),
            line=F.col("fault_line"),
            operation=F.concat(F.lit("group "), F.col("group"), F.lit(": "), F.col("late"), F.lit(" messages late")),
        ),
    )


def _handover() -> Value:
    changed = F.col("fault").isin(*OWNERS_END) & owned_at_fault()
    taken = F.col("taken_ns").isNotNull()
    words = F.when(taken, ": first consumption by the successor").otherwise(": the owner's last; none by the successor")
    return Value(
        measure="handover_s",
        value=F.when(changed, (F.coalesce("taken_ns", "end_ns") - F.col("fault_ns")) / _SECOND_NS),
        censored=~taken,
        file=F.when(taken, F.col("taken_file")).otherwise(F.col("owned_file")),
        line=F.when(taken, F.col("taken_line")).otherwise(F.col("owned_line")),
        operation=F.concat(queue_words(), words),
    )


def _delays() -> list[Value]:
    """Delays are known for messages that were consumed; before a complete drain the largest ones are not in yet."""
    late = F.size(F.filter("delays_ns", lambda delay: delay > _SECOND_NS))
    values: dict[str, Column] = {
        "message_delay_max_s": F.element_at("delays_ns", -1) / _SECOND_NS,
        "delayed_over_1s_count": late,
    }
    return [
        Value(
            measure=measure,
            value=F.when(F.size("delays_ns") > 0, value),
            censored=~F.coalesce("drained", F.lit(False)),
            file=F.coalesce("delay_max_file", events_file()),
            line=F.coalesce("delay_max_line", "fault_line"),
            operation=F.concat(queue_words(), F.lit(": the latest of "), F.size("delays_ns"), F.lit(" messages")),
        )
        for measure, value in values.items()
    ]
