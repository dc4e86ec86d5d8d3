"""A recorded run of seven incidents comes to the figures that it came to before, measure by measure and cell by cell.

``tests/data/yardstick/run.json.xz`` holds two trials a cell (fewer groups, chatty logs without the lines that nothing asks
for) of runs of commit 1a6e474 on 4.6.0 and 5.3.3. Its two trials a cell are too few deployments for verdicts: rules are held
to hand-made tries (tests/unit/test_rules_both_ways.py). What is compared is everything below them: decoding, histories, log
parsers, checkers.

Of the incidents of which no sealed run is kept (test_sealed_runs.py compares the figures of those) one release is judged, in turn
the older and the newer one, or with ``YARDSTICK=whole`` of the environment all of both (``make campaign``).

``python -m tests.spark.test_yardstick`` writes ``figures.json`` anew; whoever changes a figure says in the commit why.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.ledger.runs import FINDINGS, read_lines
from harness.model.findings import Finding
from harness.paths import PACKAGES
from harness.rundir.files import replace_file
from tests.lib.packed_run import unpack_run
from tests.lib.sealed import packed_runs

DATA = PACKAGES / "tests" / "data" / "yardstick"
WHOLE = os.environ.get("YARDSTICK") == "whole"
RELEASES = ("4.6.0", "5.3.3")
KEPT = {"independent": "tries", "n": "n", "censored": "censored", "p50": "p50", "min": "min", "max": "max"}
"""What the data file calls the fields of a figure."""

Figures = dict[str, dict[str, float | None]]


def recorded() -> Figures:
    """Those that the copy came to when they were written."""
    figures: Figures = json.loads((DATA / "figures.json").read_text())
    return figures


def figures_of(findings: Sequence[Finding]) -> Figures:
    """By incident, release, injection, measure, arm and cell; several claims that read a measure there see the same of it."""
    figures: Figures = {}
    for finding in findings:
        for one in finding.figures:
            cell = ",".join(f"{name}={value}" for name, value in sorted(one.params.items()))
            of = (finding.incident, finding.release, finding.injection, one.name, one.arm, cell)
            told = {name: getattr(one, field) for name, field in KEPT.items()}
            rounded = {name: value if value is None else float(f"{value:.6g}") for name, value in told.items()}
            key = " ".join(map(str, of)).strip()
            assert figures.setdefault(key, rounded) == rounded, f"two claims see different figures of {key}"
    return dict(sorted(figures.items()))


def cells(whole: bool) -> tuple[str, ...]:
    """Incidents with the release of which they are judged, as trials' names begin."""
    incidents = sorted({key.split()[0] for key in recorded()})
    releases: dict[str, tuple[str, ...]] = dict.fromkeys(incidents, RELEASES)
    if not whole:
        sealed = {path.name.partition(".")[0] for path in packed_runs()}
        others = [name for name in incidents if name not in sealed]
        releases = {name: RELEASES[number % 2 :][:1] for number, name in enumerate(others)}
    return tuple(f"{incident}.{release}." for incident, of in releases.items() for release in of)


def analysed(run: Path, *, whole: bool) -> Figures:
    """Unpack the copy, judge it in a process of its own, and read its figures."""
    of = cells(whole)
    unpack_run(DATA / "run.json.xz", run, keep=lambda name: name.startswith(of))
    manifest = json.loads((run / "manifest.json").read_text())
    manifest["trials"] = [name for name in manifest["trials"] if name.startswith(of)]
    (run / "manifest.json").write_text(json.dumps(manifest))
    subprocess.run(
        [sys.executable, "-m", "mqlab", "runs", "analyze", str(run)],
        cwd=PACKAGES,
        capture_output=True,
        check=True,
        timeout=1700,
    )
    return figures_of(read_lines(run / FINDINGS).findings)


@pytest.mark.timeout(1800)
def test_the_copy_comes_to_the_figures_that_it_came_to_before(tmp_path: Path) -> None:
    of = tuple(cell.replace(".", " ", 1).removesuffix(".") + " " for cell in cells(WHOLE))
    before = {key: figures for key, figures in recorded().items() if key.startswith(of)}
    now = analysed(tmp_path / "run", whole=WHOLE)
    assert len({key.split()[0] for key in before}) == (7 if WHOLE else 4)
    assert len(before) > (1600 if WHOLE else 300)
    moved = {key: (before.get(key), now.get(key)) for key in {*before, *now} if before.get(key) != now.get(key)}
    assert not moved


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as folder:
        lines = [
            f"{json.dumps(key)}: {json.dumps(value)}"
            for key, value in analysed(Path(folder) / "run", whole=True).items()
        ]
    replace_file(DATA / "figures.json", "{\n" + ",\n".join(lines) + "\n}\n")
