"""What changes between two releases: told when it is shown, and named when it cannot be told."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.ledger.lines import Figure, LedgerLine
from analysis.report.changes import changes
from analysis.verdicts.numbers import NARROW_SPACE
from harness.errors import EXIT_OK, EXIT_USAGE, LedgerError
from harness.model.verdicts import VerdictKind
from mqlab.main import main

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED


def measure(p50: float | None, low: float | None, high: float | None, name: str = "handover_s") -> Figure:
    return Figure(
        name=name, arm="incident", params={"stall_ms": 450}, unit="s", tries=5, p50=p50, min=None, max=None, low=low, high=high
    )  # fmt: skip


def finding(claim: str, release: str, verdict: VerdictKind, *measures: Figure) -> LedgerLine:
    return LedgerLine(
        claim=claim, incident="i", article="A3", says="the article's words", release=release, backend="local", client="java",
        injection="signal", expected=verdict, verdict=verdict, reason="", summary=f"{claim} on {release}",
        expected_from_code="", figures=measures,
    )  # fmt: skip


def ledger(*findings: LedgerLine) -> tuple[LedgerLine, ...]:
    return findings


def test_a_verdict_that_differs_is_told_with_both_truths() -> None:
    found = changes(
        ledger(
            finding("ORDER-06", "4.6.0", REFUTED),
            finding("ORDER-06", "5.3.3", CONFIRMED),
            finding("ORDER-03", "4.6.0", CONFIRMED),
            finding("ORDER-03", "5.3.3", CONFIRMED),
        ),
        "4.6.0",
        "5.3.3",
    )
    assert [(one.claim, one.before, one.after) for one in found.verdicts] == [("ORDER-06", REFUTED, CONFIRMED)]
    assert found.compared == 2
    told = "\n".join(found.lines())
    assert "the article's words" in told
    assert "4.6.0: ORDER-06 on 4.6.0" in told
    assert "5.3.3: ORDER-06 on 5.3.3" in told


def test_what_is_undecided_or_missing_on_one_side_is_no_change_and_is_named() -> None:
    found = changes(
        ledger(
            finding("ORDER-01", "4.6.0", CONFIRMED),
            finding("ORDER-01", "5.3.3", UNDECIDED),
            finding("ORDER-02", "4.6.0", REFUTED),
            finding("ORDER-03", "5.3.3", REFUTED),
        ),
        "4.6.0",
        "5.3.3",
    )
    assert found.verdicts == ()
    assert found.undecided == ("ORDER-01",)
    assert found.missing == ("ORDER-02", "ORDER-03")
    assert found.compared == 0
    assert "no verdict differs" in found.lines()


@pytest.mark.parametrize(
    ("before", "after", "factor"),
    [
        ((60.0, 58.0, 62.0), (30.0, 29.0, 31.0), 0.5),
        ((0.0, 0.0, 0.0), (44.0, 42.0, 48.0), None),
    ],
)
def test_a_figure_whose_intervals_are_apart_has_moved(
    before: tuple[float, float, float], after: tuple[float, float, float], factor: float | None
) -> None:
    found = changes(
        ledger(
            finding("ORDER-01", "4.6.0", CONFIRMED, measure(*before)),
            finding("ORDER-01", "5.3.3", CONFIRMED, measure(*after)),
            finding("ORDER-07", "4.6.0", CONFIRMED, measure(*before)),
            finding("ORDER-07", "5.3.3", CONFIRMED, measure(*after)),
        ),
        "4.6.0",
        "5.3.3",
    )
    (figure,) = found.figures
    assert (figure.measure, figure.cell, figure.factor) == ("handover_s", f"stall 450{NARROW_SPACE}ms", factor)
    assert figure.claims == ("ORDER-01", "ORDER-07"), "one figure of two claims is told once"


@pytest.mark.parametrize(
    "after", [(61.0, 60.0, 63.0), (65.0, 64.0, 66.0), (None, 70.0, None)], ids=["overlap", "a twelfth", "unknown"]
)
def test_a_figure_that_cannot_be_told_apart_has_not_moved(
    after: tuple[float | None, float | None, float | None],
) -> None:
    found = changes(
        ledger(
            finding("ORDER-01", "4.6.0", CONFIRMED, measure(60.0, 58.0, 62.0)),
            finding("ORDER-01", "5.3.3", CONFIRMED, measure(*after)),
        ),
        "4.6.0",
        "5.3.3",
    )
    assert found.figures == ()


def test_the_largest_change_comes_first() -> None:
    names = {"small": 1.5, "large": 9.0, "shrinks": 0.2}
    found = changes(
        ledger(
            finding("ORDER-01", "4.6.0", CONFIRMED, *[measure(10.0, 9.9, 10.1, name) for name in names]),
            finding(
                "ORDER-01",
                "5.3.3",
                CONFIRMED,
                *[measure(10 * by, 9.9 * by, 10.1 * by, name) for name, by in names.items()],
            ),
        ),
        "4.6.0",
        "5.3.3",
    )
    assert [figure.measure for figure in found.figures] == ["large", "shrinks", "small"]


def test_a_release_that_the_record_does_not_have_is_an_error_that_names_those_it_has() -> None:
    with pytest.raises(LedgerError, match=r"nothing of 4\.8\.0") as raised:
        changes(ledger(finding("ORDER-01", "4.6.0", CONFIRMED)), "4.6.0", "4.8.0")
    assert "4.6.0" in raised.value.advice


def test_the_command_compares_the_committed_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["changes", "4.6.0", "5.3.3"]) == EXIT_OK
    assert "from 4.6.0 to 5.3.3" in capsys.readouterr().out
    assert main(["changes", "4.6.0", "5.3.3", "--run", str(tmp_path)]) == EXIT_USAGE
    assert "analyse the run first" in capsys.readouterr().err
