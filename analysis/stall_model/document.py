"""Predicted against measured, cell by cell, as text."""

from __future__ import annotations

from pathlib import Path

from analysis.stall_model.model import Score
from harness.errors import RunDirectoryError
from harness.printable import printable
from harness.rundir.decode import read_document
from harness.rundir.files import replace_file, write_json

FILE = "model.json"


def write_score(run_dir: Path, score: Score) -> None:
    """Write ``model.json`` and ``model.md`` into the run directory; nothing where the run had no stalled append."""
    if score.rows:
        write_json(run_dir / FILE, score.to_json())
        replace_file(run_dir / "model.md", score_document(score))


def load_score(run_dir: Path) -> Score:
    """What ``write_score`` wrote. Raises RunDirectoryError when there is none, or it is not that."""
    path = run_dir / FILE
    if not path.exists():
        raise RunDirectoryError(
            f"{path} does not exist",
            advice="Give the folder of an analysed run of append-stall; mqlab runs analyze RUN_DIR analyses it.",
        )
    return read_document(Score, path)


def score_document(score: Score) -> str:
    """A Markdown table with a row for each cell and keyword that takes or should take a request, and what was left out."""
    cells, within = score.cells()
    lines = [
        "# Refused requests: predicted and measured",
        "",
        f"{within} of {cells} cells are within the larger of 5 %, one period of the cleaner times the rate, and "
        "the 95 % Poisson interval, for every keyword.",
        "",
        "| release | injection | arm | stall | rate | wait | busy | keyword | trials | predicted | measured | allowed | |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    for row in score.rows:
        if row.predicted or row.measured:
            texts = (
                row.release,
                row.injection,
                row.arm,
                f"{row.params.get('stall_ms')} ms",
                f"{row.params.get('rate_hz')}/s",
                f"{row.wait_ms:g} ms",
                f"{row.busy_ms:g} ms",
                row.keyword,
                str(row.trials),
                f"{row.predicted:.1f}",
                f"{row.measured:.1f}",
                f"{row.allowed:.1f}",
                "" if row.within else "**outside**",
            )
            lines.append(f"| {' | '.join(map(printable, texts))} |")
    lines += [
        "",
        "Left out: " + ("none." if not score.left_out else ""),
        *(f"- {printable(words)}" for words in score.left_out),
    ]
    return "\n".join(lines) + "\n"
