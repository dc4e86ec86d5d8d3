"""Which trials count, and what a claim comes to when none does.

Each case is a release of its own with three trials, so that each has its finding and all are analysed at once. Every
trial has a refusal 4 ms past its limit, which refutes the claim wherever the trials count.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable

import pytest

from harness.model.verdicts import Reason, VerdictKind
from scenarios.append_stall import SCENARIO
from scenarios.rules import claim, fact, of, refuted, side
from tests.lib.runs import Analysis, Run
from tests.lib.trials import Trial

TRIALS = 3

LATE = claim(
    "LATE", "A1", "The check of the waiting time runs every 10 s.", reading="", summary="", expected=refuted("", ""),
    parts={"past the limit": fact(of("first_period_over_limit_ms", "incident", stall_ms=(250, 450, 700)),
                                  side(5000, 4, "half of 10 s", bound=500), deployments_min=TRIALS)},
)  # fmt: skip
TIMEOUT = "TIMEOUT_CLEAN_QUEUE"
MEASURES = (
    "failed_count",
    "latency_max_ms",
    "rejected_count",
    "unknown_count",
)


def _set(**attributes: object) -> Callable[[Trial], None]:
    def change(trial: Trial) -> None:
        for name, value in attributes.items():
            assert hasattr(trial, name)
            setattr(trial, name, value)

    return change


def _no_append(trial: Trial) -> None:
    trial.events.clear()


def _no_history(trial: Trial) -> None:
    trial.history.clear()


def _empty_history(trial: Trial) -> None:
    trial.history = {"producer": []}


def _only_anchors(trial: Trial) -> None:
    trial.history.clear()
    trial.anchor("producer", at_ms=-1_000)
    trial.anchor("producer", at_ms=1_000)


def _client_clock_stepped(trial: Trial) -> None:
    trial.anchor("producer", at_ms=-1_000)
    trial.anchor("producer", at_ms=1_000, off_ms=-60)


def _cut(trial: Trial) -> None:
    trial.tails["producer"] = '{"type":"send","process":"producer","seq":99,"inten'


def _nothing_refused(trial: Trial) -> None:
    trial.without("producer", "send", outcome="failed")


def _unknown(trial: Trial) -> None:
    """Timeouts in the stall: they may have been stored, and are neither refusals nor failures."""
    _nothing_refused(trial)
    for seq in (50, 51):
        trial.send(seq, due_ms=20 + seq, took_ms=10_000, outcome="unknown")


COUNTING: dict[str, Callable[[Trial], None]] = {
    "good": _set(),
    "hiccup at the tolerance": _set(hiccup_ms=SCENARIO.hiccup_ms_max),
    "clock slewed": _set(wall_step_ms=49.0),
    "nearly as asked": _set(achieved_ms=465.0),
    "cut": _cut,
    "nothing refused": _nothing_refused,
    "unknown": _unknown,
}

NOT_AS_PLANNED: dict[str, tuple[Callable[[Trial], None], Reason | None, str]] = {
    "hiccup": (_set(hiccup_ms=80.0), None, "the machine stalled for 80.0 ms, more than 40 ms"),
    "clock stepped": (_set(wall_step_ms=60.0), Reason.TOO_NOISY, "the wall clock stepped by 60 ms"),
    "clock stepped back": (_set(wall_step_ms=-60.0), Reason.TOO_NOISY, "the wall clock stepped by 60 ms"),
    "client's clock stepped": (_client_clock_stepped, Reason.TOO_NOISY, "the wall clock stepped by 60 ms"),
    "superseded": (_set(superseded_by="a repetition"), Reason.TOO_NOISY, "it was repeated as a repetition"),
    "stalled too briefly": (
        _set(achieved_ms=400.0),
        Reason.NOT_EXERCISED,
        "the append stalled for 400.0 ms where 450 ms were asked",
    ),
    "no append": (_no_append, Reason.NOT_EXERCISED, "no append was stalled"),
    "not healed": (_set(heals=False), None, "the fault was not healed"),
    "failed": (_set(status="failed", error="disk full"), None, "it is failed, not complete: disk full"),
    "interrupted": (_set(status="interrupted"), Reason.NOT_EXERCISED, "it is interrupted, not complete"),
    "no history": (_no_history, Reason.NOT_EXERCISED, "its history is empty"),
    "empty history": (_empty_history, Reason.NOT_EXERCISED, "its history is empty"),
    "only anchors": (_only_anchors, Reason.NOT_EXERCISED, "its history is empty"),
}
"""With the reason of a claim that has no other trials; None where they count for it all the same: what the broker does after the
fault began is a result, and how noisy the host may be is asked by the rule."""


def _name(case: str, index: int) -> str:
    return f"{case.replace(' ', '-')}-{index}"


@pytest.fixture(scope="module")
def seen(new_run: Callable[..., Run], analysed: Callable[..., Analysis]) -> Analysis:
    changes = {**COUNTING, **{case: change for case, (change, _, _) in NOT_AS_PLANNED.items()}}
    run = new_run("append-stall", releases=(*changes, "too few", "no trial"))
    for case, change in changes.items():
        for index in range(TRIALS):
            trial = run.stalled(_name(case, index), release=case)
            trial.refused(20, TIMEOUT, due_ms=2, period_ms=204, size=9)
            change(trial)
    for index in range(2):
        run.stalled(_name("too few", index), release="too few").refused(20, TIMEOUT, due_ms=2, period_ms=204, size=9)
    run.planned.append("never-begun")
    return analysed(run, dataclasses.replace(SCENARIO, claims=(LATE,)), measures=MEASURES)


@pytest.mark.parametrize("case", NOT_AS_PLANNED)
def test_a_trial_that_is_not_as_planned_says_so_and_whether_its_claim_counts_it(seen: Analysis, case: str) -> None:
    _, reason, words = NOT_AS_PLANNED[case]
    for index in range(TRIALS):
        shown = seen.trial(_name(case, index))
        counts = reason is None
        assert shown.counts is counts
        assert bool(shown.exclusions) is not counts
        assert any(words in said for said in (shown.notes if counts else shown.exclusions))


@pytest.mark.parametrize("case", [case for case, (_, reason, _) in NOT_AS_PLANNED.items() if reason])
def test_a_claim_without_a_trial_that_counts_is_undecided_with_its_reason(seen: Analysis, case: str) -> None:
    found = seen.finding("LATE", case)
    assert (found.verdict, found.reason) == (VerdictKind.UNDECIDED, NOT_AS_PLANNED[case][1])
    assert found.trials == 0
    assert found.evidence == ()


@pytest.mark.parametrize(
    "case",
    [
        *("good", "hiccup at the tolerance", "clock slewed", "nearly as asked", "cut"),
        *(case for case, (_, reason, _) in NOT_AS_PLANNED.items() if reason is None),
    ],
)
def test_what_the_system_did_and_what_the_rule_allows_counts_and_decides(seen: Analysis, case: str) -> None:
    found = seen.finding("LATE", case)
    assert (found.verdict, found.reason) == (VerdictKind.REFUTED, "")
    assert found.trials == TRIALS
    assert found.parts[0].values == pytest.approx([4] * TRIALS)


def test_fewer_deployments_than_the_rule_asks_for_decide_nothing(seen: Analysis) -> None:
    found = seen.finding("LATE", "too few")
    assert (found.verdict, found.reason) == (VerdictKind.UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)
    assert found.trials == 2


def test_a_release_without_any_trial_was_not_exercised(seen: Analysis) -> None:
    found = seen.finding("LATE", "no trial")
    assert (found.verdict, found.reason) == (VerdictKind.UNDECIDED, Reason.NOT_EXERCISED)


@pytest.mark.parametrize("case", ["nothing refused", "unknown"])
def test_trials_that_count_and_show_nothing_are_missing_evidence(seen: Analysis, case: str) -> None:
    found = seen.finding("LATE", case)
    assert (found.verdict, found.reason) == (VerdictKind.UNDECIDED, Reason.MISSING_EVIDENCE)
    assert found.trials == TRIALS


def test_a_truncated_last_line_is_left_out_and_told(seen: Analysis) -> None:
    shown = seen.trial(_name("cut", 0))
    assert shown.counts
    assert any("1 lines are no whole records" in note for note in shown.notes)
    assert seen.reasons(_name("good", 0)) == seen.notes(_name("good", 0)) == []
    assert seen.one("failed_count", _name("cut", 0)) == seen.one("failed_count", _name("good", 0)) == 1


def test_sends_of_unknown_outcome_are_counted_apart(seen: Analysis) -> None:
    trial = _name("unknown", 0)
    assert seen.one("unknown_count", trial) == 2
    assert seen.one("failed_count", trial) == 0
    assert seen.one("rejected_count", trial, keyword="any") == 0
    assert seen.one("latency_max_ms", trial) == pytest.approx(12)  # of the accepted ones, not of the timeouts


def test_a_planned_trial_that_never_began_is_told(seen: Analysis) -> None:
    notes = seen.report["manifest"]["notes"]
    assert any("never-begun" in note and "left nothing" in note for note in notes)
