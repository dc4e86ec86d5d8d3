"""The sample of what an analysis leaves for reports: ``tests/data/report/report_data.json``."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

from analysis.verdicts.document import ReportData, load_report_data

Document = dict[str, Any]

_SAMPLE: Document = json.loads(
    (Path(__file__).parents[1] / "data" / "report" / "report_data.json").read_text(encoding="utf-8")
)


def sample() -> Document:
    """A copy of its own, to change."""
    return copy.deepcopy(_SAMPLE)


def write_document(run: Path, document: Document) -> Path:
    """Writes it where an analysis of the run would; returns the run."""
    target = run / "analysis" / "report_data.json"
    target.parent.mkdir(parents=True, exist_ok=True)
    target.write_text(json.dumps(document), encoding="utf-8")
    return run


def loaded(run: Path, document: Document) -> ReportData:
    return load_report_data(write_document(run, document))
