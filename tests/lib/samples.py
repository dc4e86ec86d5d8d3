"""The sample of what an analysis leaves for reports, as one document: ``tests/data/report/sample.json``."""

from __future__ import annotations

import copy
import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import scenarios
from analysis.ledger.runs import FINDINGS, CountedTrial
from analysis.report.collect import incidents_shown
from analysis.report.document import PAGE_DATA, ReportData, load_report_data

Document = dict[str, Any]

_SAMPLE: Document = json.loads(
    (Path(__file__).parents[1] / "data" / "report" / "sample.json").read_text(encoding="utf-8")
)


def sample() -> Document:
    """A copy of its own, to change."""
    document = copy.deepcopy(_SAMPLE)
    found = [scenarios.find(name) for name in document["manifest"]["incidents"]]
    document["incidents"] = {name: asdict(shown) for name, shown in incidents_shown(found).items()}
    return document


def short_sample() -> Document:
    """Of a quick run that leaves the arms of ORDER-01 out, and of ORDER-06, whose rule has an arm that nothing makes yet."""
    document = sample()
    document["manifest"]["budget"] = "quick"
    lacks = {"verdict": "undecided", "reason": "not exercised"}
    nothing = {**lacks, "estimate": None, "low": None, "high": None, "tries": 0, "words": "not measured"}
    for finding in document["findings"]:
        parts = finding["parts"]
        if finding["claim"] == "ORDER-01":
            finding.update(lacks, trials=0, figures=[], parts=[{**one, **nothing} for one in parts])
        elif finding["claim"] == "ORDER-06":
            parts.append({**parts[0], **nothing, "name": "an arm to come"})
            finding.update(lacks, summary=f"Undecided (not exercised): {finding['summary']}")
    return document


def write_document(run: Path, document: Document) -> Path:
    """Writes it where an analysis of the run would; returns the run."""
    findings, page = run / FINDINGS, run / PAGE_DATA
    findings.parent.mkdir(parents=True, exist_ok=True)
    head = {
        name: _SAMPLE["manifest"].get(name)
        for name in ("run", "commit", "created", "status", "host", "backend", "seed")
    }
    lines = [{**head, "analysis_commit": "", "jars": {}, "rules": {}}, *document["trials"], *document["findings"]]
    findings.write_text("".join(f"{json.dumps(line)}\n" for line in lines), encoding="utf-8")
    beside = {key: value for key, value in document.items() if key not in ("trials", "findings")}
    page.write_text(json.dumps(beside), encoding="utf-8")
    return run


def loaded(run: Path, document: Document) -> ReportData:
    return load_report_data(write_document(run, document))


def counted(**told: Any) -> CountedTrial:
    """A trial of which that is told."""
    usual = {
        "trial": "t", "experiment": "", "client": "java", "backend": "local", "injection": "none", "deployment": "d",
        "attempt": 1, "seed": 1, "status": "complete",
    }  # fmt: skip
    return CountedTrial(**{**usual, **told})
