"""What a load's one history shows of each of its claims: a count of violations, or why nobody can tell."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F  # noqa: N812

from analysis.verdicts.claims import judge
from analysis.verdicts.tries import HistoryTries, Try
from harness.model.findings import EvidenceLine, Finding
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.model.verdicts import Discard, VerdictKind
from harness.rundir.manifest import TrialRecord
from harness.rundir.reading import RunDirectory


def counted(
    trial: TrialRecord, name: str, violations: float, words: str, file: str | None = "", line: int | None = 0
) -> HistoryTries:
    """So many violations; ``file`` and ``line`` say where the first one is."""
    row = untold(trial, name, words)
    tried = Try.of(trial.trial, [(violations, False)])
    return dataclasses.replace(row, tries=(tried,), file=file or "", line=line or 0)


def untold(trial: TrialRecord, name: str, why: str) -> HistoryTries:
    """Nobody can tell."""
    return HistoryTries(
        trial=trial.trial,
        deployment=trial.deployment,
        release=trial.release,
        arm=trial.arm,
        cell=trial.params,
        measure=name,
        injection=trial.chosen_injection,
        words=why,
    )


def undone(row: HistoryTries, why: str) -> HistoryTries:
    """What was counted does not tell it."""
    return dataclasses.replace(row, tries=(), words=why, file="", line=0)


def none_of(trial: TrialRecord, name: str, row: Row, words: str) -> HistoryTries:
    """The row's ``count`` of violations; its ``file`` and ``line`` are a place where one is."""
    return counted(trial, name, row["count"], words, row["file"], row["line"])


def counted_rows(table: DataFrame) -> Row:
    """How many rows there are, and where the first of them stands."""
    first = (F.min_by("file", "n").alias("file"), F.min("n").alias("line"))
    return table.agg(F.count("*").alias("count"), *first).collect()[0]


# --- what became of them ----------------------------------------------------------------------------------------------


OF_FAULTS = ("faults took effect", "refusals as predicted", "queues taken over")


def damaged(scenario: Scenario, trial: TrialRecord, command: str) -> list[HistoryTries]:
    """What the damaged file held may have spoken for or against each claim; of faults where the command asked for any."""
    measures = (part.of.measure for claim in scenario.claims for part in claim.parts)
    names = (one for one in measures if one not in OF_FAULTS or "--fault" in command)
    rows = (untold(trial, name, "the load's evidence is damaged") for name in names)
    return [dataclasses.replace(row, discarded=Discard.DAMAGED) for row in rows]


def findings(
    scenario: Scenario, rows: Sequence[HistoryTries], run: RunDirectory, trial: TrialRecord
) -> tuple[Finding, ...]:
    """One for each claim that the load promises, in the scenario's order, without excerpts; ``rows`` are of its one trial."""
    promised = {row.measure: row for row in rows}
    return tuple(
        _finding(claim, scenario, row, run, trial)
        for claim in scenario.claims
        for part in claim.parts
        if (row := promised.get(part.of.measure)) is not None
    )


def _finding(claim: Claim, scenario: Scenario, row: HistoryTries, run: RunDirectory, trial: TrialRecord) -> Finding:
    manifest = run.manifest
    return dataclasses.replace(
        judge(claim, [row], release=trial.release),
        incident=scenario.name,
        backend=trial.backend,
        client=trial.client,
        injection=trial.injection,
        expected=VerdictKind.CONFIRMED,
        expected_from_code="What every load is to show.",
        rule_commit=manifest.commit,
        runs=(manifest.run,),
        trials=1,
        # A count of nothing has no line to cite.
        evidence=(EvidenceLine(excerpt="", file=row.file, line=row.line),) if row.file and row.line else (),
    )
