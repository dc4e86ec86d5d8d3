"""What the record says of settings against a broker's failure: by values, and that nothing is asked that no claim has."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import pytest

import scenarios
from harness.model.findings import Finding
from harness.model.verdicts import VerdictKind
from harness.releases.jars import recorded_releases
from mqlab.ask.advise import BEST, DOES_NOT, HELPS, NO_USE, OPEN, Advice, advice, lines
from mqlab.ask.recorded import committed_ledger
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.send_advice import AVOIDANCE, FAILURES, RETRIES, SENT_AGAIN

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED
WORDS = {CONFIRMED: "in 5 of 5 deployments", REFUTED: "in none of 5 deployments", UNDECIDED: "not measured"}


def _line(
    claim: str,
    release: str = "5.5.0",
    backend: str = "local",
    shares: tuple[float, ...] = (),
    words: str = "",
    late: dict[str, float] | None = None,
    kind: str = "F",
    carried: str = "",
    **parts: VerdictKind,
) -> Finding:
    made = [
        SimpleNamespace(
            name=name.replace("__", " ").replace("_", ", "),
            verdict=verdict,
            words=words or WORDS[verdict],
            deployments=0 if verdict is UNDECIDED and not words else 5,
            values=shares,
            kind=kind,
        )
        for name, verdict in parts.items()
    ]
    figures = [
        SimpleNamespace(name="late_of_producer_share", params={"producer": producer, "when": when}, max=share)
        for producer, worst in (late or {}).items()
        for when, share in (("during", worst), ("after", 1.0))
    ]
    line = SimpleNamespace(
        claim=claim, release=release, backend=backend, injection="none", parts=made, figures=figures, provenance=carried
    )
    return cast(Finding, line)


def _of(found: list[Advice], setting: str) -> Advice:
    (one,) = [advised for advised in found if advised.setting == setting]
    return one


def test_every_part_that_is_asked_is_one_of_a_claim_of_the_incidents() -> None:
    known = {(claim.id, part.name) for scenario in scenarios.ALL for claim in scenario.claims for part in claim.parts}
    asked = {
        (shown.claim, shown.part)
        for failure in FAILURES.values()
        for tried in failure.tried
        for shown in (*tried.helps, *tried.costs)
    }
    assert asked <= known
    assert all(failure.tried for failure in FAILURES.values())


def test_a_setting_helps_where_a_verdict_says_so_and_none_speaks_against_it() -> None:
    spared = _line("SENDS-04", avoided_still=CONFIRMED, still=CONFIRMED)
    found = advice([spared], "5.5.0", ["stopped"])
    assert _of(found, AVOIDANCE).answer == BEST
    assert _of(found, RETRIES).answer == DOES_NOT
    assert _of(found, RETRIES).because[0].measured == "in 5 deployments"
    against = _line("X-avoidance-in-outages-02", fewer=REFUTED)
    assert _of(advice([spared, against], "5.5.0", ["stopped"]), AVOIDANCE).answer == DOES_NOT


def test_a_setting_is_not_asked_about_on_a_release_that_has_it_not() -> None:
    asked = {release: {one.setting for one in advice([], release, ["stopped"])} for release in ("4.9.7", "5.3.3")}
    assert {setting for setting in asked["5.3.3"] - asked["4.9.7"] if "sendMsgMaxTimeoutPerRequest" in setting}
    assert asked["4.9.7"] < asked["5.3.3"]


@pytest.mark.parametrize(
    "line",
    [
        _line("SENDS-04", release="4.6.0", avoided_still=CONFIRMED),
        _line("SENDS-04", backend="compose", avoided_still=CONFIRMED),
        _line("SENDS-04", avoided_still=UNDECIDED),
    ],
    ids=["another release", "containers", "undecided"],
)
def test_what_was_not_decided_on_that_release_is_said_to_be_open(line: Finding) -> None:
    one = _of(advice([line], "5.5.0", ["stopped"]), AVOIDANCE)
    assert one.answer == OPEN
    assert {said.measured for said in (*one.because, *one.costs)} == {"not measured"}
    assert "  not decided yet: sendLatencyFaultEnable=true" in list(lines([one]))


def test_what_was_measured_and_is_undecided_says_so() -> None:
    line = _line("SENDS-04", words="in 3 of 5 deployments", avoided_still=UNDECIDED)
    one = _of(advice([line], "5.5.0", ["stopped"]), AVOIDANCE)
    assert one.answer == OPEN
    assert one.because[0].measured == "undecided, in 3 of 5 deployments"


@pytest.mark.parametrize(
    ("retried", "avoided", "best"),
    [((0.0, 0.0), (0.0, 0.04), RETRIES), ((0.0, 0.1), (0.0, 0.04), AVOIDANCE), ((0.04,), (0.04,), RETRIES)],
    ids=["fewer in the worst deployment", "more in the worst deployment", "as many, and it is the default"],
)
def test_the_best_of_two_that_help_leaves_the_fewest_sends_failed(
    retried: tuple[float, ...], avoided: tuple[float, ...], best: str
) -> None:
    lines_ = [
        _line("SENDS-04", shares=retried, busy=REFUTED),
        _line("SENDS-04", shares=avoided, avoided_busy=CONFIRMED),
    ]
    found = advice(lines_, "5.5.0", ["busy"])
    assert [(one.answer, one.setting == best) for one in found] == [(BEST, True), (HELPS, False)]


SPARED = _line("SENDS-04", shares=(0.024, 0.025), avoided_still=CONFIRMED)
WORTH_IT, LIMITED = "X-avoidance-in-outages-02", "X-avoidance-mended-01"


@pytest.mark.parametrize(
    ("avoided", "limit", "answers"),
    [(0.02, 0.0, (HELPS, BEST)), (0.02, 0.03, (BEST, HELPS)), (0.0, 0.0, (BEST, HELPS))],
    ids=["fewer late", "more late", "as many, and it takes more to set"],
)
def test_settings_of_which_different_things_were_judged_are_compared_by_the_sends_that_were_late(
    avoided: float, limit: float, answers: tuple[str, str]
) -> None:
    lines_ = [
        SPARED,
        _line(WORTH_IT, shares=(0.1, 0.4), kind="C", late={"on": avoided, "off": 0.3}, fewer=CONFIRMED),
        _line(LIMITED, shares=(0.0, 0.0), kind="C", late={"limit": limit, "off": 0.2}, fewer=CONFIRMED),
    ]
    found = advice(lines_, "5.5.0", ["stopped"])
    told = (_of(found, AVOIDANCE), _of(found, "sendMsgMaxTimeoutPerRequest=500"))
    assert tuple(one.answer for one in told) == answers
    assert [one.late_share for one in told] == [avoided, limit]
    assert "".join(f"at worst {told[0].late}".split()) in "".join("".join(lines(found)).split())


@pytest.mark.parametrize(
    ("verdict", "ratios", "answer"),
    [
        (UNDECIDED, (0.1, 0.6), HELPS),
        (UNDECIDED, (0.15, 1.28, 1.38), OPEN),
        (CONFIRMED, (0.1, 0.1, 0.1, 0.1, 1.1), HELPS),
        (CONFIRMED, (0.1, 0.4), BEST),
    ],
    ids=["open", "open, and worse in a deployment", "worse in one deployment", "neither"],
)
def test_what_is_not_sure_to_help_is_not_put_before_what_is(
    verdict: VerdictKind, ratios: tuple[float, ...], answer: str
) -> None:
    worth = _line(WORTH_IT, shares=ratios, words="in 5 pairs", kind="C", late={"on": 0.0}, fewer=verdict)
    limited = _line(LIMITED, kind="C", late={"limit": 0.1}, fewer=CONFIRMED)
    found = advice([SPARED, worth, limited], "5.5.0", ["stopped"])
    assert _of(found, AVOIDANCE).answer == answer
    assert _of(found, "sendMsgMaxTimeoutPerRequest=500").answer == (HELPS if answer == BEST else BEST)


def test_those_that_one_chooses_among_have_something_by_which_they_can_be_compared() -> None:
    for failure in FAILURES.values():
        for sends in {tried.sends for tried in failure.tried}:
            of = [tried for tried in failure.tried if tried.sends == sends and tried.helps]
            shares = [any(shown.unit == "share" for shown in tried.helps) for tried in of]
            assert len(of) < 2 or all(tried.late for tried in of) or all(shares)


def test_what_the_ledger_has_makes_nothing_the_best_that_left_more_sends_late_or_may_harm() -> None:
    ledger = committed_ledger()
    for release in recorded_releases():
        for failure in FAILURES:
            found = advice(ledger, release, [failure])
            for best in (one for one in found if one.answer == BEST):
                others = [one for one in found if one.answer == HELPS and one.sends == best.sends]
                assert all(one.may_harm or not best.may_harm for one in others)
                assert all(one.may_harm or (one.late_share or 0.0) >= (best.late_share or 0.0) for one in others)
    stopped = {
        release: next(one.setting for one in advice(ledger, release, ["stopped"])) for release in recorded_releases()
    }
    # What docs/tune.md tells of the same runs, under "Avoiding a broker".
    assert {stopped[release] for release in RELEASES_5X} == {"sendMsgMaxTimeoutPerRequest=500"}
    assert {stopped[release] for release in RELEASES_4X} == {f"{AVOIDANCE}, retryTimesWhenSendFailed=0"}


def test_settings_for_other_sends_are_no_choice_between_each_other() -> None:
    normal = _line("SENDS-04", shares=(0.0,), dead=REFUTED)
    selector = _line("SENDS-05", shares=(0.01, 0.02), sent__again=CONFIRMED)
    found = advice([normal, selector], "5.5.0", ["killed"])
    assert {one.setting for one in found if one.answer == BEST} == {RETRIES, SENT_AGAIN}
    assert _of(found, SENT_AGAIN).because[0].measured == "1\u202f% to 2\u202f% in 5 deployments"


def test_a_cost_is_told_as_it_was_measured() -> None:
    lasts = _line("X-avoidance-in-outages-06", stopped=REFUTED)
    soon = _line("X-avoidance-in-outages-06", stopped=CONFIRMED)
    costs = [_of(advice([line], "5.5.0", ["stopped"]), AVOIDANCE).costs[0] for line in (lasts, soon)]
    assert [cost.speaks_for for cost in costs] == [True, False]
    assert costs[0].says != costs[1].says
    assert [cost.measured for cost in costs] == ["in 5 deployments"] * 2
    text = "\n".join(lines(advice([soon], "5.5.0", ["stopped"])))
    assert "    no cost  ten seconds after the broker is well it has sends again" in text


def test_what_cannot_help_is_said_to_be_of_no_use() -> None:
    (one,) = advice([], "5.5.0", ["all-slow"])
    assert one.answer == NO_USE
    assert dataclasses.asdict(one)["costs"][0]["speaks_for"] is None


def test_each_failure_has_its_heading_once() -> None:
    text: list[Any] = [line for line in lines(advice([], "4.6.0", list(FAILURES))) if not line.startswith(" ")]
    assert text == [f"{name}: {failure.what} (RocketMQ 4.6.0)" for name, failure in FAILURES.items()]
    assert max(map(len, lines(advice([], "4.6.0", list(FAILURES))))) <= 100


def test_what_is_carried_over_says_so_beside_its_figure() -> None:
    provenance = "carried over from 5.3.3, not measured on 5.4.0"
    line = _line("X-avoidance-in-outages-06", carried=provenance, release="5.4.0", stopped=REFUTED)
    assert _of(advice([line], "5.4.0", ["stopped"]), AVOIDANCE).costs[0].measured == f"in 5 deployments; {provenance}"
