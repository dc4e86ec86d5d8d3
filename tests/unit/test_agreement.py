"""A short run against the record, on hand-made findings."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

from analysis.ledger.agreement import NOT_TRIED, Standing, agreements, beside_record, left_out, lines, tried
from harness.model.findings import Figure, Finding, PartResult
from harness.model.verdicts import Reason, VerdictKind

UNDECIDED, CONFIRMED = VerdictKind.UNDECIDED, VerdictKind.CONFIRMED


def _part(kind: str, estimate: float, **more: Any) -> PartResult:
    return PartResult(
        name="p", verdict=UNDECIDED, reason="too few deployments", estimate=estimate, relation="<=", bound=16.0, unit="s",
        kind=kind, words="as seen", **more,
    )  # fmt: skip


def _finding(*parts: PartResult, p50: float = 100.0, trials: int = 3) -> Finding:
    figure = Figure(
        name="rejected_count",
        arm="incident",
        params={"stall_ms": 450},
        unit="",
        tries=3,
        n=3,
        p50=p50,
        min=None,
        max=None,
    )
    return Finding(
        claim="BUSY-09", incident="append-stall", release="5.3.3", backend="local", client="java", injection="byteman",
        rule_hash="rule", expected=CONFIRMED, expected_from_code="", verdict=UNDECIDED, reason="too few deployments",
        summary="", trials=trials, parts=parts, figures=(figure,),
    )  # fmt: skip


def _line(*parts: PartResult, rule_hash: str = "rule", figures: bool = True) -> Finding:
    figure = Figure(
        name="rejected_count", arm="incident", params={"stall_ms": 450.0}, unit="", tries=5, p50=100, min=98, max=103
    )
    return Finding(
        claim="BUSY-09", incident="append-stall", article="A1", says="", release="5.3.3", backend="local",
        injection="byteman", client="java", verdict=CONFIRMED, reason="", summary="", expected=CONFIRMED,
        expected_from_code="", rule_hash=rule_hash, parts=parts, figures=(figure,) if figures else (),
    )  # fmt: skip


def _standing(finding: Finding, *record: Finding) -> Standing:
    (one,) = agreements([finding], record)
    return one.standing


def test_figures_agree_within_the_recorded_range_and_a_twentieth_beyond() -> None:
    older = _line(rule_hash="")
    assert _standing(_finding(p50=102), older) is Standing.AGREES
    assert _standing(_finding(p50=107), older) is Standing.AGREES
    assert _standing(_finding(p50=110), older) is Standing.DIFFERS


def test_what_differs_is_told_with_both_figures() -> None:
    told = lines(agreements([_finding(p50=12)], [_line(rule_hash="")]))
    assert told[0] == "As recorded: 0 of 1 findings; differ: 1; not comparable: 0."
    assert told[1] == "BUSY-09 5.3.3: rejected_count of incident: 12, recorded 100 (98 to 103)"


@pytest.mark.parametrize(
    ("here", "there", "standing"),
    [
        (_part("Q", 14.0), PartResult(name="p", verdict=CONFIRMED, estimate=13.0), Standing.AGREES),
        (_part("Q", 24.0), PartResult(name="p", verdict=CONFIRMED, estimate=13.0), Standing.DIFFERS),
        (_part("Q", 16.5), PartResult(name="p", verdict=UNDECIDED, estimate=15.0, values=(12, 17)), Standing.AGREES),
        (_part("F", 1.0), PartResult(name="p", verdict=CONFIRMED, estimate=1.0), Standing.AGREES),
        (_part("F", 0.0), PartResult(name="p", verdict=CONFIRMED, estimate=1.0), Standing.DIFFERS),
        (_part("U", 0.2, events=1, tries=5), PartResult(name="p", verdict=CONFIRMED, estimate=0.0, events=0), Standing.DIFFERS),
        (_part("U", 0.0, events=0, tries=5), PartResult(name="p", verdict=UNDECIDED, estimate=0.1, events=4), Standing.TOO_FEW),
        (_part("U", 0.0, events=0, tries=5), PartResult(name="p", verdict=UNDECIDED, estimate=0.9, events=36), Standing.DIFFERS),
    ],
)  # fmt: skip
def test_parts_of_the_same_rule_are_compared_by_their_kind(
    here: PartResult, there: PartResult, standing: Standing
) -> None:
    assert _standing(_finding(here), _line(there, figures=False)) is standing


def test_a_claim_of_which_only_a_control_was_measured_was_not_looked_at() -> None:
    control = dataclasses.replace(_part("Q", 14.0), name="control", role="control")
    unseen = dataclasses.replace(_part("Q", 0.0), estimate=None)
    recorded = (
        PartResult(name="p", verdict=CONFIRMED, estimate=13.0),
        PartResult(name="control", role="control", verdict=CONFIRMED, estimate=13.0),
    )
    (found,) = agreements([_finding(unseen, control)], [_line(*recorded)])
    assert (found.standing, found.words) == (Standing.UNSEEN, "p")
    assert _beside(_finding(unseen, control), _line(*recorded)).summary.endswith("Not looked at in a quick run: p.")
    # Nor was one of another rule, although figures of its arms are as recorded.
    assert _standing(_finding(unseen), _line(rule_hash="")) is Standing.UNSEEN
    # A control that is not as recorded still makes the run differ.
    other = dataclasses.replace(control, estimate=99.0)
    assert _standing(_finding(unseen, other), _line(*recorded)) is Standing.DIFFERS


@pytest.mark.parametrize(
    ("verdict", "of_parts", "measured", "standing"),
    [
        (CONFIRMED, (CONFIRMED, CONFIRMED), ("a", "b"), Standing.AGREES),
        (CONFIRMED, (CONFIRMED, CONFIRMED), ("a",), Standing.UNSEEN),
        (VerdictKind.REFUTED, (CONFIRMED, VerdictKind.REFUTED), ("a",), Standing.UNSEEN),
        (VerdictKind.REFUTED, (CONFIRMED, VerdictKind.REFUTED), ("b",), Standing.AGREES),
        (UNDECIDED, (UNDECIDED, CONFIRMED), ("b",), Standing.AGREES),
    ],
)
def test_what_decides_is_every_part_of_a_confirmed_claim_and_a_refuted_one_of_a_refuted(
    verdict: VerdictKind, of_parts: tuple[VerdictKind, ...], measured: tuple[str, ...], standing: Standing
) -> None:
    recorded = [PartResult(name=name, verdict=one, estimate=13.0) for name, one in zip("ab", of_parts, strict=True)]
    here = [dataclasses.replace(_part("Q", 14.0), name=name) for name in measured]
    line = dataclasses.replace(_line(*recorded), verdict=verdict)
    assert _standing(_finding(*here), line) is standing


def test_what_was_not_looked_at_and_what_was_tried_too_seldom_are_counted_apart() -> None:
    rare = PartResult(name="p", verdict=UNDECIDED, estimate=0.1, events=4)
    seldom = _finding(_part("U", 0.0, events=0, tries=5))
    unseen = dataclasses.replace(_finding(dataclasses.replace(_part("Q", 0.0), estimate=None)), claim="BUSY-10")
    seen = dataclasses.replace(_finding(), claim="BUSY-11")
    record = [
        _line(rare), *(dataclasses.replace(_line(rule_hash=""), claim=claim) for claim in ("BUSY-10", "BUSY-11")),
    ]  # fmt: skip
    assert lines(agreements([seldom, unseen, seen], record)) == [
        "As recorded: 1 of 3 findings; not looked at in a quick run: 1; too few to see it: 1; differ: 0; not comparable: 0."
    ]


def test_without_a_record_a_trial_or_a_common_cell_nothing_is_compared() -> None:
    assert _standing(_finding()) is Standing.NOT_COMPARABLE
    assert _standing(_finding(trials=0), _line()) is Standing.NOT_COMPARABLE
    assert _standing(_finding(), _line(figures=False)) is Standing.NOT_COMPARABLE
    other = dataclasses.replace(_line(), injection="freeze")
    assert _standing(_finding(), other) is Standing.NOT_COMPARABLE


def test_a_run_that_left_arms_out_is_compared_with_the_record_of_all_their_injections() -> None:
    both = dataclasses.replace(_line(rule_hash=""), injection="byteman, client call")
    assert _standing(_finding(), both) is Standing.AGREES
    assert _standing(dataclasses.replace(_finding(), injection="none"), both) is Standing.AGREES
    # With two such lines nobody knows which, unless one is of the very same injection.
    third = dataclasses.replace(both, injection="byteman, signal", figures=())
    assert _standing(_finding(), both, third) is Standing.NOT_COMPARABLE
    assert _standing(_finding(), third, _line(rule_hash="")) is Standing.AGREES


UNTRIED = dataclasses.replace(_finding(trials=0), reason=str(Reason.NOT_EXERCISED))
SPOILED = dataclasses.replace(_finding(trials=0), reason=str(Reason.TOO_NOISY), claim="BUSY-08")


def test_claims_of_which_no_trial_says_anything_are_named_apart() -> None:
    seen, unseen = _finding(), dataclasses.replace(UNTRIED, claim="BUSY-07")
    elsewhere = dataclasses.replace(UNTRIED, release="4.6.0")
    assert tried([seen, unseen, SPOILED, elsewhere]) == [seen, SPOILED]
    assert left_out([seen, unseen, elsewhere]) == ["Not tried, since a quick run leaves their arms out: BUSY-07."]
    assert left_out([seen]) == []


def _beside(finding: Finding, *record: Finding) -> Finding:
    (one,) = beside_record([finding], record)
    return one


def test_a_claim_whose_rule_has_an_arm_that_does_not_exist_stands_as_what_was_tried_of_it_does() -> None:
    to_come = dataclasses.replace(_part("Q", 0.0), name="to come", estimate=None, reason=str(Reason.NOT_EXERCISED))
    finding = dataclasses.replace(
        _finding(_part("Q", 14.0), to_come),
        reason=str(Reason.NOT_EXERCISED),
        summary="Undecided (not exercised): It took 14 s.",
    )
    known = PartResult(name="p", verdict=CONFIRMED, estimate=13.0)
    line = _line(known, PartResult(name="to come", verdict=UNDECIDED, estimate=None))
    shown = _beside(finding, line)
    assert (shown.verdict, shown.reason, shown.summary) == (UNDECIDED, Standing.AGREES, "It took 14 s.")
    assert [part.reason for part in shown.parts] == ["too few deployments", ""]


def test_a_claim_that_differs_is_shown_with_both_figures_and_one_that_is_decided_with_its_verdict() -> None:
    lack = "too few deployments: 5 deployments are needed"
    finding = dataclasses.replace(_finding(p50=12), summary=f"Undecided ({lack}): 12 a stall.")
    shown = _beside(finding, _line(rule_hash=""))
    assert shown.reason == Standing.DIFFERS
    assert shown.summary == (
        "12 a stall. Differs from the record: rejected_count of incident: 12, recorded 100 (98 to 103)."
    )
    refuted = dataclasses.replace(_finding(), verdict=VerdictKind.REFUTED, reason="")
    assert (_beside(refuted, _line()).verdict, _beside(refuted, _line()).reason) == (refuted.verdict, Standing.AGREES)


def test_what_was_not_tried_says_so_and_what_noise_or_a_checker_spoiled_is_not_comparable() -> None:
    assert _beside(UNTRIED, _line()).reason == NOT_TRIED
    assert "too noisy" in _beside(SPOILED, dataclasses.replace(_line(), claim=SPOILED.claim)).summary
    failed = dataclasses.replace(_finding(), reason=str(Reason.CHECKER_FAILED))
    assert _beside(failed, _line()).reason == Standing.NOT_COMPARABLE


def test_an_incident_that_is_not_recorded_keeps_its_reasons_where_it_was_tried() -> None:
    assert _beside(_finding()) == _finding()
    assert _beside(UNTRIED).reason == NOT_TRIED


def test_a_claim_whose_trials_failed_is_not_called_left_out() -> None:
    failed = dataclasses.replace(UNTRIED, notes=("0 of 2 trials count", "t1 does not count: step 4 was not taken"))
    assert left_out([failed]) == []
    assert _beside(failed) == failed
