"""Rates and delays over time, which the report draws: computed by Spark from what was recorded."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import Records
from analysis.evidence.tables import DRAWN, frame_of
from analysis.evidence.trials import TrialFacts
from analysis.report.document import Series
from analysis.verdicts.evidence import TrialValidity
from analysis.verdicts.numbers import rounded
from harness.model.cells import cell_of
from harness.rundir.manifest import TrialRecord

SERIES_MAX = 150
"""At a hundred bins each, these stay below two megabytes of the page."""

_BEFORE_S, _AFTER_S = 30.0, 180.0
_BIN_MS_CONSUMPTION, _BIN_MS_SENDS = 1_000, 100


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """A trial that is drawn, in bins of ``bin_ms`` from the moment ``from_ns`` on; what lies further away than so long is left out.

    Delays are of its sends, failed ones included, or of its consumptions. ``fault_s`` and ``faults_s`` are the times to shade.
    """

    trial: TrialRecord
    from_ns: int
    bin_ms: int
    before_s: float
    after_s: float
    of_sends: bool
    fault_s: tuple[float, float] | None = None
    faults_s: tuple[tuple[float, float], ...] = ()


def series_of(records: Records, drawn: Sequence[Drawn]) -> tuple[Series, ...]:
    """Rates and delays over time of these trials, but for those with no record that lies near enough."""
    if not drawn:
        return ()
    bins: dict[str, dict[int, dict[str, float]]] = defaultdict(dict)
    for row in _binned(records, drawn).collect():
        bins[row["trial"]][row["bin"]] = {
            name: value for name, value in row.asDict().items() if name not in {"trial", "bin"} and value is not None
        }
    return tuple(_series(item, bins[item.trial.trial]) for item in drawn if bins[item.trial.trial])


def drawn_of_run(facts: Sequence[TrialFacts], validity: Sequence[TrialValidity]) -> list[Drawn]:
    """The first trial that counts of each cell; time is relative to the fault."""
    counting = {item.trial for item in validity if item.counts()}
    chosen: dict[tuple[object, ...], Drawn] = {}
    for item in facts:
        trial = item.trial
        if trial.trial in counting and item.fault_ns is not None:
            cell = (trial.incident, trial.release, trial.chosen_injection, trial.arm, cell_of(trial.params))
            drawn = Drawn(
                trial=trial,
                from_ns=item.fault_ns,
                bin_ms=_BIN_MS_CONSUMPTION if trial.groups else _BIN_MS_SENDS,
                before_s=_BEFORE_S,
                after_s=_AFTER_S,
                of_sends=not trial.groups,
                fault_s=_fault_s(item),
            )
            chosen.setdefault(cell, drawn)
    return list(chosen.values())[:SERIES_MAX]


def _binned(records: Records, drawn: Sequence[Drawn]) -> DataFrame:
    """One row for each trial and bin. ``sent`` lies where it was due, all else where it came about: an answer and its delay
    where the send ended, a consumption and its delay where it began. A fault's delays are so never seen before the fault.
    """
    rows = [{**vars(item), "trial": item.trial.trial} for item in drawn]
    window = F.broadcast(frame_of(records.sends.sparkSession, rows, DRAWN))

    def bin_of(column: str) -> Column:
        return F.floor((F.col(column) - F.col("from_ns")) / (F.col("bin_ms") * 1_000_000)).alias("bin")

    def in_range(column: str) -> Column:
        after_s = (F.col(column) - F.col("from_ns")) / 1e9
        return after_s.between(-F.col("before_s"), F.col("after_s"))

    outcome = F.col("outcome")
    latency_ms = F.when(F.col("of_sends"), (F.col("finished_ns") - F.col("intended_ns")) / 1e6)
    sends = records.sends.join(window, "trial")
    due = sends.where(in_range("intended_ns")).groupBy("trial", bin_of("intended_ns")).agg(F.count("*").alias("sent"))
    ended = (
        sends.where(in_range("finished_ns"))
        .groupBy("trial", bin_of("finished_ns"))
        .agg(
            F.count_if(outcome == "ok").alias("ok"),
            F.count_if(outcome == "failed").alias("failed"),
            F.percentile_approx(latency_ms, 0.5, 200).alias("send_p50_ms"),
            F.max(latency_ms).alias("send_max_ms"),
        )
    )
    delay_ms = F.when(~F.col("of_sends"), (F.col("started_ns") - F.col("intended_ns")) / 1e6)
    consumed = (
        records.consumptions.select("trial", "started_ns", "intended_ns")
        .join(window, "trial")
        .where(in_range("started_ns"))
        .groupBy("trial", bin_of("started_ns"))
        .agg(
            F.count("*").alias("consumed"),
            F.percentile_approx(delay_ms, 0.5, 200).alias("delay_p50_ms"),
            F.max(delay_ms).alias("delay_max_ms"),
        )
    )
    cell = ["trial", "bin"]
    return (
        due.join(ended, cell, "full")
        .join(consumed, cell, "full")
        .select(
            *("trial", "sent", "ok", "failed", "consumed"),
            F.col("bin").cast("int").alias("bin"),
            F.coalesce("delay_p50_ms", "send_p50_ms").alias("delay_p50_ms"),
            F.coalesce("delay_max_ms", "send_max_ms").alias("delay_max_ms"),
        )
    )


def _series(drawn: Drawn, bins: Mapping[int, Mapping[str, float]]) -> Series:
    trial = drawn.trial
    span = range(min(bins), max(bins) + 1)

    def counted(name: str) -> tuple[float, ...]:
        return tuple(bins.get(at, {}).get(name, 0) for at in span)

    def measured(name: str) -> tuple[float | None, ...]:
        values = (bins.get(at, {}).get(name) for at in span)
        return tuple(None if value is None else rounded(value) for value in values)

    return Series(
        incident=trial.incident,
        release=trial.release,
        arm=trial.arm,
        params=trial.params,
        trial=trial.trial,
        client=trial.client,
        injection=trial.chosen_injection,
        bin_ms=drawn.bin_ms,
        fault_s=drawn.fault_s,
        faults_s=drawn.faults_s,
        t_s=tuple(round(at * drawn.bin_ms / 1000, 3) for at in span),
        sent=counted("sent"),
        ok=counted("ok"),
        failed=counted("failed"),
        consumed=counted("consumed"),
        delay_p50_ms=measured("delay_p50_ms"),
        delay_max_ms=measured("delay_max_ms"),
    )


def _fault_s(facts: TrialFacts) -> tuple[float, float] | None:
    """The time to shade: the stalled append itself, or from the owners' end to the end of the hold; None without a fault.

    A killed owner stays dead; the hold ends when its successors have every queue.
    """
    if facts.fault_ns is None or facts.injecting_ns is None or facts.fault in (None, "none"):
        return None
    start = facts.append_entry_ns or facts.injecting_ns
    end = facts.append_exit_ns or facts.hold_to_ns or facts.injected_ns or start
    return round((start - facts.fault_ns) / 1e9, 4), round((end - facts.fault_ns) / 1e9, 4)
