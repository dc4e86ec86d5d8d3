"""The ledger for people: its table, a run's own ``ledger.md``, and the README's table of families."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence

from analysis.ledger.absent import NOT_RUN, Reasons, absence
from analysis.ledger.lines import as_recorded, ordered
from analysis.ledger.must_know import sentences
from analysis.verdicts.numbers import cell_label, interval, number, printable, quantity, shortened
from analysis.verdicts.order import natural_key
from analysis.verdicts.words import expectation, unlike
from harness.errors import LedgerError
from harness.model.findings import Finding
from harness.model.verdicts import HOLDS_IN_PART, REFUTED_IN_PART, VerdictKind
from harness.rundir.manifest import FREEZE

Entries = dict[str, Finding]
"""By release."""

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


def ledger_table(lines: Sequence[Finding], reasons: Reasons | None = None, *, every: bool = False) -> str:
    """One row a claim: what its source says (shortened), the verdict of each release, and the summarising sentence.

    A row is about the defaults: local processes, appends stalled in the JVM, the newest release's sentence. What other backends
    and injections gave stands in a column of its own; with ``every`` each of them has its own row with all sentences. A
    verdict that differs from the committed expectation says so, and a cell without one says why by the ``reasons``.
    """
    releases = sorted({line.release for line in lines}, key=natural_key)
    if not releases:
        return "No run is recorded yet."
    by_claim: dict[str, list[tuple[str, Entries]]] = {}
    for (name, claim), entries in _by_claim(lines).items():
        by_claim.setdefault(name if every else claim, []).append((name, entries))
    has_others = any(len(found) > 1 for found in by_claim.values())
    source = "the article says" if any(line.article for line in lines) else "users say"
    head = ["claim", source, *releases, "measured", *(["elsewhere"] if has_others else [])]
    rows = [_row(head), _row("---" for _ in head)]
    for name, found in by_claim.items():
        (_, main), *others = sorted(found, key=lambda one: _defaults_first(one[1]))
        first = next(iter(main.values()))
        says = shortened(first.says)
        verdicts = [
            _verdict(main[release]) if release in main else _text(absence(first.claim, release, reasons or {}))
            for release in releases
        ]
        elsewhere = ["<br>".join(_text(_compared(main, *other)) for other in others)] if has_others else []
        newest = main[max(main, key=natural_key)]
        told = [entry for entry in main.values() if every or entry.summary == newest.summary]
        rows.append(_row([_text(name), _text(says), *verdicts, _sentences(told, len(main)), *elsewhere]))
    return "\n".join(rows)


def _defaults_first(entries: Entries) -> tuple[bool, bool]:
    first = next(iter(entries.values()))
    return first.backend != "local", first.injection == FREEZE


def _compared(main: Entries, name: str, other: Entries) -> str:
    """``compose, freeze: the same on 4.6.0, 5.3.3``, or the verdicts that differ from the row's."""
    same = [release for release in other if release in main and other[release].verdict is main[release].verdict]
    words = [f"the same on {', '.join(same)}"] if same else []
    words += [f"{release} {entry.status}" for release, entry in other.items() if release not in same]
    marks = name.partition("(")[2].rstrip(")")
    return f"{marks}: {'; '.join(words)}"


def ledger_document(findings: Sequence[Finding]) -> str:
    """A run's ``ledger.md``: the table, then each claim with its expectation, numbers and evidence by release."""
    lines = ordered(map(as_recorded, findings))
    parts = [
        "# Ledger",
        "",
        "What this run found, claim by claim and release by release.",
        "",
        ledger_table(lines, every=True),
        "",
    ]
    for (name, _), entries in _by_claim(lines).items():
        parts += _claim(name, entries)
    return _document(parts)


def families_table(lines: Sequence[Finding]) -> str:
    """The README's: one row a family with the claims that each release confirms, confirms in part, refutes and leaves undecided, on
    the defaults' backend; below it what of each an operator must know."""
    releases = sorted({line.release for line in lines}, key=natural_key)
    if not releases:
        return "No run is recorded yet."
    main, statuses = on_defaults(lines), statuses_on_defaults(lines)
    rows = [_row(["claims", "about", *releases]), _row("---" for _ in range(len(releases) + 2))]
    families = _families(lines)
    for family, of in families.items():
        claims = {line.claim for line in of}
        by_release = []
        for release in releases:
            counts = Counter(statuses[claim][release] for claim in claims if release in statuses[claim])
            counts[VerdictKind.REFUTED] += counts[REFUTED_IN_PART]
            by_release.append(" / ".join(str(counts[one]) for one in STATUSES) if counts else NOT_RUN)
        rows.append(_row([f"{family} ({len(claims)})", _title(family), *by_release]))
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


def _document(parts: Iterable[str]) -> str:
    return "\n".join(parts).rstrip() + "\n"


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


def _by_claim(lines: Sequence[Finding]) -> dict[tuple[str, str], Entries]:
    """Lines by release, for each name and claim; the name has what tells lines of one claim and release apart."""
    backends = {line.backend for line in lines}
    cells: dict[tuple[str, str, str], set[str]] = {}
    for line in lines:
        cells.setdefault((line.claim, line.release, line.backend), set()).add(line.injection)
    several = {claim for (claim, _, _), made in cells.items() if len(made) > 1}
    rows: dict[tuple[str, str], Entries] = {}
    for line in lines:
        marks = [line.backend] if len(backends) > 1 else []
        marks += [line.injection] if line.claim in several else []
        name = f"{line.claim} ({', '.join(marks)})" if marks else line.claim
        rows.setdefault((name, line.claim), {})[line.release] = line
    return dict(sorted(rows.items(), key=lambda row: natural_key(row[0][0])))


def _verdict(entry: Finding) -> str:
    words = f"**{entry.status}**" if entry.verdict is VerdictKind.REFUTED else entry.status
    if entry.verdict is VerdictKind.UNDECIDED:
        words += f" ({_text(entry.reason)})" if entry.reason else ""
    return f"{words}, {beside}" if (beside := unlike(entry)) else words


def _sentences(entries: Sequence[Finding], releases_total: int) -> str:
    """One sentence where all releases share it, else one with its releases in front."""
    by_summary: dict[str, list[str]] = {}
    for entry in entries:
        if entry.summary:
            by_summary.setdefault(entry.summary, []).append(entry.release)
    if len(by_summary) == 1 and releases_total == len(next(iter(by_summary.values()))):
        return _text(next(iter(by_summary)))
    return "<br>".join(f"{_text(', '.join(releases))}: {_text(summary)}" for summary, releases in by_summary.items())


def _claim(name: str, entries: Entries) -> list[str]:
    first = next(iter(entries.values()))
    lines = [f"## {_text(name)}", ""]
    if first.says:
        article = f"Article {_text(first.article)}, incident" if first.article else "Incident"
        lines += [f"{article} `{_code(first.incident)}`: {_text(first.says)}", ""]
    for release, entry in entries.items():
        lines += _release(name, release, entry)
    return lines


def _release(name: str, release: str, entry: Finding) -> list[str]:
    lines = [
        f"### {_text(name)} on {_text(release)}: {_verdict(entry)}",
        "",
        _text(entry.summary) or "No sentence was recorded.",
        "",
        f"- expected from the code: {expectation(entry)}. {_text(entry.expected_from_code)}".rstrip(),
        f"- {entry.trials} valid trials, run `{_code(', '.join(entry.runs))}`, client {_text(entry.client)}, "
        f"injection {_text(entry.injection)}, rule of commit `{_code(entry.rule_commit[:12])}`",
        *(f"- {_text(note)}" for note in entry.notes),
        "",
    ]
    if entry.figures:
        rows = [
            _row(["measure", "arm", "cell", "tries", "median", "interval", "range"]),
            _row(["---"] * 7),
        ]
        for figure in entry.figures:
            spans = figure.min is not None and figure.max is not None
            cells = [
                figure.name,
                figure.arm,
                cell_label(figure.params),
                f"{figure.tries}, {figure.censored} values censored" if figure.censored else str(figure.tries),
                quantity(figure.p50, figure.unit),
                interval(figure.low, figure.high, figure.unit),
                f"{number(figure.min)} to {quantity(figure.max, figure.unit)}" if spans else "",
            ]
            rows.append(_row(_text(cell) for cell in cells))
        lines += [*rows, ""]
    for line in entry.evidence:
        place = f"{line.file}:{line.line}" + (f", operation {line.operation}" if line.operation else "")
        lines += [f"- `{_code(place)}`", "", *_fenced(line.excerpt), ""]
    return lines


def _fenced(text: str) -> list[str]:
    """An indented code block; the fence is longer than any run of backticks inside, so the text cannot end it."""
    longest = max((len(run) for run in re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return [f"  {fence}text", *(f"  {line}" for line in printable(text).splitlines()), f"  {fence}"]


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Text on one line that neither Markdown nor HTML reads as anything else, in a table or outside of one."""
    line = " ".join(printable(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", line)


def _code(text: str) -> str:
    return " ".join(printable(text).split()).replace("`", "'").replace("|", "/")
