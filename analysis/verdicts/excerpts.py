"""Evidence lines in their own words: each cited line is read from the file that it is cited from."""

from __future__ import annotations

import contextlib
import gzip
import itertools
import zlib
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from pyspark.sql import SparkSession

from analysis.hadoop import bring
from analysis.verdicts.evidence import without_evidence
from harness.bounded import lines_of, opened
from harness.model.findings import EvidenceLine, Finding

EXCERPT_LENGTH_MAX = 2_000


def with_excerpts(spark: SparkSession, findings: Sequence[Finding], run_path: Path) -> list[Finding]:
    """The findings with the text of every cited line; a line that is not there is not evidence and is left out.

    Cited histories of a run elsewhere are brought here.

    A finding that loses all of its lines becomes undecided. One that cites none stays as it is.
    """
    wanted: dict[str, set[int]] = defaultdict(set)
    for finding in findings:
        for line in finding.evidence:
            wanted[line.file].add(line.line)
    bring(spark, run_path, wanted)
    texts = {file: _lines(run_path / file, numbers) for file, numbers in wanted.items()}
    return [_filled(finding, texts) for finding in findings]


def _filled(finding: Finding, texts: dict[str, dict[int, str]]) -> Finding:
    if not finding.evidence:
        return finding
    found: list[EvidenceLine] = []
    for line in finding.evidence:
        text = texts[line.file].get(line.line)
        if text is not None:
            found.append(replace(line, excerpt=text))
    return replace(finding, evidence=tuple(found)) if found else without_evidence(finding)


def _lines(path: Path, numbers: set[int]) -> dict[int, str]:
    """Those of the file that can be read: what is no file has none, nor has what stands behind a line without an end."""
    found: dict[int, str] = {}
    with contextlib.suppress(OSError, EOFError, zlib.error), opened(path) as file:
        stream = cast(BinaryIO, gzip.GzipFile(fileobj=file)) if path.suffix == ".gz" else file
        for number, line in enumerate(itertools.islice(lines_of(stream), max(numbers)), start=1):
            if number in numbers:
                found[number] = line.decode("utf-8", "replace").rstrip("\r\n")[:EXCERPT_LENGTH_MAX]
    return found
