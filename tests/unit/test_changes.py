"""What changes between two releases: told when it is shown, and named when it cannot be told."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import pytest

from analysis.report.changes import FigureChange, changes
from harness.errors import EXIT_OK, EXIT_USAGE, LedgerError
from harness.model.findings import Finding, PartResult
from harness.model.verdicts import VerdictKind
from mqlab.main import main

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED


def by_deployments(middle: float, name: str = "hand-over", deployments: int = 5) -> PartResult:
    """Deployments that differ by a tenth in all."""
    values = tuple(middle * (1 + 0.1 * (place / max(1, deployments - 1) - 0.5)) for place in range(deployments))
    return PartResult(name=name, verdict=CONFIRMED, kind="Q", values=values, estimate=middle, words=f"{middle:g} s")


def by_tries(rate: float, low: float, high: float, kind: str = "U") -> PartResult:
    return PartResult(name="late", verdict=CONFIRMED, kind=kind, estimate=rate, low=low, high=high, words=f"{rate:.0%}")


def finding(claim: str, release: str, verdict: VerdictKind, *parts: PartResult) -> Finding:
    return Finding(
        claim=claim, incident="i", article="A3", says="the article's words", release=release, backend="local", client="java",
        injection="signal", expected=verdict, verdict=verdict, reason="", summary=f"{claim} on {release}",
        expected_from_code="", parts=parts,
    )  # fmt: skip


def ledger(*findings: Finding) -> tuple[Finding, ...]:
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


def test_injections_are_the_same_in_whatever_order_a_line_lists_them() -> None:
    one, other = finding("SENDS-01", "4.9.7", REFUTED), finding("SENDS-01", "5.5.0", REFUTED)
    one = dataclasses.replace(one, injection="byteman, pause, request, signal")
    other = dataclasses.replace(other, injection="byteman, pause, signal, request")
    found = changes(ledger(one, other), "4.9.7", "5.5.0")
    assert (found.compared, found.missing) == (1, ())


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


def moved(before: PartResult, after: PartResult) -> tuple[FigureChange, ...]:
    lines = ledger(finding("ORDER-01", "4.6.0", CONFIRMED, before), finding("ORDER-01", "5.3.3", CONFIRMED, after))
    return changes(lines, "4.6.0", "5.3.3").figures


@pytest.mark.parametrize(
    ("before", "after", "factor"),
    [
        (by_deployments(60), by_deployments(30), 0.5),
        (by_deployments(0), by_deployments(44), None),
        (by_tries(0.95, 0.9, 0.98), by_tries(0.038, 0.01, 0.2), 0.04),
    ],
    ids=["half as long", "from none", "more seldom"],
)
def test_a_figure_whose_deployments_or_intervals_are_apart_has_moved(
    before: PartResult, after: PartResult, factor: float | None
) -> None:
    (figure,) = moved(before, after)
    assert (figure.claim, figure.part, figure.before, figure.after) == (
        "ORDER-01",
        before.name,
        before.words,
        after.words,
    )
    assert figure.factor == (None if factor is None else pytest.approx(factor))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (by_deployments(60), by_deployments(64)),
        (by_deployments(60), by_deployments(30, deployments=4)),
        (by_deployments(60), by_tries(0.1, 0.05, 0.2)),
        (by_tries(0.2, 0.1, 0.4), by_tries(0.1, 0.05, 0.2)),
        (by_tries(1, 1, 1, "F"), by_tries(0, 0, 0, "F")),
    ],
    ids=["deployments overlap", "too few deployments", "another kind", "intervals overlap", "a fact"],
)
def test_a_figure_that_cannot_be_told_apart_has_not_moved(before: PartResult, after: PartResult) -> None:
    assert moved(before, after) == ()


def test_the_largest_change_comes_first() -> None:
    names = {"small": 1.5, "large": 9.0, "shrinks": 0.2}
    found = changes(
        ledger(
            finding("ORDER-01", "4.6.0", CONFIRMED, *[by_deployments(10.0, name) for name in names]),
            finding("ORDER-01", "5.3.3", CONFIRMED, *[by_deployments(10 * by, name) for name, by in names.items()]),
        ),
        "4.6.0",
        "5.3.3",
    )
    assert [figure.part for figure in found.figures] == ["large", "shrinks", "small"]


def test_a_release_that_the_record_does_not_have_is_an_error_that_names_those_it_has() -> None:
    with pytest.raises(LedgerError, match=r"nothing of 4\.8\.0") as raised:
        changes(ledger(finding("ORDER-01", "4.6.0", CONFIRMED)), "4.6.0", "4.8.0")
    assert "4.6.0" in raised.value.advice


def test_the_command_compares_the_committed_record(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    assert main(["changes", "4.6.0", "5.3.3"]) == EXIT_OK
    assert "from 4.6.0 to 5.3.3" in capsys.readouterr().out
    assert main(["changes", "4.6.0", "5.3.3", "--run", str(tmp_path)]) == EXIT_USAGE
    assert "analyse the run first" in capsys.readouterr().err
