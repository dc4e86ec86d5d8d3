"""The page over all runs of a folder: a list with how far each is, and two runs side by side. Reads, and writes nothing.

A run may be somebody else's, and mean harm. Of each only its own regular files are read, never what a link leads to, and one that
cannot be read is a line that says so: it takes no other run from the list.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from analysis.ledger.lines import in_order
from analysis.ledger.runs import FINDINGS
from analysis.report.document import PAGE_DATA, load_findings
from analysis.report.html import asset, environment
from analysis.verdicts.order import natural_key
from analysis.verdicts.words import tally, tally_words, verdict_words
from harness.bounded import content_of, parsed
from harness.errors import LabError, RunDirectoryError
from harness.model.findings import Finding
from harness.rundir.manifest import Manifest, read_manifest
from harness.rundir.own_files import opened_own, own_file

REFRESH_S = 2
"""A page with a running run asks again after so many seconds."""

MANIFEST, REPORT = "manifest.json", "report.html"
TRIAL_BYTES_MAX, REPORT_BYTES_MAX = 2**24, 2**26
"""A trial's record has some kibibytes, a report of all incidents 3 MiB."""
TRIALS_MAX = 50_000
"""A manifest may name millions of trials that are not there; each would be looked for."""


@dataclass(frozen=True, kw_only=True)
class RunView:
    """One run. ``problem`` says why nothing of it can be read; ``ended`` counts trials, ``now`` names those that run."""

    name: str
    manifest: Manifest | None = None
    problem: str = ""
    ended: int = 0
    now: tuple[str, ...] = ()
    verdicts: str = ""
    has_page: bool = False

    @property
    def is_running(self) -> bool:
        """By its manifest; a run that was killed says so, too, until it is resumed."""
        return self.manifest is not None and self.manifest.status == "running"

    @property
    def address(self) -> str:
        """Its name in an address: of any bytes that a file system takes."""
        return quote(os.fsencode(self.name), safe="")


@dataclass(frozen=True, kw_only=True)
class Pair:
    """A claim in both runs; None where one has not tried it."""

    claim: str
    release: str
    injection: str
    left: Finding | None
    right: Finding | None

    @property
    def differs(self) -> bool:
        """Only where both have decided, or not decided, otherwise."""
        return self.left is not None and self.right is not None and self.left.verdict is not self.right.verdict


def run_names(folder: Path) -> list[str]:
    """The run directories of a folder that may be read, the newest first; none where there is no such folder."""
    return [name for name in _names(folder) if own_file(folder, name, MANIFEST)]


def read_report(folder: Path, name: str) -> str:
    """The report of a run of the folder as it is.

    Raises OSError: there is none, it is not a file of the run's own, or longer than any.
    """
    with opened_own(folder, name, REPORT) as file:
        return content_of(file, REPORT_BYTES_MAX).decode("utf-8", "replace")


def runs_of(folder: Path) -> list[RunView]:
    """Every run of a folder, the newest first, with those that only a link leads to."""
    return [_view(folder, name) for name in _names(folder)]


def _names(folder: Path) -> list[str]:
    try:
        entries = list(folder.iterdir())
    except OSError:
        return []
    return sorted((path.name for path in entries if os.path.lexists(path / MANIFEST)), reverse=True)


def _view(folder: Path, name: str) -> RunView:
    path = folder / name
    if own_file(folder, name, MANIFEST) is None:
        return RunView(name=name, problem="a link leads to it or to its manifest, and links are not followed")
    try:
        manifest = read_manifest(path)
    except (LabError, OSError, ValueError, RecursionError) as error:
        return RunView(name=name, problem=str(error))
    if len(manifest.trials) > TRIALS_MAX:
        return RunView(name=name, problem=f"it names more than {TRIALS_MAX:,} trials")
    status = {trial: _status(path, trial) for trial in manifest.trials}
    try:
        verdicts = tally_words(tally(_findings(folder, name)))
    except (LabError, OSError, ValueError, RecursionError):
        verdicts = ""
    return RunView(
        name=name,
        manifest=manifest,
        ended=sum(state in ("complete", "failed", "interrupted") for state in status.values()),
        now=tuple(trial for trial, state in status.items() if state == "running"),
        verdicts=verdicts,
        has_page=own_file(folder, name, REPORT) is not None,
    )


def _status(run: Path, trial: str) -> str:
    """Of a trial, which is planned for as long as it has no file."""
    try:
        with opened_own(run, "trials", trial, "trial.json") as file:
            return str(parsed(content_of(file, TRIAL_BYTES_MAX).decode()).get("status", "planned"))
    except (OSError, ValueError, AttributeError):
        return "planned"


def _findings(folder: Path, name: str) -> tuple[Finding, ...]:
    """Raises RunDirectoryError: it is not analysed, or what an analysis has left there is not the run's own file."""
    for file in (FINDINGS, PAGE_DATA):
        if own_file(folder, name, *file.parts) is None and os.path.lexists(folder / name / file):
            raise RunDirectoryError(f"a link leads to {file} of {name}, and links are not followed")
    return load_findings(folder / name).findings


def pairs(folder: Path, left: str, right: str) -> list[Pair]:
    """The claims of two analysed runs side by side; those that differ come first. Raises RunDirectoryError."""
    by_cell = [
        {(finding.claim, finding.release, in_order(finding.injection)): finding for finding in _findings(folder, name)}
        for name in (left, right)
    ]
    found = [
        Pair(claim=claim, release=release, injection=injection, left=by_cell[0].get(cell), right=by_cell[1].get(cell))
        for cell in {*by_cell[0], *by_cell[1]}
        for claim, release, injection in [cell]
    ]
    return sorted(
        found, key=lambda one: (not one.differs, natural_key(one.claim), natural_key(one.release), one.injection)
    )


def list_page(folder: Path, *, still: bool = False) -> str:
    """All runs, each with its progress, its verdicts and its page.

    Asks again by itself while one is running, which undoes what was chosen in it; ``still`` does not.
    """
    runs = runs_of(folder)
    running = any(run.is_running for run in runs)
    refresh = REFRESH_S if running and not still else 0
    return _template("runs.html.j2", folder=str(folder), runs=runs, running=running, refresh_s=refresh)


def compare_page(folder: Path, left: str, right: str) -> str:
    """Two runs of the folder side by side. Raises RunDirectoryError where one is not analysed."""
    return _template("compare.html.j2", left=left, right=right, pairs=pairs(folder, left, right), words=verdict_words)


def _template(name: str, **values: object) -> str:
    return environment().get_template(name).render(style=asset("style.css"), **values)
