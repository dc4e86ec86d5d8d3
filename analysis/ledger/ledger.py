"""The record of findings: its values, loaded and written."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

from analysis.ledger.schema import LEDGER_SCHEMA
from analysis.verdicts.document import ReportData
from analysis.verdicts.numbers import cell_key, printable
from analysis.verdicts.order import arm_key, natural_key
from harness.errors import LedgerError
from harness.model.cells import ParameterValue
from harness.model.findings import EvidenceLine, Finding, MeasureSummary
from harness.model.verdicts import VerdictKind
from harness.rundir.decode import DecodeError, decode
from harness.rundir.manifest import HostRecord, Manifest

EXCERPT_LENGTH_MAX = 400
"""A remark of a broker is some 150 characters; what is longer is cut, since the committed file has to stay readable."""

Cell = tuple[str, str, str, str]
"""Claim, release, backend and way of injection: what an entry of the ledger stands for."""


@dataclass(frozen=True, kw_only=True)
class LedgerClaim:
    """The texts of a claim, so that the readable ledger can be made from the file alone."""

    article: str
    incident: str
    says: str


@dataclass(frozen=True, kw_only=True)
class LedgerRun:
    """A run that at least one entry comes from."""

    run: str
    created: str
    commit: str
    effort: str
    seed: int
    backend: str
    host: HostRecord = field(default_factory=HostRecord)


@dataclass(frozen=True, kw_only=True)
class LedgerMeasure:
    """A distribution; ``low`` and ``high`` are its 95 % interval, null where it is open or was not computed."""

    name: str
    arm: str
    params: Mapping[str, ParameterValue]
    unit: str
    independent: int
    n: int
    p50: float | None
    p90: float | None
    p99: float | None
    min: float | None
    max: float | None
    low: float | None
    high: float | None
    censored: int = 0


@dataclass(frozen=True, kw_only=True)
class LedgerEvidence:
    """A line of a log or a record of a history; ``operation`` where it is about one."""

    excerpt: str
    file: str
    line: int
    operation: str = ""


@dataclass(frozen=True, kw_only=True)
class LedgerFinding:
    """One claim in one release on one backend, with its faults made in one way."""

    claim: str
    release: str
    backend: str
    run: str
    client: str
    injection: str
    rule_commit: str
    validity: tuple[str, ...]
    expected: VerdictKind
    verdict: VerdictKind
    reason: str
    summary: str
    expected_from_code: str
    trials: int
    measures: tuple[LedgerMeasure, ...]
    evidence: tuple[LedgerEvidence, ...]

    def cell(self) -> Cell:
        """What the entry stands for."""
        return (self.claim, self.release, self.backend, self.injection)


@dataclass(frozen=True, kw_only=True)
class Ledger:
    """The whole file."""

    schema: Literal[1] = 1
    runs: tuple[LedgerRun, ...] = ()
    claims: Mapping[str, LedgerClaim] = field(default_factory=dict)
    findings: tuple[LedgerFinding, ...] = ()


@dataclass(frozen=True, kw_only=True)
class LedgerUpdate:
    """What an update did, by cell. ``changed`` are replaced cells whose verdict is another one than before."""

    ledger: Ledger
    added: tuple[Cell, ...]
    replaced: tuple[Cell, ...]
    kept: tuple[Cell, ...]
    changed: tuple[Cell, ...]

    def __str__(self) -> str:
        lines = [f"{len(self.added)} added, {len(self.replaced)} replaced, {len(self.kept)} kept"]
        verdicts = {finding.cell(): finding.verdict for finding in self.ledger.findings}
        lines += [f"{' '.join(cell)} is now {verdicts[cell]}" for cell in self.changed]
        return "\n".join(lines)


def ledger_of(data: ReportData) -> Ledger:
    """The ledger of one run, whatever its state; only :func:`update_ledger` asks for a clean and complete one."""
    findings = tuple(_finding(finding, data.manifest.run) for finding in data.findings)
    claims = {
        claim: LedgerClaim(article=text.article, incident=text.incident, says=text.says)
        for claim, text in data.claims.items()
    }
    return ordered(runs=[run_of(data.manifest)], claims=claims, findings=findings)


def load_ledger(path: Path) -> Ledger:
    """The ledger in ``path``, an empty one where there is no file. Raises LedgerError for anything else."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except FileNotFoundError:
        return Ledger()
    except (OSError, UnicodeDecodeError, json.JSONDecodeError) as error:
        raise LedgerError(
            f"{path} cannot be read: {error}", advice="Restore it from git, it is a committed file."
        ) from error
    schema = document.get("schema") if isinstance(document, dict) else None
    if schema != LEDGER_SCHEMA:
        raise LedgerError(f"{path} has schema {schema!r}, this version reads {LEDGER_SCHEMA}")
    try:
        return decode(Ledger, document, "ledger")
    except DecodeError as error:
        raise LedgerError(f"{path} is not as expected: {error}") from error


def ledger_json(ledger: Ledger) -> str:
    """The file's text: strict JSON (an unbounded number becomes null), the same bytes for the same entries."""
    document = _plain(dataclasses.asdict(ledger))
    return json.dumps(document, indent=2, ensure_ascii=False, allow_nan=False) + "\n"


def run_of(manifest: Manifest) -> LedgerRun:
    """What the record keeps of a run."""
    return LedgerRun(
        run=manifest.run,
        created=manifest.created,
        commit=manifest.commit,
        effort=manifest.effort,
        seed=manifest.seed,
        backend=manifest.backend,
        host=manifest.host,
    )


def _finding(finding: Finding, run: str) -> LedgerFinding:
    return LedgerFinding(
        claim=finding.claim,
        release=finding.release,
        backend=finding.backend,
        run=run,
        client=finding.client,
        injection=finding.injection,
        rule_commit=finding.rule_commit,
        validity=finding.validity,
        expected=finding.expected,
        verdict=finding.verdict,
        reason=finding.reason,
        summary=finding.summary,
        expected_from_code=finding.expected_from_code,
        trials=finding.trials,
        measures=tuple(
            sorted(
                map(_measure, finding.measures),
                key=lambda m: (m.name, cell_key(m.params), arm_key(m.arm)),
            )
        ),
        evidence=tuple(map(_evidence, finding.evidence)),
    )


def _measure(measure: MeasureSummary) -> LedgerMeasure:
    fields = {f.name: getattr(measure, f.name) for f in dataclasses.fields(LedgerMeasure)}
    return LedgerMeasure(**fields)


def _evidence(line: EvidenceLine) -> LedgerEvidence:
    excerpt = printable(line.excerpt)
    if len(excerpt) > EXCERPT_LENGTH_MAX:
        excerpt = f"{excerpt[: EXCERPT_LENGTH_MAX - 1]}\N{HORIZONTAL ELLIPSIS}"
    return LedgerEvidence(excerpt=excerpt, file=line.file, line=line.line, operation=line.operation)


def ordered(
    *, runs: Iterable[LedgerRun], claims: Mapping[str, LedgerClaim], findings: Iterable[LedgerFinding]
) -> Ledger:
    """Entries in one order; runs and claims that no entry refers to are left out."""
    entries = sorted(
        findings,
        key=lambda entry: (natural_key(entry.claim), natural_key(entry.release), entry.backend, entry.injection),
    )
    used_runs = {entry.run for entry in entries}
    used_claims = sorted({entry.claim for entry in entries} & set(claims), key=natural_key)
    by_name = {run.run: run for run in runs}
    return Ledger(
        runs=tuple(by_name[name] for name in sorted(by_name, key=natural_key) if name in used_runs),
        claims={claim: claims[claim] for claim in used_claims},
        findings=tuple(entries),
    )


def _plain(value: object) -> object:
    """JSON's own kinds. Numbers have six significant digits, since more are noise in a diff."""
    if isinstance(value, Mapping):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = float(f"{value:.6g}")
        return int(rounded) if rounded.is_integer() else rounded
    return str(value) if isinstance(value, VerdictKind) else value
