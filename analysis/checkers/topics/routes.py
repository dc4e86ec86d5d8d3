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
    lists = F.array_contains(F.split("registered", ","), F.col("broker"))
    each = views.join(brokers, "trial").withColumn("absent", (F.col("registered") != SILENT) & ~lists)
    absent_from = F.when(F.col("absent"), F.col("from_ns"))
    found = each.groupBy("trial", "deployment", "node", "broker", "fault_ns", "hold_to_ns").agg(
        F.sum(F.when(F.col("absent"), F.col("lasted_ns")).otherwise(0)).alias("absent_ns"),
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
    )
    return together(brokers_seen, _silent(views), _differing(views))


def servers() -> Column:
    """Whether the name server ``node`` is what the fault was done to."""
    return F.when(F.col("node") == F.col("fault_target"), F.lit("target")).otherwise(F.lit("others"))


def _silent(views: DataFrame) -> DataFrame:
    silent = F.col("registered") == SILENT
    found = views.groupBy("trial", "deployment", "node", "fault_target").agg(
        F.sum(F.when(silent, F.col("lasted_ns")).otherwise(0)).alias("silent_ns"),
        F.coalesce(F.min(F.when(silent, F.col("n"))), F.max("n")).alias("line"),
    )
    silent_s, at = F.col("silent_ns") / SECOND_NS, in_events("line")
    return observations(found, Value("server_silent_s", silent_s, "{node}", at=at, params={"servers": servers()}))


def _views(inputs: Inputs) -> DataFrame:
    """Views with the time that each lasted between the fault and the trial's end. The first is from before the fault."""
    windows = inputs.trials.select("trial", "deployment", "fault_target", "fault_ns", "hold_to_ns", "end_ns")
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
    """How long two name servers both answered and disagreed about the trial's topic or its brokers, in the hold and after it."""
    one, other = views.alias("one"), views.alias("other")
    both = one.join(other, F.expr("one.trial = other.trial AND one.node < other.node"))
    differs = F.expr(
        f"one.registered != '{SILENT}' AND other.registered != '{SILENT}' "
        "AND (one.registered != other.registered OR one.routed != other.routed)"
    )
    held, after = _shared("one.fault_ns", "one.hold_to_ns"), _shared("one.hold_to_ns", "one.end_ns")
    found = both.groupBy("one.trial", "one.deployment", "one.node", F.col("other.node").alias("other")).agg(
        F.sum(F.when(differs, held).otherwise(0)).alias("held_ns"),
        F.sum(F.when(differs, after).otherwise(0)).alias("after_ns"),
        F.coalesce(F.max(F.when(differs & (held + after > 0), F.col("one.n"))), F.max("one.n")).alias("line"),
    )

    def differ_s(when: str, lasted: str) -> Value:
        params = {"server": F.col("node"), "other": F.col("other"), "when": F.lit(when)}
        return Value(
            "views_differ_s", F.col(lasted) / SECOND_NS, "{node} and {other}", at=in_events("line"), params=params
        )

    return observations(found, differ_s("held", "held_ns"), differ_s("after", "after_ns"))


def _shared(from_ns: str, to_ns: str) -> Column:
    """For how long two views held at the same time, in a window."""
    last, first = f"least(one.until_ns, other.until_ns, {to_ns})", f"greatest(one.from_ns, other.from_ns, {from_ns})"
    return F.expr(f"greatest(0L, {last} - {first})")
