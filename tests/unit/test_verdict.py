"""From a run's observations to a finding: which trials and values decide it, and what goes with the verdict."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from analysis.verdicts.evidence import Evidence, Remark, TrialValidity, unit_of, without_evidence
from analysis.verdicts.judge import finding, findings
from analysis.verdicts.observations import Observation, Source
from analysis.verdicts.of_run import tries_of_run
from harness.model.cells import Parameters, ParameterValue, matches, same_value
from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.findings import Finding
from harness.model.loads import OpenLoopSends
from harness.model.rocketmq import LOCK_LIFE
from harness.model.rules import Claim, Expectation, Fold, Kind, Part, Selection
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.verdicts import Discard, Reason, VerdictKind
from harness.rundir.manifest import RESUMED, DeploymentRecord, HostRecord, Manifest, TrialRecord
from harness.rundir.reading import RunDirectory
from tests.lib.records import trial_record

CONFIRMED, REFUTED, UNDECIDED = VerdictKind.CONFIRMED, VerdictKind.REFUTED, VerdictKind.UNDECIDED


def _part(
    *,
    name: str = "waiting",
    measure: str = "handover_s",
    bound: float = 30.0,
    where: Mapping[str, tuple[ParameterValue, ...]] | None = None,
) -> Part:
    """It is so in every deployment; one is enough here."""
    return Part(
        name=name,
        kind=Kind.FACT,
        fold=Fold.EACH,
        of=Selection(measure=measure, arm="incident", where=where or {}),
        relation=">=",
        bound=bound,
        if_true=bound + 20,
        if_false=1.0,
        because="for the test",
        deployments_min=1,
    )


def _claim(*parts: Part, summary: str = "") -> Claim:
    return Claim(
        id="TEST-01",
        article="A0",
        says="it waits",
        reading="each",
        parts=parts,
        expected={"4.6.0": Expectation(verdict=CONFIRMED, because="it says so", source="Some.java")},
        summary=summary,
    )


def _scenario(claim: Claim) -> Scenario:
    arms = tuple(
        Arm(name=name, what="", fault=NoFault(), load=OpenLoopSends()) for name in ("baseline", "incident", "fix-it")
    )
    return Scenario(
        name="test-incident",
        title="",
        article="A0",
        summary="",
        topology=Topology(name="one"),
        arms=arms,
        phases=Phases(steady_s=1, hold_s_min=1, hold_s_max=1, recover_s=1),
        claims=(claim,),
        budget=TrialBudget(trials=1, deployments=1),
        quick_budget=TrialBudget(trials=1, deployments=1),
        exclusive=True,
        hiccup_ms_max=10,
    )


def _trial(
    name: str, *, arm: str = "incident", params: Parameters | None = None, release: str = "4.6.0"
) -> TrialRecord:
    return trial_record(
        name,
        incident="test-incident",
        arm=arm,
        params=params or {},
        release=release,
        deployment="d1",
        injection="signal",
        groups=(),
    )


def _run(trials: Sequence[TrialRecord], rules: Mapping[str, str] | None = None) -> RunDirectory:
    manifest = Manifest(
        run="r",
        created="",
        command="",
        dirty=False,
        commit="abc",
        seed=7,
        incidents=("test-incident",),
        releases=("4.6.0",),
        backend="local",
        budget="full",
        status="complete",
        trials=tuple(trial.trial for trial in trials),
        client_releases={},
        rules=rules or {},
        host=HostRecord(java="17.0.15", cores=2),
    )
    deployment = DeploymentRecord(
        deployment="d1",
        incident="test-incident",
        release="4.6.0",
        index=1,
        topology={},
        logging="lab",
        log_zone="UTC",
        nodes=(),
        settings={"conf": {"mappedFileSizeCommitLog": "64m"}},
    )
    return RunDirectory(path=Path("/r"), manifest=manifest, trials=tuple(trials), deployments=(deployment,))


def _seen(
    trial: TrialRecord,
    value: float,
    *,
    unit: str,
    measure: str = "handover_s",
    extra: Parameters | None = None,
    source: bool = True,
) -> Observation:
    return Observation(
        measure=measure,
        incident=trial.incident,
        arm=trial.arm,
        release=trial.release,
        trial=trial.trial,
        params={**trial.params, **(extra or {})},
        unit=unit,
        block=trial.deployment,
        value=value,
        source=Source(file="trials/t/history/p.jsonl", line=round(value) + 1) if source else None,
        extra=extra or {},
    )


def _judge(
    claim: Claim,
    observed: Sequence[Observation],
    trials: Sequence[TrialRecord],
    *,
    discarded: Mapping[str, Discard] | None = None,
    failed: Mapping[str, str] | None = None,
    release: str = "4.6.0",
) -> Finding:
    why = discarded or {}
    remarks = {name: (Remark(words="the machine stalled", discard=reason),) for name, reason in why.items()}
    validity = [
        TrialValidity(trial=one.trial, remarks=remarks.get(one.trial, ()), superseded_by=one.superseded_by)
        for one in trials
    ]
    return finding(claim, _scenario(claim), release, _evidence(claim, _run(trials), validity, observed, failed))


def _evidence(
    claim: Claim,
    run: RunDirectory,
    validity: Sequence[TrialValidity],
    observed: Sequence[Observation],
    failed: Mapping[str, str] | None = None,
) -> Evidence:
    tries = tries_of_run(observed, run.trials, validity, [_scenario(claim)])
    return Evidence.of(run=run, validity=validity, observations=observed, failed=failed, tries=tries)


def _values(trial: TrialRecord, values: Sequence[float], **more: object) -> list[Observation]:
    return [_seen(trial, value, unit=f"u{index}", **more) for index, value in enumerate(values)]  # type: ignore[arg-type]


# --- the verdict ------------------------------------------------------------------------------------------------------


def test_values_beyond_the_bound_confirm_and_values_short_of_it_refute() -> None:
    trial = _trial("t1")
    found = _judge(_claim(_part()), _values(trial, [50, 51, 52, 53, 54, 55]), [trial])
    assert (found.verdict, found.reason, found.trials) == (CONFIRMED, "", 1)
    found = _judge(_claim(_part()), _values(trial, [1, 2, 3, 2, 1, 2]), [trial])
    assert (found.verdict, found.reason) == (REFUTED, "")


def test_a_deployment_that_could_not_be_read_leaves_a_fact_of_deployments_open() -> None:
    trials = [dataclasses.replace(_trial(name), deployment=f"d-{name}") for name in ("t1", "t2", "t3")]
    seen = [_seen(trial, 50, unit=trial.deployment, measure="size_lines") for trial in trials]
    claim = _claim(_part(measure="size_lines"))
    assert _judge(claim, seen, trials).verdict is CONFIRMED
    found = _judge(claim, seen[:2], trials)
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.DIFFERS)
    assert _judge(claim, [], trials).verdict is UNDECIDED


def test_a_claim_is_as_good_as_its_worst_part() -> None:
    trial = _trial("t1")
    observed = _values(trial, [50] * 6)
    good, bad = _part(name="good"), _part(name="bad", bound=90)
    open_part = _part(name="open", measure="overlap_ms")
    assert _judge(_claim(good, bad, open_part), observed, [trial]).verdict is REFUTED
    found = _judge(_claim(good, open_part), observed, [trial])
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.MISSING_EVIDENCE)
    assert _judge(_claim(good), observed, [trial]).verdict is CONFIRMED


def test_a_claim_without_a_part_is_not_measurable() -> None:
    found = _judge(_claim(), [], [_trial("t1")])
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.NOT_MEASURABLE)


# --- why nothing can be said ------------------------------------------------------------------------------------------


def test_no_trial_of_the_arm_is_not_exercised() -> None:
    found = _judge(_claim(_part()), [], [_trial("t1", arm="baseline")])
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.NOT_EXERCISED)


def test_a_cell_that_was_not_run_is_not_exercised_though_its_arm_was() -> None:
    trial = _trial("t1", params={"stall_ms": 250})
    found = _judge(_claim(_part(where={"stall_ms": (450,)})), _values(trial, [50] * 6), [trial])
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.NOT_EXERCISED)


def test_trials_that_noise_made_not_count_are_too_noisy() -> None:
    trial = _trial("t1")
    found = _judge(_claim(_part()), _values(trial, [50] * 6), [trial], discarded={"t1": Discard.NOISE})
    assert (found.verdict, found.reason, found.trials) == (UNDECIDED, Reason.TOO_NOISY, 0)
    assert "t1 does not count: the machine stalled" in found.notes
    assert found.evidence == ()


def test_a_fault_that_took_no_effect_is_not_exercised_rather_than_noisy() -> None:
    trial = _trial("t1")
    found = _judge(_claim(_part()), _values(trial, [50] * 6), [trial], discarded={"t1": Discard.INJECTOR})
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.NOT_EXERCISED)


def test_a_trial_of_which_nothing_is_known_does_not_count() -> None:
    trial = _trial("t1")
    claim, observed = _claim(_part()), _values(trial, [50] * 6)
    found = finding(claim, _scenario(claim), "4.6.0", _evidence(claim, _run([trial]), [], observed))
    assert (found.trials, found.evidence) == (0, ())


def test_a_trial_that_counts_and_shows_nothing_is_missing_evidence() -> None:
    found = _judge(_claim(_part()), [], [_trial("t1")])
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.MISSING_EVIDENCE)


def test_a_failed_checker_takes_the_claims_that_use_its_measures_with_it() -> None:
    trial = _trial("t1")
    found = _judge(_claim(_part()), _values(trial, [50] * 6), [trial], failed={"handover_s": "it broke"})
    assert (found.verdict, found.reason) == (UNDECIDED, Reason.CHECKER_FAILED)
    assert "handover_s was not judged: it broke" in found.notes
    other = _judge(_claim(_part()), _values(trial, [50] * 6), [trial], failed={"overlap_ms": "it broke"})
    assert other.verdict is CONFIRMED


def test_nothing_is_green_or_red_without_a_line_of_evidence() -> None:
    trial = _trial("t1")
    for values in ([50] * 6, [1] * 6):
        found = _judge(_claim(_part()), _values(trial, values, source=False), [trial])
        assert (found.verdict, found.reason) == (UNDECIDED, Reason.MISSING_EVIDENCE)
        cited = _judge(_claim(_part()), _values(trial, values), [trial])
        assert cited.verdict is not UNDECIDED
        bare = without_evidence(cited)
        assert (bare.verdict, bare.reason, bare.evidence) == (UNDECIDED, Reason.MISSING_EVIDENCE, ())


# --- quantities -------------------------------------------------------------------------------------------------------


def test_parameters_are_compared_as_numbers_where_they_are_numbers() -> None:
    assert same_value(450, "450")
    assert same_value(450.0, 450)
    assert not same_value("lock.log", "store.log")
    assert not same_value("450ms", 450)
    assert matches({"stall_ms": "450", "keyword": "any"}, {"stall_ms": (250, 450.0)})
    assert not matches({"keyword": "any"}, {"stall_ms": (450,)})


def test_only_values_of_the_named_cells_count() -> None:
    short, long = _trial("t1", params={"stall_ms": 100}), _trial("t2", params={"stall_ms": 450.0})
    observed = _values(short, [1] * 6) + _values(long, [50] * 6)
    part = _part(where={"stall_ms": (450,)})
    assert _judge(_claim(part), observed, [short, long]).verdict is CONFIRMED


def test_only_values_of_the_named_parameter_of_the_measure_count() -> None:
    trial = _trial("t1")
    observed = _values(trial, [50] * 6, extra={"keyword": "any"}) + _values(
        trial, [0] * 6, extra={"keyword": "OVERLOAD"}
    )
    part = _part(where={"keyword": ("any",)})
    found = _judge(_claim(part), observed, [trial])
    assert found.verdict is CONFIRMED
    assert [summary.params for summary in found.figures] == [{"keyword": "any"}]


# --- what goes with it ------------------------------------------------------------------------------------------------


def test_the_sentence_is_the_claims_with_what_its_parts_found() -> None:
    trial = _trial("t1")
    claim = _claim(_part(name="a queue"), summary="A queue waited {a queue}.")
    assert _judge(claim, _values(trial, [54.7] * 6), [trial]).summary == "A queue waited in 1 of 1 deployment."
    assert _judge(claim, [], [trial]).summary.startswith("Undecided (missing evidence")


def test_evidence_shows_the_middle_and_both_ends_of_the_decisive_part_first() -> None:
    trial = _trial("t1")
    found = _judge(_claim(_part()), _values(trial, [40.0, 45, 50, 55, 60, 65]), [trial])
    assert [line.line for line in found.evidence] == [56, 66, 41]


def test_a_finding_names_expectation_rule_and_how_far_it_carries() -> None:
    trial = _trial("t1")
    claim = _claim(_part())
    found = _judge(claim, _values(trial, [50] * 6), [trial])
    assert (found.expected, found.expected_from_code) == (CONFIRMED, "it says so (Some.java)")
    assert (found.rule_hash, found.rule_commit, found.client) == (claim.rule_hash(), "abc", "java 4.6.0")
    assert found.settings == ("client.sendMsgTimeout=10000",)
    assert "1 of 1 trials count" in found.notes
    assert any("mappedFileSizeCommitLog=64m" in words for words in found.notes)
    assert any("Java 17.0.15 on 2" in words for words in found.notes)


def test_a_release_without_an_expectation_is_judged_all_the_same() -> None:
    trial = _trial("t1", release="5.5.0")
    found = _judge(_claim(_part()), _values(trial, [50] * 6), [trial], release="5.5.0")
    assert (found.verdict, found.expected, found.expected_from_code) == (CONFIRMED, None, "")


def test_a_rule_that_changed_after_the_run_is_told() -> None:
    trial = _trial("t1")
    claim = _claim(_part())
    run = _run([trial], rules={"TEST-01": "another"})
    evidence = _evidence(claim, run, [TrialValidity(trial="t1")], _values(trial, [50] * 6))
    found = findings([_scenario(claim)], evidence)
    assert len(found) == 1
    assert any("not the one that was committed" in words for words in found[0].notes)


def test_summaries_cover_every_arm_and_cell_of_the_measure() -> None:
    trials = [
        _trial("t1", params={"stall_ms": 100}),
        _trial("t2", params={"stall_ms": 450}),
        _trial("t3", arm="baseline"),
    ]
    observed = [item for trial in trials for item in _values(trial, [1.0, 2, 3])]
    found = _judge(_claim(_part()), observed, trials)
    assert [(item.arm, item.params, item.n) for item in found.figures] == [
        ("baseline", {}, 3),
        ("incident", {"stall_ms": 100}, 3),
        ("incident", {"stall_ms": 450}, 3),
    ]


@pytest.mark.parametrize(
    ("measure", "unit"),
    [
        ("handover_s", "s"),
        ("latency_p99_ms", "ms"),
        ("throughput_per_s", "1/s"),
        ("lost_count", ""),
        ("bytes_per_topic", ""),
        ("rejected_within_1s_max", ""),
        ("measure_of_another_time_s", ""),
    ],
)
def test_a_unit_is_as_the_catalogue_has_it(measure: str, unit: str) -> None:
    assert unit_of(measure) == unit


def test_a_finding_says_what_the_user_set_and_that_other_code_went_on_with_the_run() -> None:
    trials = [_trial("t1")]
    run = _run(trials)
    own = {
        "user_conf": {"flushDiskType": "SYNC_FLUSH", "mappedFileSizeCommitLog": "1g", "listenPort": "1"},
        "user_properties": {LOCK_LIFE: "15000"},
        "user_client": {"pullBatchSize": "8", "pullInterval": "1"},
    }
    changed = ("broker.listenPort: 1 -> 2", "client.pullInterval: 1 -> 0")
    note = f"{RESUMED}started with commit a and not commit b"
    run = dataclasses.replace(
        run,
        manifest=dataclasses.replace(run.manifest, notes=("a note", note)),
        deployments=tuple(
            dataclasses.replace(one, settings={**one.settings, **own}, overrides=changed) for one in run.deployments
        ),
    )
    claim = _claim(_part())
    evidence = _evidence(claim, run, [TrialValidity(trial="t1")], [_seen(trials[0], 3.0, unit="u")])
    said = finding(claim, _scenario(claim), "4.6.0", evidence).notes
    assert note in said
    assert "a note" not in said
    # What the scenario, the load or the lab sets wins over it, and is not the user's any more.
    set_by_user = f"broker-jvm.{LOCK_LIFE}=15000, broker.flushDiskType=SYNC_FLUSH, client.pullBatchSize=8"
    assert any(f"the user's settings {set_by_user}" in words for words in said)
    assert any(f"instead of the user's {', '.join(changed)}" in words for words in said)
    assert not any("mappedFileSizeCommitLog=1g" in words for words in said)
