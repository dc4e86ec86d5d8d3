"""What an analysis leaves for its page beside the findings: ``RUN/analysis/page.json``, with what is drawn and told."""

from __future__ import annotations

import dataclasses
import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from analysis.ledger.runs import RecordedRun
from analysis.report.document import (
    PAGE_DATA,
    ClaimText,
    Distribution,
    Headline,
    IncidentText,
    LogNotes,
    ReportData,
    Series,
    Table,
    UnmatchedLog,
)
from analysis.verdicts.evidence import unit_of
from analysis.verdicts.numbers import finite, rounded
from analysis.verdicts.observations import Observation
from harness.model.cells import cell_of
from harness.model.scenario import Scenario
from harness.rundir.files import replace_file
from harness.rundir.manifest import Manifest

if TYPE_CHECKING:
    from analysis.logs.lines import FileCount

VALUES_MAX = 1_000
"""A distribution with more values is thinned to this many of its order statistics, evenly spaced."""

REPORT_SCHEMA = 1
"""Of page.json."""


def keep_page(
    folder: Path,
    manifest: Manifest,
    kept: RecordedRun,
    scenarios: Sequence[Scenario],
    *,
    series: tuple[Series, ...],
    tables: Sequence[Mapping[str, Sequence[Table]]],
    counts: Sequence[FileCount],
    observations: Sequence[Observation] = (),
    headline: Headline | None = None,
) -> ReportData:
    """Replace ``page.json`` of a run or a load in its ``folder``, and return what its report shows.

    That is what stands there, and the findings that were ``kept``. Each of ``tables`` is by incident. Of ``observations``
    distributions are drawn.
    """
    data = ReportData(
        schema=REPORT_SCHEMA,
        manifest=manifest,
        claims=_claims(scenarios),
        incidents=incidents_shown(scenarios, by_arms=headline is None),
        series=series,
        distributions=_distributions(observations, scenarios),
        tables={name: tuple(one for some in tables for one in some.get(name, ())) for name in manifest.incidents},
        # The log files with lines that no parser knew.
        logs=LogNotes(unmatched=tuple(UnmatchedLog(**vars(one)) for one in counts if one.unmatched)),
        headline=headline,
    )
    document = {name: value for name, value in dataclasses.asdict(data).items() if name not in ("findings", "trials")}
    replace_file(folder / PAGE_DATA, json.dumps(finite(document), ensure_ascii=False, allow_nan=False) + "\n")
    return dataclasses.replace(data, findings=kept.findings, trials=kept.trials)


def _claims(scenarios: Sequence[Scenario]) -> dict[str, ClaimText]:
    """What each claim says, how it is read, and why its parts have the bounds that they have."""
    return {
        claim.id: ClaimText(
            says=claim.says,
            reading=claim.reading,
            article=claim.article,
            incident=scenario.name,
            why={part.name: part.because for part in claim.parts},
        )
        for scenario in scenarios
        for claim in scenario.claims
    }


def incidents_shown(scenarios: Sequence[Scenario], *, by_arms: bool = True) -> dict[str, IncidentText]:
    """What the page says of each incident itself, and what it shows of it first; of a load its headline is that."""
    return {
        one.name: IncidentText(
            title=one.title, summary=one.summary, advice=one.advice, shown=one.to_show() if by_arms else None
        )
        for one in scenarios
    }


def _distributions(observations: Sequence[Observation], scenarios: Sequence[Scenario]) -> tuple[Distribution, ...]:
    """The values of every measure that a claim uses or a scenario shows, by cell; parameters of the measure apart."""
    used = {(scenario.name, measure) for scenario in scenarios for measure in scenario.measures()}
    cells: dict[tuple[object, ...], list[Observation]] = defaultdict(list)
    for item in observations:
        if (item.incident, item.measure) in used:
            cells[item.incident, item.release, item.injection, item.arm, item.measure, cell_of(item.params)].append(
                item
            )
    return tuple(
        Distribution(
            incident=observed[0].incident,
            release=observed[0].release,
            injection=observed[0].injection,
            arm=observed[0].arm,
            params=observed[0].params,
            measure=observed[0].measure,
            unit=unit_of(observed[0].measure),
            values=tuple(rounded(item.value) for item in shown),
            censored=tuple(item.censored for item in shown),
        )
        for observed in cells.values()
        if (shown := _thinned(observed))
    )


def _thinned(observed: Sequence[Observation]) -> list[Observation]:
    ordered = sorted(observed, key=lambda item: item.value)
    if len(ordered) <= VALUES_MAX:
        return ordered
    step = (len(ordered) - 1) / (VALUES_MAX - 1)
    return [ordered[round(index * step)] for index in range(VALUES_MAX)]
