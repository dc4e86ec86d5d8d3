"""What the committed runs and the record are found to show: verdict, counts, parts and figures of each finding, a line each.

A change of the code that judges changes none of it. Where one is meant to, the lines that it makes replace those of the data file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analysis.ledger.lines import plain
from harness.model.findings import Finding
from harness.paths import PACKAGES

KEPT = PACKAGES / "tests" / "data" / "kept_findings.jsonl"
RECORD = "the record"

_COUNTS = ("right", "wrong", "line", "deployments", "tries", "events", "estimate", "low", "high", "values")


def of_run(name: str, findings: Iterable[Finding]) -> list[str]:
    """A run's lines, in the order of its findings."""
    return [_line(name, one, of_figure=("tries", "n", "p50", "p90", "p99")) for one in findings]


def of_load(name: str, findings: Iterable[Finding]) -> list[str]:
    """A load's lines, in the order of its findings."""
    return [
        _text({"run": name, "claim": one.claim, "verdict": str(one.verdict), "summary": one.summary})
        for one in findings
    ]


def of_record(lines: Iterable[Finding]) -> list[str]:
    """The ledger's lines; of sentence, parts and figures the SHA-256 alone, since the ledger is committed itself."""
    told = (json.loads(_line(RECORD, one, of_figure=("tries", "p50"))) for one in lines)
    shown = ("summary", "parts", "figures")
    return [
        _text(
            {
                **{name: value for name, value in one.items() if name not in shown},
                "shown": _sha256([one["summary"], _sha256(one["parts"]), _sha256(one["figures"])]),
            }
        )
        for one in told
    ]


def kept(name: str) -> list[str]:
    """The data file's lines of a run, or of the record."""
    return [line for line in KEPT.read_text("utf-8").splitlines() if json.loads(line)["run"] == name]


def require_kept(name: str, found: list[str], folder: Path) -> None:
    """Assert that the lines are the data file's. Those that were found are left in the folder, to be compared."""
    was = kept(name)
    if found != was:
        (folder / KEPT.name).write_text("".join(f"{line}\n" for line in found), "utf-8")
    other = [line for line in found if line not in was]
    gone = [line for line in was if line not in found]
    assert (other, gone) == ([], []), f"what was found of {name} is in {folder / KEPT.name}"
    assert found == was, f"the order of {name} is another"


def _line(name: str, one: Finding, of_figure: Iterable[str]) -> str:
    told = {at: getattr(one, at) for at in ("claim", "release", "backend", "injection", "reason", "summary", "trials")}
    parts = [
        [part.name, str(part.verdict), part.reason, part.words, *(getattr(part, count) for count in _COUNTS)]
        for part in one.parts
    ]
    names = ("name", "arm", "params", "unit", *of_figure, "min", "max", "censored")
    drawn = sorted(([getattr(figure, at) for at in names] for figure in one.figures), key=_text)
    return _text({"run": name, **told, "verdict": str(one.verdict), "parts": parts, "figures": drawn})


def _text(value: object) -> str:
    return json.dumps(plain(value), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _sha256(value: Any) -> str:
    return hashlib.sha256(_text(value).encode()).hexdigest()
