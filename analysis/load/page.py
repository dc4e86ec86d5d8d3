"""What the report page shows of a load: its findings, rates over time, and its faults as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812

from analysis.evidence.records import Records
from analysis.evidence.trials import TrialFacts
from analysis.ledger.counted import counted_trial
from analysis.ledger.runs import FINDINGS, recorded_run, write_lines
from analysis.load.ending import Ending
from analysis.load.faults import FaultOnLoad
from analysis.load.headline import headline_of
from analysis.load.judged import JudgedLoad
from analysis.logs.lines import FileCount
from analysis.report.collect import keep_page
from analysis.report.document import LOAD, Series, Table
from analysis.report.write import write_page as write_html
from analysis.verdicts.numbers import number, quantity, rounded
from harness.model.scenario import Scenario
from harness.rundir.reading import RunDirectory

BINS_MAX = 1200
BIN_MS_MIN = 100
BINS_AROUND_MAX = 100_000
"""What lies further from the load's start is a damaged line's, which would make millions of empty bins."""
LOCUST = {"Locust's own report": "locust.html", "Locust's counts": "locust.json"}
"""What Locust itself leaves in a trial's folder."""


def series_of(records: Records, facts: TrialFacts, faults: Sequence[FaultOnLoad]) -> Series | None:
    """Sends and consumptions by time, from the load's start; latencies are of sends, failed ones included.

    A send lies where it was due, its answer and its latency where it ended: what a fault did is so never seen before the fault.
    """
    start_ns, end_ns = facts.hold_from_ns, facts.hold_to_ns
    if start_ns is None or end_ns is None or not facts.sends:
        return None
    bin_ms = max(BIN_MS_MIN, round((end_ns - start_ns) / 1e6 / BINS_MAX / BIN_MS_MIN + 0.5) * BIN_MS_MIN)
    outcome, latency_ms = F.col("outcome"), (F.col("finished_ns") - F.col("intended_ns")) / 1e6

    def at(column: str) -> Column:
        return F.floor((F.col(column) - F.lit(start_ns)) / F.lit(bin_ms * 1_000_000)).alias("bin")

    due = records.sends.groupBy(at("intended_ns")).agg(F.count("*").alias("sent"))
    ended = records.sends.groupBy(at("finished_ns")).agg(
        F.count_if(outcome == "ok").alias("ok"),
        F.count_if(outcome == "failed").alias("failed"),
        F.percentile_approx(latency_ms, 0.5, 200).alias("p50"),
        F.max(latency_ms).alias("max"),
    )
    consumed = records.consumptions.groupBy(at("started_ns")).agg(F.count("*").alias("consumed"))
    near = F.abs("bin") <= BINS_AROUND_MAX
    rows = due.join(ended, "bin", "full").join(consumed, "bin", "full").where(near).collect()
    bins = {row["bin"]: row.asDict() for row in rows}
    if not bins:
        return None
    span = range(min(bins), max(bins) + 1)

    def of(name: str) -> tuple[float, ...]:
        return tuple(float(bins.get(at, {}).get(name) or 0) for at in span)

    def measured(name: str) -> tuple[float | None, ...]:
        found = (bins.get(at, {}).get(name) for at in span)
        return tuple(None if value is None else rounded(value) for value in found)

    return Series(
        incident=LOAD,
        release=facts.trial.release,
        arm=facts.trial.arm,
        params=facts.trial.params,
        trial=facts.trial.trial,
        client=facts.trial.client,
        bin_ms=bin_ms,
        t_s=tuple(round(at * bin_ms / 1000, 3) for at in span),
        sent=of("sent"),
        ok=of("ok"),
        failed=of("failed"),
        consumed=of("consumed"),
        delay_p50_ms=measured("p50"),
        delay_max_ms=measured("max"),
        faults_s=tuple((round(one.at_s, 3), round(one.until_s, 3)) for one in faults),
    )


def write_page(
    run: RunDirectory,
    scenario: Scenario,
    judged: JudgedLoad,
    facts: TrialFacts,
    series: Series | None,
    counts: Sequence[FileCount],
) -> None:
    """Write the findings, the report's data, report.html and junit.xml, as for incidents."""
    promised = {one.claim for one in judged.findings}
    claims = tuple(claim for claim in scenario.claims if claim.id in promised)
    words = (judged.ending.words,) if judged.ending.words else ()
    is_reached = judged.ending.is_reached
    trial = dataclasses.replace(
        counted_trial(facts),
        notes=words if is_reached else (),
        exclusions=() if is_reached else words or (judged.ending.why,),
    )
    data = keep_page(
        run,
        write_lines(run.path / FINDINGS, recorded_run(run.manifest, (trial,), {}, judged.findings, "")),
        [dataclasses.replace(scenario, claims=claims, summary=_summary(scenario, judged.ending))],
        series=() if series is None else (series,),
        tables=[{LOAD: tuple(_tables(run, judged, facts))}],
        counts=counts,
        headline=headline_of(judged, series),
    )
    write_html(run.path, data)


def _summary(scenario: Scenario, ending: Ending) -> str:
    return " ".join(filter(None, (ending.words and f"{ending.words[:1].upper()}{ending.words[1:]}.", scenario.summary)))


# --- tables -----------------------------------------------------------------------------------------------------------


def _tables(run: RunDirectory, judged: JudgedLoad, facts: TrialFacts) -> Iterator[Table]:
    folder = f"trials/{facts.trial.trial}"
    there = {words: f"{folder}/{name}" for words, name in LOCUST.items() if (run.path / folder / name).exists()}
    yield Table(
        title="The load in numbers", columns=("", ""), rows=tuple(_figures(judged)), note="As counted in its histories.",
        links=there,
    )  # fmt: skip
    if judged.faults:
        yield Table(
            title="Sends and consumptions around each fault",
            note="Ten seconds before it, while it lasted (of an ended consumer: until its queues were taken over), and ten "
            "seconds after. Latencies are of accepted sends, from their intended time.",
            columns=("fault", "phase", "for", "due", "accepted", "failed", "unknown", "p50", "p99", "max", "consumed"),
            rows=tuple(row for one in judged.faults for row in _around(one)),
        )
    for one in judged.faults:
        if one.refused:
            yield Table(
                title=f"Refusals of the {one.name}",
                note="By keyword, beside the model's number: what the stall as measured takes at the rate that it met.",
                columns=("keyword", "measured", "predicted", "off by", "allowed", ""),
                rows=tuple(
                    (
                        row.keyword,
                        number(row.measured),
                        f"{row.predicted:.1f}",
                        f"{row.measured / row.predicted - 1:+.1%}" if row.predicted else "",
                        f"{row.allowed:.1f}",
                        "within" if row.within else "outside",
                    )
                    for row in one.refused
                ),
            )
        if one.taken_over:
            yield Table(
                title=f"Hand-over after the {one.name} ({one.target})",
                note="For each queue of the ended consumer: from its end to the next consumption by another one.",
                columns=("queue", "nobody had it for", "taken by"),
                rows=tuple(
                    (queue.queue, "to the end" if queue.nobody_s is None else f"{queue.nobody_s:.2f} s", queue.by)
                    for queue in one.taken_over
                ),
            )


def _figures(judged: JudgedLoad) -> Iterator[tuple[str, str]]:
    f = judged.figures
    if not f.sends and not judged.ending.is_reached:
        yield "sends and consumptions", "not counted"
        return
    yield "sends", f"{f.sends:,}: {f.ok:,} accepted, {f.failed:,} failed, {f.unknown:,} unknown"
    yield "consumptions", f"{f.consumptions:,}"
    yield "started", f"{f.started_per_s:,.1f}/s" + _asked(judged)
    yield "accepted", f"{f.ok_per_s:,.1f}/s"
    yield "latency p50, p99, p99.9", ", ".join(quantity(value, "ms") for value in f.latency_ms)
    if "in_flight" not in judged.params:
        yield "starts late p50, p99, p99.9", ", ".join(quantity(value, "ms") for value in f.late_ms)


def _asked(judged: JudgedLoad) -> str:
    if judged.figures.asked_per_s is None:
        return ""
    asked = f"{judged.figures.asked_per_s:,.1f}/s"
    return f" of {asked} asked" if judged.ending.is_reached else f" so far, where {asked} were asked"


def _around(one: FaultOnLoad) -> Iterator[tuple[str, ...]]:
    for phase in one.around:
        yield (
            one.name if phase.phase == "before" else "",
            phase.phase,
            quantity(phase.seconds, "s"),
            quantity(phase.sent_per_s, "/s"),
            quantity(phase.ok_per_s, "/s"),
            number(phase.failed),
            number(phase.unknown),
            quantity(phase.latency_p50_ms, "ms"),
            quantity(phase.latency_p99_ms, "ms"),
            quantity(phase.latency_max_ms, "ms"),
            quantity(phase.consumed_per_s, "/s"),
        )
