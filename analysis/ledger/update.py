"""The ledger: one entry for each claim, release, backend and way of injection, with its verdict, numbers and evidence.

A run has its own ledger.json. The committed record ``scenarios/ledger.json`` collects the newest full run of every entry;
``LEDGER.md``, its page for each claim and the README's table are made from it. An entry may have keys that a reader can
leave alone: ``claims`` (texts), ``censored`` and ``operation``.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from analysis.ledger import markdown
from analysis.ledger.ledger import Ledger, LedgerUpdate, ledger_json, ledger_of, load_ledger, ordered, run_of
from analysis.verdicts.document import ReportData, load_report_data
from analysis.verdicts.order import natural_key
from harness.errors import LedgerError
from harness.rundir.files import replace_file


def update_ledger(target_json: Path, target_md: Path, run_dirs: Sequence[Path]) -> LedgerUpdate:
    """Take the findings of full, complete runs of a clean tree into the committed ledger.

    Entries that the runs did not cover stay as they are; of two runs that cover the same one the newer wins, in
    whatever order they are named. Nothing is written unless every run is acceptable. Raises LedgerError, and
    RunDirectoryError for what is no analysed run directory.
    """
    before = load_ledger(target_json)
    if not run_dirs:
        raise LedgerError("no run directory was named", advice="mqlab ledger --update RUN_DIR...")
    runs = sorted((_acceptable(run_dir) for run_dir in run_dirs), key=lambda data: natural_key(data.manifest.run))
    old = {finding.cell(): finding for finding in before.findings}
    new = {finding.cell(): finding for data in runs for finding in ledger_of(data).findings}
    claims = dict(before.claims)
    for data in runs:
        claims.update(ledger_of(data).claims)
    ledger = ordered(
        runs=[*before.runs, *(run_of(data.manifest) for data in runs)], claims=claims, findings={**old, **new}.values()
    )
    replace_file(target_json, ledger_json(ledger))
    replace_file(target_md, markdown.ledger_index(ledger))
    pages = target_md.parent / markdown.PAGES
    pages.mkdir(exist_ok=True)
    for name, text in markdown.ledger_pages(ledger).items():
        replace_file(pages / name, text)
    cells = [finding.cell() for finding in ledger.findings]
    return LedgerUpdate(
        ledger=ledger,
        added=tuple(cell for cell in cells if cell in new and cell not in old),
        replaced=tuple(cell for cell in cells if cell in new and cell in old),
        kept=tuple(cell for cell in cells if cell not in new),
        changed=tuple(cell for cell in cells if cell in new and cell in old and new[cell].verdict != old[cell].verdict),
    )


def rewrite_readme(readme: Path, ledger: Ledger) -> bool:
    """Put the ledger's table between the README's markers; True when that changed the file. Raises LedgerError."""
    try:
        before = readme.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise LedgerError(f"{readme} cannot be read: {error}") from error
    table = markdown.ledger_table(ledger, pages=f"scenarios/{markdown.PAGES}")
    after = markdown.between_markers(before, table, str(readme))
    if after == before:
        return False
    replace_file(readme, after)
    return True


def _acceptable(run_dir: Path) -> ReportData:
    data = load_report_data(run_dir)
    manifest = data.manifest
    again = f"mqlab verify {' '.join(manifest.incidents)} --release {','.join(manifest.releases)}"
    if manifest.dirty:
        raise LedgerError(
            f"{run_dir}: run {manifest.run} was made from a tree with uncommitted changes",
            advice=f"Commit, then run again: {again}",
        )
    if manifest.status != "complete":
        raise LedgerError(
            f"{run_dir}: run {manifest.run} is {manifest.status}, not complete",
            advice=f"Finish it: mqlab verify --resume {run_dir}",
        )
    if manifest.effort != "full":
        raise LedgerError(
            f"{run_dir}: run {manifest.run} was made with {manifest.effort} effort, the ledger records full runs only",
            advice=f"Run with full effort: {again}",
        )
    if not data.findings:
        raise LedgerError(
            f"{run_dir}: run {manifest.run} has no findings", advice=f"Analyse it: mqlab analyze {run_dir}"
        )
    return data
