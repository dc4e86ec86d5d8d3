"""A run's evidence is closed, and a reading says what of it is not as it was."""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from analysis.report.facts import LEFT_OUT, evidence_told
from harness.errors import RunDirectoryError
from harness.rundir import integrity
from harness.rundir.documents import document_text
from harness.rundir.events import EventLog
from harness.rundir.integrity import FOREIGN, UNVOUCHED
from harness.rundir.manifest import DeploymentRecord, Manifest
from harness.rundir.reading import DAMAGED, RunDirectory, read_run_directory, verified
from harness.rundir.sealing import evidence_files, read_sum, sealed_file
from harness.rundir.writing import RunWriter
from mqlab.run.resume import finished_trials
from tests.lib.records import make_closed_deployment, trial_record
from tests.lib.written_runs import RECORDS, record_trial
from tests.unit.test_resume import MANIFEST

TRIALS = ("t1", "t2", "t3")
DEPLOYMENT = trial_record("t1").deployment
HISTORY = "trials/t1/history/producer.jsonl"
LOG = f"deployments/{DEPLOYMENT}/nodes/broker-a/logs/lock.log"


def close_deployment(run: RunWriter, name: str = DEPLOYMENT) -> None:
    record = DeploymentRecord(
        deployment=name, incident="append-stall", release="4.6.0", index=1, topology={}, logging="lab", log_zone="UTC",
        identity={"token": "a cluster's own"}, run=run.manifest.run,
    )  # fmt: skip
    directory = run.make_deployment(record)
    logs = directory.path / "nodes" / "broker-a" / "logs"
    logs.mkdir(parents=True)
    (logs / "lock.log").write_text("tryLockBatch\n")
    (logs / "empty.log").write_text("")
    (directory.path / "nodes" / "broker-a" / "store").mkdir()
    (directory.path / "nodes" / "broker-a" / "store" / "commitlog").write_bytes(b"x")
    directory.seal(record)


@pytest.fixture
def run(tmp_path: Path) -> Path:
    """A sealed run of three trials on one cluster."""
    with RunWriter.create(tmp_path / "run", MANIFEST) as writer:
        writer.set_trials(TRIALS)
        for name in TRIALS:
            record_trial(writer, name, deployment=DEPLOYMENT)
        close_deployment(writer)
        writer.set_status("complete")
    return tmp_path / "run"


def look(run: Path) -> RunDirectory:
    return verified(read_run_directory(run))


def damage(run: Path) -> list[tuple[str, str, set[str]]]:
    return [(one.file, one.what, set(one.trials)) for one in look(run).damage]


# --- what is written --------------------------------------------------------------------------------------------------


def test_a_run_that_was_written_is_whole(run: Path) -> None:
    read = look(run)
    assert (read.is_sealed, read.damage, read.problems) == (True, (), ())
    assert [trial.trial for trial in read.trials] == list(TRIALS)
    assert [path.name for path in read.history_files] == ["producer.jsonl"] * 3
    assert set(read.trials[0].files) == {
        "events.jsonl",
        "history/producer.jsonl",
        "clients/producer/rocketmq_client.log",
    }
    assert set(read.deployments[0].files) == {"nodes/broker-a/logs/lock.log", "nodes/broker-a/logs/empty.log"}


def test_a_file_of_records_ends_with_its_count(run: Path) -> None:
    last = json.loads((run / HISTORY).read_text().splitlines()[-1])
    assert last == {"type": "end", "n": RECORDS, "process": "producer", "records": RECORDS - 1}
    sealed = look(run).trials[0].files["history/producer.jsonl"]
    assert (sealed.records, sealed.ended, sealed.damage) == (RECORDS, True, "")
    assert sealed.bytes == (run / HISTORY).stat().st_size


def test_a_killed_process_leaves_no_end_mark_and_no_damage(tmp_path: Path) -> None:
    path = tmp_path / "owner.jsonl"
    for tail, records in (("", 2), ('{"type":"ch', 2), ('{"type":"ch\n\n\n', 3), ("\n" * 100_000, 2)):
        path.write_text('{"type":"check","n":1}\n{"type":"check","n":2}\n' + tail)
        sealed = sealed_file(path)
        assert (sealed.records, sealed.ended, sealed.damage) == (records, False, ""), tail


def test_a_gap_or_a_repeat_is_seen_when_the_file_is_sealed(tmp_path: Path) -> None:
    path = tmp_path / "owner.jsonl"
    path.write_text('{"type":"check","n":1}\n{"type":"check","n":3}\n')
    assert sealed_file(path).damage == "lacks records: its last one has the number 3 and is line 2"
    path.write_text('{"type":"check","n":1}\n{"type":"check","n":1}\n{"type":"end","n":2}\n')
    assert sealed_file(path).damage == "has records twice: its last one has the number 2 and is line 3"


def test_evidence_is_on_the_disk_before_a_record_says_that_it_is_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    flushed: list[str] = []
    fsync, replace = os.fsync, Path.replace

    def note_flush(handle: int) -> None:
        flushed.append(Path(f"/proc/self/fd/{handle}").readlink().name)
        fsync(handle)

    def note_replace(self: Path, target: Path) -> Path:
        flushed.append(f"-> {Path(target).name}")
        return replace(self, target)

    with RunWriter.create(tmp_path / "run", MANIFEST) as writer:
        monkeypatch.setattr(os, "fsync", note_flush)
        monkeypatch.setattr(Path, "replace", note_replace)
        record_trial(writer, "t1", deployment=DEPLOYMENT)
    last = len(flushed) - 1 - flushed[::-1].index("-> trial.json")
    files = {"events.jsonl", "producer.jsonl", "rocketmq_client.log", "history", "producer", "t1"}
    assert files <= set(flushed[:last])
    assert flushed[last + 1] == "t1", "the name of the record is on the disk, too"


def test_what_is_written_under_a_store_or_a_disk_is_no_evidence(tmp_path: Path) -> None:
    for name in (
        "clients/owner/disk/queue",
        "clients/owner/disk.img",
        "store/commitlog/0",
        ".events.jsonl.4711.tmp",
        "clients/owner/temporary/1/native.so",
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(b"x")
    (tmp_path / "events.jsonl").write_text("")
    assert [path.name for path in evidence_files(tmp_path)] == ["events.jsonl"]


@pytest.mark.parametrize("line", ["{}\n", '{"a":[1,1,1,1,1,1,1,1]}\n'])
def test_events_of_more_values_than_memory_bears_damage_their_trial(
    run: Path, monkeypatch: pytest.MonkeyPatch, line: str
) -> None:
    monkeypatch.setattr(integrity, "EVENT_VALUES_MAX", 1000)
    assert look(run).damage == ()
    path = run / "trials" / "t1"
    before = json.loads((path / "trial.json").read_text())
    (path / "events.jsonl").write_text(line * 501 + '{"type":"end","n":502,"records":501}\n')
    before["files"]["events.jsonl"] = dataclasses.asdict(sealed_file(path / "events.jsonl"))
    text = document_text({name: value for name, value in before.items() if name != "sum"})
    (path / "trial.json").write_text(text)
    (found,) = (one for one in look(run).damage if one.file == "trials/t1/events.jsonl")
    assert found.what == "has more than 1,000 values"
    assert found.trials == {"t1"}


# --- what is read -----------------------------------------------------------------------------------------------------


def _cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:100])


def _nul(path: Path) -> None:
    path.write_bytes(bytes(path.stat().st_size))


def _grown(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"{}\n")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (Path.unlink, "is missing"),
        (_cut, "is not the file that was sealed: it has 100 bytes, and had "),
        (_grown, "is not the file that was sealed: it has "),
        (_nul, "is not the file that was sealed: its sum is another one"),
    ],
)
@pytest.mark.parametrize(("file", "trials"), [(HISTORY, {"t1"}), (LOG, set(TRIALS))])
def test_a_damaged_file_is_named_and_spoils_what_rests_on_it(
    run: Path, file: str, trials: set[str], spoil: Callable[[Path], None], words: str
) -> None:
    if file == LOG:
        (run / LOG).write_bytes(b"x" * 200)
        record = json.loads((run / f"deployments/{DEPLOYMENT}/deployment.json").read_text())
        sealed = dataclasses.asdict(sealed_file(run / LOG))
        content = {**record, "files": {**record["files"], "nodes/broker-a/logs/lock.log": sealed}}
        content.pop("sum")
        (run / f"deployments/{DEPLOYMENT}/deployment.json").write_text(document_text(content))
        with RunWriter.open(run) as writer:
            writer.set_status("complete")
        assert damage(run) == []
    spoil(run / file)
    ((named, what, spoiled),) = damage(run)
    assert (named, spoiled) == (file, trials)
    assert words in what
    assert not [path for path in look(run).history_files if path.parts[-3] in trials]


def test_what_the_run_does_not_name_is_left_out(run: Path) -> None:
    shutil.copy(run / HISTORY, run / "trials/t1/history/again.jsonl")
    shutil.copytree(run / "trials/t1", run / "trials/t4")
    shutil.copytree(run / f"deployments/{DEPLOYMENT}", run / "deployments/d9")
    assert damage(run) == [
        ("trials/t1/history/again.jsonl", "is foreign, and left out: trials/t1/trial.json does not name it", set()),
        ("trials/t4", "is foreign, and left out: the manifest names no such trial", set()),
        ("deployments/d9", "is foreign, and left out: the manifest names no such deployment", set()),
    ]
    read = look(run)
    assert [trial.trial for trial in read.trials] == list(TRIALS)
    assert len(read.history_files) == 3
    assert len(read.evidence("deployments/*/nodes/*/logs/*.log")) == 2


def test_a_folder_that_is_gone_is_named_once(run: Path) -> None:
    shutil.rmtree(run / "trials/t1/history")
    shutil.rmtree(run / f"deployments/{DEPLOYMENT}/nodes")
    assert damage(run) == [
        ("trials/t1/history", "is missing with all its files (1)", {"t1"}),
        (f"deployments/{DEPLOYMENT}/nodes", "is missing with all its files (2)", set(TRIALS)),
    ]
    shutil.rmtree(run / "trials/t1")
    assert damage(run)[0] == ("trials/t1", "is missing", {"t1"})
    assert len(damage(run)) == 2


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "is empty"),
        (bytes(4096), "holds nothing but NUL bytes"),
        (b'{\n "schema": 2,\n "tri', "is cut, and ends amid line 3"),
        (b'{\n "schema": 2,', "is cut, and ends amid line 2"),
        (b'{\n "schema": 2}}', "is no JSON document, and breaks at line 2, column 14"),
        (b'{"trial": "\xff"}', "is no text, byte 12 is no UTF-8"),
    ],
)
def test_what_is_wrong_with_a_document_is_said_in_words(run: Path, content: bytes, words: str) -> None:
    (run / "trials/t1/trial.json").write_bytes(content)
    assert damage(run) == [("trials/t1/trial.json", f"cannot be read: it {words}", {"t1"})]


def test_a_manifest_of_another_run_is_refused_by_name(run: Path, tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "other", dataclasses.replace(MANIFEST, run="another")) as writer:
        record_trial(writer, "t1", deployment=DEPLOYMENT)
    shutil.copy(tmp_path / "other/manifest.json", run / "manifest.json")
    own = json.loads((run / "trials/t1/trial.json").read_text())["run"]
    with pytest.raises(
        RunDirectoryError, match=rf"manifest\.json is of the run another, and what lies beside it of {own}$"
    ):
        look(run)


def test_what_to_do_hangs_on_what_made_the_run() -> None:
    cut, foreign = (
        f"{DAMAGED}trials/t1/events.jsonl is missing",
        f"{DAMAGED}trials/t4 {FOREIGN}the manifest names no such trial",
    )
    assert "mqlab verify --resume RUN_DIR" in evidence_told([cut, foreign], "mqlab verify append-stall")[-1]
    for command in ("mqlab load --rate 500", "mqlab run append-stall"):
        assert "--resume" not in (told := evidence_told([cut], command)[-1])
        assert told.endswith("start it again: a load or a single trial cannot be gone on with.")
    assert evidence_told([foreign], "mqlab load") == [foreign, LEFT_OUT]


def test_a_copied_cluster_is_no_other_cluster(run: Path) -> None:
    """Also where its documents know it by a name of its own."""
    with RunWriter.open(run) as writer:
        record_trial(writer, "t4", deployment="d9")
        close_deployment(writer, "d9")
        writer.set_status("complete")
    assert damage(run) == [("deployments/d9", f"is a copy of deployments/{DEPLOYMENT}: it is the same cluster", {"t4"})]


def test_trials_whose_folders_were_exchanged_are_damaged(run: Path) -> None:
    (run / "trials/t1").rename(run / "aside")
    (run / "trials/t2").rename(run / "trials/t1")
    (run / "aside").rename(run / "trials/t2")
    assert [(file, what) for file, what, _ in damage(run)] == [
        ("trials/t1/trial.json", "is that of t2"),
        ("trials/t2/trial.json", "is that of t1"),
    ]
    assert [trial.arm for trial in look(run).trials] == ["incident"] * 3, "the manifest knows what they were"


def test_a_document_that_was_changed_is_damage_whatever_was_changed(run: Path) -> None:
    text = (run / "trials/t1/trial.json").read_text()
    for changed in (text.replace('"seed": 1', '"seed": 2'), text.replace("\n", "\n "), text[:-2], "[]", ""):
        (run / "trials/t1/trial.json").write_text(changed)
        ((file, _, spoiled),) = damage(run)
        assert (file, spoiled) == ("trials/t1/trial.json", {"t1"})


def test_a_record_that_is_whole_and_not_the_runs_last_one_is_damage(run: Path) -> None:
    record = json.loads((run / "trials/t1/trial.json").read_text())
    record.pop("sum")
    (run / "trials/t1/trial.json").write_text(document_text({**record, "status": "running", "files": {}}))
    assert damage(run) == [("trials/t1/trial.json", "is not what it was when the run ended", {"t1"})]


def test_a_changed_incident_is_named_and_spoils_no_evidence(run: Path) -> None:
    with RunWriter.open(run) as writer:
        (run / "incidents").mkdir()
        (run / "incidents" / "own_disk.py").write_text("BOUND = 1\n")
        writer.set_status("complete")
    assert damage(run) == []
    (run / "incidents" / "own_disk.py").write_text("BOUND = 2\n")
    assert damage(run) == [("incidents/own_disk.py", "is not what it was when the run ended", set())]


def test_a_manifest_that_was_changed_is_refused(run: Path) -> None:
    path = run / "manifest.json"
    path.write_text(path.read_text().replace('"seed": ', '"seed": 1'))
    with pytest.raises(RunDirectoryError, match=r"manifest\.json was changed after it had been written"):
        read_run_directory(run)
    path.write_text(path.read_text().replace('"schema": 2', '"schema": 1'))
    with pytest.raises(RunDirectoryError, match=r"manifest\.json was changed after it had been written"):
        read_run_directory(run)


def test_a_run_of_before_is_read_and_nothing_vouches_for_it(run: Path) -> None:
    for path in (run / "manifest.json", *run.glob("trials/*/trial.json"), *run.glob("deployments/*/deployment.json")):
        content = json.loads(path.read_text())
        content["schema"] = 1
        for name in ("sum", "sealed", "begun", "documents", "files", "run")[: 4 if path.name == "manifest.json" else 6]:
            content.pop(name, None)
        path.write_text(json.dumps(content))
    read = look(run)
    assert (read.is_sealed, read.damage, read.problems) == (False, (), (UNVOUCHED,))
    lines = (run / HISTORY).read_text().splitlines(keepends=True)
    (run / HISTORY).write_text("".join([*lines[:20], *lines[21:]]))
    assert damage(run) == [
        (HISTORY, f"lacks records: its last one has the number {RECORDS} and is line {RECORDS - 1}", {"t1"}),
    ]


# --- going on ---------------------------------------------------------------------------------------------------------


def test_what_is_not_whole_is_run_again(run: Path) -> None:
    with RunWriter.open(run) as writer:
        assert finished_trials(writer) == set(TRIALS)
        _nul(run / HISTORY)
        assert finished_trials(writer) == {"t2", "t3"}
        (run / LOG).unlink()
        assert finished_trials(writer) == frozenset()


def test_trials_of_a_cluster_that_was_not_closed_are_run_again(tmp_path: Path) -> None:
    with RunWriter.create(tmp_path / "run", MANIFEST) as writer:
        record_trial(writer, "t1", deployment=DEPLOYMENT)
        writer.make_deployment(dataclasses.replace(_deployment(writer.manifest), ended=False))
        assert finished_trials(writer) == frozenset()
        make_closed_deployment(writer, DEPLOYMENT)
        assert finished_trials(writer) == {"t1"}


def _deployment(manifest: Manifest) -> DeploymentRecord:
    return DeploymentRecord(
        deployment=DEPLOYMENT, incident="append-stall", release="4.6.0", index=1, topology={}, logging="lab",
        log_zone="UTC", run=manifest.run,
    )  # fmt: skip


def test_reading_a_file_takes_its_last_record_from_its_last_whole_line(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as events:
        for number in range(1000):
            events.record("drain", complete=True, remaining=number)
    summed = read_sum(tmp_path / "events.jsonl")
    assert (summed.lines, summed.last_line, summed.last_number, summed.last_type) == (1000, 1000, 1000, "drain")


def test_a_repetition_of_a_trial_that_is_made_again_belongs_to_the_run_no_more(tmp_path: Path) -> None:
    """It lies on a cluster that was not closed, and the new trial may need no repetition."""
    with RunWriter.create(tmp_path / "run", MANIFEST) as writer:
        record_trial(writer, "t1", deployment=DEPLOYMENT)
        directory = writer.trial("t1")
        directory.write(dataclasses.replace(directory.read(), superseded_by="t1.a2"))
        record_trial(writer, "t1.a2", deployment=DEPLOYMENT)
        writer.make_deployment(_deployment(writer.manifest))
        assert finished_trials(writer) == frozenset()
        writer.set_aside(list(writer.manifest.begun))
        record_trial(writer, "t1", deployment="d2")
        close_deployment(writer, "d2")
        writer.set_status("complete")
    assert [trial.trial for trial in look(tmp_path / "run").trials] == ["t1"]
    assert damage(tmp_path / "run") == []
    assert sorted(path.name for path in (tmp_path / "run" / "earlier").iterdir()) == ["t1.a2~1", "t1~1"]
