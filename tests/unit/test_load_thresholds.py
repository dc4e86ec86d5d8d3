"""A load's own thresholds: what can be asked, what is said, and the exit code."""

from __future__ import annotations

import dataclasses

import pytest

from analysis.load.thresholds import against
from harness.errors import EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE
from harness.model.thresholds import parse_threshold
from mqlab.main import main
from tests.lib.load_findings import found
from tests.unit.test_load_headline import FIGURES, LOAD


@pytest.mark.parametrize(
    ("text", "line", "code"),
    [
        ("p99>50ms", "passes: p99>50ms (found: 20 ms)", EXIT_OK),
        ("p99 > 0.01s", "FAILS: p99 > 0.01s (found: 20 ms)", EXIT_MISMATCH),
        ("p99.9>29", "FAILS: p99.9>29 (found: 30 ms)", EXIT_MISMATCH),
        ("p50<1", "passes: p50<1 (found: 1 ms)", EXIT_OK),
        ("failed>9%", "FAILS: failed>9% (found: 9.5 %)", EXIT_MISMATCH),
        ("failed>95", "passes: failed>95 (found: 95)", EXIT_OK),
        ("unknown>0.5%", "passes: unknown>0.5% (found: 0.5 %)", EXIT_OK),
        ("lost>0", "FAILS: lost>0 (found: 7)", EXIT_MISMATCH),
        ("twice>0", "passes: twice>0 (found: 0)", EXIT_OK),
        ("accepted<90.5/s", "FAILS: accepted<90.5/s (found: 90/s)", EXIT_MISMATCH),
        ("out-of-order>0", "cannot be told: out-of-order>0 (nothing of it was measured)", EXIT_UNDECIDED),
    ],
)
def test_a_threshold_is_told_with_what_was_found(text: str, line: str, code: int) -> None:
    assert against(LOAD, [parse_threshold(text)]) == ([line], code)


def test_one_that_is_met_counts_more_than_one_that_cannot_be_told() -> None:
    asked = [parse_threshold(text) for text in ("out-of-order>0", "p99>1ms", "p50>9s")]
    assert against(LOAD, asked)[1] == EXIT_MISMATCH
    assert against(LOAD, []) == ([], EXIT_OK)


def test_of_a_load_that_counted_nothing_nothing_is_told() -> None:
    none = dataclasses.replace(
        LOAD, figures=dataclasses.replace(FIGURES, sends=0, ok=0), findings=(found("nothing lost", None, "x"),)
    )
    for text in ("p99>1", "failed>0", "accepted<1", "lost>0", "twice>0"):
        assert against(none, [parse_threshold(text)])[1] == EXIT_UNDECIDED


@pytest.mark.parametrize(
    "text",
    [
        "",
        "p99",
        "p98>1",
        "p99>",
        "p99>=1",
        "p99>1%",
        "failed>1ms",
        "lost>1%",
        "p99>-1",
        "p99>1e9",
        "p99>nan",
        "p99>1ms;x",
    ],
)
def test_another_form_is_one_sentence(text: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(ValueError, match="no threshold"):
        parse_threshold(text)
    with pytest.raises(SystemExit) as ended:
        main(["load", "--release", "5.5.0", "--fail-if", text])
    assert ended.value.code == EXIT_USAGE
    assert "is not a threshold such as p99>50ms, failed>0.1%, lost>0 or accepted<480" in capsys.readouterr().err
