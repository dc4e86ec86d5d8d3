"""A bundle: what goes into it comes out of it, and nothing of a foreign one is written, run or believed that should not be."""

from __future__ import annotations

import argparse
import dataclasses
import gzip
import io
import json
import re
import shutil
import tarfile
from collections.abc import Callable, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import mqlab.kinds
import mqlab.run.bundle
import mqlab.run.resume
from analysis.report.document import ReportData
from analysis.report.replayed import compared
from harness.errors import EXIT_OK, EXIT_USAGE, ConfigurationError
from harness.host.facts import Commit
from harness.model.verdicts import VerdictKind
from harness.rundir.manifest import Manifest
from harness.rundir.writing import RunWriter
from mqlab.main import _parser, main
from mqlab.own.own_incident import TEMPLATE
from mqlab.run.bundle import ABOUT, RUN, VERSION, open_bundle, write_bundle
from mqlab.run.replay import replay
from mqlab.run.resume import rules_of
from tests.lib.samples import loaded, sample, write_document
from tests.unit.test_resume import MANIFEST, STALL

SINGLE = dataclasses.replace(
    MANIFEST,
    command="mqlab reproduce append-stall --release 4.6.0 --seed 7 --param stall_ms=450 --set broker.flushDiskType=SYNC_FLUSH",
    # As of one trial, of which only some claims speak.
    rules=rules_of([dataclasses.replace(STALL, claims=STALL.claims[:2])]),
)


@pytest.fixture(autouse=True)
def _host(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    monkeypatch.setattr(mqlab.run.resume, "own_commit", lambda: Commit(id=MANIFEST.commit, dirty=False))


def _run(folder: Path, manifest: Manifest = SINGLE) -> Path:
    """An analysed run, with what belongs to its machine alone."""
    run = folder / "run"
    RunWriter.create(run, manifest).close()
    write_document(run, sample())
    for name in ("trials/t1/history/p.jsonl", "look/mqadmin", "analysis/observations.parquet/part-0", "hiccups.jsonl"):
        (run / name).parent.mkdir(parents=True, exist_ok=True)
        (run / name).write_text(f"of {name}\n" * 50)
    return run


def _bundle(folder: Path, manifest: Manifest = SINGLE, **files: str) -> Path:
    run, file = _run(folder, manifest), folder / "one.tar.gz"
    for name, text in files.items():
        path = run / name.replace("__", "/").replace("_py", ".py").replace("_conf", ".conf").replace("_json", ".json")
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    write_bundle(run, file)
    shutil.rmtree(run)
    return file


# --- packing and unpacking ------------------------------------------------------------------------------------------------


def test_what_was_packed_comes_out_elsewhere(tmp_path: Path) -> None:
    run, file = _run(tmp_path), tmp_path / "one.tar.gz"
    write_bundle(run, file)
    (tmp_path / "elsewhere").mkdir()
    found = open_bundle(file, tmp_path / "elsewhere")
    packed = {path.relative_to(found).as_posix(): path.read_bytes() for path in found.rglob("*") if path.is_file()}
    assert packed == {name: (run / name).read_bytes() for name in packed}
    assert {
        "manifest.json",
        "trials/t1/history/p.jsonl",
        "analysis/findings.jsonl",
        "analysis/page.json",
        "hiccups.jsonl",
    } <= packed.keys()
    assert not any(name.startswith(("look/", ".lock")) or ".parquet" in name for name in packed)
    assert [path.name for path in (tmp_path / "elsewhere").iterdir() if path.is_file()] == [ABOUT]
    about = json.loads((tmp_path / "elsewhere" / ABOUT).read_text())
    assert (about["commit"], about["releases"], about["seed"]) == (SINGLE.commit, ["4.6.0"], SINGLE.seed)
    assert {"python", "java", "command", "run"} <= about.keys()


def test_a_run_that_is_too_large_is_not_packed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqlab.run.bundle, "FILES_MAX", 3)
    with pytest.raises(ConfigurationError, match="too large for a bundle"):
        write_bundle(_run(tmp_path), tmp_path / "one.tar.gz")
    assert not list(tmp_path.glob("*.gz*"))


Add = Callable[[tarfile.TarFile], None]


def _member(name: str, data: bytes = b"x", **fields: Any) -> Add:
    def add(tar: tarfile.TarFile) -> None:
        member = tarfile.TarInfo(name)
        member.size = len(data)
        for field, value in fields.items():
            setattr(member, field, value)
        tar.addfile(member, io.BytesIO(data))

    return add


def _claims_to_have(size: int, kind: bytes = tarfile.REGTYPE) -> Add:
    """A header of a file that would be so large."""

    def add(tar: tarfile.TarFile) -> None:
        member = tarfile.TarInfo("run/large")
        member.size, member.type = size, kind
        assert tar.fileobj is not None
        tar.fileobj.write(member.tobuf(tarfile.GNU_FORMAT))

    return add


def _header(name: str, size: int = 0, kind: bytes = tarfile.REGTYPE) -> bytes:
    member = tarfile.TarInfo(name)
    member.size, member.type = size, kind
    return member.tobuf(tarfile.GNU_FORMAT)


def _fields(fields: Mapping[str, str], kind: bytes) -> bytes:
    """A header of such fields for the next file (``x``), or for all that follow (``g``)."""
    data = b""
    for name, value in fields.items():
        rest = f" {name}={value}\n".encode()
        data += b"%04d" % (len(rest) + 4) + rest
    return _header("fields", len(data), kind) + data + bytes(-len(data) % tarfile.BLOCKSIZE)


def _with_more_holes() -> bytes:
    """A sparse file of GNU's old kind, whose header says that blocks with further holes follow it."""
    header = bytearray(_header("run/x", 0, tarfile.GNUTYPE_SPARSE))
    header[482] = 1
    header[148:156] = b" " * 8
    header[148:156] = b"%06o\0 " % sum(header)
    return bytes(header)


def _raw(*pieces: bytes) -> Add:
    def add(tar: tarfile.TarFile) -> None:
        assert tar.fileobj is not None
        tar.fileobj.write(b"".join(pieces))

    return add


HOSTILE: dict[str, tuple[tuple[Add, ...], str]] = {
    "an absolute path": ((_member("/etc/passwd"),), "'/etc/passwd' is no place"),
    "a way out": ((_member("run/../../x"),), "'run/../../x' is no place"),
    "another place": ((_member("x/y"),), "'x/y' is no place"),
    "a control character": ((_member("run/\x1b[2J"),), "is no place"),
    "a long name": ((_member("run/" + "x" * 300),), "is no place"),
    "a deep one": ((_member("run/" + "x/" * 40 + "y"),), "is no place"),
    "a link": ((_member("run/link", b"", type=tarfile.SYMTYPE, linkname="/etc"),), "'run/link' is no plain file"),
    "a hard link": ((_member("run/l", b"", type=tarfile.LNKTYPE, linkname="bundle.json"),), "is no plain file"),
    "a device": ((_member("run/null", b"", type=tarfile.CHRTYPE),), "is no plain file"),
    "a file behind a link": (
        (_member("run/l", b"", type=tarfile.SYMTYPE, linkname="/tmp"), _member("run/l/x")), "is no plain file"),
    "one file twice": ((_member("run/x"), _member("run/x")), "it is damaged"),
    "a file as a folder": ((_member("run/x"), _member("run/x/y")), "it is damaged"),
    "a huge file": ((_claims_to_have(2**40),), "it holds more than"),
    "a huge header": ((_claims_to_have(2**32, tarfile.XHDTYPE),), "headers of more than"),
    "a cut file": ((_claims_to_have(2**20),), "it is cut in"),
    "a size below nothing": ((_raw(_fields({"size": "-1536"}, b"x"), _header("run/x")),), "has a header that no"),
    "fields for all files": (
        (_raw(_fields({str(n): "" for n in range(20)}, b"g"), _header("run/x")),), "has a header that no"),
    "fields without an end": ((_raw(*[_fields({"a": "x" * 5000}, b"x")] * 20),), "headers of more than"),
    "holes without an end": (
        (_raw(_fields({"GNU.sparse.major": "1", "GNU.sparse.minor": "0", "GNU.sparse.realsize": "9"}, b"x"),
              _header("run/x", 2**21), b"%d\n" % 2**20, b"0\n" * 2**20),), "headers of more than"),
    "holes of the old kind": ((_raw(_with_more_holes(), (b"1\0".ljust(504, b"1") + b"\1".ljust(8)) * 200),),
        "headers of more than"),
}  # fmt: skip


def _written(file: Path, about: object, adds: tuple[Add, ...]) -> Path:
    with tarfile.open(file, "w:gz") as tar:
        _member(ABOUT, json.dumps(about).encode())(tar)
        for add in adds:
            add(tar)
    return file


@pytest.mark.parametrize("kind", HOSTILE)
def test_hostile_content_is_refused_and_nothing_is_written_elsewhere(tmp_path: Path, kind: str) -> None:
    adds, says = HOSTILE[kind]
    file = _written(tmp_path / "one.tar.gz", {"bundle": VERSION}, adds)
    place = tmp_path / "a" / "place"
    place.mkdir(parents=True)
    with pytest.raises(ConfigurationError) as raised:
        open_bundle(file, place)
    assert says in str(raised.value)
    assert {path.relative_to(tmp_path).parts[0] for path in tmp_path.rglob("*")} <= {"a", "one.tar.gz", "state"}
    assert [path.name for path in (tmp_path / "a").iterdir()] == ["place"]
    assert {path.name for path in place.iterdir()} <= {ABOUT, RUN}


def test_what_is_no_bundle_or_one_of_another_version_is_refused(tmp_path: Path) -> None:
    whole = _written(tmp_path / "whole.tar.gz", {"bundle": VERSION}, (_member("run/x", b"x" * 99_999),)).read_bytes()
    files = {
        "text": b"no gzip", "empty": b"", "cut": whole[:80], "no tar": gzip.compress(b"x" * 2000),
        "flipped": whole[:60] + bytes([whole[60] ^ 255]) + whole[61:],
    }  # fmt: skip
    for name, data in files.items():
        file = tmp_path / f"{name.replace(' ', '-')}.tar.gz"
        file.write_bytes(data)
        (tmp_path / name).mkdir()
        with pytest.raises(ConfigurationError, match="it is damaged, or no bundle"):
            open_bundle(file, tmp_path / name)
    for number, about in enumerate([{"bundle": 2}, {"bundle": "\x1b"}, [], {}, 7]):
        place = tmp_path / str(number)
        place.mkdir()
        with pytest.raises(ConfigurationError, match="is not replayed"):
            open_bundle(_written(tmp_path / "one.tar.gz", about, ()), place)


def test_a_bomb_is_not_unpacked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mqlab.run.bundle, "BYTES_MAX", 10_000)
    monkeypatch.setattr(mqlab.run.bundle, "FILES_MAX", 10)
    for name, adds in {
        "large": (_member("run/x", b"\0" * 1_000_000),),
        "many": tuple(_member(f"run/{number}") for number in range(20)),
    }.items():
        (tmp_path / name).mkdir()
        with pytest.raises(ConfigurationError, match="it holds more than"):
            open_bundle(_written(tmp_path / f"{name}.tar.gz", {"bundle": VERSION}, adds), tmp_path / name)
        assert sum(path.stat().st_size for path in (tmp_path / name).rglob("*") if path.is_file()) < 20_000


# --- replaying ------------------------------------------------------------------------------------------------------------


def _changed(**fields: Any) -> Manifest:
    return dataclasses.replace(SINGLE, **fields)


OWN = TEMPLATE.read_text("utf-8")
FOREIGN: dict[str, tuple[Manifest, dict[str, str], str]] = {
    "other code": (_changed(commit="b" * 40), {}, f"started with commit {'b' * 12} and not"),
    "other rules": (_changed(rules={STALL.claims[0].id: "0"}), {}, "other rules of"),
    "an unknown release": (_changed(releases=("9.9.9",)), {}, "it is of RocketMQ 9.9.9"),
    "clients of one": (_changed(client_releases={"4.6.0": "9.9.9"}), {}, "it is of RocketMQ 9.9.9"),
    "a release that paints": (_changed(releases=("\x1b[2J",)), {}, "it is of RocketMQ"),
    "a commit that paints": (_changed(commit="\x1b[2J"), {}, "started with commit"),
    "a report without an end": (SINGLE, {"analysis__findings_jsonl": "[" * 100_000}, "is not replayed"),
    "a page without an end": (SINGLE, {"analysis__page_json": "[" * 100_000}, "is not replayed"),
    "no report": (SINGLE, {"analysis__findings_jsonl": ""}, "is not replayed"),
    "an unknown incident": (_changed(incidents=("nothing",)), {}, "unknown incident"),
    "an unknown option": (_changed(command="mqlab reproduce append-stall --nothing"), {}, "unrecognized arguments"),
    "a wrong value": (_changed(command="mqlab reproduce append-stall --release nine"), {}, "its command cannot"),
    "another release than its run": (
        _changed(command="mqlab reproduce append-stall --release 9.9.9"),
        {},
        "its command is of another release than its run",
    ),
    "help": (_changed(command="mqlab reproduce --help"), {}, "its command cannot"),
    "another command": (_changed(command="mqlab runs clean --cache"), {}, "neither verify nor reproduce"),
    "a load": (_changed(command="mqlab load --release 5.5.0"), {}, "neither verify nor reproduce"),
    "no command": (_changed(command=""), {}, "its command"),
    "an open quote": (_changed(command="mqlab reproduce 'append-stall"), {}, "No closing quotation"),
    "a conf of this host": (
        _changed(command="mqlab reproduce append-stall --broker-conf /etc/hostname"), {}, "it lacks its broker.conf"),
    "an incident of this host": (_changed(command=f"mqlab reproduce {TEMPLATE}"), {}, "it lacks its incident's file"),
    "Python": (
        _changed(command="mqlab reproduce /gone/own_disk.py", incidents=("own-disk",)),
        {"incidents__own_disk_py": OWN}, f"it brings own_disk.py (SHA-256 {sha256(OWN.encode()).hexdigest()}) with it"),
    "JVM options": (
        _changed(command="mqlab reproduce append-stall --set broker-jvm.a.b=c --set client.d.e=f"), {},
        f"it brings -Da.b (SHA-256 {sha256(b'-Da.b=c').hexdigest()}), -Dd.e (SHA-256 "),
    "a build of this host": (
        _changed(command=f"mqlab reproduce append-stall --release {TEMPLATE.parent}"), {}, "which is not the run's"),
    "a build beside": (
        _changed(command="mqlab reproduce append-stall --release gone.zip"), {}, "its command is of a build by its path"),
    "clients of a build": (
        _changed(command="mqlab verify append-stall --release 4.6.0,x/y.zip"), {}, "its command is of a build by its path"),
    "a build above": (
        _changed(command="mqlab reproduce append-stall --release=../../x.zip"), {}, "which is not the run's"),
    "another bundle": (
        _changed(command="mqlab reproduce /gone/other.tar.gz"), {}, "it names '/gone/other.tar.gz'"),
    "a bundle beside": (_changed(command="mqlab reproduce other.tar.gz"), {}, "its command"),
    "no release": (_changed(command="mqlab reproduce append-stall"), {}, "of another release than its run"),
    "an image": (
        _changed(command="mqlab reproduce append-stall --backend compose --image evil/one"), {},
        "it brings the image evil/one (SHA-256 "),
}  # fmt: skip


@pytest.mark.parametrize("kind", FOREIGN)
def test_a_foreign_bundle_gets_one_sentence(tmp_path: Path, capsys: pytest.CaptureFixture[str], kind: str) -> None:
    manifest, files, says = FOREIGN[kind]
    file = _bundle(tmp_path, manifest, **files)
    assert main(["reproduce", str(file)]) == EXIT_USAGE
    captured = capsys.readouterr()
    said = " ".join(captured.err.split())
    assert says in said
    assert said.count("mqlab: ") == 1
    assert f"{file} is not replayed: " in said
    assert "Traceback" not in said
    assert not captured.out


def test_a_bundle_beside_that_is_there_is_not_replayed_by_another(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    file = _bundle(tmp_path, _changed(command="mqlab reproduce other.tar.gz"))
    (tmp_path / "other.tar.gz").write_bytes(file.read_bytes())
    assert main(["reproduce", str(file)]) == EXIT_USAGE
    assert "its command is of another bundle" in capsys.readouterr().err


def test_no_build_that_a_bundle_names_is_opened(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    taken: list[Path] = []
    monkeypatch.setattr(mqlab.kinds, "take_build", taken.append)
    build = tmp_path / "build.zip"
    build.write_bytes(b"")
    for word in (str(build), "build.zip", "./build.zip"):
        for trust in ([], ["--trust"]):
            file = _bundle(tmp_path, _changed(command=f"mqlab reproduce append-stall --release {word}"))
            assert main(["reproduce", str(file), *trust]) == EXIT_USAGE
            assert re.search("which is not the run's|is of a build by its path", capsys.readouterr().err)
    assert not taken


def test_options_that_a_bundle_has_its_own_of_are_refused(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = str(_bundle(tmp_path))
    for words in (["--release", "5.5.0"], ["--param", "a=1"], ["--client-release", "5.5.0"], ["--seed", "2"]):
        assert main(["reproduce", file, *words]) == EXIT_USAGE
        assert f"{words[0]}: a bundle says itself" in capsys.readouterr().err
    for word in ("--anyway", "--trust", "--strict"):
        assert main(["reproduce", "append-stall", word]) == EXIT_USAGE
        assert "are about a bundle" in capsys.readouterr().err
    assert main(["reproduce", "append-stall", "--hold", "--bundle", str(tmp_path / "b.tgz")]) == EXIT_USAGE
    assert "is not judged" in capsys.readouterr().err


@pytest.fixture
def asked(tmp_path: Path) -> Callable[..., tuple[int, argparse.Namespace]]:
    """Replays a bundle, where the command that is run again leaves a copy of the sample's run."""
    ran: list[argparse.Namespace] = []

    def command(again: argparse.Namespace, console: Console) -> int:
        ran.append(again)
        RunWriter.create(again.out, SINGLE).close()
        write_document(again.out, sample())
        return EXIT_OK

    def parse(words: list[str]) -> argparse.Namespace:
        found = _parser().parse_args(words)
        found.command = command
        return found

    def replayed(file: Path, *words: str) -> tuple[int, argparse.Namespace]:
        options = _parser().parse_args(["reproduce", str(file), "--out", str(tmp_path / "again"), *words])
        options.parse = parse
        return replay(options, Console(stderr=True)), ran[-1]

    return replayed


def test_a_bundle_is_run_again_by_what_it_holds_and_compared(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], asked: Callable[..., tuple[int, argparse.Namespace]]
) -> None:
    command = "mqlab reproduce /gone/own_disk.py --release 4.6.0 --seed 7 --broker-conf /gone/conf --param stall_ms=450"
    manifest = _changed(command=command, incidents=("own-disk",), rules={})
    file = _bundle(
        tmp_path, manifest, incidents__own_disk_py=OWN.replace("my-incident", "own-disk"), broker_conf="a=b\n"
    )
    code, again = asked(file, "--trust", "--strict")
    assert code == EXIT_OK
    assert (again.release, again.seed, again.param) == ("4.6.0", 7, [("stall_ms", "450")])
    assert (Path(again.incidents[0]).name, again.broker_conf.name, again.out) == (
        "own_disk.py",
        "broker.conf",
        tmp_path / "again",
    )
    assert not again.broker_conf.exists()
    found = compared(loaded(tmp_path / "x", sample()), loaded(tmp_path / "y", sample()))
    printed = capsys.readouterr().out
    assert printed.startswith(
        f"Verdicts as in the bundle: {found.verdicts} of {found.verdicts}; figures that agree with it: "
    )
    assert len(printed.splitlines()) == 1


def test_a_run_of_verify_is_replayed_without_what_is_this_hosts(
    tmp_path: Path, asked: Callable[..., tuple[int, argparse.Namespace]]
) -> None:
    manifest = dataclasses.replace(MANIFEST, command=f"{MANIFEST.command} --out x --register --plan")
    code, again = asked(_bundle(tmp_path, manifest))
    assert (code, again.verb, again.trials, again.register, again.plan) == (EXIT_OK, "verify", 3, False, False)
    assert again.out == tmp_path / "again"


def test_other_code_replays_when_it_is_told_to(
    tmp_path: Path, asked: Callable[..., tuple[int, argparse.Namespace]], capsys: pytest.CaptureFixture[str]
) -> None:
    code, _ = asked(_bundle(tmp_path, _changed(commit="b" * 40)), "--anyway", "--json")
    captured = capsys.readouterr()
    assert code == EXIT_OK
    assert "it was started with commit bbbb" in captured.err
    assert json.loads(captured.out)["same"] is True


# --- comparing ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def data(tmp_path: Path) -> ReportData:
    return loaded(tmp_path, sample())


def test_a_verdict_that_differs_is_named_with_both(data: ReportData) -> None:
    first = data.findings[0]
    other = VerdictKind.REFUTED if first.verdict is not VerdictKind.REFUTED else VerdictKind.CONFIRMED
    changed = dataclasses.replace(data, findings=(dataclasses.replace(first, verdict=other), *data.findings[2:]))
    found = compared(changed, data)
    assert not found.is_same
    assert len(found.other_verdicts) == 2
    assert found.other_verdicts[0].startswith(f"{first.claim} {first.release}: {first.verdict}")
    assert f"{other} in the bundle" not in found.other_verdicts[0]
    assert found.other_verdicts[1].endswith("not judged here")
    assert next(iter(found.lines())).startswith(f"Verdicts as in the bundle: {found.verdicts - 2} of {found.verdicts};")


@pytest.mark.parametrize(
    ("unit", "now", "hiccup_ms", "agrees"),
    [("", 104.0, 50.0, True), ("", 106.0, 50.0, False), ("ms", 106.0, 0.0, False), ("ms", 150.0, 50.0, True),
     ("ms", 160.0, 50.0, False), ("s", 105.04, 50.0, True), ("s", 106.0, 50.0, False)],
)  # fmt: skip
def test_a_figure_agrees_within_a_twentieth_and_a_time_within_the_hosts_hiccup(
    data: ReportData, unit: str, now: float, hiccup_ms: float, agrees: bool
) -> None:
    def with_value(value: float) -> ReportData:
        one = dataclasses.replace(data.distributions[0], unit=unit, values=(value,), censored=())
        trial = dataclasses.replace(data.trials[0], exclusions=(), hiccup_ms=hiccup_ms)
        return dataclasses.replace(data, distributions=(one,), findings=(), trials=(trial,))

    found = compared(with_value(now), with_value(100.0))
    assert (found.figures, len(found.other_figures), found.is_same) == (1, int(not agrees), agrees)


def test_runs_without_anything_in_common_are_not_the_same(data: ReportData) -> None:
    nothing = dataclasses.replace(data, findings=(), distributions=())
    assert not compared(nothing, nothing).is_same
    assert compared(nothing, data).other_figures[0].endswith("nothing here")
