"""Predicted against measured, cell by cell, as text."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from analysis.stall_model.model import Score
from harness.errors import RunDirectoryError
from harness.rundir.files import replace_file

FILE = "model.json"


def write_score(run_dir: Path, score: Score) -> None:
    """Write ``model.json`` and ``model.md`` into the run directory; nothing where the run had no stalled append."""
    if score.rows:
        replace_file(run_dir / FILE, json.dumps(score.to_json(), indent=1) + "\n")
        replace_file(run_dir / "model.md", score_document(score.to_json()))


def load_score(run_dir: Path) -> dict[str, object]:
    """What ``write_score`` wrote. Raises RunDirectoryError when there is none."""
    path = run_dir / FILE
    try:
        found: dict[str, object] = json.loads(path.read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise RunDirectoryError(
            f"{path} cannot be read: {error}",
            advice="Give the folder of an analysed run of append-stall; mqlab analyze RUN_DIR analyses it.",
        ) from error
    return found


def score_document(score: Mapping[str, object]) -> str:
    """A Markdown table with a row for each cell and keyword that takes or should take a request, and what was left out."""
    lines = [
        "# Refused requests: predicted and measured",
        "",
        f"{score['within']} of {score['cells']} cells are within the larger of 5 %, one period of the cleaner times the rate, and "
        "the 95 % Poisson interval, for every keyword.",
        "",
        "| release | injection | arm | stall | rate | wait | busy | keyword | trials | predicted | measured | allowed | |",
        "| --- | --- | --- | ---: | ---: | ---: | ---: | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    rows = score["rows"]
    assert isinstance(rows, list)
    for row in rows:
        if row["predicted"] or row["measured"]:
            params = row["params"]
            cells = (
                row["release"],
                row["injection"],
                row["arm"],
                f"{params.get('stall_ms')} ms",
                f"{params.get('rate_hz')}/s",
                f"{row['wait_ms']:g} ms",
                f"{row['busy_ms']:g} ms",
                row["keyword"],
                str(row["trials"]),
                f"{row['predicted']:.1f}",
                f"{row['measured']:.1f}",
                f"{row['allowed']:.1f}",
                "" if row["within"] else "**outside**",
            )
            lines.append(f"| {' | '.join(cells)} |")
    left_out = score["left_out"]
    assert isinstance(left_out, list)
    lines += ["", "Left out: " + ("none." if not left_out else ""), *(f"- {words}" for words in left_out)]
    return "\n".join(lines) + "\n"
