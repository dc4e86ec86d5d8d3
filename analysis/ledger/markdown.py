"""The ledger for people: a run's own ``ledger.md``, the record's ``LEDGER.md`` with a page a claim, the README's table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from analysis.verdicts.numbers import cell_label, interval, number, printable, quantity, shortened
from analysis.verdicts.order import natural_key
from harness.errors import LedgerError
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import FREEZE

if TYPE_CHECKING:
    from analysis.ledger.ledger import Ledger, LedgerFinding

    Entries = dict[str, LedgerFinding]
    """By release."""

BEGIN = "<!-- ledger:begin -->"
END = "<!-- ledger:end -->"
PAGES = "ledger"
"""The folder of the claims' pages, beside ``LEDGER.md``."""


def ledger_table(ledger: Ledger, *, every: bool = False, pages: str = "") -> str:
    """One row a claim: what the article says (shortened), the verdict of each release, and the summarising sentence.

    A row is about the defaults: local processes, appends stalled in the JVM, the newest release's sentence. What other backends
    and ways of injection gave stands in a column of its own; with ``every`` each of them has its own row with all sentences. A
    verdict that differs from the committed expectation says so. Claims link to their pages in the folder ``pages``.
    """
    releases = sorted({finding.release for finding in ledger.findings}, key=natural_key)
    if not releases:
        return "No run is recorded yet."
    by_claim: dict[str, list[tuple[str, Entries]]] = {}
    for (name, claim), entries in _by_claim(ledger).items():
        by_claim.setdefault(name if every else claim, []).append((name, entries))
    has_others = any(len(found) > 1 for found in by_claim.values())
    head = ["claim", "the article says", *releases, "measured", *(["elsewhere"] if has_others else [])]
    rows = [_row(head), _row("---" for _ in head)]
    for name, found in by_claim.items():
        (_, main), *others = sorted(found, key=lambda one: _defaults_first(one[1]))
        claim = next(iter(main.values())).claim
        says = shortened(ledger.claims[claim].says) if claim in ledger.claims else ""
        verdicts = [_verdict(main[release]) if release in main else "not run" for release in releases]
        elsewhere = ["<br>".join(_text(_compared(main, *other)) for other in others)] if has_others else []
        newest = main[max(main, key=natural_key)]
        told = [entry for entry in main.values() if every or entry.summary == newest.summary]
        linked = f"[{_text(name)}]({pages}/{claim}.md)" if pages else _text(name)
        rows.append(_row([linked, _text(says), *verdicts, _sentences(told, len(main)), *elsewhere]))
    return "\n".join(rows)


def _defaults_first(entries: Entries) -> tuple[bool, bool]:
    first = next(iter(entries.values()))
    return first.backend != "local", first.injection == FREEZE


def _compared(main: Entries, name: str, other: Entries) -> str:
    """``compose, freeze: the same on 4.6.0, 5.3.3``, or the verdicts that differ from the row's."""
    same = [release for release in other if release in main and other[release].verdict is main[release].verdict]
    words = [f"the same on {', '.join(same)}"] if same else []
    words += [f"{release} {entry.verdict}" for release, entry in other.items() if release not in same]
    marks = name.partition("(")[2].rstrip(")")
    return f"{marks}: {'; '.join(words)}"


def ledger_document(ledger: Ledger) -> str:
    """A run's ``ledger.md``: the table, then each claim with its expectation, numbers and evidence by release."""
    parts = _overview(ledger)
    for (name, claim), entries in _by_claim(ledger).items():
        parts += _claim(ledger, name, claim, entries)
    return _document(parts)


def ledger_index(ledger: Ledger) -> str:
    """The record's ``LEDGER.md``: the table alone, whose claims link to their pages."""
    return _document(_overview(ledger, pages=PAGES))


def ledger_pages(ledger: Ledger) -> dict[str, str]:
    """A page for each claim, by its file's name: expectation, numbers and evidence by release."""
    parts: dict[str, list[str]] = {}
    for (name, claim), entries in _by_claim(ledger).items():
        page = parts.setdefault(f"{claim}.md", [f"# {_text(claim)}", "", "[All claims](../LEDGER.md)", ""])
        page += _claim(ledger, name, claim, entries)
    return {name: _document(page) for name, page in parts.items()}


def _overview(ledger: Ledger, pages: str = "") -> list[str]:
    return [
        "# Ledger",
        "",
        "What was measured for each claim, release by release. Written by `mqlab ledger --update RUN_DIR...` from "
        "[ledger.json](ledger.json); do not edit it by hand.",
        "",
        "A verdict holds for its release, on the host, the settings and the way of injection that stand beside it. "
        "*Undecided* is never a pass.",
        "",
        ledger_table(ledger, every=True, pages=pages),
        "",
        *_runs(ledger),
    ]


def _document(parts: Iterable[str]) -> str:
    return "\n".join(parts).rstrip() + "\n"


def between_markers(document: str, table: str, name: str) -> str:
    """``document`` with ``table`` between the two markers. Raises LedgerError unless each is there once, in order."""
    if document.count(BEGIN) != 1 or document.count(END) != 1 or document.index(BEGIN) > document.index(END):
        raise LedgerError(
            f"{name} must have the line {BEGIN} once and the line {END} once after it",
            advice="Put the two markers where the table shall stand.",
        )
    before, rest = document.split(BEGIN)
    after = rest.split(END)[1]
    return f"{before}{BEGIN}\n{table}\n{END}{after}"


def _by_claim(ledger: Ledger) -> dict[tuple[str, str], Entries]:
    """Entries by release, for each name and claim; the name has what tells entries of one claim and release apart."""
    backends = {finding.backend for finding in ledger.findings}
    cells: dict[tuple[str, str, str], set[str]] = {}
    for finding in ledger.findings:
        cells.setdefault((finding.claim, finding.release, finding.backend), set()).add(finding.injection)
    several_ways = {claim for (claim, _, _), ways in cells.items() if len(ways) > 1}
    rows: dict[tuple[str, str], Entries] = {}
    for finding in ledger.findings:
        marks = [finding.backend] if len(backends) > 1 else []
        marks += [finding.injection] if finding.claim in several_ways else []
        name = f"{finding.claim} ({', '.join(marks)})" if marks else finding.claim
        rows.setdefault((name, finding.claim), {})[finding.release] = finding
    return dict(sorted(rows.items(), key=lambda row: natural_key(row[0][0])))


def _verdict(entry: LedgerFinding) -> str:
    words = f"**{entry.verdict}**" if entry.verdict is VerdictKind.REFUTED else str(entry.verdict)
    if entry.verdict is VerdictKind.UNDECIDED:
        return f"{words} ({_text(entry.reason)})" if entry.reason else words
    return words if entry.verdict is entry.expected else f"{words}, expected {entry.expected}"


def _sentences(entries: Sequence[LedgerFinding], releases_total: int) -> str:
    """One sentence where all releases share it, else one with its releases in front."""
    by_summary: dict[str, list[str]] = {}
    for entry in entries:
        if entry.summary:
            by_summary.setdefault(entry.summary, []).append(entry.release)
    if len(by_summary) == 1 and releases_total == len(next(iter(by_summary.values()))):
        return _text(next(iter(by_summary)))
    return "<br>".join(f"{_text(', '.join(releases))}: {_text(summary)}" for summary, releases in by_summary.items())


def _runs(ledger: Ledger) -> list[str]:
    if not ledger.runs:
        return []
    rows = [_row(["run", "commit", "effort", "seed", "backend", "cores", "Java"]), _row(["---"] * 7)]
    for run in ledger.runs:
        cores = str(run.host.cores) if run.host.cores is not None else ""
        cells = [run.run, run.commit[:12], run.effort, str(run.seed), run.backend, cores, run.host.java]
        rows.append(_row(_text(cell) for cell in cells))
    return ["## Runs", "", *rows, ""]


def _claim(ledger: Ledger, name: str, claim: str, entries: dict[str, LedgerFinding]) -> list[str]:
    text = ledger.claims.get(claim)
    lines = [f"## {_text(name)}", ""]
    if text is not None:
        lines += [f"Article {_text(text.article)}, incident `{_code(text.incident)}`: {_text(text.says)}", ""]
    for release, entry in entries.items():
        lines += _release(name, release, entry)
    return lines


def _release(name: str, release: str, entry: LedgerFinding) -> list[str]:
    lines = [
        f"### {_text(name)} on {_text(release)}: {_verdict(entry)}",
        "",
        _text(entry.summary) or "No sentence was recorded.",
        "",
        f"- expected from the code: {entry.expected}. {_text(entry.expected_from_code)}",
        f"- {entry.trials} valid trials, run `{_code(entry.run)}`, client {_text(entry.client)}, "
        f"injection {_text(entry.injection)}, rule of commit `{_code(entry.rule_commit[:12])}`",
        *(f"- {_text(note)}" for note in entry.validity),
        "",
    ]
    if entry.measures:
        rows = [
            _row(["measure", "arm", "cell", "units", "values", "median", "95 % interval", "p90", "p99", "range"]),
            _row(["---"] * 10),
        ]
        for measure in entry.measures:
            values = f"{measure.n}, {measure.censored} censored" if measure.censored else str(measure.n)
            span = (
                ""
                if measure.min is None or measure.max is None
                else f"{number(measure.min)} to {quantity(measure.max, measure.unit)}"
            )
            cells = [
                measure.name,
                measure.arm,
                cell_label(measure.params),
                str(measure.independent),
                values,
                quantity(measure.p50, measure.unit),
                interval(measure.low, measure.high, measure.unit),
                number(measure.p90),
                number(measure.p99),
                span,
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
