"""A sweep by hand-made measures: what is recommended, what is left as it is, what stays undecided, and when to look again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence

from analysis.report.sweep import lines
from analysis.report.sweep_page import page, table
from analysis.verdicts.sides import deployments_needed
from analysis.verdicts.sweep import CHANGE, KEEP, NOTHING, UNDECIDED, Choice, choices, compared, rounds_of
from analysis.verdicts.tries import Tries, Try
from harness.model.sweep import Point, Sweep
from tests.lib.sweeps import ENOUGH, GOAL, POINTS, SWEEP, longest, of_points, point, refused, result_of, rows_of


def _one(rows: Sequence[Tries], sweep: Sweep = SWEEP) -> Choice:
    (found,) = choices(sweep, rows)
    return found


# --- what is recommended --------------------------------------------------------------------------------------------------


def test_at_a_knee_the_least_change_is_recommended_that_no_other_value_betters() -> None:
    found = _one(refused(ENOUGH, 97, 47, 0, 0))
    assert (found.kind, found.arm, found.now) == (CHANGE, "incident-400", "incident-200")
    assert found.still_in == ("incident-400", "incident-800")


def test_a_value_that_does_harm_is_not_recommended_however_little_it_gives() -> None:
    rows = [*refused(ENOUGH, 97, 47, 20, 0), *rows_of("unlocked_share", of_points(ENOUGH, 0, 0, 0, 0.6))]
    found = _one(rows)
    assert (found.kind, found.arm) == (CHANGE, "incident-400")
    assert found.harmful == {"incident-800": ("unlocked_share",)}
    assert "incident-800" not in found.still_in
    said = "\n".join(lines(result_of(rows)))
    assert "waitTimeMillsInSendQueue=800  0 (0\N{EN DASH}0)     (not recommended)" in said
    assert "waitTimeMillsInSendQueue=800 does harm, as this grows: Share of the time before the fault" in said

    everywhere = [*refused(ENOUGH, 97, 47, 20, 0), *rows_of("overlap_ms", of_points(ENOUGH, 9, 0, 40, 60))]
    assert _one(everywhere).kind == KEEP
    assert "and does no harm" in _one(everywhere).reason


def test_what_is_no_harm_is_a_price_and_what_is_there_already_is_no_more() -> None:
    priced = [*refused(ENOUGH, 97, 47, 0, 0), *rows_of("latency_p99_ms", of_points(ENOUGH, 1, 1, 90, 99))]
    there = [*refused(ENOUGH, 97, 47, 0, 0), *rows_of("overlap_ms", of_points(ENOUGH, 50, 50, 50, 50))]
    assert [_one(rows).arm for rows in (priced, there)] == ["incident-400", "incident-400"]


def test_less_and_less_recommends_the_last_value() -> None:
    assert _one(refused(ENOUGH, 90, 60, 30, 5)).arm == "incident-800"


def test_a_flat_curve_recommends_no_change() -> None:
    found = _one(refused(ENOUGH, 50, 50, 51, 49, noise=1))
    assert (found.kind, found.arm) == (KEEP, "incident-200")
    assert "no other value gives less by more than 10 %" in found.reason


def test_what_is_best_already_stays_and_so_does_nothing_at_all() -> None:
    assert _one(refused(ENOUGH, 80, 20, 60, 90)).kind == KEEP
    assert _one(refused(ENOUGH, 0, 0, 0, 0)).kind == KEEP


def test_one_deployment_less_than_the_rule_takes_leaves_it_undecided() -> None:
    found = _one(refused(ENOUGH - 1, 97, 47, 0, 0))
    assert (found.kind, found.arm) == (UNDECIDED, "")
    assert f"too few clusters: {ENOUGH - 1} of each value, and 4 values take {ENOUGH}" in found.reason
    assert found.rounds_needed == ENOUGH


def test_values_that_scatter_are_undecided_however_many_there_are() -> None:
    apart = {point.arm: [10.0, 90.0] * 10 for point in POINTS}
    apart["incident-200"] = [90.0, 10.0] * 10
    found = _one(rows_of(GOAL, apart, keyword="any"))
    assert found.kind == UNDECIDED
    assert "the clusters differ from each other" in found.reason
    assert found.rounds_needed > 20


def test_hiccups_as_long_as_the_difference_leave_it_undecided_and_say_so() -> None:
    assert _one(refused(ENOUGH, 97, 47, 0, 0, hiccup_ms=3)).kind == CHANGE
    found = _one(refused(ENOUGH, 97, 47, 0, 0, hiccup_ms=60))
    assert found.kind == UNDECIDED
    assert "hiccups" in found.reason


def test_one_deployment_that_disagrees_takes_four_more() -> None:
    rows = refused(ENOUGH, 97, 47, 0, 0)
    odd = [
        dataclasses.replace(row, tries=(Try.of(row.trial, [(300.0, False)]),))
        if (row.arm, row.deployment) == ("incident-400", "001")
        else row
        for row in rows
    ]
    found = _one(odd)
    assert found.kind == CHANGE
    assert found.arm == "incident-800"
    three = Sweep(incident="append-stall", points=POINTS[:3], goal=GOAL, margin=0.1)
    again = _one([row for row in odd if row.arm != "incident-800"], three)
    assert (again.kind, again.rounds_needed) == (UNDECIDED, deployments_needed(1, 2))


def test_a_wrong_value_is_recommended_by_luck_with_less_than_one_chance_in_twenty() -> None:
    """The odds of a comparison are those of the side rule times the values that could be recommended wrongly."""
    even = compared("a", "b", "b", rounds_of(rows_of(GOAL, {"a": [1.0] * 5, "b": [0.0] * 5}, keyword="any")), 0.1)
    assert even.is_worse(2) is True
    assert even.is_worse(3) is None
    assert even.rounds_needed(3) == 7


def test_a_wider_margin_takes_a_small_gain_for_none() -> None:
    rows = refused(ENOUGH, 50, 47, 40, 40)
    assert _one(rows).kind == CHANGE
    assert _one(rows, dataclasses.replace(SWEEP, margin=0.25)).kind == KEEP


def test_trials_that_do_not_count_and_single_keywords_are_left_out() -> None:
    rows = refused(ENOUGH, 97, 47, 0, 0)
    noisy = rows_of(GOAL, {"incident-400": [500.0] * ENOUGH}, keyword="any", discarded=True)
    other = rows_of(GOAL, {point.arm: [7.0] * ENOUGH for point in POINTS}, keyword="OVERLOAD")
    assert _one([*rows, *noisy, *other]) == _one(rows)


def test_a_lower_bound_is_never_better() -> None:
    sweep = dataclasses.replace(SWEEP, points=POINTS[:2], goal="handover_s")
    ended = rows_of("handover_s", {"incident-200": [60.0] * 5})
    assert _one([*ended, *rows_of("handover_s", {"incident-100": [20.0] * 5})], sweep).kind == CHANGE
    still_waiting = rows_of("handover_s", {"incident-100": [20.0] * 5}, censored=True)
    assert _one([*ended, *still_waiting], sweep).kind == UNDECIDED


def test_each_load_has_a_recommendation_and_a_load_by_itself_has_none() -> None:
    slow = (point("200", 0, rate_hz="100"), point("400", 1, rate_hz="100"))
    fast = (point("200", 0, rate_hz="900"), point("400", 1, rate_hz="900"))
    values = {slow[0].arm: [0.0] * 5, slow[1].arm: [0.0] * 5, fast[0].arm: [90.0] * 5, fast[1].arm: [9.0] * 5}
    sweep = dataclasses.replace(SWEEP, points=(*slow, *fast))
    first, second = choices(sweep, rows_of(GOAL, values, keyword="any"))
    assert (first.kind, second.kind, second.arm) == (KEEP, CHANGE, "incident-400-900")
    loads = [Point(arm=f"incident-{hz}", settings={}, load={"rate_hz": hz}, steps=0) for hz in ("100", "900")]
    alone = dataclasses.replace(SWEEP, points=tuple(loads))
    found = choices(alone, rows_of(GOAL, {point.arm: [9.0] * 5 for point in loads}, keyword="any"))
    assert [one.kind for one in found] == [NOTHING, NOTHING]


# --- what is said ---------------------------------------------------------------------------------------------------------


def test_the_recommendation_is_said_with_its_reason_its_price_and_the_prediction() -> None:
    rows = [*refused(ENOUGH, 97, 47, 0, 0), *longest(110, 210, 305, 305)]
    predicted = {"incident-100": 97.5, "incident-200": 47.5, "incident-400": 0.0, "incident-800": 0.0}
    said = "\n".join(lines(result_of(rows, predicted=predicted)))
    assert "waitTimeMillsInSendQueue=200  47 (47\N{EN DASH}47)  predicted   47.5  (now)" in said
    assert said.startswith(
        "append-stall on 5.5.0: set waitTimeMillsInSendQueue=400 (now 200)\n  Sends that were refused: "
    )
    assert "Sends that were refused: 0 (0\N{EN DASH}0) instead of 47 (47\N{EN DASH}47)" in said
    assert "why: no value gives less" in said
    assert "more: Longest time from intended to finished, of accepted sends: 305" in said
    assert "-> waitTimeMillsInSendQueue=400 in broker.conf" in said
    assert f"{ENOUGH} clusters of each value, of 13 at most" in said


def test_a_measure_that_does_not_differ_is_no_price() -> None:
    said = "\n".join(lines(result_of([*refused(ENOUGH, 97, 47, 0, 0), *longest(210, 210, 215, 230)])))
    assert "no other measure differs" in said


def test_what_is_undecided_names_what_was_not_told_apart() -> None:
    said = "\n".join(lines(result_of(refused(3, 97, 47, 0, 0))))
    assert "append-stall on 5.5.0: not settled" in said
    assert "why: too few clusters: 3" in said
    assert "not told apart: waitTimeMillsInSendQueue=200; waitTimeMillsInSendQueue=100" in said
    assert "47 (" not in said, "fewer than five deployments have no range"


def test_the_page_draws_a_curve_for_each_measure_that_varies() -> None:
    rows = [
        *refused(ENOUGH, 97, 47, 0, 0),
        *longest(110, 210, 305, 305),
        *rows_of("throughput_per_s", {"incident-100": [500.0]}),
    ]
    result = result_of(rows, predicted={point.arm: 10.0 for point in POINTS})
    text = page(result)
    assert text == page(result)
    above, folded = text.split('<details class="rest">')
    assert [part.count("<svg") for part in (above, folded)] == [1, 2], "the goal's curve stands beside its answer"
    assert [part.count('class="model"') for part in (above, folded)] == [1, 1]
    assert folded.count('r="8"') == 2, "what is recommended is ringed in each curve"
    assert "Accepted sends per second" not in text
    assert "<script" not in text
    assert [row[1] for row in table(result).rows] == [point.arm for point in POINTS]


def test_a_page_without_any_value_is_one() -> None:
    assert "<h1>" in page(result_of([]))
    assert "not settled" in page(result_of([]))
    assert "why: nothing of it was measured" in "\n".join(lines(result_of([])))


def test_the_result_is_json_of_finite_numbers() -> None:
    rows = rows_of("handover_s", {point.arm: [20.0] * 6 for point in POINTS}, censored=True)
    result = result_of(rows, dataclasses.replace(SWEEP, goal="handover_s"))
    json.dumps(dataclasses.asdict(result), allow_nan=False)
    assert "not settled" in "\n".join(lines(result))
