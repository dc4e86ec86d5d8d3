"""A run's findings: a line for the run, one for each trial whatever became of it, one for each finding.

The analysis leaves these lines in the run's own folder, where reports read them; the record keeps them, too.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from analysis.ledger.journal import json_line
from analysis.ledger.lines import decode_line, plain, read_documents
from analysis.verdicts.losses import LostStep
from analysis.verdicts.tries import Tries, Try
from harness.model.cells import Parameters, canonical
from harness.model.findings import Finding
from harness.rundir.files import replace_file
from harness.rundir.manifest import HostRecord, Manifest

FINDINGS = Path("analysis") / "findings.jsonl"


@dataclass(frozen=True, kw_only=True)
class RecordedValues:
    """The tries of a trial by one measure and the measure's own parameters."""

    measure: str
    params: Parameters = field(default_factory=dict)
    tries: tuple[Try, ...] = ()


@dataclass(frozen=True, kw_only=True)
class CountedTrial:
    """One trial, also a failed, a noisy and a repeated one. ``experiment`` is the hash of what decided what happened in it.

    ``lost`` names each acknowledged message that a rolling upgrade lost; it is empty where none was, and null where that is not
    judged: in other incidents, and where messages were left when the drain ended.
    """

    trial: str
    experiment: str
    incident: str
    arm: str
    cell: Parameters
    release: str
    client: str
    backend: str
    injection: str
    deployment: str
    attempt: int
    seed: int
    status: str
    chosen_injection: str = ""
    error: str = ""
    superseded: bool = False
    discarded: str = ""
    exclusions: tuple[str, ...] = ()
    """Why it does not count, in words. Runs recorded before ``notes`` were have what is told of a trial among them."""
    notes: tuple[str, ...] = ()
    """What else is notable of it, whether it counts or not."""
    hiccup_ms: float = 0.0
    waited_share: float | None = None
    """Of the time that its threads could run, how much they waited for a core; the noise probe, which sleeps, sees none of it."""
    asked_ms: float | None = None
    achieved_ms: float | None = None
    no_effect: str | None = None
    values: tuple[RecordedValues, ...] = ()
    lost: tuple[LostStep, ...] | None = None

    @property
    def counts(self) -> bool:
        """Whether a verdict can rest on it."""
        return not self.exclusions

    @property
    def cell_name(self) -> str:
        """What the trial is one of, in words."""
        cell = " ".join(f"{name}={canonical(value)}" for name, value in self.cell.items())
        return " ".join(filter(None, (self.incident, self.arm, cell, self.release, self.backend, self.injection)))

    def rows(self, run: str) -> list[Tries]:
        """Its tries as verdicts are made from, with names that no other run's trial has."""
        return [
            Tries(
                trial=f"{run}/{self.trial}",
                deployment=f"{run}/{self.deployment}",
                release=self.release,
                arm=self.arm,
                cell=self.cell,
                measure=one.measure,
                params=one.params,
                injection=self.chosen_injection,
                hiccup_ms=self.hiccup_ms,
                discarded=self.discarded,
                superseded=self.superseded,
                tries=one.tries,
            )
            for one in self.values
        ]


@dataclass(frozen=True, kw_only=True)
class RecordedRun:
    """One run. ``experiments`` and ``rules`` are hashes, by cell in words and by claim; ``jars`` SHA-256 by release.

    ``analysis_commit`` is the code that made the tries' values. ``failed`` are measures whose checker failed, with its error.
    """

    run: str
    commit: str
    analysis_commit: str
    created: str
    status: str
    host: HostRecord
    backend: str
    seed: int
    jars: Mapping[str, str]
    rules: Mapping[str, str]
    experiments: Mapping[str, str] = field(default_factory=dict)
    failed: Mapping[str, str] = field(default_factory=dict)
    trials: tuple[CountedTrial, ...] = ()
    findings: tuple[Finding, ...] = ()


def recorded_run(
    manifest: Manifest,
    trials: Sequence[CountedTrial],
    failed: Mapping[str, str],
    findings: Sequence[Finding],
    analysis_commit: str,
) -> RecordedRun:
    """All that the record keeps of a run."""
    return RecordedRun(
        run=manifest.run,
        commit=manifest.commit,
        analysis_commit=analysis_commit,
        created=manifest.created,
        status=manifest.status,
        host=manifest.host,
        backend=manifest.backend,
        seed=manifest.seed,
        jars=manifest.jars,
        rules=manifest.rules,
        experiments={trial.cell_name: trial.experiment for trial in trials},
        failed=failed,
        trials=tuple(trials),
        findings=tuple(findings),
    )


def write_lines(path: Path, run: RecordedRun) -> RecordedRun:
    """The run first, then its trials, then its findings, a line each; what is as it is by default is left out.

    Returns what :func:`read_lines` gives of them.
    """
    head = dataclasses.replace(run, trials=(), findings=())
    documents = [_told(one) for one in (head, *run.trials, *run.findings)]
    kept = _run_of(documents, path)
    replace_file(path, "".join(map(json_line, documents)))
    return kept


def read_lines(path: Path) -> RecordedRun:
    """As written. Raises LedgerError, which names the line."""
    return _run_of(read_documents(path), path)


def _run_of(documents: Sequence[object], path: Path) -> RecordedRun:
    head, *others = documents or [{}]
    run = decode_line(RecordedRun, head, f"{path}:1")
    trials: list[CountedTrial] = []
    findings: list[Finding] = []
    for number, document in enumerate(others, start=2):
        place = f"{path}:{number}"
        if isinstance(document, dict) and "trial" in document:
            trials.append(decode_line(CountedTrial, document, place))
        else:
            findings.append(decode_line(Finding, document, place))
    return dataclasses.replace(run, trials=tuple(trials), findings=tuple(findings))


def _told(value: object) -> object:
    """JSON's own kinds, fractions with six digits, without what is as it is by default."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = [(one, getattr(value, one.name)) for one in dataclasses.fields(value)]
        return {one.name: _told(told) for one, told in fields if not _is_default(one, told)}
    if isinstance(value, Mapping):
        return {str(key): _told(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_told(item) for item in value]
    return plain(value)


def _is_default(one: dataclasses.Field[object], value: object) -> bool:
    made = one.default_factory() if one.default_factory is not dataclasses.MISSING else one.default
    return value == made
