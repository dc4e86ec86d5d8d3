"""A finding told to a reader of a test's outcome: what was claimed, expected and measured, part by part."""

from __future__ import annotations

import math
from collections.abc import Iterator
from pathlib import Path

from analysis.report.document import ClaimText
from analysis.verdicts.words import expectation, verdict_words
from harness.model.findings import Finding
from harness.model.rules import Kind


def story(finding: Finding, text: ClaimText | None) -> Iterator[str]:
    """Its lines, without the evidence."""
    if text is not None:
        yield f"{'The article says' if text.article else 'Claim'}: {text.says}"
        yield f"Reading: {text.reading}"
    yield f"Expected from the code: {expectation(finding)}. {finding.expected_from_code}".rstrip()
    yield f"Measured: {finding.summary}"
    for part in finding.parts:
        if part.kind == Kind.THIS_RUN:
            continue  # What was measured says all of it.
        reason = f" ({part.reason})" if part.reason else ""
        yield (
            f"Part {part.name}: {part.verdict}{reason}, {plain(part.estimate)} [{plain(part.low)}, {plain(part.high)}] "
            f"must be {part.relation} {plain(part.bound)} {part.unit}, {part.tries or 0} tries"
        )


def evidence(finding: Finding) -> Iterator[str]:
    """The lines that it rests on, each with its place in the run directory."""
    return (f"{line.file}:{line.line}: {line.excerpt}" for line in finding.evidence)


def told(finding: Finding, text: ClaimText | None, run: Path) -> Iterator[str]:
    """The verdict, the story, and the evidence of a run that lies there."""
    yield verdict_words(finding)
    yield from story(finding, text)
    if finding.evidence:
        yield f"Evidence in {run}:"
        yield from evidence(finding)


def plain(value: float | None) -> str:
    """A number for a machine; ``none`` where there is none."""
    if value is None or math.isnan(value):
        return "none"
    return f"{value:.6g}"
