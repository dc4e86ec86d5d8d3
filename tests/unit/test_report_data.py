"""Loading what an analysis has left for reports: what fits is typed, what does not is named."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from analysis.report.document import PAGE_DATA, load_report_data
from harness.errors import RunDirectoryError
from harness.model.verdicts import VerdictKind
from tests.lib.samples import sample, write_document


@pytest.fixture
def document() -> dict[str, Any]:
    return sample()


def load(tmp_path: Path, document: dict[str, Any] | str) -> Any:
    write_document(tmp_path, sample() if isinstance(document, str) else document)
    if isinstance(document, str):
        (tmp_path / PAGE_DATA).write_text(document, encoding="utf-8")
    return load_report_data(tmp_path)


def test_findings_become_the_values_of_the_model(tmp_path: Path, document: dict[str, Any]) -> None:
    data = load(tmp_path, document)
    finding = next(f for f in data.findings if f.claim == "ORDER-06" and f.release == "5.3.3")
    assert finding.verdict is VerdictKind.REFUTED
    assert finding.expected is VerdictKind.CONFIRMED
    assert finding.parts[0].bound == 5.0
    assert finding.evidence[0].line == 44


def test_an_unbounded_interval_is_read_from_infinity_and_from_null(tmp_path: Path, document: dict[str, Any]) -> None:
    document["findings"][0]["parts"][0]["high"] = float("inf")
    document["findings"][0]["parts"][0]["low"] = None
    part = load(tmp_path, document).findings[0].parts[0]
    assert part.high == float("inf")
    assert part.low is None


def test_a_key_that_a_later_writer_added_is_left_alone(tmp_path: Path, document: dict[str, Any]) -> None:
    document["manifest"]["new"] = {"deep": [1]}
    document["findings"][0]["also"] = "new"
    assert len(load(tmp_path, document).findings) == len(document["findings"])


def test_an_absent_file_says_to_analyse_first(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="mqlab runs analyze"):
        load_report_data(tmp_path)


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"schema": 2}', '{"schema": "1"}', "{}"])
def test_what_is_no_report_data_is_refused(tmp_path: Path, text: str) -> None:
    with pytest.raises(RunDirectoryError, match=r"cannot be read|has schema|holds no JSON object|lacks its sum"):
        load(tmp_path, text)


@pytest.mark.parametrize(
    ("path", "value", "place"),
    [
        (("manifest", "seed"), "7", r"manifest\.seed"),
        (("manifest", "seed"), True, r"manifest\.seed"),
        (("manifest", "incidents"), "append-stall", r"manifest\.incidents"),
        (("findings", 3, "verdict"), "maybe", r"findings\.jsonl:\d+ .*verdict .*confirmed, refuted, undecided"),
        (("findings", 3, "parts"), None, r"findings\.jsonl:\d+ .*parts"),
        (("claims", "BUSY-09"), "text", r"claims\.BUSY-09"),
        (("series", 0, "ok"), [1], "ok has 1 values"),
        (("series", 0, "bin_ms"), 0, "bin_ms is 0"),
        (("series", 0, "fault_s"), [0], "fault_s"),
        (("distributions", 0, "censored"), [True], "1 censored flags"),
        (("distributions", 0, "values"), ["1"], r"distributions\[0\]\.values\[0\]"),
    ],
)
def test_a_wrong_value_is_named_by_its_place(
    tmp_path: Path, document: dict[str, Any], path: tuple[str | int, ...], value: object, place: str
) -> None:
    inner: Any = document
    for step in path[:-1]:
        inner = inner[step]
    inner[path[-1]] = value
    with pytest.raises(RunDirectoryError, match=place):
        load(tmp_path, document)


def test_a_missing_field_is_named(tmp_path: Path, document: dict[str, Any]) -> None:
    del document["findings"][1]["summary"]
    with pytest.raises(RunDirectoryError, match=r"findings\.jsonl:\d+ .*lacks summary"):
        load(tmp_path, document)
