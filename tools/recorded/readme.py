"""The README's table of families, and what else stands between markers of a document."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

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

IN_CHINESE = {
    "BUSY": "system busy、broker busy",
    "POOL": "堆外内存池 TransientStorePool",
    "ORDER": "顺序消费与队列锁",
    "QUEUES": "读写队列数",
    "TOPICS": "重试 Topic 与注册包大小",
    "NAMES": "NameServer 不一致",
    "SENDS": "各种发送方式的重试",
    "AVOID": "生产者如何规避 Broker",
    "X": "文章之外由用户报告的",
}
"""The same in README.zh-CN.md."""

STATUSES = (VerdictKind.CONFIRMED, HOLDS_IN_PART, VerdictKind.REFUTED, VerdictKind.UNDECIDED)
"""In the order of the README's numbers."""

BEGIN = "<!-- ledger:begin -->"
END = "<!-- ledger:end -->"


def families_table(lines: Sequence[Finding]) -> str:
    """The README's: the table of families, and below it what of each an operator must know."""
    if not lines:
        return "No run is recorded yet."
    table = rows_of_families(lines, ("claims", "about"), FAMILIES)
    return "\n".join([table, "", *sentences(on_defaults(lines), _families(lines), _releases(lines))])


def rows_of_families(lines: Sequence[Finding], head: tuple[str, str], titles: Mapping[str, str]) -> str:
    """One row a family with the claims that each release confirms, confirms in part, refutes and leaves undecided, on the
    defaults' backend."""
    releases, statuses = _releases(lines), statuses_on_defaults(lines)
    rows = [table_row([*head, *releases]), table_row("---" for _ in range(len(releases) + 2))]
    for family, of in _families(lines).items():
        claims = {line.claim for line in of}
        by_release = []
        for release in releases:
            counts = Counter(statuses[claim][release] for claim in claims if release in statuses[claim])
            counts[VerdictKind.REFUTED] += counts[REFUTED_IN_PART]
            by_release.append(" / ".join(str(counts[one]) for one in STATUSES) if counts else NOT_RUN)
        rows.append(table_row([f"{family} ({len(claims)})", titles.get(family, family.lower()), *by_release]))
    return "\n".join(rows)


def _releases(lines: Sequence[Finding]) -> list[str]:
    return sorted({line.release for line in lines}, key=natural_key)


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
