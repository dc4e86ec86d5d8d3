"""Each trial's windows and stamps, from its events: when the fault began, how long it was held, when it all ended.

The result goes into Spark as a constant that every checker joins.
"""

from __future__ import annotations

import dataclasses
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.counts import HistoryCounts, history_counts
from analysis.evidence.events import Event, TrialEvents, first_known, read_events
from analysis.evidence.records import Records
from analysis.evidence.settings import lock_life_ms, setting
from analysis.evidence.tables import FREEZES, SAFEPOINT, TRIALS, frame_of
from harness.model.faults import FAULTS
from harness.model.rocketmq import SEND_WAIT, SEND_WAIT_MS
from harness.model.scenario import Scenario
from harness.rundir.manifest import FREEZE, TrialRecord
from harness.rundir.reading import RunDirectory

WATCHED = "append_count"
"""The reading that ends a watch of a broker's appends."""

OWNERS_END = tuple(fault.kind for fault in FAULTS if fault.ends_owners)
"""The faults that make queues change hands."""

NO_REASON = "it says itself that it took no effect"

_HICCUP_LEAD_NS = 1_000_000_000
"""The probe is looked at from this long before the fault."""


@dataclass(frozen=True, kw_only=True)
class TrialFacts:
    """What a trial's own records say about it. Nanoseconds are monotonic; None where there is no such record.

    ``hiccup_ms_max`` is the worst oversleep from one second before the fault to the end of the hold;
    ``wall_step_ms`` the largest move of the wall clock between two anchors of one process. ``stopped_ms`` is for how long
    at most one safepoint of the stalled broker lay within a freeze; None when its log says nothing at all, or not of all of it.
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
    due_from_ns: int | None = None
    due_to_ns: int | None = None
    """When the first and the last of them were due."""
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
    steps: Mapping[int, str] = dataclasses.field(default_factory=dict)
    """The steps of its arm that were begun, by number: why they were not taken, empty where they were."""
    by_number: Mapping[int, TrialFacts] = dataclasses.field(default_factory=dict)
    """The same facts of each fault of a load, or of a step, that was begun, by its number."""


def trial_facts(records: Records, run: RunDirectory, stops: DataFrame | None = None) -> list[TrialFacts]:
    """The facts of all trials of the run, in its order; a trial without events has facts full of None.

    ``stops`` are the safepoints of all processes (``analysis/logs/gc.py``), which only freezes need, each with its log's span.
    """
    counts, events = history_counts(records, run), {one.trial: one for one in read_events(run)}
    facts = [_facts(trial, events.get(trial.trial), counts[trial.trial]) for trial in run.trials]
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
    # A log that begins within the freeze, or after it, does not say that nothing stopped the broker.
    longest = (
        stops.where(F.col("what") == SAFEPOINT)
        .join(F.broadcast(windows), ["deployment", "node"])
        .where("since_us = 0 OR since_us <= from_us")
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


def trials_frame(
    spark: SparkSession, run: RunDirectory, facts: list[TrialFacts], scenarios: Sequence[Scenario] = ()
) -> DataFrame:
    """The facts as a table with the columns of ``tables.TRIALS``, small enough to be joined by broadcast.

    ``scenarios`` say what load each trial has; without its incident's, or its arm, that is not known.
    """
    loads = {(scenario.name, arm.name): arm.load.kind.__name__ for scenario in scenarios for arm in scenario.arms}
    rows = [{**_row(item, run), "load": loads.get((item.trial.incident, item.trial.arm))} for item in facts]
    return F.broadcast(frame_of(spark, rows, TRIALS))


def _facts(trial: TrialRecord, events: TrialEvents | None, counts: HistoryCounts) -> TrialFacts:
    clocks = list(counts.anchors.values())
    if events is not None:
        clocks.append([(one["mono_ns"], one["wall_us"]) for one in events.of_type("anchor")])
    found = TrialFacts(
        trial=trial,
        **({} if events is None else _of_events(events)),
        **_of_clocks(clocks),
        sends=counts.sends,
        sent_to_ns=counts.sent_to_ns,
        due_from_ns=counts.due_from_ns,
        due_to_ns=counts.due_to_ns,
        records=counts.sends + counts.consumptions,
        damaged_lines=counts.damaged_lines + (0 if events is None else len(events.damaged)),
    )
    return found if events is None else dataclasses.replace(found, by_number=_by_number(events, found))


def _by_number(events: TrialEvents, facts: TrialFacts) -> dict[int, TrialFacts]:
    """What the records of each fault with a number say, where the trial's own facts have what is of all."""
    appends = events.of_type("append")
    found = {}
    for number, states in events.numbered.items():
        at = {one["state"]: one["at_ns"] for one in states}
        if "injecting" not in at:
            continue

        def last(name: str, states: Sequence[Event] = states) -> Any:
            return next((one[name] for one in reversed(states) if one.get(name) not in (None, "")), None)

        denied = [one for one in states if one.get("exercised") is False]
        within = [one for one in appends if at["injecting"] <= one["entry_ns"] <= at.get("healed", one["entry_ns"])]
        found[number] = dataclasses.replace(
            facts,
            fault=states[0]["fault"],
            states=frozenset(at),
            injecting_ns=at["injecting"],
            injected_ns=at.get("injected"),
            healed_ns=at.get("healed"),
            asked_ms=last("asked_ms"),
            achieved_ms=last("achieved_ms"),
            exercised=False if denied else last("exercised"),
            no_effect=(denied[-1].get("detail") or NO_REASON) if denied else None,
            fault_target=last("target"),
            appends=len(within),
            append_entry_ns=within[0]["entry_ns"] if within else None,
            append_exit_ns=within[0]["exit_ns"] if within else None,
        )
    return found


def _of_events(events: TrialEvents) -> dict[str, Any]:
    """What the events of a trial say, by the names of :class:`TrialFacts`."""
    append = min(events.of_type("append"), key=lambda one: int(one["entry_ns"]), default={})
    own = events.own
    denied = [one for one in own.of_type("fault") if one.get("exercised") is False]
    watched = [int(value) for value in events.values("value", "reading", name=WATCHED)]
    last_ns = max((one["at_ns"] for one in events.events if one.get("at_ns") is not None), default=None)
    return {
        "fault": max(own.values("fault", "fault"), default=None),
        "fault_target": max(filter(None, own.values("target", "fault")), default=None),
        "states": frozenset(own.values("state", "fault")),
        "injecting_ns": events.first_state("injecting"),
        "injected_ns": events.first_state("injected"),
        "healed_ns": events.first_state("healed"),
        "asked_ms": max(map(float, own.values("asked_ms", "fault")), default=None),
        "achieved_ms": max(map(float, own.values("achieved_ms", "fault")), default=None),
        "exercised": min(own.values("exercised", "fault"), default=None),
        "no_effect": max((one.get("detail") or "" for one in denied), default=None),
        "watched_appends": max(watched, default=None),
        "fault_ns": events.fault_ns,
        "fault_line": first_known(
            events.first_state("injecting", "n"), min(events.phase("inject", "begin", "n"), default=None)
        ),
        "hold_from_ns": min(events.phase("hold", "begin"), default=None),
        "hold_to_ns": events.hold_to_ns,
        "end_ns": first_known(
            max(events.phase("drain", "end"), default=None),
            min(events.phase("collect", "begin"), default=None),
            min(events.phase("down", "begin"), default=None),
            last_ns,
        ),
        "appends": len(events.of_type("append")),
        "append_node": append.get("node"),
        "append_entry_ns": append.get("entry_ns"),
        "append_exit_ns": append.get("exit_ns"),
        "append_line": append.get("n"),
        "drained": events.drain.get("complete"),
        "remaining": events.drain.get("remaining"),
        "drain_line": events.drain.get("n"),
        "steps": {one["number"]: "" if one["state"] == "done" else _why(one) for one in events.of_type("step")},
        "hiccup_ms_max": _worst_hiccup_ms(events, first_known(events.hold_to_ns, last_ns)),
    }


def _why(step: Event) -> str:
    return f"{step['taken']}: {step['detail'] or 'it did not end'}"


def _worst_hiccup_ms(events: TrialEvents, to_ns: int | None) -> float | None:
    if events.fault_ns is None or to_ns is None:
        return None
    from_ns = events.fault_ns - _HICCUP_LEAD_NS
    within = (one for one in events.of_type("hiccup") if one["at_ns"] >= from_ns and one["from_ns"] <= to_ns)
    return max((float(one["late_ms_max"]) for one in within), default=None)


def _of_clocks(files: Iterable[Sequence[tuple[int, int]]]) -> dict[str, Any]:
    """Wall minus monotonic, in the middle, and the largest step of it between neighbouring anchors of one file."""
    by_file = [[wall_us - mono_ns // 1000 for mono_ns, wall_us in sorted(stamps)] for stamps in files]
    steps = [abs(after - before) for offsets in by_file for before, after in itertools.pairwise(offsets)]
    every = sorted(itertools.chain.from_iterable(by_file))
    return {
        "wall_minus_mono_us": every[(len(every) - 1) // 2] if every else None,
        "wall_step_ms": max(steps, default=0) / 1000,
    }


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
