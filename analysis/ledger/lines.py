"""One finding a line: what ``scenarios/ledger.jsonl`` and a run's own ``ledger.json`` hold, loaded and written."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

from analysis.verdicts.document import ReportData
from analysis.verdicts.numbers import cell_key, printable
from analysis.verdicts.order import arm_key, natural_key
from harness.errors import LedgerError
from harness.model.cells import ParameterValue
from harness.model.findings import EvidenceLine, Finding, PartResult
from harness.model.verdicts import VerdictKind, status_of
from harness.rundir.decode import DecodeError, decode

T = TypeVar("T")
Line = TypeVar("Line", bound="LedgerLine")

LEDGER = "ledger.jsonl"

EXCERPT_LENGTH_MAX = 400
"""A remark of a broker is some 150 characters; what is longer is cut, since the committed file has to stay readable."""

FROM_RECORD, FROM_RUN, FROM_SUMMARY = "record", "run", "summary"


@dataclass(frozen=True, kw_only=True)
class LedgerPart:
    """One part of a claim. What its kind does not count is null; ``values`` has one for each deployment."""

    name: str
    verdict: VerdictKind
    role: str = "claim"
    kind: str = ""
    scope: str = ""
    reason: str = ""
    words: str = ""
    right: int | None = None
    wrong: int | None = None
    line: int | None = None
    deployments: int | None = None
    values: tuple[float, ...] = ()
    tries: int | None = None
    events: int | None = None
    estimate: float | None = None
    low: float | None = None
    high: float | None = None
    relation: str = ""
    bound: float | None = None
    unit: str = ""


@dataclass(frozen=True, kw_only=True)
class Figure:
    """The distribution of a measure in a cell; ``low`` and ``high`` are its interval, null where none was computed.

    ``deployments`` is null in summaries of earlier rules, which did not keep it.
    """

    name: str
    arm: str
    params: Mapping[str, ParameterValue]
    unit: str
    tries: int
    p50: float | None
    min: float | None
    max: float | None
    deployments: int | None = None
    low: float | None = None
    high: float | None = None
    censored: int = 0


@dataclass(frozen=True, kw_only=True)
class LedgerEvidence:
    """A line of a log or a record of a history; ``operation`` where it is about one. ``run`` is whose file it is."""

    excerpt: str
    file: str
    line: int
    operation: str = ""
    run: str = ""


@dataclass(frozen=True, kw_only=True)
class Earlier:
    """A verdict of an earlier rule or experiment, and why there is another one since."""

    run: str
    created: str
    commit: str
    verdict: VerdictKind
    reason: str
    summary: str
    trials: int
    because: str = ""


@dataclass(frozen=True, kw_only=True)
class LedgerLine:
    """One claim in one release on one backend, with its faults made by one injection.

    ``basis`` is ``record`` where the verdict was made from all recorded trials, ``run`` where it is what the newest run found
    of a claim that no incident has any more, ``summary`` where it is the verdict that an earlier rule gave.
    ``settings`` are those of its arms that no release has by itself; the user's own, which no recorded run has, are in the notes.
    ``counterexamples`` are those of the record's events that nobody withdrew, in words.
    """

    claim: str
    incident: str
    article: str
    says: str
    release: str
    backend: str
    injection: str
    client: str
    verdict: VerdictKind
    reason: str
    summary: str
    expected: VerdictKind | None
    expected_from_code: str
    rule_commit: str = ""
    rule_hash: str = ""
    settings: tuple[str, ...] = ()
    basis: str = FROM_RECORD
    runs: tuple[str, ...] = ()
    trials: int = 0
    notes: tuple[str, ...] = ()
    parts: tuple[LedgerPart, ...] = ()
    figures: tuple[Figure, ...] = ()
    evidence: tuple[LedgerEvidence, ...] = ()
    counterexamples: tuple[str, ...] = ()
    earlier: tuple[Earlier, ...] = ()

    @property
    def provenance(self) -> str:
        """Where the verdict is from, if it was not measured on the release; empty where it was."""
        return ""

    @property
    def status(self) -> str:
        """The verdict, or that the claim holds in part."""
        return status_of(self.verdict, self.parts)

    def cell(self) -> tuple[str, str, str, str]:
        """Claim, release, backend and injection: what the line stands for."""
        return (self.claim, self.release, self.backend, self.injection)


@dataclass(frozen=True, kw_only=True)
class CarriedLine(LedgerLine):
    """A line of the record, said of a release that it was not measured on: what the claim cites is the same code there."""

    carried_from: str

    @property
    def provenance(self) -> str:
        """Which release was measured."""
        return f"carried over from {self.carried_from}, not measured on {self.release}"

    @property
    def status(self) -> str:
        """The verdict, and that it is carried over."""
        return f"{super().status} ({self.provenance})"


def lines_of(data: ReportData) -> list[LedgerLine]:
    """The findings of one run, whatever its state."""
    return ordered(_line(finding, data) for finding in data.findings)


def ordered(lines: Iterable[Line]) -> list[Line]:
    """By claim, release, backend and injection."""
    return sorted(lines, key=lambda one: (natural_key(one.claim), natural_key(one.release), one.backend, one.injection))


def in_order(injections: str) -> str:
    """A list of injections by their names: a finding lists them in the order of its trials."""
    return ", ".join(sorted(injections.split(", ")))


def load_lines(path: Path) -> list[LedgerLine]:
    """The lines of a ledger, none where there is no file. Raises LedgerError for anything else."""
    return read_values(path, LedgerLine) if path.exists() else []


def read_values(path: Path, kind: type[T]) -> list[T]:
    """A file's lines, each a ``kind``. Raises LedgerError, which names the line."""
    documents = enumerate(read_documents(path), start=1)
    return [decode_line(kind, document, f"{path}:{number}") for number, document in documents]


def read_documents(path: Path) -> list[Any]:
    """A file's lines, each as JSON has it. Raises LedgerError, which names the line."""
    try:
        # A text of JSON may hold what Python's splitlines takes for a line's end, such as U+2028.
        texts = path.read_text("utf-8").removesuffix("\n").split("\n") if path.stat().st_size else []
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerError(
            f"{path} cannot be read: {error}", advice="Restore it from git, it is a committed file."
        ) from error
    found = []
    for number, text in enumerate(texts, start=1):
        try:
            found.append(json.loads(text))
        except ValueError as error:
            raise LedgerError(f"{path}:{number} is not as expected: {error}") from error
        except RecursionError as error:
            raise LedgerError(f"{path}:{number} is not as expected: it is nested too deeply") from error
    return found


def decode_line(kind: type[T], document: object, place: str) -> T:
    """One line's value. Raises LedgerError, which names its place."""
    try:
        return decode(kind, document)
    except DecodeError as error:
        raise LedgerError(f"{place} is not as expected: {error}") from error


def lines_text(values: Iterable[Any]) -> str:
    """The file's text: a line of strict JSON (an unbounded number becomes null) each, the same bytes for the same values."""
    return "".join(
        json.dumps(plain(dataclasses.asdict(one)), ensure_ascii=False, allow_nan=False) + "\n" for one in values
    )


def document_text(lines: Sequence[LedgerLine]) -> str:
    """A run's own ``ledger.json``: the lines as one document."""
    return (
        json.dumps(
            plain({"schema": 2, "findings": [dataclasses.asdict(line) for line in lines]}),
            indent=1,
            ensure_ascii=False,
            allow_nan=False,
        )
        + "\n"
    )


def _line(finding: Finding, data: ReportData) -> LedgerLine:
    text = data.claims.get(finding.claim)
    return LedgerLine(
        claim=finding.claim,
        incident=finding.incident,
        article=text.article if text else "",
        says=text.says if text else "",
        release=finding.release,
        backend=finding.backend,
        injection=finding.injection,
        client=finding.client,
        verdict=finding.verdict,
        reason=finding.reason,
        summary=finding.summary,
        expected=finding.expected,
        expected_from_code=finding.expected_from_code,
        rule_commit=finding.rule_commit,
        rule_hash=finding.rule_hash,
        settings=finding.settings,
        runs=(data.manifest.run,),
        trials=finding.trials,
        notes=finding.validity,
        parts=parts_of(finding.parts),
        figures=tuple(
            dataclasses.replace(_like(Figure, measure, tries=measure.independent), params=dict(measure.params))
            for measure in sorted(finding.measures, key=lambda m: (m.name, cell_key(m.params), arm_key(m.arm)))
        ),
        evidence=tuple(_evidence(one, data.manifest.run) for one in finding.evidence),
    )


def parts_of(parts: Iterable[PartResult]) -> tuple[LedgerPart, ...]:
    """As the ledger has them; what earlier rules did not count is left out of theirs."""
    found = [_like(LedgerPart, part) for part in parts]
    return tuple(
        one
        if one.kind
        else dataclasses.replace(
            one, role="claim", right=None, wrong=None, line=None, deployments=None, tries=None, events=None
        )
        for one in found
    )


def _like(kind: type[T], value: object, **others: object) -> T:
    """A ``kind`` of what ``value`` has under the same names."""
    names = {one.name for one in dataclasses.fields(kind)}  # type: ignore[arg-type]
    known = {name: getattr(value, name) for name in names if hasattr(value, name)}
    return kind(**{**known, **others})


def _evidence(line: EvidenceLine, run: str) -> LedgerEvidence:
    excerpt = printable(line.excerpt)
    if len(excerpt) > EXCERPT_LENGTH_MAX:
        excerpt = f"{excerpt[: EXCERPT_LENGTH_MAX - 1]}\N{HORIZONTAL ELLIPSIS}"
    return LedgerEvidence(excerpt=excerpt, file=line.file, line=line.line, operation=line.operation, run=run)


def plain(value: object) -> object:
    """JSON's own kinds. A whole number is exact; others have six significant digits, since more are noise in a diff.

    Half a character, which no file of UTF-8 holds, is written out.
    """
    if isinstance(value, Mapping):
        return {str(plain(str(key))): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = value if value.is_integer() else float(f"{value:.6g}")
        return int(rounded) if rounded.is_integer() else rounded
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
