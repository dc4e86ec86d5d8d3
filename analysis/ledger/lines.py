"""One finding a line: what ``scenarios/ledger.jsonl`` holds, loaded and written."""

from __future__ import annotations

import dataclasses
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from analysis.verdicts.numbers import printable
from analysis.verdicts.order import natural_key
from harness.bounded import parsed, read_whole, require_few_values, why
from harness.errors import LedgerError
from harness.model.findings import Finding
from harness.rundir.decode import DecodeError, decode

T = TypeVar("T")
Line = TypeVar("Line", bound=Finding)

LEDGER = "ledger.jsonl"

EXCERPT_LENGTH_MAX = 400
"""A remark of a broker is some 150 characters; what is longer is cut, since the committed file has to stay readable."""

_OF_A_RUN = ("n", "p90", "p99")
"""What a figure of a run tells and the record does not keep."""


def as_recorded(finding: Finding) -> Finding:
    """A run's finding as the record keeps it: without what is the run's own, and with excerpts of a bounded length."""
    return dataclasses.replace(
        finding,
        figures=tuple(dataclasses.replace(one, n=None, p90=None, p99=None) for one in finding.figures),
        evidence=tuple(dataclasses.replace(one, excerpt=_cut(printable(one.excerpt))) for one in finding.evidence),
    )


def _cut(excerpt: str) -> str:
    if len(excerpt) <= EXCERPT_LENGTH_MAX:
        return excerpt
    return f"{excerpt[: EXCERPT_LENGTH_MAX - 1]}\N{HORIZONTAL ELLIPSIS}"


def ordered(lines: Iterable[Line]) -> list[Line]:
    """By claim, release, backend and injection."""
    return sorted(lines, key=lambda one: (natural_key(one.claim), natural_key(one.release), one.backend, one.injection))


def in_order(injections: str) -> str:
    """A list of injections by their names: a finding lists them in the order of its trials."""
    return ", ".join(sorted(injections.split(", ")))


def load_lines(path: Path) -> list[Finding]:
    """The lines of a ledger, none where there is no file. Raises LedgerError for anything else."""
    return read_values(path, Finding) if path.exists() else []


def read_values(path: Path, kind: type[T]) -> list[T]:
    """A file's lines, each a ``kind``. Raises LedgerError, which names the line."""
    documents = enumerate(read_documents(path), start=1)
    return [decode_line(kind, document, f"{path}:{number}") for number, document in documents]


def read_documents(path: Path) -> list[Any]:
    """A file's lines, each as JSON has it. Raises LedgerError, which names the line."""
    try:
        # A text of JSON may hold what Python's splitlines takes for a line's end, such as U+2028.
        content = read_whole(path).decode()
        require_few_values(content)
    except (OSError, ValueError) as error:
        raise LedgerError(
            f"{path} cannot be read: {why(error)}", advice="Restore it from git, it is a committed file."
        ) from error
    found = []
    for number, text in enumerate(content.removesuffix("\n").split("\n") if content else (), start=1):
        try:
            found.append(parsed(text))
        except ValueError as error:
            raise LedgerError(f"{path}:{number} is not as expected: {error}") from error
    return found


def decode_line(kind: type[T], document: object, place: str) -> T:
    """One line's value. Raises LedgerError, which names its place."""
    try:
        return decode(kind, document)
    except DecodeError as error:
        raise LedgerError(f"{place} is not as expected: {error}") from error


def lines_text(values: Iterable[Any]) -> str:
    """The file's text: a line of strict JSON (an unbounded number becomes null) each, the same bytes for the same values."""
    return "".join(json.dumps(plain(_document(one)), ensure_ascii=False, allow_nan=False) + "\n" for one in values)


def document_text(lines: Sequence[Finding]) -> str:
    """Findings as one document, as ``python -m tools.ledger --json`` prints them."""
    content = plain({"schema": 2, "findings": [_document(line) for line in lines]})
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def _document(one: Any) -> dict[str, Any]:
    """Without what the figures of the record do not have."""
    document = dataclasses.asdict(one)
    for figure in document.get("figures", ()):
        for name in _OF_A_RUN:
            if figure[name] is None:
                del figure[name]
    return document


def plain(value: object) -> object:
    """JSON's own kinds. A whole number is exact; others have six significant digits, since more are noise in a diff.

    Half a character, which no file of UTF-8 holds, is written out.
    """
    if isinstance(value, Mapping):
        return {str(plain(str(key))): plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    if isinstance(value, float):
        if not math.isfinite(value):
            return None
        rounded = value if value.is_integer() else float(f"{value:.6g}")
        # A reader takes no whole number of more than 64 bits.
        return int(rounded) if rounded.is_integer() and abs(rounded) < 2**63 else rounded
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value
