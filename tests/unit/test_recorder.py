"""The run directory: manifest, trials, deployments, and who may write them."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import ConfigurationError, DiskFullError, RunDirectoryError
from harness.paths import PACKAGES
from harness.rundir.documents import document_text
from harness.rundir.files import require_space
from harness.rundir.layout import new_run_id
from harness.rundir.lines import cut_padding
from harness.rundir.manifest import (
    BegunTrial,
    DeploymentRecord,
    HostRecord,
    Manifest,
    NodeRecord,
    TrialRecord,
    read_manifest,
)
from harness.rundir.writing import RunWriter

MANIFEST = Manifest(
    run="20261121T081500Z-ab12",
    created="2026-11-21T08:15:00+00:00",
    command="mqlab verify append-stall",
    commit="0123abc",
    dirty=False,
    seed=7,
    incidents=("append-stall",),
    releases=("4.6.0",),
    client_releases={"4.6.0": "4.6.0"},
    backend="local",
    budget="quick",
    rules={"BUSY-09": "f00d"},
    host=HostRecord(cores=2, memory_bytes=1 << 34, kernel="6.1", java="17.0.15", java_source="path"),
    trials=("t-1", "t-2"),
)

TRIAL = TrialRecord(
    trial="append-stall-4.6.0-incident-r1",
    incident="append-stall",
    arm="incident",
    params={"stall_ms": 450, "rate_hz": 500},
    release="4.6.0",
    client="java 4.6.0",
    backend="local",
    injection="byteman",
    deployment="append-stall-4.6.0-1",
    repetition=1,
    seed=123,
    topic="T1",
    groups=("g0", "g1"),
    live_conf={"waitTimeMillsInSendQueue": "400"},
)

DEPLOYMENT = DeploymentRecord(
    deployment="append-stall-4.6.0-1",
    incident="append-stall",
    release="4.6.0",
    index=1,
    topology={"name": "one-broker", "masters": 1},
    logging="lab",
    log_zone="UTC",
    nodes=(
        NodeRecord(name="broker-a", kind="broker", role="MASTER", address="127.0.0.1:20911", pid=4711, release="4.6.0"),
    ),
    settings={"conf": {"brokerRole": "ASYNC_MASTER"}, "properties": {}, "environment": {}},
    overrides=("storePathRootDir",),
)

BEGUN = BegunTrial(
    incident=TRIAL.incident,
    arm=TRIAL.arm,
    params=TRIAL.params,
    release=TRIAL.release,
    deployment=TRIAL.deployment,
    chosen_injection=TRIAL.chosen_injection,
)

MANIFEST_FIELDS = (
    "schema run created command commit dirty seed incidents releases client_releases backend budget rules host trials "
    "notes status jars sealed begun documents sum"
)
TRIAL_FIELDS = (
    "schema trial incident arm params release client backend injection deployment repetition seed topic groups "
    "live_conf faults status error attempt superseded_by chosen_injection experiment run files took sum"
)
DEPLOYMENT_FIELDS = (
    "schema deployment incident release index topology logging log_zone nodes settings overrides refused store jvm "
    "timer_slack_ms run identity ended files sum"
)


def fields(path: Path) -> list[str]:
    return list(json.loads(path.read_text()))


def test_what_is_written_is_what_is_read(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", MANIFEST) as run:
        trial = run.make_trial(TRIAL)
        deployment = run.make_deployment(DEPLOYMENT)
        assert read_manifest(run.path) == dataclasses.replace(MANIFEST, sealed=True, begun={TRIAL.trial: BEGUN})
        assert trial.read() == dataclasses.replace(TRIAL, run=MANIFEST.run)
        assert deployment.read() == dataclasses.replace(DEPLOYMENT, run=MANIFEST.run)
        assert run.trials() == {TRIAL.trial: trial.read()}


def test_the_files_have_the_fields_and_places_that_the_analysis_reads(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", MANIFEST) as run:
        run.make_trial(TRIAL)
        run.make_deployment(DEPLOYMENT)
    path = tmp_path / "run"
    assert fields(path / "manifest.json") == MANIFEST_FIELDS.split()
    assert fields(path / "trials" / TRIAL.trial / "trial.json") == TRIAL_FIELDS.split()
    deployment = path / "deployments" / DEPLOYMENT.deployment
    assert fields(deployment / "deployment.json") == DEPLOYMENT_FIELDS.split()
    assert json.loads((deployment / "deployment.json").read_text())["nodes"] == [
        {
            "name": "broker-a",
            "kind": "broker",
            "role": "MASTER",
            "address": "127.0.0.1:20911",
            "pid": 4711,
            "release": "4.6.0",
        }
    ]
    assert (path / "trials" / TRIAL.trial / "history").is_dir()


def test_the_manifest_follows_the_run(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", MANIFEST) as run:
        run.set_trials(("t-1", "t-1-again"))
        run.add_note("cores shared")
        run.add_note("cores shared")
        run.set_status("complete")
    trials, notes = ("t-1", "t-1-again"), ("cores shared",)
    expected = dataclasses.replace(MANIFEST, trials=trials, notes=notes, status="complete", sealed=True)
    assert read_manifest(tmp_path / "run") == expected


def test_a_run_goes_on_where_it_was_left(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", MANIFEST) as run:
        run.make_trial(TRIAL).write(dataclasses.replace(TRIAL, status="complete"))
        run.set_status("interrupted")
    with RunWriter.open(tmp_path / "run") as run:
        assert run.manifest.status == "interrupted"
        assert run.trials()[TRIAL.trial].status == "complete"
        run.set_status("complete")
    assert read_manifest(tmp_path / "run").status == "complete"


def test_two_runs_in_one_folder_exclude_each_other_and_the_second_names_the_first(tmp_path: Path) -> None:
    script = (
        "import sys; from pathlib import Path; from harness.rundir.writing import RunWriter\n"
        "run = RunWriter.open(Path(sys.argv[1])); print('open', flush=True); sys.stdin.read()"
    )
    RunWriter.create(tmp_path / "run", MANIFEST).close()
    other = subprocess.Popen(
        [sys.executable, "-c", script, str(tmp_path / "run")],
        env={**os.environ, "PYTHONPATH": str(PACKAGES)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    )
    try:
        assert other.stdout is not None
        assert other.stdout.readline() == b"open\n"
        with pytest.raises(RunDirectoryError, match=rf"in use by another run \(process {other.pid}\)"):
            RunWriter.open(tmp_path / "run")
        with pytest.raises(RunDirectoryError, match=str(other.pid)):
            RunWriter.create(tmp_path / "run", MANIFEST)
    finally:
        other.send_signal(signal.SIGKILL)
        other.communicate()
    # The lock went with the process: nothing has to be cleaned by hand.
    RunWriter.open(tmp_path / "run").close()


def test_one_process_cannot_open_a_run_twice_either(tmp_path: Path) -> None:
    with (
        RunWriter.create(tmp_path / "run", MANIFEST),
        pytest.raises(RunDirectoryError, match=f"process {os.getpid()}"),
    ):
        RunWriter.open(tmp_path / "run")


def test_a_run_is_never_written_over(tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "run", MANIFEST).close()
    with pytest.raises(RunDirectoryError, match="holds a run already") as caught:
        RunWriter.create(tmp_path / "run", dataclasses.replace(MANIFEST, seed=8))
    assert "--resume" in caught.value.advice
    assert read_manifest(tmp_path / "run").seed == 7


def test_a_folder_with_other_things_in_it_is_refused(tmp_path: Path) -> None:
    (tmp_path / "thesis.tex").write_text("")
    with pytest.raises(RunDirectoryError, match=r"not empty \(thesis.tex\)"):
        RunWriter.create(tmp_path, MANIFEST)


@pytest.mark.parametrize("name", ["nothing", "file"])
def test_what_is_no_run_directory_is_refused(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(RunDirectoryError, match=r"is not a run directory"):
        RunWriter.open(tmp_path / name)
    assert not (tmp_path / "nothing").exists()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"schema": 3}', "schema 3, and this version reads up to 2"),
        ('{"schema": 2}', "lacks its sum"),
        ('{"schema": 2, "sum": "0"}', "was changed after it had been written"),
        ("{}", "schema None"),
        ("[1]", "holds no JSON object"),
        ('{"schema": 1, "run": "x"}', "not a whole Manifest: it lacks created"),
        ('{"schema": 1, "ru', "cannot be read"),
        ("\ufffe", "cannot be read"),
    ],
)
def test_a_manifest_of_another_schema_or_a_damaged_one_is_refused(tmp_path: Path, content: str, message: str) -> None:
    RunWriter.create(tmp_path / "run", MANIFEST).close()
    (tmp_path / "run" / "manifest.json").write_text(content)
    with pytest.raises(RunDirectoryError, match=message):
        RunWriter.open(tmp_path / "run")


def test_fields_that_were_added_later_are_ignored(tmp_path: Path) -> None:
    RunWriter.create(tmp_path / "run", MANIFEST).close()
    path = tmp_path / "run" / "manifest.json"
    content = {name: value for name, value in json.loads(path.read_text()).items() if name != "sum"}
    path.write_text(document_text({**content, "weather": "fine"}))
    assert read_manifest(tmp_path / "run") == dataclasses.replace(MANIFEST, sealed=True)


@pytest.mark.parametrize("name", ["", ".", "..", "../x", "a/b"])
def test_a_trial_cannot_leave_the_run_directory(tmp_path: Path, name: str) -> None:
    with (
        RunWriter.create(tmp_path / "run", MANIFEST) as run,
        pytest.raises(RunDirectoryError, match="name of a folder"),
    ):
        run.make_trial(dataclasses.replace(TRIAL, trial=name))


def test_a_full_disk_leaves_the_old_manifest(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    with RunWriter.create(tmp_path / "run", MANIFEST) as run:
        monkeypatch.setattr(os, "fsync", full)
        with pytest.raises(DiskFullError, match=r"manifest\.json"):
            run.set_status("complete")
        monkeypatch.undo()
        assert read_manifest(run.path).status == "running"
        assert not list(run.path.glob("*.tmp"))


def test_space_is_asked_for_before_it_is_needed(tmp_path: Path) -> None:
    require_space(tmp_path / "not" / "yet", 1)
    with pytest.raises(ConfigurationError, match=r"needs \d+ MiB and its file system has \d+ MiB left"):
        require_space(tmp_path / "not" / "yet", 1 << 62)


def test_run_ids_sort_by_time_and_differ() -> None:
    first, second = new_run_id(), new_run_id()
    assert first != second
    assert first[:15] <= second[:15]
    assert (len(first), first[8], first[15]) == (21, "T", "Z")


def test_what_an_earlier_attempt_recorded_is_kept_apart_from_the_next(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", MANIFEST) as run:
        for attempt in range(3):
            directory = run.make_trial(TRIAL)
            directory.history_path("producer").write_text(f"{attempt}\n")
        assert directory.history_path("producer").read_text() == "2\n"
        kept = sorted((tmp_path / "run" / "earlier").glob("*/history/producer.jsonl"))
        assert [path.read_text() for path in kept] == ["0\n", "1\n"]
        assert list(run.trials()) == [TRIAL.trial]


def test_the_empty_lines_behind_the_last_record_of_a_killed_client_are_cut_off(tmp_path: Path) -> None:
    history = tmp_path / "owner.jsonl"
    record = b'{"type":"send","n":1}\n'
    for kept in (b"", record, record * 9000, record + b'{"type":"se\n'):
        for padding in (b"", b"\n" * 3, b"\n" * 200_000):
            history.write_bytes(kept + padding)
            cut_padding(history)
            assert history.read_bytes() == kept
    history.write_bytes(b'{"type":"se')
    cut_padding(history)
    assert history.read_bytes() == b'{"type":"se', "a last record without an end stays as it is"
    cut_padding(tmp_path / "nobody.jsonl")
