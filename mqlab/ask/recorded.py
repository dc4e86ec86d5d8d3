"""What the committed ledger says, for the commands that answer by it."""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path

import scenarios
from analysis.ledger.lines import LEDGER, load_lines
from analysis.ledger.runs import CountedTrial
from analysis.ledger.since import SINCE, Bisected, load_since
from analysis.verdicts.anew import line_anew
from harness.faults.injections import USUAL_INJECTION, injections_of
from harness.language import ENGLISH, language
from harness.model.experiment import experiment_hash
from harness.model.findings import Finding
from harness.model.scenario import Scenario
from harness.model.verdicts import VerdictKind
from harness.releases.jars import jars_sha256, recorded_releases
from harness.rundir.manifest import FREEZE

FOLDER_OF_RECORD = Path(scenarios.__file__).parent / "record"


def committed_ledger() -> list[Finding]:
    """Every line. Raises LedgerError."""
    path = Path(scenarios.__file__).with_name(LEDGER)
    return [*_read(path, path.stat().st_mtime_ns if path.exists() else 0, language())]


def committed_since() -> Sequence[Bisected]:
    """What bisections have found. Raises LedgerError."""
    return load_since(Path(scenarios.__file__).with_name(SINCE))


@lru_cache(maxsize=1)
def _read(path: Path, _changed_ns: int, read_in: str) -> Sequence[Finding]:
    """Once for all that a process asks, until another ledger is written: 5 MB take a third of a second."""
    lines = load_lines(path)
    if read_in == ENGLISH:
        return lines
    claims = {claim.id: claim for scenario in scenarios.ALL for claim in scenario.claims}
    return [line_anew(claims[line.claim], line) if line.claim in claims else line for line in lines]


def measured_on_defaults(ledger: Sequence[Finding]) -> list[Finding]:
    """The lines of local processes, stalled in the JVM where they are stalled, that have a verdict or at least a figure."""
    return [
        line
        for line in ledger
        if line.backend == "local"
        and line.injection != FREEZE
        and (line.verdict is not VerdictKind.UNDECIDED or any(part.estimate is not None for part in line.parts))
    ]


def decided_on_defaults(ledger: Sequence[Finding]) -> list[Finding]:
    """Those of them that are confirmed or refuted."""
    return [line for line in measured_on_defaults(ledger) if line.verdict is not VerdictKind.UNDECIDED]


def usual_verdicts(found: Sequence[Scenario]) -> list[Finding]:
    """What is decided of the claims of these incidents on local processes, where there is a choice by the usual injection."""
    offered = {claim.id: {*injections_of(one)} - {USUAL_INJECTION} for one in found for claim in one.claims}
    return [
        line
        for line in committed_ledger()
        if line.backend == "local" and line.verdict is not VerdictKind.UNDECIDED
        if line.claim in offered and line.injection not in offered[line.claim]
    ]


def experiment_now(trial: CountedTrial) -> str:
    """The hash that a trial of that cell would have today; empty where its incident, its arm or its release is gone."""
    scenario = next((one for one in scenarios.ALL if one.name == trial.incident), None)
    arm = next((one for one in scenario.arms if one.name == trial.arm), None) if scenario else None
    if scenario is None or arm is None or trial.release not in recorded_releases():
        return ""
    return experiment_hash(
        scenario, arm, trial.cell, release=trial.release, jars=jars_sha256(trial.release), client=trial.client,
        backend=trial.backend, injection=trial.injection, chosen_injection=trial.chosen_injection,
    )  # fmt: skip
