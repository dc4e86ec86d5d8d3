"""Parts and claims by kinds, on hand-made tries: what confirms, what refutes, what leaves undecided, and what is said."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import pytest

from analysis.verdicts.claims import judge, verdict_of, without_lack
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.sentences import needs
from analysis.verdicts.tries import Tries
from harness.model.findings import Finding, PartResult
from harness.model.rules import Claim, Part
from harness.model.verdicts import Discard, Reason, VerdictKind
from scenarios import rules
from scenarios.rules import (
    control,
    each,
    fact,
    happens,
    law,
    mean,
    median,
    never,
    of,
    ratio,
    scopes,
    share,
    side,
    slope,
)
from tests.lib.tries import tries_of

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED

FAST = median(of("handover_s", "incident"), side(13.5, 24, "code: 16 s of lock life", bound=16))
NONE_LOST = never(of("lost_count", "incident"), 100, "a death loses what was not flushed", noun="deaths")
FOUND = fact(of("log_file_exists", "incident"), side(1, 0, "a file is there or not"))
SOON = fact(of("handover_s", "incident"), side(0, 9, "at once"), predicted=0.5)
FEW = share(of("handover_s", "incident"), (None, 30.0), side(0.95, 0.5, "most"))


def _seen(part: Part, rows: list, **more: object) -> tuple[VerdictKind, str]:  # type: ignore[type-arg]
    found = judge_part(part, rows, **more)  # type: ignore[arg-type]
    return found.verdict, found.reason


def _hand_over(*values: float, **more: object) -> list:  # type: ignore[type-arg]
    return tries_of("handover_s", "incident", [[value] for value in values], **more)  # type: ignore[arg-type]


# --- sides ------------------------------------------------------------------------------------------------------------


def test_five_deployments_on_one_side_decide() -> None:
    assert _seen(FAST, _hand_over(13, 13.1, 13.2, 14, 15)) == (CONFIRMED, "")
    assert _seen(FAST, _hand_over(23, 24, 25, 24, 23)) == (REFUTED, "")
    assert _seen(FAST, _hand_over(13, 13, 13, 13)) == (UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)
    assert _seen(FAST, _hand_over(13, 13, 13, 13, 24)) == (UNDECIDED, Reason.CLOSE)
    assert _seen(FAST, _hand_over(*[13] * 8, 24)) == (CONFIRMED, "")


def test_several_parts_by_sides_ask_for_more_to_refute() -> None:
    assert _seen(FAST, _hand_over(*[24] * 6), claim_parts=2) == (UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)
    assert _seen(FAST, _hand_over(*[24] * 7), claim_parts=2) == (REFUTED, "")


def test_a_value_that_the_host_may_have_moved_over_the_bound_is_on_the_line() -> None:
    near = judge_part(FAST, _hand_over(15, 15, 15, 15, 15, hiccup_ms=260))
    assert (near.right, near.wrong, near.line) == (0, 0, 5)
    assert judge_part(FAST, _hand_over(15, 15, 15, 15, 15, hiccup_ms=240)).right == 5


def test_a_trial_noisier_than_a_quarter_of_the_distance_does_not_count() -> None:
    assert FAST.hiccup_ms_max({}) == pytest.approx(625)
    assert _seen(FAST, _hand_over(24, 24, 24, 24, 24, hiccup_ms=630)) == (UNDECIDED, Reason.TOO_NOISY)


def test_what_could_not_be_measured_is_on_the_line_and_never_left_out() -> None:
    rows = _hand_over(*[13] * 5) + tries_of("handover_s", "incident", [[]] * 5 + [[None]])
    found = judge_part(FAST, rows)
    assert (found.right, found.line, found.verdict) == (5, 1, UNDECIDED)


def test_a_censored_value_counts_where_its_side_is_certain() -> None:
    assert _seen(FAST, _hand_over(*[180] * 5, censored=True)) == (REFUTED, "")
    assert judge_part(FAST, _hand_over(*[10] * 5, censored=True)).line == 5


def test_a_share_counts_tries_and_is_judged_by_deployment() -> None:
    most = share(of("handover_s", "incident"), (None, 30.0), side(0.95, 0.5, "most"))
    rows = tries_of("handover_s", "incident", [[10] * 9 + [60]] * 5)
    found = judge_part(most, rows)
    assert (found.verdict, found.tries) == (CONFIRMED, 50)
    assert found.estimate == pytest.approx(0.9)
    assert _seen(most, tries_of("handover_s", "incident", [[10] * 4 + [60] * 6] * 5)) == (REFUTED, "")


def test_a_comparison_is_by_pairs() -> None:
    fewer = ratio(
        of("rejected_count", "fix"), of("rejected_count", "incident"), side(0.2, 1, "50 of 250 ms", bound=0.75)
    )
    arms = {"fix": [[24], [26], [25], [27], [23]], "incident": [[125], [124], [126], [125], [127]]}
    rows = [row for arm, values in arms.items() for row in tries_of("rejected_count", arm, values)]
    found = judge_part(fewer, rows)
    assert (found.verdict, found.deployments) == (CONFIRMED, 5)
    assert found.estimate == pytest.approx(0.2, abs=0.02)
    zero = tries_of("rejected_count", "fix", arms["fix"]) + tries_of("rejected_count", "incident", [[0]] * 5)
    assert _seen(fewer, zero) == (UNDECIDED, Reason.NOT_EXERCISED)


def test_arms_of_clusters_of_their_own_are_paired_in_their_order() -> None:
    fewer = ratio(of("lost_count", "fix"), of("lost_count", "incident"), side(0.1, 1, "a tenth"))
    apart = [
        dataclasses.replace(row, deployment=f"{row.arm}-{row.deployment}")
        for arm, value in (("fix", 1.0), ("incident", 100.0))
        for row in tries_of("lost_count", arm, [[value]] * 5)
    ]
    assert (judge_part(fewer, apart).values, judge_part(fewer, apart).verdict) == ((0.01,) * 5, CONFIRMED)


def test_a_slope_is_fitted_in_each_deployment() -> None:
    grows = slope(of("rejected_count", "incident"), "rate_hz", side(0.25, 0, "250 ms of arrivals"))
    rows = [
        row for hz in (200, 500, 1000) for row in tries_of("rejected_count", "incident", [[hz / 4]] * 5, rate_hz=hz)
    ]
    assert judge_part(grows, rows).values == (0.25,) * 5
    assert _seen(grows, rows) == (CONFIRMED, "")


def test_a_law_is_left_when_the_distance_exceeds_its_band() -> None:
    at_60 = law(of("handover_s", "incident"), predicted=60, band=3, if_false=20, because="the lock's life")
    assert _seen(at_60, _hand_over(60, 61, 59, 58, 62)) == (CONFIRMED, "")
    assert _seen(at_60, _hand_over(40, 41, 42, 40, 41)) == (REFUTED, "")


def test_a_disturbed_trial_on_the_other_side_makes_a_verdict_fragile() -> None:
    calm = _hand_over(13, 13, 13, 13, 13)
    beyond = tries_of("handover_s", "incident", [[40]], hiccup_ms=900, superseded=True, mark="x")
    within = tries_of("handover_s", "incident", [[16.5]], hiccup_ms=900, superseded=True, mark="x")
    assert _seen(FAST, calm + beyond) == (UNDECIDED, Reason.FRAGILE)
    assert _seen(FAST, calm + within) == (CONFIRMED, "")


def test_a_trial_whose_fault_was_not_made_has_no_value_but_too_many_of_them_do_harm() -> None:
    not_made = _hand_over(40, discarded=Discard.INJECTOR, mark="x")
    assert _seen(FAST, _hand_over(*[13] * 5) + not_made) == (CONFIRMED, "")
    two = tries_of("handover_s", "incident", [[40], [40]], discarded=Discard.INJECTOR, mark="x")
    found = judge_part(FAST, _hand_over(*[13] * 5) + two)
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.TOO_MANY_DISCARDED)
    assert needs(found) == "more trials that count are needed"
    assert needs(judge_part(FAST, _hand_over(13, 14))) == "5 deployments are needed"


# --- damage -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "rows"),
    [
        (FAST, _hand_over(*[13] * 9)),
        (FAST, _hand_over(*[24] * 9)),
        (FEW, _hand_over(*[13] * 9)),
        (FOUND, tries_of("log_file_exists", "incident", [[1]] * 5)),
        (FOUND, tries_of("log_file_exists", "incident", [[0]] * 5)),
        (NONE_LOST, tries_of("lost_count", "incident", [[0] * 9] * 5)),
        (happens(of("lost_count", "incident"), 1, "a death"), tries_of("lost_count", "incident", [[103] * 9] * 5)),
        (control(NONE_LOST), tries_of("lost_count", "incident", [[103, 0]] * 5)),
    ],
)
def test_a_trial_whose_evidence_is_damaged_leaves_its_part_undecided(part: Part, rows: list) -> None:  # type: ignore[type-arg]
    assert judge_part(part, rows).verdict is not UNDECIDED
    gone = dataclasses.replace(rows[0], trial="gone", tries=(), discarded=Discard.DAMAGED)
    assert _seen(part, [*rows, gone]) == (UNDECIDED, Reason.DAMAGED)
    assert _seen(part, [gone]) == (UNDECIDED, Reason.DAMAGED)
    of_another_arm = dataclasses.replace(gone, arm="baseline")
    assert judge_part(part, [*rows, of_another_arm]) == judge_part(part, rows)


def test_a_verified_counterexample_refutes_whatever_damaged_trials_held() -> None:
    rows = tries_of("lost_count", "incident", [[0] * 9, [0, 103], [0] * 9])
    gone = dataclasses.replace(rows[0], trial="gone", tries=(), discarded=Discard.DAMAGED)
    assert _seen(NONE_LOST, [*rows, gone]) == (REFUTED, "")
    by_one_record = tries_of("lost_count", "incident", [[0] * 9, [0, 103]], proof="")
    assert _seen(NONE_LOST, [*by_one_record, gone]) == (UNDECIDED, Reason.DAMAGED)


def test_a_control_that_lost_its_evidence_keeps_a_claim_from_being_refuted() -> None:
    claim = _claim(lost=NONE_LOST, calm=CALM)
    lost = tries_of("lost_count", "incident", [[103]] * 5)
    calm = tries_of("rejected_count", "baseline", [[0]] * 5)
    assert judge(claim, [*lost, *calm]).verdict is REFUTED
    gone = dataclasses.replace(calm[0], trial="gone", tries=(), discarded=Discard.DAMAGED)
    assert _verdict(judge(claim, [*lost, *calm, gone])) == (UNDECIDED, Reason.DAMAGED)


# --- events -----------------------------------------------------------------------------------------------------------


def test_a_fact_is_so_in_all_deployments_or_in_none() -> None:
    def rows(*values: float) -> list:  # type: ignore[type-arg]
        return tries_of("log_file_exists", "incident", [[value] for value in values])

    assert _seen(FOUND, rows(1, 1)) == (CONFIRMED, "")
    assert _seen(FOUND, rows(0, 0)) == (REFUTED, "")
    assert _seen(FOUND, rows(1, 0)) == (UNDECIDED, Reason.DIFFERS)
    assert _seen(FOUND, rows(1)) == (UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)


def _deaths(*by_deployment: Sequence[float | None], **more: Any) -> list[Tries]:
    return tries_of("lost_count", "incident", by_deployment, **more)


def test_never_takes_36_tries_in_5_deployments() -> None:
    assert _seen(NONE_LOST, _deaths(*[[0] * 8] * 5)) == (CONFIRMED, "")
    assert _seen(NONE_LOST, _deaths(*[[0] * 7] * 5)) == (UNDECIDED, Reason.TOO_FEW_TRIES)
    assert _seen(NONE_LOST, _deaths(*[[0] * 10] * 4)) == (UNDECIDED, Reason.TOO_FEW_DEPLOYMENTS)


def test_one_verified_counterexample_refutes_whatever_else_was_seen() -> None:
    assert _seen(NONE_LOST, _deaths([103])) == (REFUTED, "")
    assert _seen(NONE_LOST, _deaths(*[[0] * 100] * 5, [433])) == (REFUTED, "")


def test_a_death_of_which_nothing_is_known_confirms_nothing_and_is_not_counted_as_a_loss() -> None:
    found = judge_part(NONE_LOST, _deaths([0] * 10, [0] * 10, [0] * 10, [0] * 10, [None, *[0] * 9]))
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.UNVERIFIED)
    assert (found.tries, found.events, found.line) == (49, 0, 1)
    assert found.words.startswith("in none of 49 deaths (")
    assert found.words.endswith("; not measured in 1 more)")


def test_an_unverified_one_blocks_until_enough_clean_tries_have_followed() -> None:
    first = _deaths([0] * 39 + [53], proof="")
    assert _seen(NONE_LOST, first) == (UNDECIDED, Reason.UNVERIFIED)
    few = _deaths([], *[[0] * 29] * 4)
    enough = _deaths([], *[[0] * 30] * 4)
    assert _seen(NONE_LOST, first + few) == (UNDECIDED, Reason.UNVERIFIED)
    assert _seen(NONE_LOST, first + enough) == (CONFIRMED, "")
    assert "in 1 of 160 deaths" in judge_part(NONE_LOST, first + enough).words


def test_a_counterexample_of_a_disturbed_trial_refutes_when_the_host_cannot_have_made_it() -> None:
    at_once = each(of("handover_s", "incident"), side(1.4, 6.4, "code", bound=3))
    clean = tries_of("handover_s", "incident", [[1.4] * 8] * 5)
    wild = tries_of("handover_s", "incident", [[63.4]], hiccup_ms=900, superseded=True, mark="x")
    mild = tries_of("handover_s", "incident", [[3.5]], hiccup_ms=900, superseded=True, mark="x")
    assert _seen(at_once, clean + wild) == (REFUTED, "")
    assert _seen(at_once, clean + mild) == (CONFIRMED, "")


def test_a_try_of_never_that_could_not_be_measured_is_an_unverified_counterexample() -> None:
    assert _seen(NONE_LOST, _deaths(*[[0] * 8] * 5) + _deaths([], [], [], [], [], [None])) == (
        UNDECIDED,
        Reason.UNVERIFIED,
    )


def test_a_limit_keeps_the_host_from_being_what_refused() -> None:
    below = never(of("rejected_count", "incident", stall_ms=100), 25, "the limit is 200 ms", slack_ms=100)
    assert below.hiccup_ms_max({"rate_hz": 500}) == 25
    calm = tries_of("rejected_count", "incident", [[0] * 8] * 5, stall_ms=100, rate_hz=500)
    noisy = tries_of("rejected_count", "incident", [[9]], stall_ms=100, rate_hz=500, hiccup_ms=120, mark="x")
    assert _seen(below, calm + noisy) == (CONFIRMED, "")


def test_something_happens_when_one_event_is_verified_and_the_control_has_none() -> None:
    some = happens(of("rejected_count", "incident"), 25, "50 ms of arrivals", without=of("rejected_count", "baseline"))
    seen = tries_of("rejected_count", "incident", [[25], [24], [26]])
    assert _seen(some, seen + tries_of("rejected_count", "baseline", [[0]] * 3)) == (CONFIRMED, "")
    assert _seen(some, seen + tries_of("rejected_count", "baseline", [[0], [1], [0]])) == (
        UNDECIDED,
        Reason.CONTROL_FAILED,
    )
    rare = tries_of("rejected_count", "incident", [[0] * 40 + [9]])
    assert _seen(some, rare + tries_of("rejected_count", "baseline", [[0] * 5])) == (UNDECIDED, Reason.TOO_FEW_TRIES)


def test_what_was_not_seen_is_refuted_only_below_a_rate_fixed_in_advance() -> None:
    some = happens(of("lost_count", "incident"), 1, "a death")
    assert _seen(some, _deaths([0] * 71)) == (UNDECIDED, Reason.TOO_FEW_TRIES)
    assert _seen(some, _deaths([0] * 72)) == (REFUTED, "")


def test_what_one_record_alone_shows_is_seen_and_not_proved() -> None:
    some = happens(of("lost_count", "incident"), 1, "a death")
    assert _seen(some, tries_of("lost_count", "incident", [[3]], proof="")) == (UNDECIDED, Reason.UNPROVED)


# --- claims -----------------------------------------------------------------------------------------------------------


def _verdict(found: Finding) -> tuple[VerdictKind, str]:
    return found.verdict, found.reason


def _claim(**parts: Part) -> Claim:
    named = {name.replace("_", " "): part for name, part in parts.items()}
    summary = " ".join(f"{{{name}}}" for name in named) + "."
    return rules.claim("TEST-01", "A0", "", reading="", expected={}, parts=named, summary=summary)


CALM = control(never(of("rejected_count", "baseline"), 9, "the load alone"))


def test_a_control_that_fails_makes_undecided_also_what_would_be_refuted() -> None:
    with_control = _claim(fast=FAST, calm=CALM)
    slow = _hand_over(*[24] * 7)
    quiet = tries_of("rejected_count", "baseline", [[0]])
    loud = tries_of("rejected_count", "baseline", [[9]])
    assert _verdict(judge(with_control, slow + quiet)) == (REFUTED, "")
    assert _verdict(judge(with_control, slow + loud)) == (UNDECIDED, Reason.CONTROL_FAILED)
    assert _verdict(judge(with_control, _hand_over(*[13] * 5) + quiet)) == (CONFIRMED, "")
    assert _verdict(judge(with_control, _hand_over(*[13] * 5))) == (UNDECIDED, Reason.NOT_EXERCISED)


def test_each_scope_is_judged_by_itself_and_the_sentence_says_where_it_holds() -> None:
    def at(ms: int) -> Part:
        fix, incident = (of("rejected_count", arm, stall_ms=ms) for arm in ("fix", "incident"))
        return ratio(fix, incident, side(0.2, 1, "fewer", bound=0.75))

    parts = scopes("a stall of", (450, 1200), at, " ms")
    claim = rules.claim("TEST-02", "A0", "", reading="", expected={}, parts=parts, summary="Fewer.")
    rows = [
        row
        for (arm, ms), value in {
            ("fix", 450): 25,
            ("incident", 450): 125,
            ("fix", 1200): 600,
            ("incident", 1200): 600,
        }.items()
        for row in tries_of("rejected_count", arm, [[value]] * 7, stall_ms=ms)
    ]
    found = judge(claim, rows)
    assert [part.verdict for part in found.parts] == [CONFIRMED, REFUTED]
    assert verdict_of(found.parts) == (REFUTED, "", "a stall of 1200 ms")
    assert found.summary == (
        'Fewer. What refutes it: "a stall of 1200 ms" was 1.00 (in each of 7 pairs). It holds in this scope: a stall of 450 ms.'
    )


def test_a_sentence_counts_where_a_fact_is_not_so_and_has_tries_for_a_subject() -> None:
    summary = "A file lacked {!found}, and was there {found}. {#lost} lost some."
    claim = rules.claim("TEST-03", "A0", "", reading="", parts={"found": FOUND, "lost": NONE_LOST}, summary=summary)
    files = tries_of("log_file_exists", "incident", [[1], [0], [1], [None], [1, 0]])
    assert judge(claim, [*files, *_deaths([0] * 3, [8.0])]).summary == (
        "A file lacked in 1 of 5 deployments (undecided in 2), and was there in 2 of 5 deployments (undecided in 2). "
        "1 of 4 deaths (0.631\N{EN DASH}80.6\N{NARROW NO-BREAK SPACE}%, in 2 deployments, at worst 8) lost some."
    )


def test_a_checker_that_failed_leaves_its_part_undecided() -> None:
    assert _verdict(judge(_claim(fast=FAST), _hand_over(*[13] * 5), {"handover_s"})) == (
        UNDECIDED,
        Reason.CHECKER_FAILED,
    )


def test_the_rule_changes_with_its_bound_and_not_with_its_words() -> None:
    claim = _claim(fast=FAST)
    other = [dataclasses.replace(claim.parts[0], **change) for change in ({"bound": 17.0}, {"because": "x"})]
    hashes = [dataclasses.replace(claim, parts=(part,)).rule_hash() for part in other]
    assert (hashes[0] != claim.rule_hash(), hashes[1]) == (True, claim.rule_hash())


def _without(measure: str, deployments: int) -> list[Tries]:
    """Trials of further deployments that have no value."""
    rows = tries_of(measure, "incident", [[1]] * deployments, mark="without")
    return [dataclasses.replace(row, deployment=f"{row.deployment} without", tries=()) for row in rows]


# --- words ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "rows", "words"),
    [
        (FOUND, tries_of("log_file_exists", "incident", [[1]] * 5), "in 5 of 5 deployments"),
        (FOUND, [*tries_of("log_file_exists", "incident", [[1]] * 2), *_without("log_file_exists", 3)],
         "in 2 of 5 deployments (not measured in 3)"),
        (FAST, _hand_over(13, 13.1, 13.2, 14, 15), "13.2 s (13\N{EN DASH}15 s in 5 deployments)"),
        (FAST, tries_of("handover_s", "incident", [[13] * 9] * 5), "13 s (in each of 5 deployments of 9 owners)"),
        (FAST, _hand_over(13, 15), "14 s (13 s and 15 s in 2 deployments)"),
        (FAST, [*_hand_over(13, 14, 15), *_without("handover_s", 2)],
         "14 s (13 s to 15 s in 3 deployments; not measured in 2 more)"),
        (FAST, _without("handover_s", 2), "not measured"),
        (FEW, _without("handover_s", 5), "not measured"),
        (SOON, tries_of("handover_s", "incident", [[0.4], [0.9]]), "0.4\N{EN DASH}0.9 s in 2 deployments"),
        (FOUND, tries_of("log_file_exists", "incident", [[0, 1], [0]]), "in none of 2 deployments (undecided in 1)"),
        (NONE_LOST, _deaths(*[[0, 0]] * 20), "in none of 40 deaths (below 8.81 %, in 20 deployments)"),
        (NONE_LOST, _deaths([0] * 21 + [8.0] * 8, [0] * 13),
         "in 8 of 42 deaths (8.6\N{EN DASH}34.1 %, in 2 deployments, at worst 8)"),
    ],
)  # fmt: skip
def test_what_a_reader_is_told(part: Part, rows: list, words: str) -> None:  # type: ignore[type-arg]
    assert judge_part(part, rows).words.replace("\N{NARROW NO-BREAK SPACE}", " ") == words


def test_a_result_keeps_what_a_reader_needs_to_recompute_it() -> None:
    found = judge_part(FAST, _hand_over(13, 13, 13, 13, 24))
    kept = PartResult(
        name="", verdict=UNDECIDED, reason="too few deployments on one side", estimate=13.0, low=13.0, high=24.0, relation="<=",
        bound=16, unit="s", kind="Q", role="claim", right=4, wrong=1, line=0, deployments=5, tries=5, events=0,
        values=(13, 13, 13, 13, 24), words=found.words,
    )  # fmt: skip
    assert found == kept


def test_a_mean_is_of_counts_a_fault() -> None:
    assert judge_part(mean(of("lost_count", "incident"), side(0, 9, "x")), _deaths([0, 9], [0, 0])).values == (0, 4.5)


@pytest.mark.parametrize(
    ("part", "rows", "says"),
    [
        (FOUND, tries_of("log_file_exists", "incident", [[0], [0]]), "it: as claimed in none of 2 deployments (0)."),
        (SOON, _hand_over(0.6, 0.7), "it: 0.6\N{EN DASH}0.7\u202fs in 2 deployments."),
        (NONE_LOST, tries_of("lost_count", "incident", [[7]]),
         "it: other than claimed in 1 of 1 death (2.5\N{EN DASH}100\u202f%, in 1 deployment)."),
        (happens(of("lost_count", "incident"), 1, "a death"), tries_of("lost_count", "incident", [[7]]),
         "it: seen in 1 of 1 owner (2.5\N{EN DASH}100\u202f%, in 1 deployment)."),
    ],
)  # fmt: skip
def test_a_claim_without_a_sentence_says_what_its_figures_count(part: Part, rows: list[Tries], says: str) -> None:
    claim = rules.claim("MINE-01", "ours", "It.", reading="It.", parts={"it": part})
    assert without_lack(judge(claim, rows).summary) == says
