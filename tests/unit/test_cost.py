from __future__ import annotations

import dataclasses
import json
from pathlib import Path

import pytest

import scenarios
from harness.host.facts import Host
from harness.model.scenario import Scenario
from harness.plan.cost import FIRST_GUESS, Cost, Costs
from harness.plan.request import Request
from harness.plan.schedule import Plan, Schedule, make_plan
from harness.rundir.manifest import HostRecord, Manifest, TrialRecord
from harness.rundir.writing import RunWriter

HOST = Host(cores=2, memory_mb=20_000)
HANDOVER = scenarios.find("ordered-lock-handover")
TOOK = {"seconds": 60.0, "boot_s": 8.0, "cpu_s": 12.0, "clients_mb": 150.0, "nodes_mb": 900.0}


def _manifest(run: str, cores: int) -> Manifest:
    return Manifest(
        run=run, created="", command="mqlab verify", commit="c", dirty=False, seed=1, incidents=(HANDOVER.name,),
        releases=("4.6.0",), client_releases={}, backend="local", budget="full", rules={}, host=HostRecord(cores=cores),
    )  # fmt: skip


def _record(plan: Plan, run: RunWriter, seconds: dict[str, float], *, status: str = "complete") -> None:
    for _, trial in plan.trials():
        if trial.arm.name in seconds:
            groups = trial.arm.load.group_names()
            run.make_trial(
                TrialRecord(
                    trial=trial.id, incident=HANDOVER.name, arm=trial.arm.name, params=trial.params, release="4.6.0",
                    client="", backend="local", injection="", deployment="d", repetition=trial.repetition, seed=1,
                    topic="", groups=groups, status=status,  # type: ignore[arg-type]
                    took={**TOOK, "seconds": seconds[trial.arm.name]},
                )
            )  # fmt: skip


@pytest.fixture
def plan() -> Plan:
    return make_plan(Request(scenarios=[HANDOVER], releases=["4.6.0"], trials=1), HOST)


def _cost(costs: Costs, arm: str, *, release: str = "4.6.0") -> Cost:
    found = HANDOVER.arm(arm)
    return costs.of_trial(HANDOVER, found, found.cells[0], release)


def test_the_medians_of_the_users_own_runs_come_before_the_guess(tmp_path: Path, plan: Plan) -> None:
    for run, seconds in (("a", 60.0), ("b", 50.0), ("c", 90.0)):
        with RunWriter.create(tmp_path / run, _manifest(run, 2)) as directory:
            _record(plan, directory, {"incident": seconds})
    learned = _cost(Costs.of(tmp_path, 2), "incident")
    assert (learned.seconds, learned.boot_s, learned.clients_mb, learned.nodes_mb) == (60.0, 8.0, 150.0, 900.0)
    # A trial that took longer because many were up needs no less of the cores.
    assert learned.cores == pytest.approx(12.0 / 50.0)
    guess = Costs()
    assert _cost(Costs.of(tmp_path, 2), "baseline") == _cost(guess, "baseline")
    assert _cost(Costs.of(tmp_path, 2), "incident", release="5.3.3") == _cost(guess, "incident", release="5.3.3")


def test_what_was_learned_makes_no_run_more_crowded_than_the_guess(tmp_path: Path, plan: Plan) -> None:
    with RunWriter.create(tmp_path / "a", _manifest("a", 2)) as directory:
        _record(plan, directory, {"incident": 600.0})
    learned, guess = _cost(Costs.of(tmp_path, 2), "incident"), _cost(Costs(), "incident")
    assert learned.seconds == 600.0
    assert (learned.cores, learned.nodes_cores) == (guess.cores, guess.nodes_cores)


def test_a_run_on_another_number_of_cores_teaches_nothing(tmp_path: Path, plan: Plan) -> None:
    with RunWriter.create(tmp_path / "a", _manifest("a", 16)) as directory:
        _record(plan, directory, {"incident": 60.0})
    assert Costs.of(tmp_path, 2) == Costs()
    assert Costs.of(tmp_path, 16) != Costs()


def test_a_failed_trial_and_a_run_that_cannot_be_read_teach_nothing(tmp_path: Path, plan: Plan) -> None:
    with RunWriter.create(tmp_path / "a", _manifest("a", 2)) as directory:
        _record(plan, directory, {"incident": 60.0}, status="failed")
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "manifest.json").write_text("no json")
    assert Costs.of(tmp_path, 2) == Costs()
    assert Costs.of(tmp_path / "nowhere", 2) == Costs()


def test_what_was_learned_changes_the_order_and_not_the_trials(tmp_path: Path, plan: Plan) -> None:
    with RunWriter.create(tmp_path / "a", _manifest("a", 2)) as directory:
        _record(plan, directory, {"baseline": 1000.0})
    again = make_plan(Request(scenarios=[HANDOVER], releases=["4.6.0"], trials=1), HOST, Costs.of(tmp_path, HOST.cores))
    assert again.seconds > plan.seconds + 500
    assert sorted((one.id, trial.id, trial.seed) for one, trial in again.trials()) == sorted(
        (one.id, trial.id, trial.seed) for one, trial in plan.trials()
    )


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_an_incident_without_a_row_is_guessed_from_its_load(scenario: Scenario) -> None:
    unknown = dataclasses.replace(scenario, name="new")
    plan = make_plan(Request(scenarios=[unknown], releases=["4.6.0", "5.3.3"], budget="quick"), HOST)
    for deployment, trial in plan.trials():
        assert 0 < trial.cost.seconds < 1000
        assert deployment.cores_of(trial) > 0
        assert deployment.memory_mb > 100


def test_every_row_of_the_first_guess_is_of_an_arm_that_there_is() -> None:
    known = {one.name for one in scenarios.ALL} | {
        f"{one.name}/{arm.name}" for one in scenarios.ALL for arm in one.arms
    }
    assert set(json.loads(FIRST_GUESS.read_text())) <= known


def test_more_cores_and_memory_take_more_at_once() -> None:
    family = [scenarios.find(name) for name in ("name-server-divergence", "pool-loss")]
    plan = make_plan(Request(scenarios=family, releases=["4.6.0", "5.3.3"]), HOST)
    large = Schedule(deployments=plan.deployments(), host=Host(cores=8, memory_mb=80_000))
    assert large.at_once_max > plan.schedule.at_once_max
    assert large.seconds < 0.75 * plan.schedule.seconds
