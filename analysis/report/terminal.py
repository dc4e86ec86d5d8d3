"""The end of a command: its summary, a rich table on a terminal and plain lines in a pipe, and the exit code."""

from __future__ import annotations

from collections.abc import Sequence

from rich.table import Table
from rich.text import Text

from analysis.ledger.runs import CountedTrial
from analysis.report.claims import not_counted
from analysis.report.document import ReportData
from analysis.report.injections import by_injection, claim_name, told_apart
from analysis.verdicts.numbers import printable
from analysis.verdicts.words import (
    SYMBOLS,
    in_order,
    is_mismatch,
    left_open,
    releases_of,
    tally,
    tally_words,
    unlike,
    verdict_words,
)
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind

STYLES = {VerdictKind.CONFIRMED: "blue", VerdictKind.REFUTED: "bold yellow", VerdictKind.UNDECIDED: "dim"}
"""Blue and yellow stay apart for every kind of colour vision; the words carry the meaning anyway."""

REASONS_MAX = 10
"""A terminal shows so many reasons for which trials do not count; the page has all of them."""


def summary_table(findings: Sequence[Finding]) -> Table:
    """Claims by releases; a cell has symbol and words, its expectation where the measurement differs, or that none is stated."""
    releases = releases_of(findings)
    table = Table(title="Verdicts", caption=tally_words(tally(findings)), title_justify="left", caption_justify="left")
    table.add_column("incident", no_wrap=True)
    table.add_column("claim", no_wrap=True)
    for release in releases:
        table.add_column(Text(printable(release)))
    incident = ""
    for (of_incident, claim), row in _rows(findings).items():
        shown = of_incident if of_incident != incident else ""
        if shown and incident:
            table.add_section()
        incident = of_incident
        cells = [_cell(row[release]) if release in row else Text("not run", style="dim") for release in releases]
        table.add_row(Text(printable(shown)), Text(printable(claim)), *cells)
    return table


def summary_lines(findings: Sequence[Finding]) -> list[str]:
    """One line a finding, ``confirmed  ORDER-01  4.6.0  summary``, and the count at the end."""
    ordered = in_order(findings)
    apart = told_apart(ordered)
    rows = [(claim_name(one, apart), one.release, printable(verdict_words(one)), one.summary) for one in ordered]
    widths = [max(map(len, column)) for column in list(zip(*rows, strict=True))[:3]]
    padded = ([text.ljust(width) for text, width in zip(row, [*widths, 0], strict=True)] for row in rows)
    lines = [printable("  ".join(row)).replace("\n", " ").rstrip() for row in padded]
    return [*lines, tally_words(tally(findings))]


def trials_told(data: ReportData) -> list[str]:
    """How many trials count and why the others do not, each reason once for an arm; what else is notable is on the page."""
    counting, notable = sum(one.counts for one in data.trials), sum(bool(one.notes) for one in data.trials)
    if not data.trials or (counting == len(data.trials) and not notable):
        return []
    groups: dict[tuple[str, str], list[CountedTrial]] = {}
    for one in by_injection(data).trials:
        groups.setdefault((one.incident, one.release), []).append(one)
    why = [f"  {' on '.join(of)}, {words}" for of, trials in groups.items() for words in not_counted(trials)]
    told = f"; of {notable} something is notable, which the page's tables of trials tell" if notable else ""
    more = [f"  and {len(why) - REASONS_MAX} more, on the page"] if len(why) > REASONS_MAX else []
    return [f"{counting} of {len(data.trials)} trials count{told}.", *map(printable, why[:REASONS_MAX]), *more]


def exit_code(findings: Sequence[Finding], strict: bool) -> int:
    """0 for a written report; strict: 1 when a decided verdict differs from its expectation, else 2 when undecided.

    A strict run without any finding gives 2: nothing was decided, and that is never green.
    """
    if not strict:
        return EXIT_OK
    if any(map(is_mismatch, findings)):
        return EXIT_MISMATCH
    if not findings or any(finding.verdict is VerdictKind.UNDECIDED for finding in findings):
        return EXIT_UNDECIDED
    return EXIT_OK


def _rows(findings: Sequence[Finding]) -> dict[tuple[str, str], dict[str, Finding]]:
    apart = told_apart(findings)
    rows: dict[tuple[str, str], dict[str, Finding]] = {}
    for finding in in_order(findings):
        rows.setdefault((finding.incident, claim_name(finding, apart)), {})[finding.release] = finding
    return rows


def _cell(finding: Finding) -> Text:
    cell = Text(f"{SYMBOLS[finding.verdict]} {finding.status}", style=STYLES[finding.verdict])
    if finding.reason:
        cell.append(f"\n{printable(finding.reason)}", style="dim")
    if open_scopes := left_open(finding):
        cell.append(f"\n{printable(open_scopes)}", style="dim")
    if beside := unlike(finding):
        cell.append(f"\n{beside}", style="bold" if is_mismatch(finding) else "dim")
    return cell
