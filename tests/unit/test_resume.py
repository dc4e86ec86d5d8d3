"""What a run can be gone on with, and what its findings then say."""

from __future__ import annotations

import argparse
import dataclasses
import subprocess
from pathlib import Path

import pytest

import mqlab.run.resume
import scenarios
from harness.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, ConfigurationError
from harness.host.facts import Commit, is_same_code, own_commit
from harness.rundir.manifest import RESUMED, HostRecord, Manifest
from harness.rundir.writing import RunWriter
from mqlab.main import _parser, main
from mqlab.run.resume import finished_trials, restore_options, rules_of
from mqlab.run.running import code_of
from tests.lib.records import make_closed_deployment, trial_record

STALL = scenarios.find("append-stall")
MANIFEST = Manifest(
    run="r",
    created="",
    command="mqlab verify append-stall --release 4.6.0 --trials 3 --set broker.flushDiskType=SYNC_FLUSH",
    commit="a" * 40,
    dirty=False,
    seed=1,
    incidents=(STALL.name,),
    releases=("4.6.0",),
    client_releases={},
    backend="local",
    budget="full",
    rules=rules_of([STALL]),
    host=HostRecord(),
)


@pytest.fixture(autouse=True)
def _commit(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(mqlab.run.resume, "own_commit", lambda: Commit(id="a" * 40, dirty=False))


def _options(folder: Path, manifest: Manifest, *further: str) -> argparse.Namespace:
    RunWriter.create(folder / "run", manifest).close()
    options = _parser().parse_args(["verify", "--resume", str(folder / "run"), *further])
    options.parse = _parser().parse_args
    return options


def test_a_run_of_this_code_goes_on_with_its_own_options(tmp_path: Path) -> None:
    options = _options(tmp_path, MANIFEST)
    assert restore_options(options).note == ""
    assert (options.incidents, options.release, options.trials) == (["append-stall"], ("4.6.0",), 3)
    assert options.set == ["broker.flushDiskType=SYNC_FLUSH"]


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"commit": "b" * 40}, f"commit {'b' * 12} and not commit {'a' * 12}"),
        ({"dirty": True}, f"commit {'a' * 12} with changes and not commit {'a' * 12}"),
        ({"rules": {**MANIFEST.rules, STALL.claims[0].id: "0"}}, f"other rules of {STALL.claims[0].id}"),
        ({"rules": {}}, "other rules of"),
    ],
)
def test_a_run_of_other_code_goes_on_only_when_told_to_and_says_so(
    tmp_path: Path, changed: dict[str, object], said: str
) -> None:
    manifest = dataclasses.replace(MANIFEST, **changed)  # type: ignore[arg-type]
    options = _options(tmp_path, manifest)
    with pytest.raises(ConfigurationError, match="would mix two experiments") as raised:
        restore_options(options)
    assert said in str(raised.value)
    assert raised.value.exit_code == EXIT_USAGE
    assert "--anyway" in raised.value.advice
    options.anyway = True
    note = restore_options(options).note
    assert note.startswith(RESUMED)
    assert said in note
    assert options.trials == 3


def test_a_load_is_not_gone_on_with(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    manifest = dataclasses.replace(MANIFEST, incidents=("load",), command="mqlab load --release 4.6.0")
    RunWriter.create(tmp_path / "run", manifest).close()
    for further in ([], ["--anyway"]):
        assert main(["verify", "--resume", str(tmp_path / "run"), *further]) == EXIT_USAGE
        said = capsys.readouterr().err
        assert "holds a load" in said
        assert "Traceback" not in said


def test_anyway_is_about_a_resumed_run(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "append-stall", "--anyway"]) == EXIT_USAGE
    assert "--resume" in capsys.readouterr().err


def test_a_trial_that_was_too_noisy_is_run_again_until_a_repetition_of_it_has_ended(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", MANIFEST) as run:
        for record in (
            trial_record("quiet"),
            trial_record("repeated", superseded_by="repeated.a2"),
            trial_record("repeated.a2", superseded_by="repeated.a3"),
            trial_record("repeated.a3"),
            trial_record("killed-before", superseded_by="killed-before.a2"),
            trial_record("killed-amid", superseded_by="killed-amid.a2"),
            trial_record("killed-amid.a2", status="running"),
            trial_record("failed", status="failed"),
        ):
            run.make_trial(record)
        assert finished_trials(run) == frozenset(), "their cluster was not closed"
        make_closed_deployment(run, record.deployment)
        assert finished_trials(run) == {"quiet", "repeated", "repeated.a2", "repeated.a3"}


def test_a_commit_that_changes_the_record_alone_is_the_same_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def git(*words: str) -> str:
        identity = ("-c", "user.name=a", "-c", "user.email=a@example.org")
        return subprocess.run(
            ["git", "-C", tmp_path, *identity, *words], check=True, capture_output=True, text=True
        ).stdout.strip()

    def commit(name: str) -> str:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(name)
        git("add", name)
        git("commit", "-q", "-m", name)
        return git("rev-parse", "HEAD")

    monkeypatch.setattr("harness.host.facts.PACKAGES", tmp_path.resolve())
    git("init", "-q")
    start = commit("code.py")
    registered = commit("scenarios/record/index.jsonl")
    assert is_same_code(start, registered)
    assert not own_commit().dirty
    later = commit("scenarios/new.py")
    assert not is_same_code(registered, later)
    assert not is_same_code("b" * 40, later), "a commit that is not here"
    (tmp_path / "code.py").write_text("changed")
    assert own_commit().dirty


def test_a_run_of_which_no_trial_came_to_its_end_has_failed() -> None:
    failed, complete = (trial_record("t", status=status) for status in ("failed", "complete"))
    assert code_of((failed, complete)) == EXIT_OK
    assert code_of((failed, failed)) == code_of(()) == EXIT_FAILED
