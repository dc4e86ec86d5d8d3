"""The page over all runs of a folder: a list with how far each is, and two runs side by side. Reads, and writes nothing."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from analysis.ledger.lines import in_order
from analysis.report.html import asset, environment
from analysis.verdicts.document import load_report_data
from analysis.verdicts.order import natural_key
from analysis.verdicts.words import tally, tally_words, verdict_words
from harness.errors import LabError
from harness.model.findings import Finding
from harness.rundir.manifest import Manifest, read_manifest

REFRESH_S = 2
"""A page with a running run asks again after so many seconds."""


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
    """The run directories of a folder, the newest first; none where there is no such folder."""
    if not folder.is_dir():
        return []
    return sorted((path.name for path in folder.iterdir() if (path / "manifest.json").is_file()), reverse=True)


def runs_of(folder: Path) -> list[RunView]:
    """Every run of a folder, the newest first."""
    return [_view(folder / name) for name in run_names(folder)]


def _view(path: Path) -> RunView:
    try:
        manifest = read_manifest(path)
    except LabError as error:
        return RunView(name=path.name, problem=str(error))
    status = {trial: _status(path / "trials" / Path(trial).name / "trial.json") for trial in manifest.trials}
    try:
        verdicts = tally_words(tally(load_report_data(path).findings))
    except LabError:
        verdicts = ""
    return RunView(
        name=path.name,
        manifest=manifest,
        ended=sum(one in ("complete", "failed", "interrupted") for one in status.values()),
        now=tuple(trial for trial, one in status.items() if one == "running"),
        verdicts=verdicts,
        has_page=(path / "report.html").is_file(),
    )


def _status(file: Path) -> str:
    """Of a trial, which is planned for as long as it has no file."""
    try:
        return str(json.loads(file.read_text(encoding="utf-8")).get("status", "planned"))
    except (OSError, ValueError, AttributeError):
        return "planned"


def pairs(left: Path, right: Path) -> list[Pair]:
    """The claims of two analysed runs side by side; those that differ come first. Raises RunDirectoryError."""
    by_cell = [
        {(one.claim, one.release, in_order(one.injection)): one for one in load_report_data(path).findings}
        for path in (left, right)
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
    found = pairs(folder / left, folder / right)
    return _template("compare.html.j2", left=left, right=right, pairs=found, words=verdict_words)


def _template(name: str, **values: object) -> str:
    return environment().get_template(name).render(style=asset("style.css"), **values)
