"""The ledger for people: its table, and a run's own ``ledger.md``."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from analysis.ledger.absent import Reasons, absence
from analysis.ledger.lines import as_recorded, ordered
from analysis.verdicts.numbers import cell_label, interval, number, printable, quantity, shortened
from analysis.verdicts.order import natural_key
from analysis.verdicts.words import expectation, unlike
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import FREEZE

Entries = dict[str, Finding]
"""By release."""


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
    rows = [table_row(head), table_row("---" for _ in head)]
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
        rows.append(table_row([_text(name), _text(says), *verdicts, _sentences(told, len(main)), *elsewhere]))
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


def _document(parts: Iterable[str]) -> str:
    return "\n".join(parts).rstrip() + "\n"


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
            table_row(["measure", "arm", "cell", "tries", "median", "interval", "range"]),
            table_row(["---"] * 7),
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
            rows.append(table_row(_text(cell) for cell in cells))
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


def table_row(cells: Iterable[str]) -> str:
    """A row of a Markdown table, of cells that are made harmless already."""
    return f"| {' | '.join(cells)} |"


def _text(text: str) -> str:
    """Text on one line that neither Markdown nor HTML reads as anything else, in a table or outside of one."""
    line = " ".join(printable(text).split())
    line = line.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return re.sub(r"([\\`*_\[\]|~])", r"\\\1", line)


def _code(text: str) -> str:
    return " ".join(printable(text).split()).replace("`", "'").replace("|", "/")
