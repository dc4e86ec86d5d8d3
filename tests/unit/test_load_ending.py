"""How far a load came, by its own records, and run directories that hold none."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

import pytest

from analysis.evidence.events import events_of
from analysis.load.ending import Ending, ending_of, trial_of_load
from analysis.load.figures import Figures
from analysis.load.judged import JudgedLoad
from harness.errors import EXIT_USAGE, RunDirectoryError
from harness.rundir.reading import read_run_directory
from tests.lib.commands import typed
from tests.lib.load_findings import found
from tests.lib.runs import Run
from tests.lib.trials import Trial, at

PHASES = ("up", "steady", "inject", "hold", "heal", "recover", "drain", "collect")


def _load(status: str, *, phases: Sequence[str], under_way: str = "", down: bool = False, error: str = "") -> Trial:
    """A load that has ended those ``phases`` well and is in the next one, or failed in it."""
    trial = Trial(name="load", incident="load", arm="baseline", deployment="load", status=status, error=error)
    trial.has_frame = False
    at_ms = 0

    def stamp(phase: str, *events: str) -> None:
        nonlocal at_ms
        for event in events:
            at_ms += 1
            trial.event("phase", phase=phase, event=event, at_ns=at(at_ms))

    def anchor() -> None:
        trial.event("anchor", process="harness", mono_ns=at(at_ms), wall_us=at_ms)

    for phase in phases:
        anchor()
        stamp(phase, "begin", "end")
    if under_way:
        anchor()
        stamp(under_way, "begin", *(("end",) if down else ()))
    elif phases == PHASES:
        anchor()
        trial.event("hiccup", from_ns=at(0), at_ns=at(100), late_ms_max=1.0, samples=50)
    if down:
        stamp("down", "begin", "end")
    return trial


def _ending(tmp_path: Path, trial: Trial) -> Ending:
    run = read_run_directory(Run(path=tmp_path, incidents=("load",), trials=[trial]).save())
    return ending_of(run, trial_of_load(run), events_of(run, "load"))


def test_a_load_that_was_killed_says_in_which_phase(tmp_path: Path) -> None:
    found = _ending(tmp_path, _load("running", phases=PHASES[:3], under_way="hold"))
    assert (found.is_reached, found.is_under_way, found.phase, found.status) == (False, False, "hold", "running")
    assert found.why == "the load did not reach its end"
    told = "the load did not reach its end: it was cut off in its phase hold, and its trial is running still, as a kill leaves it"
    assert found.words == told


@pytest.mark.parametrize(
    ("status", "how"), [("failed", "ended by a failure"), ("interrupted", "interrupted")], ids=["failed", "interrupted"]
)
def test_a_load_that_failed_or_was_interrupted_says_why(tmp_path: Path, status: str, how: str) -> None:
    trial = _load(status, phases=PHASES[:6], under_way="drain", down=True, error="no space is left")
    assert _ending(tmp_path, trial).words == (
        f"the load did not reach its end: it was {how} in its phase drain: no space is left"
    )


def test_a_load_without_a_phase_was_cut_off_before_its_first_one(tmp_path: Path) -> None:
    found = _ending(tmp_path, _load("running", phases=()))
    assert found.phase == ""
    assert "cut off before its first phase" in found.words


def test_a_load_that_is_being_written_has_not_ended(tmp_path: Path) -> None:
    trial = _load("running", phases=PHASES[:3], under_way="hold")
    run = read_run_directory(Run(path=tmp_path, incidents=("load",), trials=[trial]).save())
    writer = os.open(run.path / ".lock", os.O_CREAT | os.O_RDWR)
    try:
        assert not ending_of(run, trial_of_load(run), events_of(run, "load")).is_under_way
        fcntl.flock(writer, fcntl.LOCK_EX)
        found = ending_of(run, trial_of_load(run), events_of(run, "load"))
        assert (found.is_reached, found.is_under_way) == (False, True)
        assert found.words == "the load has not ended: it is in its phase hold"
    finally:
        os.close(writer)


def test_a_load_whose_evidence_was_collected_has_reached_its_end_however_its_processes_ended(tmp_path: Path) -> None:
    whole = _load("failed", phases=PHASES, down=True, error="a group could not be removed")
    found = _ending(tmp_path / "down", whole)
    assert found.is_reached
    assert found.why == ""
    assert "its trial is failed: a group could not be removed" in found.words
    in_collect = _load("failed", phases=PHASES[:7], under_way="collect", down=True, error="a broker is gone")
    assert not _ending(tmp_path / "collect", in_collect).is_reached
    whole.drop(lambda record: record["type"] == "hiccup")
    assert not _ending(tmp_path / "disk", whole).is_reached


def test_of_a_complete_load_there_is_nothing_to_say(tmp_path: Path) -> None:
    found = _ending(tmp_path, _load("complete", phases=PHASES, down=True))
    assert (found.is_reached, found.why, found.words) == (True, "", "")


def test_a_run_without_a_trial_or_with_two_is_no_load(tmp_path: Path) -> None:
    run = read_run_directory(Run(path=tmp_path / "none", incidents=("load",), planned=["load"]).save())
    with pytest.raises(RunDirectoryError, match="holds no trial of a load") as none:
        trial_of_load(run)
    assert "run the load again" in none.value.advice
    two = [Trial(name=name, incident="load", arm="baseline", deployment="load") for name in ("load", "load copied")]
    run = read_run_directory(Run(path=tmp_path / "two", incidents=("load",), trials=two).save())
    with pytest.raises(RunDirectoryError, match=r"holds 2 trials \(load, load copied\), and a load has one"):
        trial_of_load(run)


def test_a_trial_in_a_folder_of_another_name_is_named(tmp_path: Path) -> None:
    Run(path=tmp_path, incidents=("load",), trials=[_load("running", phases=())]).save()
    (tmp_path / "trials" / "load").rename(tmp_path / "trials" / "mine")
    with pytest.raises(RunDirectoryError, match=r"trials/mine/trial\.json is that of load"):
        trial_of_load(read_run_directory(tmp_path))


def test_a_load_that_was_killed_before_its_trial_is_one_sentence_and_bad_usage(tmp_path: Path) -> None:
    Run(path=tmp_path, incidents=("load",), planned=["load"]).save()
    done = typed("runs", "analyze", str(tmp_path))
    assert done.code == EXIT_USAGE
    assert "holds no trial of a load" in done.err
    assert "Traceback" not in done.err


def _told(ending: Ending, notes: tuple[str, ...], errors: dict[str, int]) -> list[str]:
    figures = Figures(
        sends=30, ok=10, failed=20, unknown=0, unknown_arrived=0, unplaced=0, not_accepted=20, consumptions=10, seconds=1.0,
        asked_per_s=30.0, started_per_s=30.0, ok_per_s=10.0, late_ms=(0.0,) * 3, latency_ms=(1.0,) * 3, late_ms_max=0.0,
        hiccup_ms_max=None,
    )  # fmt: skip
    judged = JudgedLoad(
        ending=ending, client="java 5.5.0", release="5.5.0", params={}, figures=figures, faults=(), notes=notes,
        findings=(found("nothing lost", None, "x"),), locust_requests=30, locust_failures=20, errors=errors,
    )  # fmt: skip
    return judged.lines()


def test_a_load_that_its_user_stopped_says_so_first_and_once(tmp_path: Path) -> None:
    ending = _ending(tmp_path, _load("complete", phases=PHASES))
    lines = _told(ending, ("stopped by its user after 12.3 of 60 s", "another"), {})
    assert lines[0] == "the load was stopped by its user after 12.3 of 60 s"
    assert [line for line in lines if line.startswith("note: ")] == ["note: another"]


def test_failed_sends_are_told_by_the_names_of_their_errors_the_commonest_first(tmp_path: Path) -> None:
    ending = _ending(tmp_path, _load("complete", phases=PHASES))
    lines = _told(ending, (), {"B": 2, "A": 15, "C": 1, "D": 1, "E": 1})
    assert "failed by error: A 15, B 2, C 1, D 1 and 1 more" in lines
