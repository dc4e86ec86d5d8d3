"""Lock probes: whether a broker grants the lock of a queue that another client holds.

The harness asks, as a client of its own. What it asks of a broker that was restarted is judged in ``restarts.py``.
"""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations


def observe(inputs: Inputs) -> DataFrame:
    """1 or 0 for each probe before the fault; ``asked`` tells the queue's own broker from another one."""
    probes = inputs.records.events.where("type = 'lock_probe'")
    own = F.substring_index("queue", ":", 1) == F.col("asked_broker")
    of_others = F.coalesce(F.col("as_group") != F.col("group"), F.lit(False))
    return observations(
        probes.join(inputs.trials.select("trial", "deployment", "fault_ns"), "trial").where("at_ns < fault_ns"),
        Value(
            "foreign_lock_granted",
            F.col("granted").cast("int"),
            "lock of {queue} asked of {asked_broker}",
            params={"asked": F.when(of_others, "own, other group").when(own, "own").otherwise("other")},
            at=in_events(),
        ),
    )
