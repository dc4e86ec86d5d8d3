"""Exclusivity: one instance of a group at a time consumes a queue.

Two things are found. Consumptions of two instances that overlap in time, to the nanosecond. And alternation: an
instance that consumes between two consumptions of another one that lie less than a second apart. A lock handed over and
back takes two rebalances, which are 20 s apart (org.apache.rocketmq.client.impl.consumer.RebalanceService) or come when
a member joins or leaves; within a second it means that both believed to own the queue.

Instances are compared by their runs (see ``analysis/evidence/consumption.py``): a run begins with a consumption of its own, so
an overlap of runs is zero exactly when the overlap of their consumptions is.
"""

from __future__ import annotations

from pyspark.sql import DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, observations
from analysis.evidence.consumption import QUEUE_KEY, runs_of
from analysis.evidence.records import place

ALTERNATION_NS = 1_000_000_000


def observe(inputs: Inputs) -> DataFrame:
    """``overlap_ms`` for each group and queue that was consumed from, zero included."""
    queues = (
        _shared_ns(runs_of(inputs.consumption.strides))
        .groupBy(*QUEUE_KEY)
        .agg(
            F.sum("shared_ns").alias("shared_ns"),
            F.max("run").alias("changes"),
            F.max_by(place("first_line"), "shared_ns").alias("at"),
        )
    )
    return observations(
        queues.join(inputs.trials.select("trial", "deployment"), "trial"),
        Value(
            "overlap_ms",
            F.col("shared_ns") / 1e6,
            "group {group} queue {broker}:{queue}: changed its consumer {changes} times",
            at="at",
        ),
    )


def _shared_ns(runs: DataFrame) -> DataFrame:
    """For each run, the time that it shares with another instance.

    Written as a fold over a queue's runs in their order, which keeps for each queue the latest end of any instance and
    the latest end of any other one; that is enough to know until when somebody else was consuming.
    """
    listed = runs.groupBy(*QUEUE_KEY).agg(
        F.array_sort(
            F.collect_list(F.struct("run", "instance", "first_ns", "finished_ns", "file", "first_line"))
        ).alias("runs")
    )
    folded = F.expr(
        """
        aggregate(
          runs,
          named_struct(
            'latest', cast(null as string), 'latest_ns', 0L,
            'other_ns', 0L,
            'shared', cast(array() as array<bigint>)
          ),
          (state, item) -> named_struct(
            'latest', if(state.latest is null or item.finished_ns > state.latest_ns, item.instance, state.latest),
            'latest_ns', greatest(state.latest_ns, item.finished_ns),
            'other_ns', case
              when state.latest is null or item.instance = state.latest then state.other_ns
              when item.finished_ns > state.latest_ns then state.latest_ns
              else greatest(state.other_ns, item.finished_ns) end,
            'shared', concat(state.shared, array(greatest(
              0L,
              least(item.finished_ns, if(item.instance = state.latest, state.other_ns, state.latest_ns))
                - item.first_ns
            )))
          ),
          state -> state.shared
        )
        """
    )
    each = F.explode(F.arrays_zip("runs", "overlaps"))
    rows = listed.withColumn("overlaps", folded).select(*QUEUE_KEY, each.alias("item"))
    flat = rows.select(*QUEUE_KEY, "item.runs.*", F.col("item.overlaps").alias("overlap_ns"))
    in_queue = Window.partitionBy(*QUEUE_KEY).orderBy("run")
    enclosed = (F.lag("instance").over(in_queue) == F.lead("instance").over(in_queue)) & (
        F.lead("first_ns").over(in_queue) - F.lag("finished_ns").over(in_queue) < ALTERNATION_NS
    )
    return flat.select(
        *QUEUE_KEY,
        "run",
        "file",
        "first_line",
        F.when(enclosed, F.greatest("overlap_ns", F.col("finished_ns") - F.col("first_ns")))
        .otherwise(F.col("overlap_ns"))
        .alias("shared_ns"),
    )
