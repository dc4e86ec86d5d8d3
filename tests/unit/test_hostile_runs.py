"""Whatever a run directory holds, its reading ends in tables, damaged lines, problems, or one sentence; never in a traceback."""

from __future__ import annotations

import contextlib
import dataclasses
import errno
import json
import os
import random
import shutil
import subprocess
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

import pytest

from analysis.evidence.columns import tables_of
from analysis.evidence.events import TrialEvents, events_table, read_events
from analysis.evidence.records import Records, write_tables
from analysis.evidence.settings import lock_life_ms, setting
from analysis.evidence.tables import DAMAGED, TRIALS, frame_of
from analysis.evidence.trials import trial_facts, trials_frame
from analysis.report import html
from analysis.report.write import write_page, write_reports
from harness.errors import EXIT_FAILED, EXIT_OK, EXIT_USAGE, AnalysisError, RunDirectoryError
from harness.model.rocketmq import LOCK_LIFE, LOCK_LIFE_MS
from harness.rundir.decode import read_document
from harness.rundir.documents import write_document
from harness.rundir.files import replace_file
from harness.rundir.integrity import TRIALS_MAX
from harness.rundir.manifest import BegunTrial, DeploymentRecord, Manifest, TrialRecord, is_zone, read_manifest
from harness.rundir.own_files import require_own_files
from harness.rundir.reading import read_run_directory
from harness.rundir.sealing import evidence_files
from harness.rundir.writing import RunWriter
from mqlab.console import print_lines
from mqlab.main import main
from tests.lib.hostile_runs import HOSTILE_VALUES, damage, damaged_line, damaged_lines
from tests.lib.own_scenarios import own_load
from tests.lib.packed_run import unpack_run
from tests.lib.runs import Run
from tests.lib.samples import loaded, sample
from tests.lib.samples import write_document as write_sample
from tests.lib.sealed import SEALED
from tests.unit.test_resume import MANIFEST

PLACE = "trials/load/history/owner.jsonl"


@pytest.fixture(scope="module")
def small_runs(tmp_path_factory: pytest.TempPathFactory) -> Sequence[Path]:
    """A load, and an incident of two trials."""
    load = own_load()
    load.drop(lambda record: record.get("seq", 0) >= 8 or record["type"] in ("hiccup", "rpc"))
    incident = Run(path=tmp_path_factory.mktemp("incident"), incidents=("ordered-lock-handover", "append-stall"))
    incident.ordered("one")
    incident.stalled("two")
    return (
        Run(path=tmp_path_factory.mktemp("load"), incidents=("load",), trials=[load]).save(),
        incident.save(),
    )


def _files(runs: Sequence[Path], pattern: str) -> list[bytes]:
    return [path.read_bytes() for run in runs for path in sorted(run.glob(pattern))]


def _rows(data: bytes) -> Counter[str]:
    found: Counter[str] = Counter()
    for kind, table in tables_of(data, PLACE):
        # Whoever reads a text falls over bytes that are none.
        table.validate(full=True)
        found[kind] += table.num_rows
    return found


def test_damaged_histories_are_damaged_lines_and_take_no_other_with_them(small_runs: Sequence[Path]) -> None:
    draw = random.Random(1)
    histories = _files(small_runs, "trials/*/history/*.jsonl")
    for number in range(500):
        data, untouched = damaged_lines(draw.choice(histories), draw)
        found, kept = _rows(data), _rows(b"\n".join(untouched))
        assert not found or all(found[kind] >= kept[kind] for kind in kept), number
        assert found[DAMAGED] <= data.count(b"\n") + 1 - sum(kept.values()), number


def test_damaged_events_are_damaged_lines_and_the_others_are_a_table(
    small_runs: Sequence[Path], tmp_path: Path
) -> None:
    draw = random.Random(2)
    events = _files(small_runs, "trials/*/events.jsonl")
    run_path = shutil.copytree(small_runs[0], tmp_path / "run")
    run = read_run_directory(run_path)
    for number in range(500):
        data, untouched = damaged_lines(draw.choice(events), draw)
        (run_path / "trials" / "load" / "events.jsonl").write_bytes(data)
        (read,) = read_events(run) or [TrialEvents(trial="load", file="", events=(), damaged=())]
        assert len(read.events) >= len(untouched), number
        assert len(read.damaged) <= data.count(b"\n") + 1 - len(untouched), number
        assert events_table([read]).num_rows == len(read.events) + len(read.damaged)


@pytest.mark.parametrize(
    ("kind", "name"), [(Manifest, "manifest.json"), (TrialRecord, "trial.json"), (DeploymentRecord, "deployment.json")]
)
def test_a_damaged_document_is_one_sentence_or_a_whole_one(
    small_runs: Sequence[Path], tmp_path: Path, kind: type[object], name: str
) -> None:
    draw = random.Random(3)
    documents = _files(small_runs, f"**/{name}")
    path = tmp_path / name
    for _ in range(200):
        path.write_bytes(damaged_line(draw.choice(documents), draw))
        try:
            read = read_document(kind, path)
        except RunDirectoryError as error:
            said = str(error)
            assert said.isprintable(), said
            assert len(said) < len(str(path)) + 300
        else:
            # What has been read can be written, and said.
            json.dumps(vars(read), default=vars, allow_nan=False)
            str(read).encode()


def test_whatever_is_damaged_a_run_is_read_to_its_facts(
    small_runs: Sequence[Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[str] = []
    monkeypatch.setattr("analysis.evidence.trials.frame_of", lambda *given: asked.append(_query(*given)))
    monkeypatch.setattr("analysis.evidence.trials.F.broadcast", lambda frame: frame)
    draw = random.Random(4)
    for number in range(60):
        path = shutil.copytree(draw.choice(small_runs), tmp_path / str(number))
        damage(path, draw)
        with contextlib.suppress(RunDirectoryError):
            run = read_run_directory(path)
            (path / "analysis").mkdir()
            write_tables(run)
            # Of tables on this machine their own statistics tell it.
            trials_frame(cast(Any, None), run, trial_facts(cast(Records, None), run))
        shutil.rmtree(path)
    assert len(asked) > 30
    assert not any(word in query for query in asked for word in ("nanD", "infD"))


class _NoSpark:
    """In place of a session, of which the query is wanted alone."""

    def sql(self, query: str) -> str:
        return query


def _query(_: object, rows: Any, schema: Any) -> str:
    assert schema is TRIALS
    return str(frame_of(cast(Any, _NoSpark()), rows, schema))


@pytest.mark.parametrize("told", ["", "x", "nan", "1e999", "--"])
def test_a_setting_that_is_no_number_is_the_default(small_runs: Sequence[Path], told: str) -> None:
    run = read_run_directory(small_runs[1])
    trial = dataclasses.replace(run.trials[0], live_conf={"waitTimeMillsInSendQueue": told})
    assert setting(run, trial, "waitTimeMillsInSendQueue", 200.0) == 200.0
    (deployment, *_) = run.deployments
    told_at_start = dataclasses.replace(deployment, settings={"properties": {LOCK_LIFE: told}})
    assert lock_life_ms(trial, dataclasses.replace(run, deployments=(told_at_start,))) == LOCK_LIFE_MS


@pytest.mark.parametrize("value", HOSTILE_VALUES, ids=lambda value: value[:20].decode(errors="replace"))
def test_a_hostile_value_in_any_field_of_a_record_damages_its_line_alone(
    small_runs: Sequence[Path], value: bytes
) -> None:
    record = {"type": "send", "n": 1, "process": "p", "topic": "T", "key": "k", "seq": 5, "queue": 3, "offset": 7}
    line = json.dumps(record, separators=(",", ":")).encode()
    for name, told in record.items():
        hostile = line.replace(f'"{name}":{json.dumps(told)}'.encode(), f'"{name}":'.encode() + value)
        found = _rows(b"\n".join([line, hostile, line]))
        assert found["send"] in (2, 3)
        assert found["send"] + found[DAMAGED] in (2, 3)


LED_OUT: Mapping[str, Callable[[Path, Path], None]] = {
    "its lock": lambda run, secret: (run / ".lock").symlink_to(secret),
    "an analysis": lambda run, secret: (run / "analysis").symlink_to(secret.parent),
    "a document": lambda run, secret: (run / "trials" / "load" / "trial.json").symlink_to(secret),
    "a history": lambda run, secret: (run / "trials" / "load" / "history" / "x.jsonl").symlink_to(secret),
    "a folder of trials to come": lambda run, secret: (run / "trials" / "next").symlink_to(secret.parent),
    "what is not there": lambda run, secret: (run / "earlier").symlink_to(secret.parent / "missing"),
    "a device": lambda run, _: (run / "hiccups.jsonl").symlink_to("/dev/zero"),
    "a pipe": lambda run, _: os.mkfifo(run / "deployments" / "pipe.log"),
}


@pytest.mark.parametrize("kind", LED_OUT)
def test_a_run_that_leads_out_of_its_folder_is_neither_read_nor_written(
    small_runs: Sequence[Path], tmp_path: Path, kind: str
) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    secret = tmp_path / "elsewhere" / "secret"
    secret.parent.mkdir()
    secret.write_text("as it was\n")
    (run / "trials" / "load" / "trial.json").unlink()
    LED_OUT[kind](run, secret)
    for does in (read_run_directory, RunWriter.open, write_reports, write_page):
        with pytest.raises(RunDirectoryError, match="is a link, a pipe or a device"):
            does(run)
    assert [path.name for path in secret.parent.iterdir()] == ["secret"]
    assert secret.read_text() == "as it was\n"


def test_a_lock_that_is_a_link_in_a_new_folder_is_not_written_to(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("as it was\n")
    (tmp_path / "new").mkdir()
    (tmp_path / "new" / ".lock").symlink_to(secret)
    with pytest.raises(RunDirectoryError, match="cannot use"):
        RunWriter.create(tmp_path / "new", MANIFEST)
    assert secret.read_text() == "as it was\n"


def test_a_draft_that_somebody_left_is_not_written_to(tmp_path: Path) -> None:
    secret = tmp_path / "secret"
    secret.write_text("as it was\n")
    (tmp_path / f".page.{os.getpid()}.tmp").symlink_to(secret)
    replace_file(tmp_path / "page", "new\n")
    assert (secret.read_text(), (tmp_path / "page").read_text()) == ("as it was\n", "new\n")
    assert not (tmp_path / "page").is_symlink()


@pytest.mark.parametrize("place", ["../x", "/proc/kmsg", "trials/../../../proc/kmsg", "a\0b"])
def test_a_manifest_names_nothing_outside_of_its_run(small_runs: Sequence[Path], tmp_path: Path, place: str) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    manifest = read_manifest(run)
    begun = BegunTrial(incident="load", arm="", params={}, release="", deployment=place)
    for changed in (
        dataclasses.replace(manifest, documents={place: "0" * 64}),
        dataclasses.replace(manifest, trials=(place,)),
        dataclasses.replace(manifest, sealed=True, begun={place: begun}),
        dataclasses.replace(manifest, sealed=True, begun={"x": begun}),
    ):
        write_document(run / "manifest.json", changed)
        with pytest.raises(RunDirectoryError, match="which lies outside of the run"):
            read_manifest(run)


def test_a_manifest_with_more_trials_than_a_run_has_is_refused(small_runs: Sequence[Path], tmp_path: Path) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    begun = BegunTrial(incident="load", arm="", params={}, release="", deployment="d")
    many = {f"x{number}": begun for number in range(TRIALS_MAX + 1)}
    write_document(run / "manifest.json", dataclasses.replace(read_manifest(run), sealed=True, begun=many))
    with pytest.raises(RunDirectoryError, match="names 50,001 trials, and no run has more than 50,000"):
        read_run_directory(run)


def test_documents_without_number_that_are_gone_are_counted(small_runs: Sequence[Path], tmp_path: Path) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    manifest = read_manifest(run)
    gone = {f"x{number}": "0" * 64 for number in range(5000)}
    write_document(
        run / "manifest.json", dataclasses.replace(manifest, sealed=True, documents={**manifest.documents, **gone})
    )
    missing = [one for one in read_run_directory(run).damage if one.what == "is missing"]
    assert [one.file for one in missing][-2:] == ["x19", "4,980 more documents"]
    assert len({one.trials for one in missing}) == 1


@pytest.mark.parametrize("place", ["trials/", "x/", "./", ".", "", "a//b"])
def test_a_manifest_names_files_as_a_run_has_them(small_runs: Sequence[Path], tmp_path: Path, place: str) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    write_document(run / "manifest.json", dataclasses.replace(read_manifest(run), documents={place: "0" * 64}))
    with pytest.raises(RunDirectoryError, match="which is no place of a run"):
        read_run_directory(run)


@pytest.mark.parametrize("place", ["trials/" + "x" * 256, "a/" * 1100 + "x", "\u00e4" * 128])
def test_a_name_that_no_file_can_have_is_a_sentence(small_runs: Sequence[Path], tmp_path: Path, place: str) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    write_document(run / "manifest.json", dataclasses.replace(read_manifest(run), documents={place: "0" * 64}))
    with pytest.raises(RunDirectoryError, match="which is longer than any file's name") as caught:
        read_run_directory(run)
    assert caught.value.advice
    assert len(str(caught.value)) < 1000


@pytest.mark.parametrize("place", ["../../elsewhere", "/proc", "x" * 256, "x/"])
@pytest.mark.parametrize("field", ["deployment", "files"])
def test_a_trial_that_names_what_is_no_place_of_the_run_is_damaged_alone(
    tmp_path: Path, field: str, place: str
) -> None:
    run = tmp_path / "run"
    unpack_run(SEALED / "append-lock-over-1s.json.xz", run)
    path = sorted(run.glob("trials/*/trial.json"))[0]
    record = read_document(TrialRecord, path)
    sealed = next(iter(record.files.values()))
    changed: Mapping[str, Any] = {"deployment": place} if field == "deployment" else {"files": {place: sealed}}
    write_document(path, dataclasses.replace(record, **changed))
    read = read_run_directory(run)
    (damaged,) = (one for one in read.damage if one.file == f"trials/{record.trial}/trial.json")
    assert "which lies outside of the run" in damaged.what or "which is" in damaged.what
    assert damaged.trials == {record.trial}
    assert place not in {trial.deployment for trial in read.trials}
    assert place not in {deployment.deployment for deployment in read.deployments}
    assert read.evidence("trials/*/history/*.jsonl")
    assert not any(record.trial in one.parts for one in read.evidence("trials/*/history/*.jsonl"))


@pytest.mark.parametrize("zone", ["UTC+99:99", "\x1b]0;pwn\x07", "", "Mars/Base", "GMT+19"])
def test_a_zone_that_is_none_damages_its_deployment(tmp_path: Path, zone: str) -> None:
    run = tmp_path / "run"
    unpack_run(SEALED / "append-lock-over-1s.json.xz", run)
    path = sorted(run.glob("deployments/*/deployment.json"))[0]
    record = read_document(DeploymentRecord, path)
    write_document(path, dataclasses.replace(record, log_zone=zone))
    read = read_run_directory(run)
    (damaged,) = (one for one in read.damage if one.file == f"deployments/{record.deployment}/deployment.json")
    assert damaged.words.endswith("as the zone of its logs, which is no zone")
    assert damaged.trials == {one.trial for one in read.trials if one.deployment == record.deployment}
    assert record.deployment not in {one.deployment for one in read.deployments}


@pytest.mark.parametrize("zone", ["UTC", "GMT", "GMT+8", "GMT+08:00", "UTC-3:30", "GMT+18"])
def test_a_zone_of_logs_is_one(zone: str) -> None:
    assert is_zone(zone)


@pytest.mark.parametrize("depth", [65, 1100, 3000])
@pytest.mark.parametrize("within", ["trials/load", "deployments/d"])
def test_folders_that_lie_in_each_other_without_end_are_a_sentence(
    small_runs: Sequence[Path], tmp_path: Path, within: str, depth: int
) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    (run / within).mkdir(parents=True, exist_ok=True)
    before = Path.cwd()
    os.chdir(run / within)
    try:
        for _ in range(depth):
            os.mkdir("a")  # noqa: PTH102
            os.chdir("a")
    finally:
        os.chdir(before)
    try:
        for does in (read_run_directory, RunWriter.open, write_page):
            with pytest.raises(RunDirectoryError, match="lies in more than 64 folders") as caught:
                does(run)
            assert len(str(caught.value)) < 1000
        with pytest.raises(RunDirectoryError, match="lies in more than 64 folders"):
            evidence_files(run / within)
    finally:
        # Python's own rmtree, by which pytest clears its folders, recurses.
        subprocess.run(["rm", "-rf", str(run)], check=True)


def test_a_folder_that_cannot_be_looked_at_is_refused(
    small_runs: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def unreadable(path: str) -> Any:
        if path.endswith("history"):
            raise OSError(errno.ENAMETOOLONG, "File name too long", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", unreadable)
    with pytest.raises(RunDirectoryError, match=r"history cannot be looked at \(File name too long\)"):
        require_own_files(small_runs[0])


def test_a_folder_that_goes_while_it_is_looked_at_is_none(
    small_runs: Sequence[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    scan = os.scandir

    def gone(path: str) -> Any:
        if path.endswith("history"):
            raise FileNotFoundError(errno.ENOENT, "No such file or directory", path)
        return scan(path)

    monkeypatch.setattr(os, "scandir", gone)
    require_own_files(small_runs[0])


STEERING = "a\n\x1b]0;pwn\x07\x1b[2J\u202e\x9b31m"


def test_the_names_of_a_runs_files_steer_no_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    unpack_run(SEALED / "append-lock-over-1s.json.xz", run)
    trial = sorted(run.glob("trials/*"))[0]
    (trial / "history" / f"{STEERING}.jsonl").write_text("{}\n")
    read = read_run_directory(run)
    (damaged,) = read.damage
    assert damaged.file.endswith(f"{STEERING}.jsonl")
    assert damaged.words.isprintable()
    assert all(said.isprintable() for said in read.reservations())

    def told(run_dir: Path, scenarios: Any, place: Any, progress: Callable[[str], None], *_: Any) -> None:
        progress(STEERING)
        raise AnalysisError("so far")

    monkeypatch.setattr("analysis.pipeline.analyze", told)
    assert main(["runs", "analyze", str(run)]) == EXIT_FAILED
    told_of = capsys.readouterr()
    assert "analysis: a\\n\\x1b]0;pwn\\x07" in told_of.err
    assert all(line.isprintable() for line in (told_of.out + told_of.err).split("\n"))


def test_each_line_of_a_run_stays_one(capsys: pytest.CaptureFixture[str]) -> None:
    print_lines([STEERING, "next"])
    assert capsys.readouterr().out == "a\\n\\x1b]0;pwn\\x07\\x1b[2J\\u202e\\x9b31m\nnext\n"


def test_a_document_that_is_a_pipe_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "trial.json")
    with pytest.raises(RunDirectoryError, match="it is no file"):
        read_document(TrialRecord, tmp_path / "trial.json")


def test_a_document_without_a_bound_is_not_read_into_memory(tmp_path: Path) -> None:
    with (tmp_path / "manifest.json").open("wb") as file:
        file.truncate(2**40)
    with pytest.raises(RunDirectoryError, match="cannot be read: it has more than 268,435,456 bytes"):
        read_manifest(tmp_path)


def test_half_a_character_in_a_report_is_written_out(tmp_path: Path) -> None:
    document = sample()
    document["findings"][0]["summary"] = document["findings"][0]["client"] = "\ud800 and \u202e"
    loaded(tmp_path, document)
    paths = write_reports(tmp_path)
    assert "\\xd800" in paths.junit.read_text("utf-8")
    assert all("\u202e" not in path.read_text("utf-8") for path in (paths.page, paths.ledger_md, paths.junit))


@pytest.mark.parametrize("place", ["findings", "trials", "manifest"])
def test_a_number_that_no_column_has_is_a_sentence(tmp_path: Path, place: str) -> None:
    document = sample()
    in_it = {
        "findings": lambda: document["findings"][0]["figures"][0].update(n=10**400),
        "trials": lambda: document["trials"][0]["cell"].update(rate_hz=-(10**400)),
        "manifest": lambda: document["manifest"]["host"].update(memory_bytes=10**400),
    }
    in_it[place]()
    with pytest.raises(RunDirectoryError, match="is a number of more than 64 bits"):
        loaded(tmp_path, document)


@pytest.mark.parametrize("value", [float("inf"), float("nan")])
def test_a_time_that_is_no_number_of_json_is_drawn_nowhere(tmp_path: Path, value: float) -> None:
    document = sample()
    document["series"][0]["fault_s"][0] = value
    page = html.render(loaded(tmp_path, document))
    assert "Infinity" not in page.partition('type="application/json"')[2].partition("</script>")[0]


@pytest.mark.parametrize("spoil", ["removed", "cut"])
def test_a_page_of_before_is_not_taken_for_an_answer(
    small_runs: Sequence[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str], spoil: str
) -> None:
    run = shutil.copytree(small_runs[0], tmp_path / "run")
    (run / "report.html").write_text("<h1>12 hold</h1>")
    manifest = (run / "manifest.json").read_bytes()
    (run / "manifest.json").unlink()
    if spoil == "cut":
        (run / "manifest.json").write_bytes(manifest[:100])
    assert main(["runs", "analyze", str(run)]) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert ("is cut, and ends amid line" if spoil == "cut" else "has lost its manifest.json") in said
    assert "its report.html is of an earlier analysis, and says nothing of the run as it is now" in said
    assert said.endswith("from where it was made.") or "Copy the run again from where it was made" in said
    assert not (run / "report.html").exists()
    assert (run / "report.before.html").read_text() == "<h1>12 hold</h1>"


def test_the_page_of_a_folder_that_is_no_run_stays(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "report.html").write_text("<h1>of another tool</h1>")
    assert main(["runs", "analyze", str(tmp_path)]) == EXIT_USAGE
    assert "earlier analysis" not in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["report.html"]


def test_a_report_is_not_made_again_of_evidence_that_was_damaged_since(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = tmp_path / "run"
    unpack_run(SEALED / "load-ordered.json.xz", run)
    write_sample(run, sample())
    assert main(["runs", "report", str(run)]) == EXIT_OK
    (history,) = sorted(run.glob("trials/*/history/*.jsonl"))[:1]
    history.write_bytes(history.read_bytes()[:-500])
    assert main(["runs", "report", str(run)]) == EXIT_USAGE
    said = capsys.readouterr().err
    assert f"{history.name} is not the file that was sealed" in said
    assert f"and was not so when {run} was analysed\nmqlab runs analyze {run} says what stands without it." in said
