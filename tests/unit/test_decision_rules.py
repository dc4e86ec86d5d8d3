"""What samples a rule takes as enough: the bounds that the scenarios' rules count on, through the whole of a verdict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.verdicts.evidence import Evidence, TrialValidity
from analysis.verdicts.judge import finding
from analysis.verdicts.observations import Observation, Source
from harness.model.claims import Claim, Part, Quantity, Statistic
from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.findings import PartResult
from harness.model.loads import OpenLoopSends
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import Reason, VerdictKind
from harness.rundir.manifest import HostRecord, Manifest, TrialRecord
from harness.rundir.reading import RunDirectory

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED

Values = Sequence[tuple[float, bool]]
"""Values with whether each is censored."""


def _judged(
    statistic: Statistic,
    relation: str,
    bound: float,
    values: Values,
    *,
    against: Sequence[float] | None = None,
    rates: Sequence[int] | None = None,
) -> PartResult:
    """One part over the values, each from a trial of its own, in deployments of three trials."""
    other = Quantity(measure="m", arm="baseline", statistic=Statistic.MEAN) if against is not None else None
    quantity = Quantity(
        measure="m",
        arm="incident",
        statistic=statistic,
        within=(59.0, None),
        against=other,
        slope_on="rate_hz" if rates else "",
    )
    part = Part(name="p", quantity=quantity, relation=relation, bound=bound, unit="", why="", units_min=2)  # type: ignore[arg-type]
    claim = Claim(id="C", article="", says="", reading="", parts=(part,), expected={})
    arms = tuple(Arm(name=name, what="", fault=NoFault(), load=OpenLoopSends()) for name in ("incident", "baseline"))
    budget = TrialBudget(trials=1, deployments=1)
    scenario = Scenario(
        name="i",
        title="",
        article="",
        summary="",
        topology=Topology(name="one"),
        arms=arms,
        phases=Phases(steady_s=0, hold_s_min=0, hold_s_max=0, recover_s=0),
        claims=(claim,),
        budget=budget,
        quick_budget=budget,
        exclusive=True,
        hiccup_ms_max=10,
    )
    seen = [_seen("incident", at, *value, rate=rates[at] if rates else 0) for at, value in enumerate(values)]
    seen += [_seen("baseline", at, value, False) for at, value in enumerate(against or ())]
    evidence = Evidence.of(
        run=_run([_trial(item) for item in seen]),
        validity=[TrialValidity(trial=item.trial) for item in seen],
        observations=seen,
    )
    (result,) = finding(claim, scenario, "4.6.0", evidence).parts
    return result


def _seen(arm: str, at: int, value: float, censored: bool, *, rate: int = 0) -> Observation:
    return Observation(
        measure="m",
        incident="i",
        arm=arm,
        release="4.6.0",
        trial=f"{arm}-{at}",
        params={"rate_hz": rate},
        unit=f"{arm}-{at}",
        block=f"d{at // 3}",
        value=value,
        censored=censored,
        source=Source(file="f", line=at + 1),
    )


def _trial(item: Observation) -> TrialRecord:
    return TrialRecord(
        trial=item.trial,
        incident="i",
        arm=item.arm,
        params=item.params,
        release="4.6.0",
        client="",
        backend="local",
        injection="none",
        deployment=item.block,
        repetition=1,
        seed=1,
        topic="",
        groups=(),
        live_conf={},
        status="complete",
        error="",
        superseded_by="",
    )


def _run(trials: Sequence[TrialRecord]) -> RunDirectory:
    manifest = Manifest(
        run="r",
        created="",
        command="",
        dirty=False,
        commit="",
        seed=7,
        incidents=("i",),
        releases=("4.6.0",),
        backend="local",
        budget="full",
        status="complete",
        trials=tuple(trial.trial for trial in trials),
        client_releases={},
        rules={},
        host=HostRecord(),
    )
    return RunDirectory(path=Path("r"), manifest=manifest, trials=tuple(trials), deployments=())


def _plain(*values: float) -> Values:
    return [(value, False) for value in values]


@pytest.mark.parametrize(
    ("trials", "verdict"),
    [
        (2, UNDECIDED),  # at most 1.84 a trial
        (3, CONFIRMED),  # at most 1.23
    ],
)
def test_three_trials_without_any_are_enough_to_say_fewer_than_one_and_a_half(
    trials: int, verdict: VerdictKind
) -> None:
    judged = _judged(Statistic.MEAN, "<=", 1.5, _plain(*[0.0] * trials))
    assert judged.verdict is verdict
    assert judged.high == pytest.approx(3.689 / trials, rel=1e-3)


@pytest.mark.parametrize(
    ("within", "outside", "verdict"),
    [
        (5, 0, UNDECIDED),  # from 47.8 % on
        (6, 0, CONFIRMED),  # from 54.1 % on
        (6, 1, UNDECIDED),
        (0, 6, REFUTED),
    ],
)
def test_six_of_six_are_enough_to_say_at_least_half(within: int, outside: int, verdict: VerdictKind) -> None:
    judged = _judged(Statistic.SHARE, ">=", 0.5, _plain(*[60.0] * within, *[58.0] * outside))
    assert judged.verdict is verdict
    assert judged.estimate == pytest.approx(within / (within + outside))


def test_a_median_with_a_few_censored_values_is_decided_by_the_others() -> None:
    judged = _judged(Statistic.MEDIAN, ">=", 30.0, [*_plain(50, 51, 52, 53, 54, 55, 56, 57), (90.0, True)])
    assert judged.verdict is CONFIRMED
    assert judged.estimate == 54


@pytest.mark.parametrize(
    ("relation", "bound", "verdict"),
    [
        (">=", 30.0, CONFIRMED),  # at least 60 is at least 30, however much longer it is
        ("<=", 30.0, REFUTED),
        (">=", 70.0, UNDECIDED),  # at least 60 says nothing about 70
        ("<=", 70.0, UNDECIDED),
    ],
)
def test_a_median_of_censored_values_decides_only_what_their_times_bound(
    relation: str, bound: float, verdict: VerdictKind
) -> None:
    judged = _judged(Statistic.MEDIAN, relation, bound, [(60.0, True)] * 6)
    assert judged.verdict is verdict
    assert judged.high == float("inf")


@pytest.mark.parametrize(("below", "verdict"), [(50.0, CONFIRMED), (10.0, REFUTED)])
def test_a_ratio_is_over_the_mean_of_the_other_arm(below: float, verdict: VerdictKind) -> None:
    judged = _judged(Statistic.RATIO_OF_MEANS, "<=", 0.75, _plain(10, 11, 9), against=[below] * 3)
    assert judged.verdict is verdict
    assert judged.estimate == pytest.approx(10 / below)


def test_a_ratio_over_an_arm_that_had_none_is_missing_evidence() -> None:
    judged = _judged(Statistic.RATIO_OF_MEANS, "<=", 0.75, _plain(10, 11, 9), against=[0.0] * 3)
    assert (judged.verdict, judged.reason) == (UNDECIDED, Reason.MISSING_EVIDENCE)


@pytest.mark.parametrize(("per_hz", "verdict"), [(0.25, CONFIRMED), (0.01, REFUTED)])
def test_a_slope_is_per_unit_of_the_parameter(per_hz: float, verdict: VerdictKind) -> None:
    rates = [200, 200, 500, 500, 1000, 1000]
    judged = _judged(Statistic.SLOPE, ">=", 0.05, _plain(*[rate * per_hz for rate in rates]), rates=rates)
    assert judged.verdict is verdict
    assert judged.estimate == pytest.approx(per_hz)


def test_a_slope_over_one_rate_alone_is_missing_evidence() -> None:
    judged = _judged(Statistic.SLOPE, ">=", 0.05, _plain(1, 2, 3), rates=[500, 500, 500])
    assert (judged.verdict, judged.reason) == (UNDECIDED, Reason.MISSING_EVIDENCE)
