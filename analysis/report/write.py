"""Everything that a run's folder gets for its readers, and the exit code that tells a pipeline."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.ledger import markdown
from analysis.ledger.lines import as_recorded, ordered
from analysis.report import html
from analysis.report.document import ReportData, load_report_data
from analysis.report.junit import junit_xml
from analysis.verdicts.words import is_mismatch
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind
from harness.rundir.files import replace_file
from harness.rundir.own_files import require_own_files


@dataclass(frozen=True, kw_only=True)
class ReportPaths:
    """Where the report of a run lies."""

    page: Path
    ledger_md: Path
    junit: Path


def write_reports(run_dir: Path, record: Sequence[Finding] = (), data: ReportData | None = None) -> ReportPaths:
    """Write report.html, ledger.md and junit.xml into the run directory, each atomically.

    The page of a short run says how its findings stand to the ``record``. Without ``data`` they are read from the directory.

    Raises :class:`harness.errors.RunDirectoryError` when the run was not analysed or its data are of another schema.
    """
    require_own_files(run_dir)
    data = data or load_report_data(run_dir)
    paths = ReportPaths(
        page=run_dir / "report.html",
        ledger_md=run_dir / "ledger.md",
        junit=run_dir / "junit.xml",
    )
    page = html.render(data, record)
    ledger = markdown.ledger_document(ordered(map(as_recorded, data.findings)))
    junit = junit_xml(data)
    replace_file(paths.page, page)
    replace_file(paths.ledger_md, ledger)
    replace_file(paths.junit, junit)
    return paths


def write_page(run_dir: Path, data: ReportData | None = None) -> Path:
    """Write report.html and junit.xml alone, for a run that no ledger takes; returns the page's path. As above otherwise."""
    require_own_files(run_dir)
    data = data or load_report_data(run_dir)
    page, junit = html.render(data), junit_xml(data)
    replace_file(run_dir / "report.html", page)
    replace_file(run_dir / "junit.xml", junit)
    return run_dir / "report.html"


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
