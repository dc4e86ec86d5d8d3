"""The first answer of a quick run: what is judged first, of which files, and what is said of it."""

from __future__ import annotations

import dataclasses
import json
import shutil
import threading
import time
from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

import mqlab.run.verify
import scenarios
from analysis.ledger.agreement import Agreement, Standing, first_words
from analysis.spark_settings import is_local
from harness.errors import AnalysisError, RunDirectoryError
from harness.host.facts import Host
from harness.plan.request import Request
from harness.plan.schedule import FIRST_ANSWER_S, Plan, make_plan
from harness.rundir.integrity import UNVOUCHED
from harness.rundir.part import part_of_run
from harness.rundir.reading import read_run_directory
from mqlab.main import main
from mqlab.own.own_incident import TEMPLATE
from mqlab.run.first_answer import ANSWER_S_MAX, FirstAnswer, answer
from mqlab.run.running import Job
from tests.lib.runs import Run

# --- the plan ---------------------------------------------------------------------------------------------------------


def _plan(*names: str, answer_first: bool = True) -> Plan:
    chosen = [scenarios.find(name) for name in names] or list(scenarios.QUICK)
    request = Request(scenarios=chosen, releases=["4.6.0", "5.5.0"], budget="quick", answer_first=answer_first)
    return make_plan(request, Host(cores=2, memory_mb=20_000))


def test_one_cluster_that_is_up_alone_comes_first_and_no_other_moves() -> None:
    plan, usual = _plan(), _plan(answer_first=False)
    assert plan.first is plan.deployments()[0]
    assert (plan.first.scenario.name, plan.first.release) == ("append-stall", "4.6.0")
    assert [one.id for one in plan.deployments()[1:]] == [
        one.id for one in usual.deployments() if one.id != plan.first.id
    ]
    assert {trial.id for _, trial in plan.trials()} == {trial.id for _, trial in usual.trials()}


def test_the_quick_run_of_two_releases_answers_within_90_s_and_takes_five_minutes_at_most() -> None:
    plan = _plan()
    assert plan.first_answer_s is not None
    assert plan.first_answer_s <= 90
    assert plan.seconds <= 300
    assert plan.seconds == pytest.approx(dataclasses.replace(plan, first=None).seconds + FIRST_ANSWER_S)
    # The longest trials of its pool begin first, which may save some of what the answer takes.
    usual_s = _plan(answer_first=False).seconds
    assert usual_s < plan.seconds <= usual_s + FIRST_ANSWER_S


@pytest.mark.parametrize("names", [("append-stall",), ("ordered-lock-handover",)])
def test_where_nothing_boots_beside_the_analysis_there_is_no_first_answer(names: tuple[str, ...]) -> None:
    plan = _plan(*names)
    assert plan.first is None
    assert plan.first_answer_s is None


def test_what_is_left_of_a_plan_is_judged_at_its_end() -> None:
    plan = _plan()
    left = plan.without({next(trial.id for _, trial in plan.trials())})
    assert left.first is None
    assert len(list(left.trials())) == len(list(plan.trials())) - 1


# --- the part of the run ----------------------------------------------------------------------------------------------


@pytest.fixture
def run(tmp_path: Path) -> Path:
    made = Run(path=tmp_path / "run", incidents=("append-stall", "ordered-lock-handover"), releases=("4.6.0", "5.5.0"))
    made.stalled("s1", deployment="d1", superseded_by="s1.a2")
    made.stalled("s1.a2", deployment="d1", stall_ms=700)
    made.stalled("s2", deployment="d2", release="5.5.0")
    made.ordered("o1")
    made.log("d1", "store.log", "one line")
    made.planned = ["o2"]
    path = made.save()
    manifest = json.loads((path / "manifest.json").read_text())
    manifest["trials"].remove("s1.a2")
    (path / "manifest.json").write_text(json.dumps({**manifest, "status": "running"}))
    return path


def test_a_part_is_a_run_of_one_deployment_with_all_that_belongs_to_it(run: Path, tmp_path: Path) -> None:
    part = tmp_path / "part"
    part.mkdir()
    part_of_run(run, "d1", part)
    read, whole = read_run_directory(part), read_run_directory(run)
    assert read.problems == (UNVOUCHED,)
    assert (read.manifest.incidents, read.manifest.releases) == (("append-stall",), ("4.6.0",))
    assert (read.manifest.trials, read.manifest.status) == (("s1",), "complete")
    assert [trial.trial for trial in read.trials] == ["s1", "s1.a2"]
    assert [one.deployment for one in read.deployments] == ["d1"]
    assert [path.name for path in part.glob("deployments/*/nodes/*/**/*.log*")] == ["store.log"]
    theirs = [path for path in whole.history_files if path.parts[-3] in ("s1", "s1.a2")]
    assert [path.read_bytes() for path in read.history_files] == [path.read_bytes() for path in theirs]
    assert len(read.event_files()) == 2
    assert whole.manifest.status == "running"
    assert sorted(path.name for path in run.iterdir()) == ["deployments", "manifest.json", "trials"]


def test_a_part_is_of_what_is_there_and_has_ended(run: Path, tmp_path: Path) -> None:
    with pytest.raises(RunDirectoryError, match="no deployment d9"):
        part_of_run(run, "d9", tmp_path)
    trial = run / "trials" / "s2" / "trial.json"
    trial.write_text(json.dumps({**json.loads(trial.read_text()), "status": "running"}))
    with pytest.raises(RunDirectoryError, match="s2 has not ended"):
        part_of_run(run, "d2", tmp_path)


# --- the question and its words ---------------------------------------------------------------------------------------


class Analyst:
    """Answers with words, or not: it is given up at once, or fails."""

    def __init__(self, words: str | None = None, error: str = "") -> None:
        self._words, self._error = words, error
        self.asked: list[object] = []
        self.is_given_up: Callable[[], bool] = bool

    def ask(self, *asked: object, is_given_up: Callable[[], bool], within_s: float) -> str | None:
        self.asked = [*asked, within_s]
        self.is_given_up = is_given_up
        if self._error:
            raise AnalysisError(self._error)
        return self._words


def _asked(analyst: Analyst, cancel: threading.Event, is_over: threading.Event) -> list[str]:
    """What is said of the answer."""
    said: list[str] = []
    ask = FirstAnswer(
        run=Path("/run"), analyst=cast(Any, analyst), started=time.monotonic() - 70, cancel=cancel, say=said.append
    )
    ask("d1", is_over)
    return said


def test_the_answer_is_said_with_the_time_since_the_command() -> None:
    analyst = Analyst("it agrees")
    (line,) = _asked(analyst, threading.Event(), threading.Event())
    assert line.startswith("first answer, after 1 min 1")
    assert line.endswith(" s: it agrees")
    assert analyst.asked == [answer, Path("/run"), "d1", ANSWER_S_MAX]


def test_an_analysis_that_fails_says_why() -> None:
    with pytest.raises(AnalysisError, match=r"^d1 has not ended$"):
        _asked(Analyst(error="d1 has not ended"), threading.Event(), threading.Event())


@pytest.mark.parametrize("by", ["cancel", "is_over"])
def test_it_is_given_up_when_the_run_is_cancelled_or_over(by: str) -> None:
    events = {"cancel": threading.Event(), "is_over": threading.Event()}
    analyst = Analyst(words=None)
    assert _asked(analyst, **events) == []
    assert not analyst.is_given_up()
    events[by].set()
    assert analyst.is_given_up()


def _standings(*kinds: Standing) -> list[Agreement]:
    return [
        Agreement(claim=f"BUSY-0{number}", release="4.6.0", injection="byteman", standing=kind, words="2, recorded 1")
        for number, kind in enumerate(kinds, start=1)
    ]


def test_what_is_answered_is_that_it_agrees_or_where_it_differs() -> None:
    agrees, differs, other = Standing.AGREES, Standing.DIFFERS, Standing.NOT_COMPARABLE
    what = ("append-stall", "4.6.0")
    assert first_words(*what, _standings(agrees, other, agrees)) == (
        "append-stall on 4.6.0 is as recorded in 2 of 3 findings"
    )
    assert first_words(*what, _standings(agrees, agrees)) == ("append-stall on 4.6.0 is as recorded in all 2 findings")
    assert first_words(*what, _standings(agrees, differs)) == (
        "append-stall on 4.6.0 differs from the record in 1 of 2 findings: BUSY-02 (2, recorded 1)"
    )
    assert first_words(*what, _standings(*[differs] * 4)).endswith("BUSY-03 (2, recorded 1); ...")
    assert "nothing" in first_words(*what, _standings(other))


def test_quick_runs_of_the_labs_own_incidents_answer_first(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[tuple[bool, object]] = []
    java = SimpleNamespace(home=tmp_path)

    def carry_out(job: Job, *_: object) -> int:
        asked.append((job.request.answer_first, job.analyst))
        return 0

    monkeypatch.setattr(mqlab.run.verify, "make_ready", lambda console: java)
    monkeypatch.setattr(
        mqlab.run.verify, "analyst_at", lambda place: nullcontext(place.java_home) if is_local(place.where) else None
    )
    monkeypatch.setattr(mqlab.run.verify, "prepare", lambda *_: None)
    monkeypatch.setattr(mqlab.run.verify, "carry_out", carry_out)
    own = tmp_path / "my_incident.py"
    shutil.copy(TEMPLATE, own)
    elsewhere = ["--spark-master", "spark://127.0.0.1:7077"]
    for words in ([], ["--all", "--quick"], ["append-stall"], [str(own), "--quick"], elsewhere):
        assert main(["verify", *words]) == 0
    assert asked == [(True, tmp_path), (True, tmp_path), (False, None), (False, None), (True, tmp_path)]
