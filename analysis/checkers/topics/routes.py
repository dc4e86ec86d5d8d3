"""What each name server listed: for how long a broker was absent, and how long one that is gone stayed.

The harness asks every name server twice a second and records each change (``harness.load.route_watch``). A view holds from its
record to the next one; while a name server does not answer, nothing is said of what it lists.
"""

from __future__ import annotations

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.checkers.base import Inputs, Value, events_file, observations

SILENT = "no answer"
_SECOND_NS = 1_000_000_000


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
    found = each.groupBy("trial", "deployment", "node", "broker").agg(
        F.sum(F.when(F.col("absent"), F.col("lasted_ns")).otherwise(0)).alias("absent_ns"),
        F.sum(F.when(F.col("silent"), F.col("lasted_ns")).otherwise(0)).alias("silent_ns"),
        F.min(F.when(F.col("absent"), F.col("from_ns"))).alias("gone_ns"),
        F.min_by("n", F.when(F.col("absent"), F.col("from_ns"))).alias("gone_line"),
        F.max("fault_ns").alias("fault_ns"),
        F.max("hold_to_ns").alias("hold_to_ns"),
        F.max("n").alias("last_line"),
    )
    params = {
        "server": F.col("node"),
        "broker": F.substring_index("broker", ":", 1),
        "role": F.when(F.col("broker").endswith(":0"), F.lit("master")).otherwise(F.lit("slave")),
    }
    line = F.coalesce("gone_line", "last_line")
    words = F.concat(F.col("node"), F.lit(" and "), F.col("broker"))
    gone = F.col("gone_ns").isNotNull() & (F.col("gone_ns") <= F.col("hold_to_ns"))
    return observations(
        found,
        _value("route_absent_s", F.col("absent_ns") / _SECOND_NS, line, words, params),
        _value(
            "route_stays_s",
            (F.when(gone, F.col("gone_ns")).otherwise(F.col("hold_to_ns")) - F.col("fault_ns")) / _SECOND_NS,
            line,
            words,
            params,
            censored=~gone,
        ),
        _value("server_silent_s", F.col("silent_ns") / _SECOND_NS, line, words, params),
    ).unionByName(_differing(inputs, views))


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


def _differing(inputs: Inputs, views: DataFrame) -> DataFrame:
    """How long two name servers both answered and disagreed about the trial's topic or its brokers."""
    one = views.select("trial", "deployment", "node", "from_ns", "until_ns", "registered", "routed", "n")
    other = views.select(
        "trial",
        F.col("node").alias("other"),
        F.col("from_ns").alias("other_from_ns"),
        F.col("until_ns").alias("other_until_ns"),
        F.col("registered").alias("other_registered"),
        F.col("routed").alias("other_routed"),
    )
    both = one.join(other, "trial").where("node < other")
    shared = F.greatest(F.lit(0), F.least("until_ns", "other_until_ns") - F.greatest("from_ns", "other_from_ns"))
    says = (F.col("registered") != SILENT) & (F.col("other_registered") != SILENT)
    differs = says & ((F.col("registered") != F.col("other_registered")) | (F.col("routed") != F.col("other_routed")))
    found = both.groupBy("trial", "deployment", "node", "other").agg(
        F.sum(F.when(differs, shared).otherwise(0)).alias("differ_ns"),
        F.max(F.when(differs & (shared > 0), F.col("n"))).alias("differ_line"),
        F.max("n").alias("last_line"),
    )
    return observations(
        found,
        _value(
            "views_differ_s",
            F.col("differ_ns") / _SECOND_NS,
            F.coalesce("differ_line", "last_line"),
            F.concat(F.col("node"), F.lit(" and "), F.col("other")),
            {"server": F.col("node"), "other": F.col("other")},
        ),
    )


def _value(
    measure: str, value: Column, line: Column, words: Column, params: dict[str, Column], censored: Column | None = None
) -> Value:
    return Value(
        measure=measure,
        value=value,
        params=params,
        file=events_file(),
        line=line,
        operation=words,
        censored=censored,
    )
