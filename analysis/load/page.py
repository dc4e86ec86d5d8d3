"""What the report page shows of a load: its findings, rates over time, and its faults as tables."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Sequence

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
from analysis.report.series import Drawn
from analysis.report.write import write_page as write_html
from analysis.verdicts.numbers import number, quantity
from harness.model.scenario import Scenario
from harness.rundir.reading import RunDirectory

BINS_MAX = 1200
BIN_MS_MIN = 100
BINS_AROUND_MAX = 100_000
"""What lies further from the load's start is a damaged line's, which would make millions of empty bins."""
LOCUST = {"Locust's own report": "locust.html", "Locust's counts": "locust.json"}
"""What Locust itself leaves in a trial's folder."""


def drawn_of_load(facts: TrialFacts, faults: Sequence[FaultOnLoad]) -> list[Drawn]:
    """The load from its start, with latencies of its sends; nothing of one that did not begin to send."""
    start_ns, end_ns = facts.hold_from_ns, facts.hold_to_ns
    if start_ns is None or end_ns is None or not facts.sends:
        return []
    bin_ms = max(BIN_MS_MIN, round((end_ns - start_ns) / 1e6 / BINS_MAX / BIN_MS_MIN + 0.5) * BIN_MS_MIN)
    around_s = BINS_AROUND_MAX * bin_ms / 1000
    return [
        Drawn(
            trial=facts.trial,
            from_ns=start_ns,
            bin_ms=bin_ms,
            before_s=around_s,
            after_s=around_s,
            of_sends=True,
            faults_s=tuple((round(one.at_s, 3), round(one.until_s, 3)) for one in faults),
        )
    ]


def write_page(
    run: RunDirectory,
    scenario: Scenario,
    judged: JudgedLoad,
    facts: TrialFacts,
    series: tuple[Series, ...],
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
        run.path,
        run.told(),
        write_lines(run.path / FINDINGS, recorded_run(run.manifest, (trial,), {}, judged.findings, "")),
        [dataclasses.replace(scenario, claims=claims, summary=_summary(scenario, judged.ending))],
        series=series,
        tables=[{LOAD: tuple(_tables(run, judged, facts))}],
        counts=counts,
        headline=headline_of(judged, *series),
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
    gaps = judged.unavailable
    longest = {
        "longest time without an accepted send": gaps.sends,
        "the same of one key": gaps.key,
        "longest time without a consumption": gaps.consumption,
    }
    yield from ((name, quantity(gap.seconds, "s")) for name, gap in longest.items() if gap is not None)
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
