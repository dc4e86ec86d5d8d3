"""The faults of a load: whether each took effect, what sends and consumptions were like around it, and who took over.

The records of one fault have its number; what proves that it took effect is what proves it in an incident.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import DataFrame, GroupedData, SparkSession
from pyspark.sql import functions as F  # noqa: N812
from pyspark.sql.types import DoubleType, LongType, StringType

from analysis.checkers.sends.busy import keyword_of
from analysis.evidence.events import TrialEvents
from analysis.evidence.records import Records
from analysis.evidence.tables import frame_of, table
from analysis.evidence.trials import OWNERS_END, TrialFacts
from analysis.load.properties import counted, untold
from analysis.stall_model import model
from analysis.verdicts.tries import HistoryTries
from analysis.verdicts.validity import unproved
from harness.errors import shown
from harness.model.faults import FAULTS
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory

AROUND_S = 10.0
"""So long before a fault and after it sends are looked at."""
SHORTEST_S = 1.0
"""What is over sooner, as a kill is, is looked at for so long."""
TAKEN_OVER_S_MAX = 60.0
REFUSED_BEFORE_NS, REFUSED_AFTER_NS = 1_000_000_000, 2_000_000_000
"""A refusal is counted to a stall whose send was due so long before it, or after."""

_WINDOWS = table(number=LongType(), phase=StringType(), from_ns=LongType(), to_ns=LongType(), seconds=DoubleType())
_PROOFS = {fault.kind: fault.proofs for fault in FAULTS}
PHASES = ("before", "during", "after")


@dataclass(frozen=True, kw_only=True)
class Around:
    """Sends that were due before, during or after a fault, and consumptions that began; latencies are of accepted sends."""

    phase: str
    seconds: float
    sent_per_s: float
    ok_per_s: float
    failed: int
    unknown: int
    latency_p50_ms: float | None
    latency_p99_ms: float | None
    latency_max_ms: float | None
    consumed_per_s: float


@dataclass(frozen=True, kw_only=True)
class TakenOver:
    """A queue that an ended consumer had: for how long nobody had it, None where nobody took it to the end."""

    queue: str
    nobody_s: float | None
    by: str


@dataclass(frozen=True, kw_only=True)
class FaultOnLoad:
    """One fault as the load met it. Times count from the load's start; ``refused`` are an append stall's, by keyword."""

    number: int
    fault: str
    target: str
    at_s: float
    until_s: float
    not_shown: tuple[str, ...]
    """Why its records do not show that it took effect; empty when they do."""
    around: tuple[Around, ...]
    refused: tuple[model.ScoredCount, ...] = ()
    taken_over: tuple[TakenOver, ...] = ()
    line: int = 0

    @property
    def name(self) -> str:
        """As a reader finds it again."""
        return f"{self.fault} at {self.at_s:.1f} s"


@dataclass(frozen=True, kw_only=True)
class _Stamped:
    """The records of one fault."""

    facts: TrialFacts
    number: int
    detail: str
    line: int

    @property
    def from_ns(self) -> int:
        """When it began."""
        return self.facts.append_entry_ns or self.facts.injecting_ns or 0

    @property
    def to_ns(self) -> int:
        """When it was over."""
        facts = self.facts
        over_ns = facts.append_exit_ns or facts.healed_ns or facts.injected_ns or self.from_ns
        return max(over_ns, self.from_ns + int(SHORTEST_S * 1e9))


def faults_of_load(
    spark: SparkSession, run: RunDirectory, records: Records, facts: TrialFacts, events: TrialEvents
) -> list[FaultOnLoad]:
    """All faults of the load's one trial that began, in their order."""
    stamped = _stamped(events, facts)
    if not stamped:
        return []
    start_ns = facts.hold_from_ns or 0
    taken = {one.number: _taken_over(records, one) for one in stamped}
    until = {one.number: _until_ns(one, taken[one.number]) for one in stamped}
    around = _around(spark, records, stamped, until)
    refused = {
        one.number: _refused(run, records, one)
        for one in stamped
        if one.facts.fault == "append-stall" and one.facts.appends
    }
    return [
        FaultOnLoad(
            number=one.number,
            fault=one.facts.fault or "",
            target=one.detail if one.facts.fault in OWNERS_END else one.facts.fault_target or one.detail,
            at_s=(one.from_ns - start_ns) / 1e9,
            until_s=(until[one.number] - start_ns) / 1e9,
            not_shown=_not_shown(one.facts),
            around=around[one.number],
            refused=refused.get(one.number, ()),
            taken_over=taken[one.number],
            line=one.line,
        )
        for one in stamped
    ]


def _not_shown(facts: TrialFacts) -> tuple[str, ...]:
    proofs = _PROOFS.get(facts.fault or "")
    return (f"no fault is named {shown(facts.fault or '')}",) if proofs is None else unproved(proofs, facts)


def never_made(events: TrialEvents, trial: TrialRecord) -> list[str]:
    """Those that were asked for and did not begin: the load had ended before, or they could not be made, as a note says then."""
    numbered = events.numbered
    # Only a fault that comes again has a number beyond those of the record.
    asked = {number: f"{states[0]['fault']}, again" for number, states in numbered.items()}
    asked |= dict(enumerate(trial.faults, 1))
    begun = {number for number, states in numbered.items() if any(one["state"] == "injecting" for one in states)}
    return [text for number, text in sorted(asked.items()) if number not in begun]


def _stamped(events: TrialEvents, facts: TrialFacts) -> list[_Stamped]:
    found = []
    for number, one in facts.by_number.items():
        states = events.numbered[number]
        # Whom it was done to is said first; what its end achieved comes behind that.
        detail = next((state["detail"] for state in states if state.get("detail")), "")
        found.append(_Stamped(facts=one, number=number, detail=str(detail), line=states[0]["n"]))
    return found


def _until_ns(one: _Stamped, taken: Sequence[TakenOver]) -> int:
    waits = [queue.nobody_s for queue in taken if queue.nobody_s is not None]
    return max(one.to_ns, one.from_ns + int(min(max(waits, default=0.0), TAKEN_OVER_S_MAX) * 1e9))


# --- around it --------------------------------------------------------------------------------------------------------


def _around(
    spark: SparkSession, records: Records, stamped: Sequence[_Stamped], until: Mapping[int, int]
) -> dict[int, tuple[Around, ...]]:
    around_ns = int(AROUND_S * 1e9)
    rows = [
        {"number": one.number, "phase": phase, "from_ns": low, "to_ns": high, "seconds": (high - low) / 1e9}
        for one in stamped
        for phase, low, high in (
            ("before", one.from_ns - around_ns, one.from_ns),
            ("during", one.from_ns, until[one.number]),
            ("after", until[one.number], until[one.number] + around_ns),
        )
    ]
    windows = F.broadcast(frame_of(spark, rows, _WINDOWS))

    def within(records: DataFrame, column: str) -> GroupedData:
        is_in = (F.col(column) >= F.col("from_ns")) & (F.col(column) < F.col("to_ns"))
        return records.join(windows, is_in).groupBy("number", "phase")

    outcome = F.col("outcome")
    latency_ms = F.when(outcome == "ok", (F.col("finished_ns") - F.col("intended_ns")) / 1e6)
    sends = within(records.sends.select("outcome", "intended_ns", "finished_ns"), "intended_ns").agg(
        F.count("*").alias("sent"),
        *[F.count_if(outcome == name).alias(name) for name in ("ok", "failed", "unknown")],
        F.percentile_approx(latency_ms, 0.5, 1000).alias("p50"),
        F.percentile_approx(latency_ms, 0.99, 1000).alias("p99"),
        F.max(latency_ms).alias("max"),
    )
    consumed = within(records.consumptions.select("started_ns"), "started_ns").agg(F.count("*").alias("consumed"))
    joined = windows.join(sends, ["number", "phase"], "left").join(consumed, ["number", "phase"], "left")
    found: dict[int, dict[str, Around]] = {one.number: {} for one in stamped}
    for row in joined.collect():
        seconds = row["seconds"]
        found[row["number"]][row["phase"]] = Around(
            phase=row["phase"],
            seconds=seconds,
            sent_per_s=(row["sent"] or 0) / seconds,
            ok_per_s=(row["ok"] or 0) / seconds,
            failed=row["failed"] or 0,
            unknown=row["unknown"] or 0,
            latency_p50_ms=row["p50"],
            latency_p99_ms=row["p99"],
            latency_max_ms=row["max"],
            consumed_per_s=(row["consumed"] or 0) / seconds,
        )
    return {number: tuple(phases[phase] for phase in PHASES) for number, phases in found.items()}


# --- refusals, and who took over --------------------------------------------------------------------------------------


def _refused(run: RunDirectory, records: Records, one: _Stamped) -> tuple[model.ScoredCount, ...]:
    """By keyword, beside the model's number; the rate is that of the sends to the stalled broker while it lasted."""
    facts = one.facts
    assert facts.append_entry_ns is not None
    assert facts.append_exit_ns is not None
    due = F.col("intended_ns")
    to_broker = F.coalesce("broker", F.lit(facts.fault_target)) == F.lit(facts.fault_target)
    sends = records.sends.where(to_broker)
    in_stall = due.between(facts.append_entry_ns, facts.append_exit_ns)
    around = due.between(facts.append_entry_ns - REFUSED_BEFORE_NS, facts.append_exit_ns + REFUSED_AFTER_NS)
    rows = (
        sends.where(around)
        .select(F.when(in_stall, 1).alias("in_stall"), keyword_of("remark").alias("keyword"))
        .groupBy("keyword")
        .agg(F.count("*").alias("count"), F.count("in_stall").alias("in_stall"))
        .collect()
    )
    stall_ms = (facts.append_exit_ns - facts.append_entry_ns) / 1e6
    if stall_ms <= 0:
        return ()
    rate_hz = sum(row["in_stall"] for row in rows) / (stall_ms / 1000)
    counts = {row["keyword"]: float(row["count"]) for row in rows if row["keyword"]}
    return model.scored_stall(run, facts.trial, stall_ms=stall_ms, rate_hz=rate_hz, counts=counts)


def _taken_over(records: Records, one: _Stamped) -> tuple[TakenOver, ...]:
    """The queues whose last consumption before the end was the ended consumer's, and when another one's came."""
    if one.facts.fault not in OWNERS_END:
        return ()
    begun = F.col("started_ns")
    before, process = begun < F.lit(one.from_ns), F.col("process")
    later = (begun >= F.lit(one.from_ns)) & (process != F.lit(one.detail))
    rows = (
        records.consumptions.groupBy("broker", "queue")
        .agg(
            F.max_by("process", F.when(before, begun)).alias("owner"),
            F.min(F.when(later, begun)).alias("next_ns"),
            F.min_by("process", F.when(later, begun)).alias("by"),
        )
        .where(F.col("owner") == F.lit(one.detail))
        .orderBy("broker", "queue")
        .collect()
    )
    return tuple(
        TakenOver(
            queue=f"{row['broker']}:{row['queue']}",
            nobody_s=None if row["next_ns"] is None else (row["next_ns"] - one.from_ns) / 1e9,
            by=row["by"] or "",
        )
        for row in rows
    )


# --- what they show ---------------------------------------------------------------------------------------------------


def properties_of(faults: Sequence[FaultOnLoad], never: Sequence[str], trial: TrialRecord) -> list[HistoryTries]:
    """What the faults of a load show, of which some were ``never`` made; nothing where none was asked for."""
    file = f"trials/{trial.trial}/events.jsonl"
    found = []
    if faults or never:
        unshown = [f"{one.name}: {', '.join(one.not_shown)}" for one in faults if one.not_shown]
        unshown += [f"{one}: never made" for one in never]
        found.append(
            untold(trial, "faults took effect", "; ".join(unshown))
            if unshown
            else counted(trial, "faults took effect", 0, ", ".join(one.name for one in faults), file, faults[0].line)
        )
    if stalls := [one for one in faults if one.refused]:
        rows = [row for one in stalls for row in one.refused if row.predicted or row.measured]
        said = (f"{row.keyword} {row.measured:.0f} of {row.predicted:.0f} predicted ({_off(row)})" for row in rows)
        outside = [row for row in rows if not row.within]
        words = ", ".join(said) or "none was predicted, and there was none"
        found.append(counted(trial, "refusals as predicted", len(outside), words, file, stalls[0].line))
    if ended := [one for one in faults if one.taken_over]:
        queues = [queue for one in ended for queue in one.taken_over]
        waits = [queue.nobody_s for queue in queues if queue.nobody_s is not None]
        left = len(queues) - len(waits)
        span = f"nobody had them for {min(waits):.1f} to {max(waits):.1f} s" if waits else "nobody took one"
        words = f"{len(waits)} of {len(queues)} queues of ended consumers; {span}"
        found.append(counted(trial, "queues taken over", left, words, file, ended[0].line))
    return found


def _off(row: model.ScoredCount) -> str:
    return f"{row.measured / row.predicted - 1:+.1%}" if row.predicted else "none predicted"
