"""A sweep by hand-made measures: what is recommended, what is left as it is, what stays undecided, and when to look again."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping, Sequence

from analysis.report.sweep import SweepResult, lines, of_release
from analysis.report.sweep_page import page, table
from analysis.verdicts.sides import deployments_needed
from analysis.verdicts.sweep import CHANGE, KEEP, NOTHING, UNDECIDED, Choice, choices, compared, rounds_of
from analysis.verdicts.tries import Tries, Try
from harness.model.sweep import Point, Sweep

KEY = "broker.waitTimeMillsInSendQueue"
GOAL = "rejected_count"


def _point(value: str, steps: int, **load: str) -> Point:
    name = "-".join(("incident", value, *load.values()))
    return Point(arm=name, settings={KEY: value}, load=load, steps=steps)


POINTS = (_point("100", 1), _point("200", 0), _point("400", 1), _point("800", 2))
SWEEP = Sweep(incident="append-stall", points=POINTS, goal=GOAL, margin=0.1)


def _rows(
    measure: str, by_value: Mapping[str, Sequence[float]], *, hiccup_ms: float = 0.0, keyword: str = "", **also: bool
) -> list[Tries]:
    """Values by arm, one a round."""
    return [
        Tries(
            trial=f"{arm}-{number}",
            deployment=f"{number:03}",
            release="5.5.0",
            arm=arm,
            cell={"stall_ms": 300, "rate_hz": 500},
            measure=measure,
            params={"keyword": keyword} if keyword else {},
            hiccup_ms=hiccup_ms,
            discarded="too noisy" if also.get("discarded") else "",
            tries=(Try.of(f"{arm}-{number}", [(value, bool(also.get("censored")))]),),
        )
        for arm, values in by_value.items()
        for number, value in enumerate(values, 1)
    ]


def _of_points(rounds: int, *values: float) -> dict[str, Sequence[float]]:
    """By arm, in the order of the points, the same in each round."""
    return {point.arm: [value] * rounds for point, value in zip(POINTS, values, strict=True)}


def _refused(rounds: int, *values: float, noise: float = 0.0, **also: float) -> list[Tries]:
    """Refusals of the points in their order, the same in each round but for a noise that alternates."""
    by_value = {
        point.arm: [max(0.0, value + noise * (-1) ** number) for number in range(rounds)]
        for point, value in zip(POINTS, values, strict=True)
    }
    return _rows(GOAL, by_value, keyword="any", hiccup_ms=also.get("hiccup_ms", 0.0))


def _one(rows: Sequence[Tries], sweep: Sweep = SWEEP) -> Choice:
    (found,) = choices(sweep, rows)
    return found


# --- what is recommended --------------------------------------------------------------------------------------------------

ENOUGH = deployments_needed(0, len(POINTS) - 1)


def test_at_a_knee_the_least_change_is_recommended_that_no_other_value_betters() -> None:
    found = _one(_refused(ENOUGH, 97, 47, 0, 0))
    assert (found.kind, found.arm, found.now) == (CHANGE, "incident-400", "incident-200")
    assert found.still_in == ("incident-400", "incident-800")


def test_a_value_that_does_harm_is_not_recommended_however_little_it_gives() -> None:
    rows = [*_refused(ENOUGH, 97, 47, 20, 0), *_rows("unlocked_share", _of_points(ENOUGH, 0, 0, 0, 0.6))]
    found = _one(rows)
    assert (found.kind, found.arm) == (CHANGE, "incident-400")
    assert found.harmful == {"incident-800": ("unlocked_share",)}
    assert "incident-800" not in found.still_in
    said = "\n".join(lines(_result(rows)))
    assert "(not recommended: more unlocked_share)" in said

    everywhere = [*_refused(ENOUGH, 97, 47, 20, 0), *_rows("overlap_ms", _of_points(ENOUGH, 9, 0, 40, 60))]
    assert _one(everywhere).kind == KEEP
    assert "and does no harm" in _one(everywhere).reason


def test_what_is_no_harm_is_a_price_and_what_is_there_already_is_no_more() -> None:
    priced = [*_refused(ENOUGH, 97, 47, 0, 0), *_rows("latency_p99_ms", _of_points(ENOUGH, 1, 1, 90, 99))]
    there = [*_refused(ENOUGH, 97, 47, 0, 0), *_rows("overlap_ms", _of_points(ENOUGH, 50, 50, 50, 50))]
    assert [_one(rows).arm for rows in (priced, there)] == ["incident-400", "incident-400"]


def test_less_and_less_recommends_the_last_value() -> None:
    assert _one(_refused(ENOUGH, 90, 60, 30, 5)).arm == "incident-800"


def test_a_flat_curve_recommends_no_change() -> None:
    found = _one(_refused(ENOUGH, 50, 50, 51, 49, noise=1))
    assert (found.kind, found.arm) == (KEEP, "incident-200")
    assert "no other value gives less by more than 10 %" in found.reason


def test_what_is_best_already_stays_and_so_does_nothing_at_all() -> None:
    assert _one(_refused(ENOUGH, 80, 20, 60, 90)).kind == KEEP
    assert _one(_refused(ENOUGH, 0, 0, 0, 0)).kind == KEEP


def test_one_deployment_less_than_the_rule_takes_leaves_it_undecided() -> None:
    found = _one(_refused(ENOUGH - 1, 97, 47, 0, 0))
    assert (found.kind, found.arm) == (UNDECIDED, "")
    assert f"too few deployments: {ENOUGH - 1} of each point, and 4 points take {ENOUGH}" in found.reason
    assert found.rounds_needed == ENOUGH


def test_values_that_scatter_are_undecided_however_many_there_are() -> None:
    apart = {point.arm: [10.0, 90.0] * 10 for point in POINTS}
    apart["incident-200"] = [90.0, 10.0] * 10
    found = _one(_rows(GOAL, apart, keyword="any"))
    assert found.kind == UNDECIDED
    assert "the deployments differ from each other" in found.reason
    assert found.rounds_needed > 20


def test_hiccups_as_long_as_the_difference_leave_it_undecided_and_say_so() -> None:
    assert _one(_refused(ENOUGH, 97, 47, 0, 0, hiccup_ms=3)).kind == CHANGE
    found = _one(_refused(ENOUGH, 97, 47, 0, 0, hiccup_ms=60))
    assert found.kind == UNDECIDED
    assert "hiccups" in found.reason


def test_one_deployment_that_disagrees_takes_four_more() -> None:
    rows = _refused(ENOUGH, 97, 47, 0, 0)
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
    even = compared("a", "b", "b", rounds_of(_rows(GOAL, {"a": [1.0] * 5, "b": [0.0] * 5}, keyword="any")), 0.1)
    assert even.is_worse(2) is True
    assert even.is_worse(3) is None
    assert even.rounds_needed(3) == 7


def test_a_wider_margin_takes_a_small_gain_for_none() -> None:
    rows = _refused(ENOUGH, 50, 47, 40, 40)
    assert _one(rows).kind == CHANGE
    assert _one(rows, dataclasses.replace(SWEEP, margin=0.25)).kind == KEEP


def test_trials_that_do_not_count_and_single_keywords_are_left_out() -> None:
    rows = _refused(ENOUGH, 97, 47, 0, 0)
    noisy = _rows(GOAL, {"incident-400": [500.0] * ENOUGH}, keyword="any", discarded=True)
    other = _rows(GOAL, {point.arm: [7.0] * ENOUGH for point in POINTS}, keyword="OVERLOAD")
    assert _one([*rows, *noisy, *other]) == _one(rows)


def test_a_lower_bound_is_never_better() -> None:
    sweep = dataclasses.replace(SWEEP, points=POINTS[:2], goal="handover_s")
    ended = _rows("handover_s", {"incident-200": [60.0] * 5})
    assert _one([*ended, *_rows("handover_s", {"incident-100": [20.0] * 5})], sweep).kind == CHANGE
    still_waiting = _rows("handover_s", {"incident-100": [20.0] * 5}, censored=True)
    assert _one([*ended, *still_waiting], sweep).kind == UNDECIDED


def test_each_load_has_a_recommendation_and_a_load_by_itself_has_none() -> None:
    slow = (_point("200", 0, rate_hz="100"), _point("400", 1, rate_hz="100"))
    fast = (_point("200", 0, rate_hz="900"), _point("400", 1, rate_hz="900"))
    values = {slow[0].arm: [0.0] * 5, slow[1].arm: [0.0] * 5, fast[0].arm: [90.0] * 5, fast[1].arm: [9.0] * 5}
    sweep = dataclasses.replace(SWEEP, points=(*slow, *fast))
    first, second = choices(sweep, _rows(GOAL, values, keyword="any"))
    assert (first.kind, second.kind, second.arm) == (KEEP, CHANGE, "incident-400-900")
    loads = [Point(arm=f"incident-{hz}", settings={}, load={"rate_hz": hz}, steps=0) for hz in ("100", "900")]
    alone = dataclasses.replace(SWEEP, points=tuple(loads))
    found = choices(alone, _rows(GOAL, {point.arm: [9.0] * 5 for point in loads}, keyword="any"))
    assert [one.kind for one in found] == [NOTHING, NOTHING]


# --- what is said ---------------------------------------------------------------------------------------------------------


def _result(rows: Sequence[Tries], sweep: Sweep = SWEEP, predicted: Mapping[str, float] | None = None) -> SweepResult:
    return SweepResult(sweep=sweep, deployments_max=13, releases=(of_release(sweep, "5.5.0", rows, predicted),))


def _longest(*values: float) -> list[Tries]:
    return _rows("latency_max_ms", _of_points(ENOUGH, *values))


def test_the_recommendation_is_said_with_its_reason_its_price_and_the_prediction() -> None:
    rows = [*_refused(ENOUGH, 97, 47, 0, 0), *_longest(110, 210, 305, 305)]
    predicted = {"incident-100": 97.5, "incident-200": 47.5, "incident-400": 0.0, "incident-800": 0.0}
    said = "\n".join(lines(_result(rows, predicted=predicted)))
    assert "waitTimeMillsInSendQueue=200  47 (47\N{EN DASH}47)  predicted   47.5  (now)" in said
    assert "set waitTimeMillsInSendQueue=400 (now 200): it gives less" in said
    assert "rejected_count (keyword any) 0 (0\N{EN DASH}0) instead of 47 (47\N{EN DASH}47)" in said
    assert "more: latency_max_ms 305" in said
    assert f"{ENOUGH} deployments of each point, of 13 at most" in said


def test_a_measure_that_does_not_differ_is_no_price() -> None:
    said = "\n".join(lines(_result([*_refused(ENOUGH, 97, 47, 0, 0), *_longest(210, 210, 215, 230)])))
    assert "no other measure differs" in said


def test_what_is_undecided_names_what_was_not_told_apart() -> None:
    said = "\n".join(lines(_result(_refused(3, 97, 47, 0, 0))))
    assert "undecided: too few deployments: 3" in said
    assert "not told apart: waitTimeMillsInSendQueue=200; waitTimeMillsInSendQueue=100" in said
    assert "47 (" not in said, "fewer than five deployments have no range"


def test_the_page_draws_a_curve_for_each_measure_that_varies() -> None:
    rows = [
        *_refused(ENOUGH, 97, 47, 0, 0),
        *_longest(110, 210, 305, 305),
        *_rows("throughput_per_s", {"incident-100": [500.0]}),
    ]
    result = _result(rows, predicted={point.arm: 10.0 for point in POINTS})
    text = page(result)
    assert text == page(result)
    assert text.count("<svg") == 2
    assert text.count('class="model"') == 1
    assert text.count('r="8"') == 2, "what is recommended is ringed in each curve"
    assert "throughput_per_s" not in text
    assert "<script" not in text
    assert [row[1] for row in table(result).rows] == [point.arm for point in POINTS]


def test_a_page_without_any_value_is_one() -> None:
    assert "<h1>" in page(_result([]))
    assert "undecided: nothing of it was measured" in "\n".join(lines(_result([])))


def test_the_result_is_json_of_finite_numbers() -> None:
    rows = _rows("handover_s", {point.arm: [20.0] * 6 for point in POINTS}, censored=True)
    result = _result(rows, dataclasses.replace(SWEEP, goal="handover_s"))
    json.dumps(dataclasses.asdict(result), allow_nan=False)
    assert "undecided" in "\n".join(lines(result))
