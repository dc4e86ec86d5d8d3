"""Everything that a run's folder gets for its readers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from analysis.ledger import markdown
from analysis.report import html
from analysis.report.document import ReportData, load_report_data
from analysis.report.junit import junit_xml
from harness.model.findings import Finding
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
    ledger = markdown.ledger_document(data.findings)
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
