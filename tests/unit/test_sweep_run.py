"""A whole sweep by the command, on a fake runner: killed in its middle and gone on with, it repeats nothing and says the same."""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

import mqlab.run.running
import mqlab.tune.sweeping
from analysis.ledger.runs import FINDINGS, CountedTrial, RecordedValues, recorded_run, write_lines
from analysis.report.document import PAGE_DATA
from analysis.stall_model.document import write_score
from analysis.stall_model.model import Score, ScoredCount
from analysis.verdicts.tries import Try
from harness.errors import EXIT_OK
from harness.host.facts import Commit
from harness.paths import PACKAGES
from harness.plan.schedule import Plan
from harness.releases.java import find_java
from harness.rundir.manifest import DeploymentRecord, TrialRecord
from harness.rundir.reading import read_run_directory
from harness.rundir.writing import RunWriter
from mqlab.main import main

REPORT_DATA = PACKAGES / "tests" / "data" / "report" / "sample.json"
REFUSED = {"100": 97.0, "200": 47.0, "400": 0.0}
WORDS = [
    "tune", "append-stall", "--release", "5.5.0", "--sweep", "broker.waitTimeMillsInSendQueue=100,200,400",
    "--param", "stall_ms=300", "--deployments", "13",
]  # fmt: skip


class _Killed(BaseException):
    """Nothing catches it, as nothing does a SIGKILL."""


class _Runner:
    """Makes trials at once, and dies before one of them if it is told to."""

    def __init__(self) -> None:
        self.made: list[str] = []
        self.dies_at = -1

    def __call__(self, run: RunWriter, plan: Plan, *_: object) -> None:
        for deployment in plan.deployments():
            name = deployment.id if not run.deployment(deployment.id).path.exists() else f"{deployment.id}-2"
            cluster = run.make_deployment(
                DeploymentRecord(
                    deployment=name, incident="append-stall", release=deployment.release, index=deployment.index,
                    topology={}, logging="lab", log_zone="UTC",
                )
            )  # fmt: skip
            for trial in deployment.trials:
                if len(self.made) == self.dies_at:
                    raise _Killed
                self.made.append(trial.id)
                run.make_trial(
                    TrialRecord(
                        trial=trial.id, incident="append-stall", arm=trial.arm.name, params=dict(trial.params),
                        release=deployment.release, client="java", backend="local", injection="byteman", deployment=name,
                        repetition=trial.repetition, seed=trial.seed, topic="t", status="complete",
                    )
                )  # fmt: skip
            cluster.seal(cluster.read())
        run.set_status("complete")


def _value(trial: TrialRecord) -> float:
    """The second deployment disagrees about 400 ms, so that one look is not enough."""
    value = trial.arm.rpartition("-")[2]
    return 300.0 if (value, trial.repetition) == ("400", 2) else REFUSED[value]


def _analysis(**_: object) -> Callable[[Path], None]:
    def analyse(run: Path) -> None:
        directory = read_run_directory(run)
        (run / FINDINGS).parent.mkdir(exist_ok=True)
        shutil.copy(REPORT_DATA, run / PAGE_DATA)
        trials = [
            CountedTrial(
                trial=trial.trial, experiment="e", incident=trial.incident, arm=trial.arm, cell=trial.params,
                release=trial.release, client="java", backend="local", injection="byteman", deployment=trial.deployment,
                attempt=1, seed=1, status="complete",
                values=(
                    RecordedValues(
                        measure="rejected_count", params={"keyword": "any"}, tries=(Try.of("", [(_value(trial), False)]),)
                    ),
                ),
            )
            for trial in directory.trials
        ]  # fmt: skip
        write_lines(run / FINDINGS, recorded_run(directory.manifest, trials, {}, (), ""))
        rows = tuple(
            ScoredCount(
                release="5.5.0", injection="byteman", arm=f"incident-{wait}", params={}, wait_ms=float(wait), busy_ms=1000.0,
                keyword="TIMEOUT_CLEAN_QUEUE", trials=1, predicted=predicted, measured=0.0, allowed=5.0, within=False,
            )
            for wait, predicted in (("100", 97.5), ("200", 47.5), ("400", 0.0))
        )  # fmt: skip
        write_score(run, Score(rows=rows, left_out=()))

    return analyse


@pytest.fixture
def runner(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> _Runner:
    made = _Runner()
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(mqlab.run.running, "_run", made)
    backend = SimpleNamespace(name="local", docker="none", java=find_java(), notes=lambda: ())
    monkeypatch.setattr(mqlab.run.running, "choose_backend", lambda *_: backend)
    monkeypatch.setattr(mqlab.run.running, "archive_spark", lambda *_: None)
    monkeypatch.setattr(mqlab.tune.sweeping, "AnalysisApart", _analysis)
    monkeypatch.setattr(mqlab.tune.sweeping, "prepare", lambda *_: None)
    monkeypatch.setattr("mqlab.run.resume.own_commit", lambda: Commit(id="a" * 40, dirty=False))
    monkeypatch.setattr("harness.host.facts.own_commit", lambda: Commit(id="a" * 40, dirty=False))
    return made


def _said(capsys: pytest.CaptureFixture[str], run: str) -> str:
    """What was printed, by whatever name the run has."""
    return re.sub(rf"\S*{run}/", "", capsys.readouterr().out).partition("finished in")[0]


FEWER = [word if word != "13" else "6" for word in WORDS]
ROUNDS = [f"r{number}" for number in range(1, 12)]


def test_a_sweep_that_is_killed_goes_on_repeats_one_cluster_and_says_the_same(
    runner: _Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--out", "whole"]) == EXIT_OK
    said, whole = _said(capsys, "whole"), list(runner.made)
    # A deployment that disagrees is outvoted by the eleventh; what refuses most is left out after the first look.
    rounds = {arm: [one.rpartition(".")[2] for one in whole if f"incident-{arm}." in one] for arm in REFUSED}
    assert rounds == {"100": ROUNDS[:7], "200": ROUNDS, "400": ROUNDS}
    assert "set waitTimeMillsInSendQueue=400 (now 200)" in said
    assert "predicted   47.5" in said

    for number, dies_at in enumerate((5, 22, len(whole) - 1)):
        runner.made, runner.dies_at = [], dies_at
        with pytest.raises(_Killed):
            main([*WORDS, "--out", f"killed-{number}"])
        runner.dies_at = -1
        assert main(["tune", "--resume", f"killed-{number}"]) == EXIT_OK
        assert _said(capsys, f"killed-{number}") == said
        # A cluster that nobody closed may have lost lines of its logs, so that its trials are made again.
        again = {trial: runner.made.count(trial) for trial in runner.made if runner.made.count(trial) > 1}
        assert set(runner.made) == set(whole)
        assert len(again) < len(REFUSED), "of one cluster at most"
        assert set(again.values()) <= {2}
        one, other = (json.loads((Path(run) / "sweep.json").read_text()) for run in ("whole", f"killed-{number}"))
        assert one == other


def test_a_sweep_of_too_few_deployments_says_so_and_goes_on_with_more(
    runner: _Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--out", "whole"]) == EXIT_OK
    said, whole = _said(capsys, "whole"), list(runner.made)
    runner.made = []
    assert main([*FEWER, "--out", "short"]) == EXIT_OK
    captured = capsys.readouterr()
    assert "nothing will be recommended: 3 points take 7 deployments of each" in " ".join(captured.err.split())
    assert "not settled" in captured.out
    assert "why: too few clusters: 6 of each value" in captured.out
    assert len(runner.made) == 18
    assert main(["tune", "--resume", "short", "--deployments", "13"]) == EXIT_OK
    assert _said(capsys, "short") == said
    assert sorted(runner.made) == sorted(whole), "each trial once"


def test_a_sweep_that_is_through_says_it_again_and_runs_nothing(
    runner: _Runner, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*WORDS, "--out", "whole"]) == EXIT_OK
    said, count = _said(capsys, "whole"), len(runner.made)
    assert main(["tune", "--resume", "whole"]) == EXIT_OK
    assert _said(capsys, "whole") == said
    assert len(runner.made) == count
    report = (Path("whole") / "report.html").read_text()
    data = json.loads((Path("whole") / PAGE_DATA).read_text())
    assert [table["title"] for table in data["tables"]["append-stall"]].count("The sweep") == 1
    assert "<svg" in (Path("whole") / "sweep.html").read_text()
    assert report.count('href="sweep.html"') == 1


def test_no_ledger_takes_it(runner: _Runner) -> None:
    assert main([*WORDS, "--out", "whole"]) == EXIT_OK
    notes = read_run_directory(Path("whole")).manifest.notes
    assert any(note.startswith("setting of the user: broker.waitTimeMillsInSendQueue") for note in notes)
