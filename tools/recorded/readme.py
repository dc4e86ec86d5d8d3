"""The README's table of families, and what else stands between markers of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

from analysis.ledger.absent import NOT_RUN
from analysis.ledger.markdown import table_row
from analysis.verdicts.order import natural_key
from harness.errors import LedgerError
from harness.model.findings import Finding
from harness.model.verdicts import HOLDS_IN_PART, REFUTED_IN_PART, VerdictKind
from harness.rundir.manifest import FREEZE
from tools.recorded.must_know import sentences

FAMILIES = {
    "BUSY": "system busy, broker busy",
    "POOL": "the transient store pool",
    "ORDER": "ordered consumption and its locks",
    "QUEUES": "numbers of read and write queues",
    "TOPICS": "retry topics and the size of a registration",
    "NAMES": "name servers that differ",
    "SENDS": "retries by kind of send",
    "AVOID": "how producers avoid a broker",
    "X": "what users reported, beyond the articles",
}
"""By the first word of a claim's id."""

STATUSES = (VerdictKind.CONFIRMED, HOLDS_IN_PART, VerdictKind.REFUTED, VerdictKind.UNDECIDED)
"""In the order of the README's numbers."""

BEGIN = "<!-- ledger:begin -->"
END = "<!-- ledger:end -->"


def families_table(lines: Sequence[Finding]) -> str:
    """The README's: one row a family with the claims that each release confirms, confirms in part, refutes and leaves undecided, on
    the defaults' backend; below it what of each an operator must know."""
    releases = sorted({line.release for line in lines}, key=natural_key)
    if not releases:
        return "No run is recorded yet."
    main, statuses = on_defaults(lines), statuses_on_defaults(lines)
    rows = [table_row(["claims", "about", *releases]), table_row("---" for _ in range(len(releases) + 2))]
    families = _families(lines)
    for family, of in families.items():
        claims = {line.claim for line in of}
        by_release = []
        for release in releases:
            counts = Counter(statuses[claim][release] for claim in claims if release in statuses[claim])
            counts[VerdictKind.REFUTED] += counts[REFUTED_IN_PART]
            by_release.append(" / ".join(str(counts[one]) for one in STATUSES) if counts else NOT_RUN)
        rows.append(table_row([f"{family} ({len(claims)})", _title(family), *by_release]))
    return "\n".join([*rows, "", *sentences(main, families, releases)])


def on_defaults(lines: Sequence[Finding]) -> dict[str, dict[str, VerdictKind]]:
    """Verdicts by claim and release: of the local backend, and stalled in the JVM, where there are several."""
    return {claim: {release: line.verdict for release, line in of.items()} for claim, of in _default_lines(lines)}


def statuses_on_defaults(lines: Sequence[Finding]) -> dict[str, dict[str, str]]:
    """The same, with what holds in part."""
    return {claim: {release: line.status for release, line in of.items()} for claim, of in _default_lines(lines)}


def _default_lines(lines: Sequence[Finding]) -> Iterable[tuple[str, dict[str, Finding]]]:
    found: dict[str, dict[str, Finding]] = {}
    for line in lines:
        of = found.setdefault(line.claim, {})
        if _is_default(line) >= _is_default(of.get(line.release, line)):
            of[line.release] = line
    return found.items()


def _is_default(line: Finding) -> tuple[bool, bool]:
    return line.backend == "local", line.injection != FREEZE


def _title(family: str) -> str:
    return FAMILIES.get(family, family.lower())


def _families(lines: Iterable[Finding]) -> dict[str, list[Finding]]:
    """In the order of the list above, others after them."""
    found: dict[str, list[Finding]] = {family: [] for family in FAMILIES}
    for line in lines:
        found.setdefault(line.claim.partition("-")[0], []).append(line)
    return {family: of for family, of in found.items() if of}


def between_markers(document: str, table: str, name: str, markers: tuple[str, str] = (BEGIN, END)) -> str:
    """``document`` with ``table`` between the two markers. Raises LedgerError unless each is there once, in order."""
    begin, end = markers
    if document.count(begin) != 1 or document.count(end) != 1 or document.index(begin) > document.index(end):
        raise LedgerError(
            f"{name} must have the line {begin} once and the line {end} once after it",
            advice="Put the two markers where the table shall stand.",
        )
    before, rest = document.split(begin)
    after = rest.split(end)[1]
    return f"{before}{begin}\n{table}\n{end}{after}"
