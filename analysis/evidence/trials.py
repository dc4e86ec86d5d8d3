"""Each trial's windows and stamps, from its events: when the fault began, how long it was held, when it all ended.

One small job gives all trials; the result goes back into Spark as a constant that every checker joins.
"""

from __future__ import annotations

import dataclasses
import functools
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyspark.sql import Column, DataFrame, SparkSession, Window
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import Records
from analysis.evidence.tables import FREEZES, SAFEPOINT, TRIALS, frame_of
from harness.model.faults import FAULTS
from harness.model.rocketmq import LOCK_LIFE, LOCK_LIFE_MS, SEND_WAIT, SEND_WAIT_MS
from harness.rundir.manifest import FREEZE, TrialRecord
from harness.rundir.reading import RunDirectory

WATCHED = "append_count"
"""The reading that ends a watch of a broker's appends."""

OWNERS_END = tuple(fault.kind for fault in FAULTS if fault.ends_owners)
"""The faults that make queues change hands."""

_HICCUP_LEAD_NS = 1_000_000_000
"""The probe is looked at from this long before the fault."""


@dataclass(frozen=True, kw_only=True)
class TrialFacts:
    """What a trial's own records say about it. Nanoseconds are monotonic; None where there is no such record.

    ``hiccup_ms_max`` is the worst oversleep from one second before the fault to the end of the hold;
    ``wall_step_ms`` the largest move of the wall clock between two anchors of one process. ``stopped_ms`` is for how long
    at most one safepoint of the stalled broker lay within a freeze; None when its log says nothing at all.
    """

    trial: TrialRecord
    fault: str | None = None
    states: frozenset[str] = frozenset()
    injecting_ns: int | None = None
    injected_ns: int | None = None
    asked_ms: float | None = None
    achieved_ms: float | None = None
    fault_ns: int | None = None
    fault_line: int | None = None
    hold_from_ns: int | None = None
    hold_to_ns: int | None = None
    end_ns: int | None = None
    appends: int = 0
    append_node: str | None = None
    append_entry_ns: int | None = None
    append_exit_ns: int | None = None
    append_line: int | None = None
    drained: bool | None = None
    remaining: int | None = None
    drain_line: int | None = None
    hiccup_ms_max: float | None = None
    wall_minus_mono_us: int | None = None
    wall_step_ms: float = 0.0
    sends: int = 0
    sent_to_ns: int | None = None
    """When the last of them began."""
    records: int = 0
    damaged_lines: int = 0
    healed_ns: int | None = None
    stopped_ms: float | None = None
    exercised: bool | None = None
    """Whether the fault itself says that it took effect; False when any of its records denies it."""
    no_effect: str | None = None
    """Why the fault itself says that it took no effect."""
    watched_appends: int | None = None
    """How many appends the broker's rule saw, where it only watched."""
    fault_target: str | None = None
    """The node that it was done to, where it was done to one."""


def trial_facts(records: Records, run: RunDirectory, stops: DataFrame | None = None) -> list[TrialFacts]:
    """The facts of all trials of the run, in its order; a trial without events has facts full of None.

    ``stops`` are the safepoints of all processes (``analysis/logs/gc.py``), which only freezes need.
    """
    tables = (_from_events(records.events), _clocks(records.anchors), _history_counts(records))
    joined = functools.reduce(lambda one, other: one.join(other, "trial", "full"), tables)
    rows = {row["trial"]: row.asDict() for row in joined.collect()}
    facts = [_facts(trial, rows.get(trial.trial, {})) for trial in run.trials]
    return facts if stops is None else _with_stops(facts, stops)


def _with_stops(facts: list[TrialFacts], stops: DataFrame) -> list[TrialFacts]:
    """A thread that waits for a frozen page reaches no safepoint, so that a safepoint then stops the whole broker."""
    frozen = [item for item in facts if item.trial.injection == FREEZE and _frozen_node(item) is not None]
    if not frozen:
        return facts
    windows = frame_of(stops.sparkSession, [_freeze_window(item) for item in frozen], FREEZES)
    # A stop is logged when it ends, in whole milliseconds.
    from_us = F.col("wall_us") - F.col("stopped_ms") * 1000
    within_ms = (F.least("to_us", F.col("wall_us")) - F.greatest(F.col("from_us"), from_us)) / 1000
    longest = (
        stops.where(F.col("what") == SAFEPOINT)
        .join(F.broadcast(windows), ["deployment", "node"])
        .groupBy("trial_name")
        .agg(F.max(F.greatest(within_ms, F.lit(0.0))).alias("stopped_ms"))
    )
    found = {row["trial_name"]: row["stopped_ms"] for row in longest.collect()}
    return [dataclasses.replace(item, stopped_ms=found.get(item.trial.trial)) for item in facts]


def _frozen_node(facts: TrialFacts) -> str | None:
    """The broker whose append was stamped, else the one whose store was frozen whatever its appends did meanwhile."""
    return facts.append_node or facts.fault_target


def _freeze_window(facts: TrialFacts) -> dict[str, object]:
    offset_us = facts.wall_minus_mono_us

    def wall_us(mono_ns: int | None) -> int | None:
        return None if mono_ns is None or offset_us is None else mono_ns // 1000 + offset_us

    return {
        "trial_name": facts.trial.trial,
        "deployment": facts.trial.deployment,
        "node": _frozen_node(facts),
        "from_us": wall_us(facts.injected_ns),
        "to_us": wall_us(facts.healed_ns),
    }


def trials_frame(spark: SparkSession, run: RunDirectory, facts: list[TrialFacts]) -> DataFrame:
    """The facts as a table with the columns of ``schema.TRIALS``, small enough to be joined by broadcast."""
    return F.broadcast(frame_of(spark, [_row(item, run) for item in facts], TRIALS))


def setting(run: RunDirectory, trial: TrialRecord, name: str, default: float) -> float:
    """The value that the broker was told last, else the one that it was started with, else its default."""
    deployment = run.deployment(trial.deployment)
    told = trial.live_conf.get(name) or (deployment.started_conf.get(name) if deployment else None)
    return float(told) if told else default


def lock_life_ms(trial: TrialRecord, run: RunDirectory) -> float:
    """How long a queue's lock lives on the brokers without being renewed: what their JVM was told, else the default."""
    deployment = run.deployment(trial.deployment)
    told = deployment.started_properties.get(LOCK_LIFE) if deployment else None
    return float(told) if told else LOCK_LIFE_MS


def _from_events(events: DataFrame) -> DataFrame:
    kind = F.col("type")

    def stamp(column: str, condition: Column, *, first: bool = True) -> Column:
        picked = F.when(condition, F.col(column))
        return F.min(picked) if first else F.max(picked)

    def phase(name: str, event: str) -> Column:
        return (kind == "phase") & (F.col("phase") == name) & (F.col("event") == event)

    def fault(state: str) -> Column:
        return (kind == "fault") & (F.col("state") == state)

    hiccup = F.struct("from_ns", "at_ns", "late_ms_max")
    grouped = events.groupBy("trial").agg(
        F.max(F.when(kind == "fault", F.col("fault"))).alias("fault"),
        F.max(F.when((kind == "fault") & (F.col("target") != ""), F.col("target"))).alias("fault_target"),
        F.collect_set(F.when(kind == "fault", F.col("state"))).alias("states"),
        stamp("at_ns", fault("injecting")).alias("injecting_ns"),
        stamp("n", fault("injecting")).alias("fault_line"),
        stamp("at_ns", fault("injected")).alias("injected_ns"),
        stamp("at_ns", fault("healed")).alias("healed_ns"),
        F.max("asked_ms").alias("asked_ms"),
        F.max("achieved_ms").alias("achieved_ms"),
        F.min("exercised").alias("exercised"),
        F.max(F.when((kind == "reading") & (F.col("name") == WATCHED), F.col("value").cast("long"))).alias(
            "watched_appends"
        ),
        F.max(F.when(~F.col("exercised"), F.col("detail"))).alias("no_effect"),
        stamp("at_ns", phase("inject", "begin")).alias("inject_ns"),
        stamp("n", phase("inject", "begin")).alias("inject_line"),
        stamp("at_ns", phase("hold", "begin")).alias("hold_from_ns"),
        stamp("at_ns", phase("hold", "end"), first=False).alias("hold_to_ns"),
        stamp("at_ns", phase("drain", "end"), first=False).alias("drain_to_ns"),
        stamp("at_ns", phase("collect", "begin")).alias("collect_ns"),
        stamp("at_ns", phase("down", "begin")).alias("down_ns"),
        F.max("at_ns").alias("last_ns"),
        F.count(F.when(kind == "append", 1)).alias("appends"),
        F.min_by("node", F.when(kind == "append", F.col("entry_ns"))).alias("append_node"),
        stamp("entry_ns", kind == "append").alias("append_entry_ns"),
        F.min_by("exit_ns", F.when(kind == "append", F.col("entry_ns"))).alias("append_exit_ns"),
        F.min_by("n", F.when(kind == "append", F.col("entry_ns"))).alias("append_line"),
        F.max_by("complete", F.when(kind == "drain", F.col("n"))).alias("drained"),
        F.max_by("remaining", F.when(kind == "drain", F.col("n"))).alias("remaining"),
        stamp("n", kind == "drain", first=False).alias("drain_line"),
        F.collect_list(F.when(kind == "hiccup", hiccup)).alias("hiccups"),
        F.count("*").alias("events"),
    )
    fault_ns = F.coalesce("injecting_ns", "inject_ns", "hold_from_ns")
    probed = F.filter(
        "hiccups",
        lambda item: (
            (item["at_ns"] >= F.col("fault_ns") - _HICCUP_LEAD_NS)
            & (item["from_ns"] <= F.coalesce("hold_to_ns", "last_ns"))
        ),
    )
    return (
        grouped.withColumn("fault_ns", fault_ns)
        .withColumn("fault_line", F.coalesce("fault_line", "inject_line"))
        .withColumn("end_ns", F.coalesce("drain_to_ns", "collect_ns", "down_ns", "last_ns"))
        .withColumn("hiccup_ms_max", F.array_max(F.transform(probed, lambda item: item["late_ms_max"])))
        .drop("hiccups")
    )


def _clocks(anchors: DataFrame) -> DataFrame:
    """Wall minus monotonic by trial, and the largest step of it between neighbouring anchors of one file."""
    by_file = Window.partitionBy("trial", "file").orderBy("mono_ns")
    offset = F.col("wall_us") - F.expr("mono_ns div 1000")
    return (
        anchors.select("trial", offset.alias("offset_us"), (offset - F.lag(offset).over(by_file)).alias("moved_us"))
        .groupBy("trial")
        .agg(
            F.percentile_approx("offset_us", 0.5).alias("wall_minus_mono_us"),
            (F.max(F.abs("moved_us")) / 1000).alias("wall_step_ms"),
        )
    )


def _history_counts(records: Records) -> DataFrame:
    kinds = {"sends": records.sends, "consumptions": records.consumptions, "damaged_lines": records.damaged}
    sent_ns = {name: F.col("started_ns") if name == "sends" else F.lit(None) for name in kinds}
    each = [
        table.select("trial", F.lit(name).alias("kind"), sent_ns[name].cast("long").alias("sent_ns"))
        for name, table in kinds.items()
    ]
    return (
        functools.reduce(DataFrame.unionByName, each)
        .groupBy("trial")
        .agg(*[F.count_if(F.col("kind") == name).alias(name) for name in kinds], F.max("sent_ns").alias("sent_to_ns"))
        .withColumn("records", F.col("sends") + F.col("consumptions"))
    )


def _facts(trial: TrialRecord, row: Mapping[str, Any]) -> TrialFacts:
    names = {field.name for field in dataclasses.fields(TrialFacts)} - {"trial"}
    known = {name: value for name, value in row.items() if name in names and value is not None}
    return TrialFacts(trial=trial, **{**known, "states": frozenset(known.get("states", ()))})


def _row(facts: TrialFacts, run: RunDirectory) -> dict[str, object]:
    """What is known of a trial by name; the table takes the columns that it has."""
    trial = facts.trial
    return {
        **vars(facts),
        **vars(trial),
        "grouped": bool(trial.groups),
        "wait_limit_ms": setting(run, trial, SEND_WAIT, SEND_WAIT_MS),
        "lock_life_ms": lock_life_ms(trial, run),
    }
