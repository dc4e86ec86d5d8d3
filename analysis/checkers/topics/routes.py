"""What each name server listed: for how long a broker was absent, and how long one that is gone stayed.

The harness asks every name server twice a second and records each change (``harness.load.route_watch``). A view holds from its
record to the next one; while a name server does not answer, nothing is said of what it lists.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, in_events, observations, together
from analysis.evidence.consumption import SECOND_NS

SILENT = "no answer"


def observe(inputs: Inputs) -> DataFrame:
    """For each name server and each broker that it listed before the fault, by master and slave."""
    views = _views(inputs)
    brokers = (
        views.where(F.col("registered") != SILENT)
        .select("trial", F.explode(F.split("registered", ",")).alias("broker"))
        .where("broker != ''")
        .distinct()
    )
    each = (
        views.join(brokers, "trial")
        .withColumn("silent", F.col("registered") == SILENT)
        .withColumn("absent", ~F.col("silent") & ~F.array_contains(F.split("registered", ","), F.col("broker")))
    )
    absent_from = F.when(F.col("absent"), F.col("from_ns"))
    found = each.groupBy("trial", "deployment", "node", "broker", "fault_ns", "hold_to_ns").agg(
        F.sum(F.when(F.col("absent"), F.col("lasted_ns")).otherwise(0)).alias("absent_ns"),
        F.sum(F.when(F.col("silent"), F.col("lasted_ns")).otherwise(0)).alias("silent_ns"),
        F.min(absent_from).alias("gone_ns"),
        F.coalesce(F.min_by("n", absent_from), F.max("n")).alias("line"),
    )
    params: dict[str, Column | str] = {
        "server": "node",
        "broker": F.substring_index("broker", ":", 1),
        "role": F.when(F.col("broker").endswith(":0"), F.lit("master")).otherwise(F.lit("slave")),
    }
    said, at = "{node} and {broker}", in_events("line")
    gone_ns = F.when(F.col("gone_ns") <= F.col("hold_to_ns"), F.col("gone_ns"))
    stayed_s = (F.coalesce(gone_ns, "hold_to_ns") - F.col("fault_ns")) / SECOND_NS
    brokers_seen = observations(
        found,
        Value("route_absent_s", F.col("absent_ns") / SECOND_NS, said, at=at, params=params),
        Value("route_stays_s", stayed_s, said, at=at, params=params, censored=gone_ns.isNull()),
        Value("server_silent_s", F.col("silent_ns") / SECOND_NS, said, at=at, params=params),
    )
    return together(brokers_seen, _differing(views))


def _views(inputs: Inputs) -> DataFrame:
    """Views with the time that each lasted between the fault and the trial's end. The first is from before the fault."""
    windows = inputs.trials.select("trial", "deployment", "fault_ns", "hold_to_ns", "end_ns")
    by_server = Window.partitionBy("trial", "node").orderBy("at_ns")
    told = inputs.records.events.where("type = 'route'").select("trial", "node", "at_ns", "registered", "routed", "n")
    until = F.coalesce(F.lead("at_ns").over(by_server), F.col("end_ns"))
    return (
        told.join(windows, "trial")
        .withColumn("from_ns", F.greatest("at_ns", "fault_ns"))
        .withColumn("until_ns", F.least(until, F.col("end_ns")))
        .withColumn("lasted_ns", F.greatest(F.lit(0), F.col("until_ns") - F.col("from_ns")))
    )


def _differing(views: DataFrame) -> DataFrame:
    """How long two name servers both answered and disagreed about the trial's topic or its brokers."""
    one, other = views.alias("one"), views.alias("other")
    both = one.join(other, F.expr("one.trial = other.trial AND one.node < other.node"))
    shared = F.expr("greatest(0L, least(one.until_ns, other.until_ns) - greatest(one.from_ns, other.from_ns))")
    differs = F.expr(
        f"one.registered != '{SILENT}' AND other.registered != '{SILENT}' "
        "AND (one.registered != other.registered OR one.routed != other.routed)"
    )
    found = both.groupBy("one.trial", "one.deployment", "one.node", F.col("other.node").alias("other")).agg(
        F.sum(F.when(differs, shared).otherwise(0)).alias("differ_ns"),
        F.coalesce(F.max(F.when(differs & (shared > 0), F.col("one.n"))), F.max("one.n")).alias("line"),
    )
    differ_s, params = F.col("differ_ns") / SECOND_NS, {"server": "node", "other": "other"}
    return observations(
        found, Value("views_differ_s", differ_s, "{node} and {other}", at=in_events("line"), params=params)
    )
