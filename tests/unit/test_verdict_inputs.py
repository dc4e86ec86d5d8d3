"""What verdicts are made of without Spark: the run directory's files, and which trials count."""

from __future__ import annotations

import dataclasses
import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from analysis.evidence.trials import TrialFacts
from analysis.verdicts import validity
from analysis.verdicts.evidence import TrialValidity
from analysis.verdicts.kinds import judge_part
from analysis.verdicts.tries import Tries, Try
from harness.errors import RunDirectoryError
from harness.model.cluster import Topology
from harness.model.faults import (
    FAULTS,
    AppendStall,
    AppendWatch,
    BrokerAway,
    Fault,
    KillOwners,
    KillOwnersRestartBroker,
    MoreQueues,
    NetworkCut,
    NoFault,
    PageCacheNeighbour,
    PauseOwners,
    Proof,
    ShutDownOwners,
    TopicMoments,
)
from harness.model.loads import LocustUsers, OpenLoopSends, OrderedGroups, SteadyClients
from harness.model.rocketmq import LOCK_LIFE
from harness.model.rules import Claim, Fold, Kind, Part, Selection
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from harness.model.steps import Read, Stay
from harness.model.verdicts import Discard, Reason
from harness.rundir.integrity import UNVOUCHED
from harness.rundir.manifest import HostRecord, TrialStatus
from harness.rundir.reading import read_run_directory
from tests.lib.records import trial_record

S = 1_000_000_000

MANIFEST: dict[str, object] = {
    "schema": 1,
    "run": "r1",
    "created": "2026-11-21T08:15:00Z",
    "command": "mqlab verify append-stall",
    "commit": "abc",
    "dirty": False,
    "seed": 7,
    "incidents": ["append-stall"],
    "releases": ["4.6.0"],
    "client_releases": {"4.6.0": "4.6.0"},
    "rules": {},
    "backend": "local",
    "budget": "quick",
    "status": "interrupted",
    "trials": ["t1", "t2"],
    "host": {"cores": 2, "nested": {"left": "out"}},
    "a later writer's field": 1,
}
TRIAL: dict[str, object] = {
    "schema": 1,
    "trial": "t1",
    "incident": "append-stall",
    "arm": "incident",
    "params": {"stall_ms": 450},
    "release": "4.6.0",
    "client": "java 4.6.0",
    "backend": "local",
    "injection": "byteman",
    "deployment": "d1",
    "repetition": 1,
    "seed": 1,
    "topic": "T1",
    "status": "complete",
    "live_conf": {"waitTimeMillsInSendQueue": "400"},
}
DEPLOYMENT: dict[str, object] = {
    "schema": 1,
    "deployment": "d1",
    "incident": "append-stall",
    "release": "4.6.0",
    "index": 1,
    "topology": {"name": "one-broker", "masters": 1},
    "logging": "lab",
    "log_zone": "GMT+8",
    "settings": {"conf": {"brokerRole": "ASYNC_MASTER"}},
}


def _write(path: Path, value: object) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value))


def test_an_interrupted_run_is_read_and_what_is_missing_is_told(tmp_path: Path) -> None:
    _write(tmp_path / "manifest.json", MANIFEST)
    _write(tmp_path / "trials/t1/trial.json", TRIAL)
    _write(tmp_path / "deployments/d1/deployment.json", DEPLOYMENT)
    run = read_run_directory(tmp_path)
    assert [trial.trial for trial in run.trials] == ["t1"]
    assert run.trials[0].live_conf == {"waitTimeMillsInSendQueue": "400"}
    assert run.trials[0].params == {"stall_ms": 450}
    assert (run.manifest.seed, run.manifest.host) == (7, HostRecord(cores=2))
    deployment = run.deployment("d1")
    assert deployment is not None
    assert deployment.log_zone == "GMT+8"
    assert (deployment.conf, deployment.properties) == ({"brokerRole": "ASYNC_MASTER"}, {})
    for given, wins in (({}, "15000"), ({LOCK_LIFE: "30000"}, "30000")):
        settings = {"user_properties": {LOCK_LIFE: "15000"}, "properties": given}
        assert dataclasses.replace(deployment, settings=settings).started_properties == {LOCK_LIFE: wins}
    user = {"user_conf": {"aclEnable": "true", "maxMessageSize": "1"}}
    changed = ("broker.aclEnable: true -> left out: nobody brings accounts.",)
    started = dataclasses.replace(deployment, settings=user, overrides=changed).started_conf
    assert started == {"maxMessageSize": "1"}, "the broker never had what the lab left out"
    assert run.deployment("d2") is None
    assert run.problems == (UNVOUCHED, "1 of 2 planned trials left nothing: t2")


def test_a_half_written_trial_is_a_problem_and_no_crash(tmp_path: Path) -> None:
    _write(tmp_path / "manifest.json", MANIFEST)
    (tmp_path / "trials/t1").mkdir(parents=True)
    (tmp_path / "trials/t1/trial.json").write_text('{"schema": 1, "trial": "t')
    run = read_run_directory(tmp_path)
    assert run.trials == ()
    assert any("t1/trial.json cannot be read" in problem for problem in run.problems)


@pytest.mark.parametrize(
    ("file", "value", "words"),
    [
        ("trials/t1/trial.json", {**TRIAL, "live_conf": {"a": 400}}, "live_conf.a is 400, not a string"),
        (
            "trials/t1/trial.json",
            {**TRIAL, "params": {"a": [1]}},
            r"params.a is \[1\], not a whole number or a number or a",
        ),
        (
            "trials/t1/trial.json",
            {**TRIAL, "status": "lost"},
            "status is 'lost', not one of planned, running, complete",
        ),
        ("trials/t1/trial.json", {**TRIAL, "groups": "g0"}, "groups is 'g0', not a list"),
        ("trials/t1/trial.json", {**TRIAL, "repetition": True}, "repetition is True, not a whole number"),
        ("deployments/d1/deployment.json", {**DEPLOYMENT, "nodes": [{"name": "a"}]}, r"nodes\[0\] lacks kind"),
        ("deployments/d1/deployment.json", {**DEPLOYMENT, "nodes": ["a"]}, r"nodes\[0\] is 'a', not an object"),
        ("deployments/d1/deployment.json", {**DEPLOYMENT, "schema": 3}, "has schema 3, and this version reads up to 2"),
    ],
)
def test_a_damaged_file_of_a_run_is_a_problem_that_names_file_and_field(
    tmp_path: Path, file: str, value: object, words: str
) -> None:
    _write(tmp_path / "manifest.json", {**MANIFEST, "trials": []})
    _write(tmp_path / file, value)
    run = read_run_directory(tmp_path)
    assert (run.trials, run.deployments) == ((), ())
    unvouched, problem = run.problems
    assert unvouched == UNVOUCHED
    assert re.search(rf"{file} .*{words}", problem)


@pytest.mark.parametrize(
    ("manifest", "words"),
    [
        ({**MANIFEST, "schema": 3}, "schema 3"),
        ({**MANIFEST, "schema": 2}, "lacks its sum"),
        ({**MANIFEST, "sum": "0"}, "was changed after it had been written"),
        ({key: value for key, value in MANIFEST.items() if key != "schema"}, "schema None"),
        ({key: value for key, value in MANIFEST.items() if key != "seed"}, "it lacks seed"),
        ({**MANIFEST, "releases": "4.6.0"}, "releases is '4.6.0', not a list"),
        ({**MANIFEST, "host": []}, "host is [], not an object"),
        ([], "holds no JSON object"),
    ],
)
def test_a_manifest_that_cannot_be_used_is_an_error_in_words(tmp_path: Path, manifest: object, words: str) -> None:
    _write(tmp_path / "manifest.json", manifest)
    with pytest.raises(RunDirectoryError) as caught:
        read_run_directory(tmp_path)
    assert words in str(caught.value)


def test_a_folder_that_is_no_run_directory_is_an_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no manifest"):
        read_run_directory(tmp_path)
    with pytest.raises(RunDirectoryError, match="no such folder"):
        read_run_directory(tmp_path / "nowhere")
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(RunDirectoryError, match="cannot be read"):
        read_run_directory(tmp_path)


def test_empty_files_are_no_histories(tmp_path: Path) -> None:
    _write(tmp_path / "manifest.json", MANIFEST)
    _write(tmp_path / "trials/t1/trial.json", TRIAL)
    (tmp_path / "trials/t1/history").mkdir(parents=True)
    (tmp_path / "trials/t1/history/producer.jsonl").write_text("")
    (tmp_path / "trials/t1/history/owner.jsonl").write_text("{}\n")
    assert [path.name for path in read_run_directory(tmp_path).history_files] == ["owner.jsonl"]


# --- validity ---------------------------------------------------------------------------------------------------------


def _scenario(fault: Fault) -> Scenario:
    load = OpenLoopSends() if isinstance(fault, AppendStall) else OrderedGroups(groups=1)
    return Scenario(
        name="i",
        title="",
        article="",
        summary="",
        topology=Topology(name="one"),
        arms=(
            Arm(name="incident", what="", fault=fault, load=load),
            Arm(name="baseline", what="", fault=NoFault(), load=load),
        ),
        phases=Phases(steady_s=1, hold_s_min=1, hold_s_max=1, recover_s=1),
        claims=(),
        budget=TrialBudget(trials=1, deployments=1),
        quick_budget=TrialBudget(trials=1, deployments=1),
        exclusive=True,
        hiccup_ms_max=20,
    )


def _facts(
    *,
    arm: str = "incident",
    status: TrialStatus = "complete",
    superseded_by: str = "",
    incident: str = "i",
    injection: str = "",
    **changed: object,
) -> TrialFacts:
    trial = trial_record(
        "t1", incident=incident, arm=arm, injection=injection, status=status,
        error="disk full" if status == "failed" else "", superseded_by=superseded_by,
    )  # fmt: skip
    values: dict[str, object] = {
        "trial": trial,
        "fault": "kill-owners",
        "states": frozenset({"asked", "injecting", "injected", "healing", "healed"}),
        "injecting_ns": 10 * S,
        "injected_ns": 10 * S + 5_000_000,
        "asked_ms": 450.0,
        "achieved_ms": 452.0,
        "fault_ns": 10 * S,
        "fault_line": 3,
        "hold_from_ns": 10 * S,
        "hold_to_ns": 20 * S,
        "end_ns": 30 * S,
        "appends": 1,
        "append_node": "broker-a",
        "append_entry_ns": 10 * S,
        "append_exit_ns": 10 * S + 452_000_000,
        "append_line": 4,
        "drained": True,
        "remaining": 0,
        "drain_line": 9,
        "hiccup_ms_max": 3.0,
        "wall_minus_mono_us": 5,
        "wall_step_ms": 0.2,
        "sends": 10,
        "records": 20,
        "damaged_lines": 0,
        "exercised": True,
        "watched_appends": 7,
    }
    return TrialFacts(**{**values, **changed})  # type: ignore[arg-type]


@pytest.mark.parametrize(("sent_to_s", "counts"), [(19.9, True), (5.1, True), (4.9, False), (None, False)])
def test_a_load_of_locusts_that_was_over_before_the_fault_is_none(sent_to_s: float | None, counts: bool) -> None:
    by_locust = SteadyClients(locust=LocustUsers())
    scenario = _scenario(MoreQueues())
    arms = tuple(dataclasses.replace(arm, load=by_locust) for arm in scenario.arms)
    facts = _facts(sent_to_ns=None if sent_to_s is None else int(sent_to_s * S))
    steered = dataclasses.replace(scenario, arms=arms)
    (judged,) = validity.judge([facts], [steered])
    assert judged.why_not() == (() if counts else ("its load had ended before the fault",))
    # What is not steered by Locust may well send nothing by then.
    assert validity.judge([facts], [scenario])[0].counts()


CUT = NetworkCut(nodes=("broker-a",))


def _judged(facts: TrialFacts, fault: Fault) -> TrialValidity:
    (judged,) = validity.judge([facts], [_scenario(fault)])
    assert judged.counts() is not bool(judged.why_not())
    return judged


@pytest.mark.parametrize("fault", [KillOwners(), ShutDownOwners(), AppendStall(), NoFault()])
def test_a_clean_trial_counts(fault: Fault) -> None:
    judged = _judged(_facts(), fault)
    assert judged.counts()
    assert judged.is_clean
    assert judged.told() == ()


@pytest.mark.parametrize(
    ("taken", "why"),
    [
        ({1: "", 2: ""}, ()),
        ({1: ""}, ("step 2 was not taken: stay 1 s: it did not begin",)),
        ({1: "read x: KeyError: 'y'"}, ("step 1 was not taken: read x: KeyError: 'y'",)),
    ],
    ids=["all", "one never began", "one failed"],
)
def test_a_trial_counts_where_its_steps_were_taken(taken: dict[int, str], why: tuple[str, ...]) -> None:
    scenario = _scenario(NoFault())
    script = (Read(reading="x", by=bool), Stay(stay_s=1))
    scenario = dataclasses.replace(scenario, arms=(dataclasses.replace(scenario.arms[0], steps=script),))
    # What failed has ended its trial early, so that nothing was probed after it: the step is the reason.
    probed = None if any(taken.values()) else 3.0
    (judged,) = validity.judge([_facts(steps=taken, hiccup_ms_max=probed)], [scenario])
    assert judged.why_not() == why
    assert judged.counts() is not bool(why)


HARNESS, CLOCK, INJECTOR = Discard.HARNESS, Discard.CLOCK, Discard.INJECTOR


@pytest.mark.parametrize(
    ("facts", "fault", "discard", "words"),
    [
        (_facts(status="failed", fault_ns=None), KillOwners(), HARNESS, "failed, not complete: disk full"),
        (_facts(status="interrupted"), KillOwners(), HARNESS, "interrupted, not complete"),
        (_facts(superseded_by="t1.a2"), KillOwners(), None, "repeated as t1.a2"),
        (_facts(incident="other"), KillOwners(), HARNESS, "is not known"),
        (_facts(arm="nobody's"), KillOwners(), HARNESS, "no arm nobody's"),
        (_facts(records=0), KillOwners(), HARNESS, "history is empty"),
        (_facts(fault_ns=None), KillOwners(), HARNESS, "events do not say"),
        (_facts(wall_step_ms=51.0), KillOwners(), CLOCK, "stepped by 51 ms"),
        (_facts(wall_minus_mono_us=None), KillOwners(), HARNESS, "no anchor"),
        (_facts(hiccup_ms_max=None), KillOwners(), HARNESS, "probe recorded nothing"),
        (_facts(injected_ns=None), KillOwners(), INJECTOR, "owners did not end"),
        (_facts(injected_ns=13 * S), KillOwners(), INJECTOR, "took 3.0 s to go"),
        (_facts(injecting_ns=None), ShutDownOwners(), INJECTOR, "shutdown was not begun"),
        (_facts(appends=0), AppendStall(), INJECTOR, "no append was stalled"),
        (_facts(achieved_ms=480.0), AppendStall(), INJECTOR, "480.0 ms where 450 ms"),
        (_facts(asked_ms=None), AppendStall(), INJECTOR, "not recorded"),
        (_facts(no_effect="0 packets were dropped"), CUT, INJECTOR, "no effect: 0 packets were dropped"),
        (_facts(exercised=None), CUT, INJECTOR, "does not say whether it took effect"),
        (_facts(exercised=None), PageCacheNeighbour(), INJECTOR, "does not say whether it took effect"),
        (_facts(watched_appends=0), PageCacheNeighbour(), INJECTOR, "were not watched, or there were none"),
        (_facts(watched_appends=None), AppendWatch(), INJECTOR, "were not watched"),
        (_facts(achieved_ms=2000.0), PauseOwners(), INJECTOR, "stood still for 2000 ms of 450 ms asked"),
        (_facts(injected_ns=None), KillOwnersRestartBroker(), INJECTOR, "broker did not end"),
        (_facts(states=frozenset({"asked"})), TopicMoments(), INJECTOR, "did not happen"),
    ],
)
def test_a_trial_does_not_count_and_says_why(
    facts: TrialFacts, fault: Fault, discard: Discard | None, words: str
) -> None:
    judged = _judged(facts, fault)
    assert not judged.counts()
    assert judged.discarded is discard
    assert any(words in why for why in judged.why_not())


@pytest.mark.parametrize(
    ("facts", "fault", "words"),
    [
        (_facts(status="failed"), KillOwners(), "failed, not complete: disk full"),
        (_facts(hold_to_ns=None), KillOwners(), "events do not say when the hold ended"),
        (_facts(hiccup_ms_max=20.5), KillOwners(), "stalled for 20.5 ms, more than 20 ms"),
        (_facts(injected_ns=None), ShutDownOwners(), "shutdown did not return"),
        (_facts(states=frozenset({"injected"})), AppendStall(), "not healed"),
        (_facts(states=frozenset({"injected"})), CUT, "not healed"),
        (_facts(states=frozenset({"injected"})), BrokerAway(), "broker did not come back"),
        (_facts(states=frozenset({"injected"})), TopicMoments(), "was not ended"),
        (_facts(injection="freeze", stopped_ms=2.5), AppendStall(), "broker for 2 ms of the"),
        (_facts(injection="freeze"), AppendStall(), "safepoint log says nothing"),
        (
            _facts(injection="freeze", stopped_ms=0.0, append_exit_ns=10 * S + 481_000_000),
            AppendStall(),
            "an append for 481.0 ms where 450 ms",
        ),
    ],
)
def test_what_the_system_did_and_noise_are_told_of_a_trial_that_counts(
    facts: TrialFacts, fault: Fault, words: str
) -> None:
    judged = _judged(facts, fault)
    assert judged.counts()
    assert not judged.is_clean
    assert any(words in told for told in judged.told())


def _hand_over_part(name: str, if_true: float, bound: float) -> Part:
    return Part(
        name=name, kind=Kind.QUANTITY, of=Selection(measure="handover_s", arm="incident"), fold=Fold.MEDIAN, relation="<=",
        bound=bound, if_true=if_true, if_false=2 * bound, because="",
    )  # fmt: skip


def _with_claims(*claims: tuple[str, Sequence[Part]]) -> Scenario:
    made = tuple(
        Claim(id=name, article="A1", says="", reading="", parts=tuple(parts), expected={}) for name, parts in claims
    )
    return dataclasses.replace(_scenario(KillOwners()), claims=made)


def test_pages_and_verdicts_ask_the_same_of_a_noisy_trial() -> None:
    # A quarter of the distance: 500 ms and 5 s.
    fine, coarse = _hand_over_part("fine", 1.0, 3.0), _hand_over_part("coarse", 10.0, 30.0)
    scenario = _with_claims(("BOTH-01", (fine, coarse)), ("FINE-02", (fine,)))
    facts = _facts(hiccup_ms_max=600.0)
    (judged,) = validity.judge([facts], [scenario])
    seen = Try.of("g0", [(1.0, False)], proof="two records")
    row = Tries(
        trial="t1", deployment="d1", release="4.6.0", arm="incident", cell={}, measure="handover_s", hiccup_ms=600.0, tries=(seen,)
    )  # fmt: skip
    left_out = [part for part in (fine, coarse) if judge_part(part, [row]).reason == Reason.TOO_NOISY]
    assert left_out == [fine]
    assert judged.counts()
    assert judged.counts("BOTH-01")
    assert not judged.counts("FINE-02")
    assert judged.told() == ("a hiccup of 600.0 ms is too much for parts of BOTH-01, FINE-02",)
    assert judged.told("BOTH-01") == ("a hiccup of 600.0 ms is too much for fine",)
    assert judged.why_not("FINE-02") == ("a hiccup of 600.0 ms is too much for every part that asks for it",)
    # The other arm is asked for by no part: nothing is too noisy for it.
    (other,) = validity.judge([_facts(arm="baseline", hiccup_ms_max=600.0)], [scenario])
    assert other.counts()
    (loud,) = validity.judge([_facts(hiccup_ms_max=6000.0)], [scenario])
    assert loud.discarded is None
    assert not loud.counts()


NO_RECORDS: dict[str, Any] = dict.fromkeys(
    [
        "fault", "injecting_ns", "injected_ns", "healed_ns", "asked_ms", "achieved_ms", "append_node", "append_entry_ns",
        "append_exit_ns", "append_line", "exercised", "watched_appends", "fault_target",
    ]
)  # fmt: skip


def _any(kind: type[Fault]) -> Fault:
    """A fault of that kind; what it is about does not matter."""
    required = [one.name for one in dataclasses.fields(kind) if one.default is dataclasses.MISSING]
    return kind(**dict.fromkeys(required))


@pytest.mark.parametrize("states", [frozenset(), frozenset({"asked"})], ids=["no records", "asked"])
@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.kind)
def test_no_fault_counts_without_its_records(kind: type[Fault], states: frozenset[str]) -> None:
    facts, fault = _facts(**NO_RECORDS, states=states, appends=0), _any(kind)
    needs_none = kind is NoFault
    assert _judged(facts, fault).discarded is (None if needs_none else Discard.INJECTOR)


WITHOUT: dict[Proof, dict[str, Any]] = {
    Proof.STAMPED: {"appends": 0},
    Proof.LASTED: {"asked_ms": None},
    Proof.PAUSED: {"achieved_ms": None},
    Proof.OWNERS_KILLED: {"injected_ns": None},
    Proof.OWNERS_SHUT_DOWN: {"injecting_ns": None},
    Proof.OWNERS_GONE: {"injected_ns": None},
    Proof.BROKER_GONE: {"injected_ns": None},
    Proof.HELD: {"exercised": None},
    Proof.DONE: {"states": frozenset({"asked"})},
    Proof.WATCHED: {"watched_appends": None},
}
"""What a trial's facts lack without the records of a proof."""


@pytest.mark.parametrize(
    ("kind", "proof"),
    [(kind, proof) for kind in FAULTS for proof in kind.proofs if proof is not Proof.NOTHING],
    ids=lambda value: getattr(value, "kind", value),
)
def test_no_fault_counts_for_claims_without_the_records_of_each_of_its_proofs(kind: type[Fault], proof: Proof) -> None:
    assert _judged(_facts(**WITHOUT[proof]), _any(kind)).discarded is Discard.INJECTOR


@pytest.mark.parametrize("kind", FAULTS, ids=lambda kind: kind.kind)
def test_every_fault_counts_with_all_of_its_records(kind: type[Fault]) -> None:
    assert _judged(_facts(), _any(kind)).is_clean


def test_a_fault_whose_proof_nobody_knows_is_a_failure_of_the_checker_and_never_counts() -> None:
    without: Any = type("MadeUp", (Fault,), {})
    assert without.kind == "made-up"
    unknown: Any = type("Other", (Fault,), {"proofs": (Proof.HELD, "witnessed")})
    for kind in (without, unknown):
        judged = _judged(_facts(), kind())
        assert judged.discarded is Discard.HARNESS
        assert any(f"fault {kind.kind} took effect" in why for why in judged.why_not())
    assert not {without, unknown} & {*FAULTS}


def test_tolerances_are_inclusive() -> None:
    assert _judged(_facts(achieved_ms=472.5), AppendStall()).is_clean
    assert _judged(_facts(asked_ms=100.0, achieved_ms=115.0), AppendStall()).is_clean
    assert _judged(_facts(hiccup_ms_max=20.0), KillOwners()).is_clean
    assert _judged(_facts(injected_ns=12 * S), KillOwners()).is_clean
    assert _judged(_facts(wall_step_ms=50.0), KillOwners()).is_clean
    assert _judged(_facts(), CUT).is_clean
    frozen = _facts(injection="freeze", stopped_ms=2.0, append_exit_ns=10 * S + 480_000_000)
    assert _judged(frozen, AppendStall()).is_clean


def test_a_stall_without_a_told_length_is_taken_from_its_stamps() -> None:
    assert _judged(_facts(achieved_ms=None), AppendStall()).is_clean
    late = _facts(achieved_ms=None, append_exit_ns=10 * S + 500_000_000)
    assert any("500.0 ms" in why for why in _judged(late, AppendStall()).why_not())


def test_what_could_not_be_judged_in_a_trial_that_counts_is_noted() -> None:
    (judged,) = validity.judge([_facts(drained=False, remaining=7, damaged_lines=1)], [_scenario(KillOwners())])
    assert judged.counts()
    assert any("7 messages were left" in note for note in judged.told())
    assert any("1 lines are no whole records" in note for note in judged.told())
