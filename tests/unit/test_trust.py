"""Code that a run or a bundle brings is run where its user answers for it: hostile runs, bundles and folders."""

from __future__ import annotations

import argparse
import dataclasses
import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest

import mqlab.run.judging
import mqlab.run.resume
import scenarios
from analysis.report.html import render
from analysis.report.junit import junit_xml
from analysis.report.terminal import exit_code
from analysis.verdicts.unjudged import UnjudgedClaims, findings_of
from harness.errors import EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE, ConfigurationError, UsageError
from harness.host.facts import Commit
from harness.model.scenario import Scenario
from harness.model.verdicts import Reason
from harness.paths import search_path, state_home
from harness.rundir.manifest import Manifest
from harness.rundir.own_files import own_file
from harness.rundir.writing import RunWriter
from mqlab.main import _parser, main
from mqlab.own.own_incident import FILE_BYTES_MAX, TEMPLATE, incidents_of, keep_files, read_incident
from mqlab.run.bundle import write_bundle
from mqlab.run.resume import restore_options, rules_of
from mqlab.run.trust import NAMED_BY_THE_USER, incidents_of_run, remember_named
from tests.lib.samples import loaded, sample, write_document
from tests.unit.test_resume import MANIFEST, STALL

OWN = TEMPLATE.read_text("utf-8").replace("my-incident", "own-disk")
ORDERED = "ordered-lock-handover"


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(mqlab.run.resume, "own_commit", lambda: Commit(id=MANIFEST.commit, dirty=False))


@pytest.fixture
def mark(tmp_path: Path) -> Path:
    """What hostile code leaves when it was run."""
    return tmp_path / "was-run"


@pytest.fixture
def hostile(mark: Path) -> str:
    """An incident that is whole, and that leaves its mark."""
    return f"open({str(mark)!r}, 'w').close()\n{OWN}"


def _manifest(*incidents: str, command: str = "", **fields: Any) -> Manifest:
    rules = rules_of([STALL]) if STALL.name in incidents else {}
    own = {"MINE-01": "a", "MINE-02": "b"} if set(incidents) - {STALL.name} else {}
    return dataclasses.replace(
        MANIFEST, incidents=incidents, rules={**rules, **own}, command=command or MANIFEST.command, **fields
    )


def _run(folder: Path, manifest: Manifest, **files: str) -> Path:
    """An analysed run of somebody else's, with these files of incidents."""
    run = folder / "run"
    RunWriter.create(run, manifest).close()
    write_document(run, sample())
    (run / "incidents").mkdir()
    for name, text in files.items():
        (run / "incidents" / f"{name}.py").write_text(text)
    return run


def _refusal(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """The one sentence and the advice with which a command is refused."""
    assert main(list(words)) == EXIT_USAGE
    captured = capsys.readouterr()
    assert not captured.out
    assert captured.err.count("mqlab: ") == 1
    assert "Traceback" not in captured.err
    return " ".join(captured.err.split())


# --- bundles --------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("more", [(), ("--plan",), ("--anyway",), ("--strict", "--json")], ids=" ".join)
def test_a_bundle_whose_manifest_names_more_than_its_command_runs_nothing(
    tmp_path: Path, mark: Path, hostile: str, capsys: pytest.CaptureFixture[str], more: Sequence[str]
) -> None:
    manifest = _manifest("append-stall", "own-disk", command="mqlab reproduce append-stall --release 4.6.0")
    bundle = tmp_path / "one.tar.gz"
    write_bundle(_run(tmp_path, manifest, own_disk=hostile), bundle)
    said = _refusal(capsys, "reproduce", str(bundle), *more)
    assert f"it brings own_disk.py (SHA-256 {sha256(hostile.encode()).hexdigest()}) with it" in said
    assert "add --trust" in said
    assert not mark.exists()


def test_the_file_of_a_bundles_command_is_that_of_the_bundle_or_none(
    tmp_path: Path, mark: Path, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here, bundle = tmp_path / "own_disk.py", tmp_path / "one.tar.gz"
    here.write_text(hostile)
    write_bundle(_run(tmp_path, _manifest("own-disk", command=f"mqlab reproduce {here}")), bundle)
    assert "it lacks its incident's file" in _refusal(capsys, "reproduce", str(bundle), "--trust")
    assert not mark.exists()


# --- the lab's own names --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("file", ["append_stall", "append-stall"])
@pytest.mark.parametrize("trust", [False, True])
def test_a_file_takes_the_place_of_no_incident_of_the_lab(
    tmp_path: Path, mark: Path, hostile: str, file: str, trust: bool
) -> None:
    run = _run(tmp_path, _manifest("append-stall"), **{file: hostile.replace("own-disk", "append-stall")})
    of_run = incidents_of_run(run, ["append-stall"], trust=trust)
    assert of_run.known == (STALL,)
    assert not of_run.not_run
    assert not mark.exists()


def test_a_file_that_is_called_as_an_incident_of_the_lab_is_not_executed(
    tmp_path: Path, mark: Path, hostile: str
) -> None:
    (tmp_path / "append_stall.py").write_text(hostile)
    with pytest.raises(UsageError, match="append-stall is an incident of the lab"):
        read_incident(tmp_path / "append_stall.py")
    assert not mark.exists()


@pytest.mark.parametrize("name", ["../../own-disk", "/own-disk", "../incidents/own-disk", "own-disk.", "", "own\0disk"])
def test_the_name_of_an_incident_leads_nowhere_else(tmp_path: Path, mark: Path, hostile: str, name: str) -> None:
    for place in (tmp_path, tmp_path / "run" / "incidents"):
        place.mkdir(parents=True, exist_ok=True)
        (place / "own_disk.py").write_text(hostile)
    with pytest.raises(UsageError, match="unknown incident"):
        incidents_of_run(tmp_path / "run", [name], trust=True)
    assert not mark.exists()


# --- analyze --------------------------------------------------------------------------------------------------------------


@pytest.fixture
def judged(monkeypatch: pytest.MonkeyPatch) -> list[tuple[list[str], list[UnjudgedClaims]]]:
    """By which incidents runs were judged, and which claims were not; Spark is not started."""
    asked: list[tuple[list[str], list[UnjudgedClaims]]] = []

    def judge(path: Path, chosen: Sequence[Scenario], *_: object, unjudged: list[UnjudgedClaims]) -> int:
        asked.append(([scenario.name for scenario in chosen], unjudged))
        return EXIT_OK

    monkeypatch.setattr(mqlab.run.judging, "judge", judge)
    return asked


def test_a_run_of_somebody_elses_incident_alone_is_not_judged_and_keeps_its_findings(
    tmp_path: Path, mark: Path, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    run = _run(tmp_path, _manifest("own-disk"), own_disk=hostile)
    before = (run / "analysis" / "findings.jsonl").read_bytes()
    said = _refusal(capsys, "runs", "analyze", str(run))
    assert "MINE-01, MINE-02 of own-disk: not judged, since code that came with the run was not run" in said
    assert f"own_disk.py (SHA-256 {sha256(hostile.encode()).hexdigest()})" in said
    assert f"mqlab runs analyze {run} --trust" in said
    assert (run / "analysis" / "findings.jsonl").read_bytes() == before
    assert not mark.exists()


def test_the_labs_incidents_of_the_same_run_are_judged_and_it_is_said_which_claims_are_not(
    tmp_path: Path,
    mark: Path,
    hostile: str,
    capsys: pytest.CaptureFixture[str],
    judged: list[tuple[list[str], list[UnjudgedClaims]]],
) -> None:
    run = _run(tmp_path, _manifest("append-stall", "own-disk"), own_disk=hostile)
    assert main(["runs", "analyze", str(run)]) == EXIT_OK
    ((names, (unjudged,)),) = judged
    assert names == ["append-stall"]
    assert (unjudged.incident, unjudged.claims) == ("own-disk", ("MINE-01", "MINE-02"))
    said = " ".join(capsys.readouterr().err.split())
    assert "MINE-01, MINE-02 of own-disk: not judged" in said
    assert f"mqlab runs analyze {run} --trust" in said
    assert not mark.exists()


def test_with_trust_all_of_it_is_judged(
    tmp_path: Path, mark: Path, hostile: str, judged: list[tuple[list[str], list[UnjudgedClaims]]]
) -> None:
    run = _run(tmp_path, _manifest("append-stall", "own-disk"), own_disk=hostile)
    assert main(["runs", "analyze", str(run), "--trust"]) == EXIT_OK
    assert judged == [(["append-stall", "own-disk"], [])]
    assert mark.exists()


def test_trust_is_about_one_command(tmp_path: Path, mark: Path, hostile: str) -> None:
    run = _run(tmp_path, _manifest("own-disk"), own_disk=hostile)
    assert incidents_of_run(run, ["own-disk"], trust=True).known
    mark.unlink()
    assert incidents_of_run(run, ["own-disk"], trust=False).not_run
    assert not mark.exists()


def test_claims_that_nobody_judges_are_undecided_in_every_report(tmp_path: Path) -> None:
    data = loaded(tmp_path, sample())
    unjudged = UnjudgedClaims(incident="own-disk", claims=("MINE-01",), why="own_disk.py was not run.")
    beside = findings_of([unjudged], data.manifest)
    assert [(one.claim, one.release, one.reason) for one in beside] == [
        ("MINE-01", release, Reason.CODE_NOT_RUN) for release in data.manifest.releases
    ]
    assert exit_code(beside, strict=True) == EXIT_UNDECIDED
    with_them = dataclasses.replace(data, findings=(*data.findings, *beside))
    assert "own_disk.py was not run." in render(with_them)
    assert junit_xml(with_them).count("MINE-01") >= len(beside)


# --- resume ---------------------------------------------------------------------------------------------------------------

NAMED_OPTIONS = {
    "a JVM option": ("--set broker-jvm.a.b=c", "-Da.b (SHA-256 "),
    "a client's": ("--set client.a.b=c", "-Da.b (SHA-256 "),
    "an image": ("--backend compose --image evil/one", "the image evil/one (SHA-256 "),
}


def _resuming(run: Path, *more: str) -> argparse.Namespace:
    options = _parser().parse_args(["verify", "--resume", str(run), *more])
    options.parse = _parser().parse_args
    return options


@pytest.mark.parametrize("verb", ["verify", "tune"])
@pytest.mark.parametrize("more", [(), ("--plan",), ("--anyway",)], ids=" ".join)
def test_a_run_of_somebody_elses_incident_does_not_go_on(
    tmp_path: Path, mark: Path, hostile: str, capsys: pytest.CaptureFixture[str], verb: str, more: Sequence[str]
) -> None:
    command = f"mqlab {verb} /gone/own_disk.py --release 4.6.0"
    run = _run(tmp_path, _manifest("own-disk", command=command), own_disk=hostile)
    said = _refusal(capsys, verb, "--resume", str(run), *more)
    assert f"it brings own_disk.py (SHA-256 {sha256(hostile.encode()).hexdigest()}) with it" in said
    assert "add --trust" in said
    assert not mark.exists()


@pytest.mark.parametrize("kind", NAMED_OPTIONS)
def test_options_that_are_code_are_asked_about_as_those_of_a_bundle(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    words, says = NAMED_OPTIONS[kind]
    run = _run(tmp_path, _manifest("append-stall", command=f"{MANIFEST.command} {words}"))
    assert says in _refusal(capsys, "verify", "--resume", str(run))
    assert restore_options(_resuming(run, "--trust")).note == ""
    remember_named(_parser().parse_args(f"verify append-stall {words}".split()))
    assert restore_options(_resuming(run)).note == "", "the user has named it himself"


def test_what_lies_where_a_run_says_is_none_of_it(
    tmp_path: Path, mark: Path, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    here = tmp_path / "own_disk.py"
    here.write_text(hostile)
    run = _run(tmp_path, _manifest("append-stall", command=f"mqlab verify {here} --release 4.6.0"))
    for more in ((), ("--trust",)):
        assert "it lacks its incident's file" in _refusal(capsys, "verify", "--resume", str(run), *more)
    command = "mqlab verify append-stall --broker-conf=/etc/hostname"
    shutil.rmtree(run)
    run = _run(tmp_path, _manifest("append-stall", command=command))
    assert "it lacks its broker.conf" in _refusal(capsys, "verify", "--resume", str(run))
    assert not mark.exists()


COMMANDS = {
    "an open quote": ("mqlab verify 'append-stall", "No closing quotation"),
    "an unknown option": ("mqlab verify append-stall --nothing", "unrecognized arguments"),
    "a value of none": ("mqlab verify append-stall --release nine", "unknown release"),
    "endless": (
        "mqlab verify" + " append-stall" * 100_000,
        "its command cannot be carried out: it has more than 131,072",
    ),
    "help": ("mqlab verify --help", "its command cannot be carried out"),
    "another one behind": ("mqlab verify append-stall --seed nan", "its command cannot be carried out"),
    "none": ("", "holds a single trial"),
    "one that paints": ("mqlab \x1b[2J", "holds a single trial"),
}


@pytest.mark.parametrize("kind", COMMANDS)
def test_a_command_that_means_harm_gets_one_sentence(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str
) -> None:
    command, says = COMMANDS[kind]
    run = _run(tmp_path, dataclasses.replace(MANIFEST, command=command))
    said = _refusal(capsys, "verify", "--resume", str(run))
    assert says in said
    assert "\x1b" not in said


def test_trust_is_said_of_a_run_that_goes_on(capsys: pytest.CaptureFixture[str]) -> None:
    assert "--resume" in _refusal(capsys, "verify", "append-stall", "--trust")
    assert "--resume" in _refusal(capsys, "tune", "append-stall", "--sweep", "load.rate_hz=1,2", "--trust")


# --- the user's own -------------------------------------------------------------------------------------------------------


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file of the user's, at home."""
    path = tmp_path / "home" / "own_disk.py"
    path.parent.mkdir()
    path.write_text(OWN)
    return path


@pytest.fixture
def own_run(tmp_path: Path, own: Path) -> Path:
    """A run of that file, which the user has started on this machine."""
    rules = rules_of(incidents_of([str(own)]))
    command = f"mqlab verify {own} --release 4.6.0"
    run = tmp_path / "run"
    RunWriter.create(run, dataclasses.replace(MANIFEST, command=command, incidents=("own-disk",), rules=rules)).close()
    keep_files(run, [str(own)])
    remember_named(_parser().parse_args(["verify", str(own)]))
    return run


def test_a_run_of_ones_own_file_goes_on_and_is_judged_without_a_word(own: Path, own_run: Path) -> None:
    own.unlink()
    resumed = restore_options(options := _resuming(own_run))
    assert resumed.note == ""
    ((word, scenario),) = resumed.own.items()
    assert [word] == options.incidents == [str(own_run / "incidents" / "own_disk.py")]
    assert incidents_of(options.incidents, resumed.own) == [scenario]
    assert [one.name for one in incidents_of_run(own_run, ["own-disk"], trust=False).known] == ["own-disk"]


def test_a_copy_of_other_bytes_is_not_the_users(
    own_run: Path, mark: Path, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (own_run / "incidents" / "own_disk.py").write_text(hostile)
    assert "own_disk.py (SHA-256 " in _refusal(capsys, "verify", "--resume", str(own_run))
    assert incidents_of_run(own_run, ["own-disk"], trust=False).not_run
    assert not mark.exists()


def test_a_file_of_the_same_bytes_where_the_run_says_is_not_the_users_word(
    tmp_path: Path, mark: Path, hostile: str, capsys: pytest.CaptureFixture[str]
) -> None:
    # Whoever made the run knows where it will be unpacked.
    beside = tmp_path / "own_disk.py"
    beside.write_text(hostile)
    run = _run(tmp_path, _manifest("own-disk", command=f"mqlab verify {beside}"), own_disk=hostile)
    assert "own_disk.py (SHA-256 " in _refusal(capsys, "verify", "--resume", str(run))
    assert not mark.exists()


def test_what_others_may_write_to_is_not_the_users_word(own_run: Path) -> None:
    named = state_home() / NAMED_BY_THE_USER
    assert named.stat().st_mode & 0o777 == 0o600
    named.chmod(0o666)
    assert incidents_of_run(own_run, ["own-disk"], trust=False).not_run
    named.chmod(0o600)
    elsewhere = named.with_name("elsewhere")
    named.rename(elsewhere)
    named.symlink_to(elsewhere)
    assert incidents_of_run(own_run, ["own-disk"], trust=False).not_run


def test_what_is_named_twice_is_noted_once(own: Path, own_run: Path) -> None:
    remember_named(_parser().parse_args(["verify", str(own)]))
    (line,) = (state_home() / NAMED_BY_THE_USER).read_text().splitlines()
    assert line == f"{sha256(OWN.encode()).hexdigest()}  own_disk.py"


def test_a_run_is_gone_on_with_where_nothing_can_be_noted(
    own: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").write_text("")
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "file"))
    remember_named(_parser().parse_args(["verify", str(own)]))


# --- files that are none, and the path of imports -------------------------------------------------------------------------


def test_a_copy_that_is_a_link_or_no_file_is_none(tmp_path: Path, mark: Path, hostile: str) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "own_disk.py").write_text(hostile)
    run = _run(tmp_path, _manifest("own-disk"))
    copy = run / "incidents" / "own_disk.py"
    makers: list[Callable[[], None]] = [
        lambda: copy.symlink_to(tmp_path / "elsewhere" / "own_disk.py"),
        lambda: os.mkfifo(copy),
        lambda: copy.mkdir(),
        lambda: copy.symlink_to("/dev/zero"),
    ]
    for make in makers:
        make()
        with pytest.raises(UsageError, match="unknown incident"):
            incidents_of_run(run, ["own-disk"], trust=True)
        copy.rmdir() if copy.is_dir() and not copy.is_symlink() else copy.unlink()
    (run / "incidents").rmdir()
    (run / "incidents").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(UsageError, match="unknown incident"):
        incidents_of_run(run, ["own-disk"], trust=True)
    assert not mark.exists()


def test_a_copy_without_an_end_is_not_read(tmp_path: Path) -> None:
    run = _run(tmp_path, _manifest("own-disk"), own_disk="#" * (FILE_BYTES_MAX + 1))
    for trust in (False, True):
        with pytest.raises(ConfigurationError, match="it has more than 1,048,576 bytes"):
            incidents_of_run(run, ["own-disk"], trust=trust)


def test_a_file_of_a_folder_is_its_own_or_none(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    (folder / "below").mkdir(parents=True)
    (folder / "below" / "file").write_text("x")
    assert own_file(folder, "below", "file") == folder / "below" / "file"
    linked = tmp_path / "linked"
    linked.symlink_to(folder)
    assert own_file(linked, "below", "file") is not None, "its user has named the link himself"
    (folder / "out").symlink_to(tmp_path)
    for place in (("below",), ("out", "folder", "below", "file"), ("..", "folder", "below", "file"), ("below/file",),
                  ("below", "."), ("", "below", "file"), ("\0",), ("x" * 5000,), ("below", "file", "further"), ()):  # fmt: skip
        assert own_file(folder, *place) is None, place


def test_nothing_of_a_run_comes_on_the_path_of_imports(tmp_path: Path) -> None:
    text = OWN.replace("LOAD = ", "import beside_it\nLOAD = ", 1)
    run = _run(tmp_path, _manifest("own-disk"), own_disk=text, beside_it="")
    before = list(sys.path)
    with pytest.raises(ConfigurationError, match="No module named 'beside_it'"):
        incidents_of_run(run, ["own-disk"], trust=True)
    assert sys.path == before


def test_every_incident_of_the_lab_is_known_as_one() -> None:
    of_run = incidents_of_run(Path("/nowhere"), [lab.name for lab in scenarios.ALL], trust=False)
    assert of_run.known == scenarios.ALL


def test_neither_a_command_nor_what_it_starts_imports_from_the_current_folder(tmp_path: Path, mark: Path) -> None:
    here = tmp_path / "somebody elses run"
    here.mkdir()
    for module in ("multiprocessing", "harness", "rich", "planted"):
        (here / f"{module}.py").write_text(f"open({str(mark)!r}, 'w').close()\n")
    code = (
        "import contextlib, multiprocessing, subprocess, sys\n"
        "from mqlab.main import main\n"
        "sys.path.insert(0, '')\n"  # as `python -m` has it
        "sys.argv = ['mqlab', '--version']\n"
        "with contextlib.suppress(SystemExit):\n"
        "    main()\n"
        "assert '' not in sys.path, sys.path\n"
        "assert subprocess.call([sys.executable, '-m', 'planted'], stderr=subprocess.DEVNULL)\n"
        "process = multiprocessing.get_context('spawn').Process(target=print)\n"
        "process.start()\n"
        "process.join()\n"
        "assert process.exitcode == 0\n"
    )
    # The first process is started as the command `mqlab` is: without that folder.
    done = subprocess.run(
        [sys.executable, "-c", f"import sys; sys.path.pop(0)\n{code}"],
        cwd=here, env={**os.environ, "PYTHONPATH": search_path(), "PYTHONDONTWRITEBYTECODE": "1"},
        capture_output=True, text=True, timeout=120, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert not mark.exists()
