"""``mqlab tune INCIDENT --sweep``: when it looks, what its bad input gets, and how it goes on."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest
from rich.console import Console

import mqlab.run.running
import mqlab.tune.sweeping
from analysis.ledger.runs import FINDINGS, CountedTrial, RecordedValues, recorded_run, write_lines
from analysis.report.sweep import SweepResult, of_release
from analysis.verdicts.tries import Tries, Try
from harness.errors import EXIT_USAGE, ConfigurationError
from harness.host.facts import Commit
from harness.model.scenario import TrialBudget
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.releases.java import find_java
from harness.rundir.manifest import DeploymentRecord, TrialRecord
from harness.rundir.writing import RunWriter
from mqlab.main import _parser, main
from mqlab.run.resume import command_line, restore_options
from mqlab.run.running import Job
from mqlab.tune.sweeping import Rounds
from tests.lib.records import make_closed_deployment
from tests.unit.test_plan import TWO_CORES
from tests.unit.test_resume import MANIFEST
from tests.unit.test_sweep_points import NEWEST, STALL, WAIT, swept_of

# --- looks ----------------------------------------------------------------------------------------------------------------


class _Recorded:
    """A run that gives each arm the value of a function of the round, without a cluster."""

    def __init__(self, rounds: Rounds, value: Callable[[str, int], float]) -> None:
        self.rounds, self.value = rounds, value
        self.asked: list[tuple[int, tuple[str, ...]]] = []

    def look(self, run: Path) -> SweepResult:
        rows = [
            Tries(
                trial=f"{point.arm}-{number}", deployment=f"{number:03}", release=NEWEST, arm=point.arm,
                cell={"rate_hz": 500}, measure="rejected_count", params={"keyword": "any"},
                tries=(Try.of("t", [(self.value(point.arm, number), False)]),),
            )
            for point in self.rounds.sweep.points
            for number in range(1, self.rounds.rounds + 1)
        ]  # fmt: skip
        of = of_release(self.rounds.sweep, NEWEST, rows)
        return SweepResult(sweep=self.rounds.sweep, deployments_max=self.rounds.most, releases=(of,))

    def run(self) -> Request | None:
        self._note(self.rounds.request())
        while (request := self.rounds.further(Path("run"))) is not None:
            self._note(request)
        return None

    def _note(self, request: Request) -> None:
        (scenario,) = request.scenarios
        self.asked.append((scenario.budget.deployments, tuple(arm.name for arm in scenario.arms)))


def _recorded(monkeypatch: pytest.MonkeyPatch, value: Callable[[str, int], float], most: int = 13) -> _Recorded:
    sweep, scenario = swept_of(WAIT)
    request = Request(scenarios=[scenario], releases=[NEWEST])
    rounds = Rounds(sweep=sweep, request=request, most=most, analyse=lambda _: None)
    recorded = _Recorded(rounds, value)
    monkeypatch.setattr(rounds, "look", recorded.look)
    recorded.run()
    return recorded


REFUSED = {"incident-100": 97.0, "incident-200": 47.0, "incident-400": 0.0}


def test_a_clear_knee_ends_at_the_first_look(monkeypatch: pytest.MonkeyPatch) -> None:
    assert _recorded(monkeypatch, lambda arm, _: REFUSED[arm]).asked == [(7, tuple(REFUSED))]


def test_a_deployment_that_disagrees_is_followed_by_as_many_as_may_outvote_it_of_what_is_left(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def value(arm: str, number: int) -> float:
        return 300.0 if (arm, number) == ("incident-400", 2) else REFUSED[arm]

    found = _recorded(monkeypatch, value)
    assert found.asked == [(7, tuple(REFUSED)), (11, ("incident-200", "incident-400"))]


def test_what_is_never_decided_ends_at_the_most(monkeypatch: pytest.MonkeyPatch) -> None:
    arms = list(REFUSED)
    found = _recorded(monkeypatch, lambda arm, number: 100.0 * ((number + arms.index(arm)) % 2), most=9)
    assert [deployments for deployments, _ in found.asked] == [7, 9]
    assert _recorded(monkeypatch, lambda arm, number: REFUSED[arm], most=3).asked == [(3, tuple(REFUSED))]


def test_a_look_analyses_what_is_new_and_sees_so_many_deployments_as_it_is_about(tmp_path: Path) -> None:
    sweep, scenario = swept_of(WAIT)
    run = _run_directory(tmp_path / "run", deployments=8)
    analysed: list[Path] = []

    def analyse(path: Path) -> None:
        analysed.append(path)
        _analysed(path, deployments=8)

    rounds = Rounds(sweep=sweep, request=Request(scenarios=[scenario], releases=[NEWEST]), most=13, analyse=analyse)
    (of,) = rounds.look(run).releases
    assert [(mark.arm, mark.rounds, mark.middle) for mark in of.curves[0].marks] == [
        (arm, 7, REFUSED[arm]) for arm in REFUSED
    ]
    assert of.recommended[0].choice.arm == "incident-400"
    assert rounds.further(run) is None, "the eighth deployment was made before a kill, and nobody needs to look at it"
    assert analysed == [run]
    _analysed(run, deployments=7)
    rounds.look(run)
    assert analysed == [run, run], "a trial that is complete is not in the record of the analysis"


def test_a_client_setting_that_the_load_sets_itself_is_refused_and_not_compared(tmp_path: Path) -> None:
    sweep, scenario = swept_of("client.sendMsgTimeout=1000,3000")
    run = _run_directory(tmp_path / "run", deployments=1, overrides=("client.sendMsgTimeout: 1000 -> 10000",))
    request = Request(scenarios=[scenario], releases=[NEWEST])
    rounds = Rounds(sweep=sweep, request=request, most=13, analyse=lambda path: _analysed(path, deployments=1))
    with pytest.raises(ConfigurationError, match="the load of append-stall sets it itself"):
        rounds.look(run)


def _run_directory(path: Path, deployments: int, overrides: tuple[str, ...] = ()) -> Path:
    with RunWriter.create(path, MANIFEST) as run:
        for number in range(1, deployments + 1):
            run.make_deployment(
                DeploymentRecord(
                    deployment=f"d{number}", incident=STALL.name, release=NEWEST, index=number, topology={}, logging="lab",
                    log_zone="UTC", overrides=overrides,
                )
            )  # fmt: skip
            for arm in REFUSED:
                run.make_trial(_trial(f"{arm}.r{number}", arm, f"d{number}"))
    return path


def _analysed(path: Path, deployments: int) -> None:
    """What an analysis leaves of it."""
    trials = tuple(
        CountedTrial(
            trial=f"{arm}.r{number}", experiment="e", incident=STALL.name, arm=arm, cell={"rate_hz": 500}, release=NEWEST,
            client="java", backend="local", injection="byteman", deployment=f"d{number}", attempt=1, seed=1, status="complete",
            values=(
                RecordedValues(
                    measure="rejected_count", params={"keyword": "any"},
                    # The last deployment is unlike the others.
                    tries=(Try.of("t", [(REFUSED[arm] if number < 8 else 500.0, False)]),),
                ),
            ),
        )
        for number in range(1, deployments + 1)
        for arm in REFUSED
    )  # fmt: skip
    (path / FINDINGS).parent.mkdir(exist_ok=True)
    write_lines(path / FINDINGS, recorded_run(MANIFEST, trials, {}, (), ""))


def test_what_is_wanted_further_is_planned_beside_what_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    _, scenario = swept_of(WAIT)
    ran: list[list[str]] = []

    def runs(run: RunWriter, plan: Plan, *_: object) -> None:
        ran.append([trial.id for _, trial in plan.trials()])
        for deployment, trial in plan.trials():
            # One of the first run fails, and is made again.
            fails = len(ran) == 1 and trial.id == ran[0][0]
            run.make_trial(_trial(trial.id, trial.arm.name, deployment.id, failed=fails))
            make_closed_deployment(run, deployment.id)

    def further(_: Path) -> Request | None:
        budget = TrialBudget(trials=1 + len(ran), deployments=1 + len(ran))
        return (
            Request(scenarios=[dataclasses.replace(scenario, budget=budget)], releases=[NEWEST])
            if len(ran) < 2
            else None
        )

    monkeypatch.setattr(mqlab.run.running, "_run", runs)
    job = Job(request=further(tmp_path), java=find_java(), started=0.0, further=further)  # type: ignore[arg-type]
    with RunWriter.create(tmp_path / "run", dataclasses.replace(MANIFEST, trials=())) as run:
        runs(run, make_plan(job.request, TWO_CORES))
        mqlab.run.running._run_further(run, None, job, Console())  # type: ignore[arg-type]
        first, second = ran
        assert set(second) & set(first) == {first[0]}
        assert {one.rpartition(".")[2] for one in second} == {"r1", "r2"}
        assert set(run.manifest.trials) == set(second)
    assert "4 trials of 3 cells" in capsys.readouterr().out


def _trial(name: str, arm: str, deployment: str, *, failed: bool = False) -> TrialRecord:
    return TrialRecord(
        trial=name, incident=STALL.name, arm=arm, params={}, release=NEWEST, client="java", backend="local",
        injection="byteman", deployment=deployment, repetition=1, seed=1, topic="t",
        status="failed" if failed else "complete",
    )  # fmt: skip


# --- the command ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "says"),
    [
        ("", "nothing says what to tune"),
        ("append-stall", "a sweep is of one incident"),
        (f"--sweep {WAIT}", "a sweep is of one incident"),
        (f"append-stall --sweep {WAIT} --rate 500", "--rate is of a prediction"),
        (f"append-stall --sweep {WAIT} --resume .", "goes on as it was started"),
        (f"append-stall --sweep {WAIT} --anyway", "--anyway says how to resume"),
        (f"append-stall --sweep {WAIT} --set broker.waitTimeMillsInSendQueue=3", "is set to one value as well"),
        (f"append-stall --sweep {WAIT} --param a=1 --param a=2", "--param a is given twice"),
    ],
)
def test_bad_input_gets_one_sentence(words: str, says: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", *shlex.split(words)]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert says in said
    assert "Traceback" not in said


@pytest.fixture
def _no_jars(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(mqlab.tune.sweeping, "make_ready", lambda _: find_java())
    monkeypatch.setattr(mqlab.tune.sweeping, "prepare", lambda *_: None)


@pytest.mark.usefixtures("_no_jars")
def test_too_many_points_for_the_time_say_how_many_fit(capsys: pytest.CaptureFixture[str]) -> None:
    threads = "broker.sendMessageThreadPoolNums=1,2,3,4,5,6,7,8"
    assert main(["tune", "append-stall", "--sweep", WAIT, "--sweep", threads, "--minutes", "10"]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "24 points, up to 13 deployments of each, may take" in said
    assert "--sample" in said


@pytest.mark.usefixtures("_no_jars")
def test_a_setting_that_the_release_does_not_know_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "append-stall", "--sweep", "broker.waitTimeMillsInSendQue=1,2"]) == EXIT_USAGE
    assert "unknown broker setting" in capsys.readouterr().err
    assert main(["tune", "append-stall", "--sweep", "broker.waitTimeMillsInSendQueue=1,two"]) == EXIT_USAGE
    assert "is not a long" in capsys.readouterr().err
    assert main(["tune", "append-stall", "--sweep", "broker.listenPort=1,2"]) == EXIT_USAGE
    assert "the lab itself sets it" in capsys.readouterr().err


@pytest.mark.usefixtures("_no_jars")
def test_the_plan_says_when_it_looks_and_how_long_it_may_take(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "append-stall", "--sweep", WAIT, "--param", "stall_ms=300", "--plan"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "append-stall: 21 trials of 3 cells" in said
    assert "looked at after 7 deployments of each and then until it is decided, at most 13" in said


@pytest.mark.usefixtures("_no_jars")
def test_an_incident_may_have_lists_of_its_own(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["tune", "ordered-lock-tuning", "--plan"]) == 0
    said = " ".join(capsys.readouterr().err.split())
    assert "ordered-lock-tuning: 48 trials of 6 cells on 5.5.0" in said
    assert "client.rocketmq.client.rebalance.lockInterval=1000,20000, swept" in said
    assert main(["tune", "ordered-lock-ratio", "--plan"]) == EXIT_USAGE
    assert "at least one list of values" in capsys.readouterr().err


def _options(words: Sequence[str]) -> argparse.Namespace:
    options = _parser().parse_args(["tune", *words])
    options.parse = _parser().parse_args
    return options


def test_a_sweep_goes_on_as_it_was_started(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    words = (
        f"append-stall --sweep {WAIT} --sweep load.rate=200,900 --sample 2 --deployments 9 --margin 5 --goal failed_share "
        f"--param stall_ms=300 --set broker.flushDiskType=SYNC_FLUSH --release {NEWEST} --seed 4"
    )
    started = _options(shlex.split(words))
    manifest = dataclasses.replace(MANIFEST, command=command_line(started), rules={}, incidents=(STALL.name,))
    monkeypatch.setattr("mqlab.run.resume.own_commit", lambda: Commit(id="a" * 40, dirty=False))
    RunWriter.create(tmp_path / "run", manifest).close()
    resumed = _options(["--resume", str(tmp_path / "run")])
    assert restore_options(resumed).note == ""
    names = ("incidents", "sweep", "sample", "deployments", "margin", "goal", "param", "set", "release", "seed")
    assert {name: getattr(resumed, name) for name in names} == {name: getattr(started, name) for name in names}


def test_each_command_goes_on_with_its_own_runs(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = str(tmp_path / "run")
    RunWriter.create(tmp_path / "run", MANIFEST).close()
    assert main(["tune", "--resume", run]) == EXIT_USAGE
    assert f"mqlab verify --resume {run}" in capsys.readouterr().err
    swept = dataclasses.replace(MANIFEST, command=f"mqlab tune append-stall --sweep {WAIT}", run="s")
    RunWriter.create(tmp_path / "swept", swept).close()
    for words in (["verify", "--resume"], ["analyze"]):
        assert main([*words, str(tmp_path / "swept")]) == EXIT_USAGE
        assert f"mqlab tune --resume {tmp_path / 'swept'}" in capsys.readouterr().err
