"""Releases that are not recorded: learned from a repository of Maven's layout, or from a build of the user's own."""

from __future__ import annotations

import argparse
import functools
import gzip
import hashlib
import http.server
import io
import os
import random
import shutil
import socket
import tarfile
import threading
import warnings
import zipfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import ClassVar

import pytest

from harness.errors import ReleaseError, UsageError
from harness.generator.target import release_near
from harness.releases import builds, central, jars
from harness.releases.builds import take_build
from harness.releases.jars import ensure_jars, known_releases, read_lock, recorded_releases
from harness.releases.java import failure_of
from harness.unpacked import PIECE_BYTES
from mqlab.kinds import RELEASE, names_a_build, take_builds

_POM = """<project><modelVersion>4.0.0</modelVersion><groupId>{group}</groupId><artifactId>{artifact}</artifactId>
<version>{version}</version><dependencies>{needs}</dependencies></project>"""
_NEEDS = "<dependency><groupId>org.example</groupId><artifactId>{artifact}</artifactId><version>{version}</version></dependency>"


class _Silent(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments: object) -> None:
        pass


class _Cutting(_Silent):
    """Of each path that ends so, the first answer is cut off, or none comes."""

    cuts: ClassVar[dict[str, int | None]] = {}
    """How many bytes of a body come, by the end of its path; None: the connection is lost before."""

    def do_HEAD(self) -> None:
        if not self._cut():
            super().do_HEAD()

    def do_GET(self) -> None:
        if not self._cut():
            super().do_GET()

    def _cut(self) -> bool:
        end = next((end for end in self.cuts if self.path.endswith(end)), "")
        if not end:
            return False
        if (length := self.cuts.pop(end)) is not None:
            body = Path(self.translate_path(self.path)).read_bytes()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[:length])
            self.wfile.flush()
        self.connection.shutdown(socket.SHUT_RDWR)
        self.close_connection = True
        return True


class Repository:
    """A folder of Maven's layout."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def publish(self, group: str, artifact: str, version: str, *needs: tuple[str, str]) -> Path:
        home = self.folder.joinpath(*group.split("."), artifact)
        (home / version).mkdir(parents=True)
        jar = home / version / f"{artifact}-{version}.jar"
        pom = _POM.format(
            group=group,
            artifact=artifact,
            version=version,
            needs="".join(_NEEDS.format(artifact=name, version=one) for name, one in needs),
        )
        for path, content in ((jar, f"{artifact} {version}".encode()), (jar.with_suffix(".pom"), pom.encode())):
            path.write_bytes(content)
            path.with_name(f"{path.name}.sha1").write_text(hashlib.sha1(content).hexdigest())
        versions = "".join(f"<version>{one.name}</version>" for one in sorted(home.iterdir()) if one.is_dir())
        (home / "maven-metadata.xml").write_text(f"<metadata><versioning>{versions}</versioning></metadata>")
        return jar


@pytest.fixture(autouse=True)
def _own_state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MQLAB_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MQLAB_CACHE", str(tmp_path / "cache"))


@pytest.fixture
def repository(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Repository]:
    """It has 5.1.4 and 5.3.1 whole, and of 5.3.2 two artifacts."""
    found = Repository(tmp_path / "central")
    for version in ("5.1.4", "5.3.1"):
        for artifact in central.ARTIFACTS:
            found.publish(central.GROUP, artifact, version, ("pinned", "[2.0]"))
    for artifact in central.ARTIFACTS[::2]:
        found.publish(central.GROUP, artifact, "5.3.2")
    found.publish("org.example", "pinned", "2.0", ("below", "1.0"))
    found.publish("org.example", "below", "1.0")
    handler = functools.partial(_Cutting, directory=str(found.folder))
    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        monkeypatch.setattr(central, "REPOSITORIES", {"central": f"http://127.0.0.1:{server.server_port}"})
        yield found
        server.shutdown()


def test_a_release_is_learned_on_first_use_and_needs_no_network_then(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[str] = []
    paths = ensure_jars("5.1.4", progress=told.append)
    assert {path.name for path in paths} == {
        *(f"{artifact}-5.1.4.jar" for artifact in central.ARTIFACTS),
        "pinned-2.0.jar",
        "below-1.0.jar",
    }
    assert "was not used here before" in told[0]
    assert known_releases() == tuple(sorted({*recorded_releases(), "5.1.4"}))
    monkeypatch.setattr(central, "REPOSITORIES", {"central": "http://127.0.0.1:1"})
    assert ensure_jars("5.1.4") == paths


def test_what_an_interrupted_download_left_is_not_noted(repository: Repository, tmp_path: Path) -> None:
    left = tmp_path / "cache" / "maven" / "org" / "example" / "below" / "1.0" / "below-1.0.jar"
    left.parent.mkdir(parents=True)
    left.write_bytes(b"half of it")
    ensure_jars("5.1.4")
    assert left.read_bytes() == b"below 1.0"


@pytest.mark.parametrize(
    "cuts",
    [
        {"rocketmq-broker-5.1.4.jar": None},
        {"pinned-2.0.pom": None, "below-1.0.pom": None},
        {"pinned-2.0.pom": 40},
        {"pinned-2.0.jar": 3, "below-1.0.jar": None},
    ],
)
def test_what_a_lost_connection_cut_off_is_asked_for_again(
    repository: Repository, monkeypatch: pytest.MonkeyPatch, cuts: dict[str, int | None]
) -> None:
    monkeypatch.setattr(_Cutting, "cuts", dict(cuts))
    found = {path.name: path.read_bytes() for path in ensure_jars("5.1.4")}
    assert _Cutting.cuts == {}
    assert found["pinned-2.0.jar"] == b"pinned 2.0"
    assert found["below-1.0.jar"] == b"below 1.0"
    assert len(found) == len(central.ARTIFACTS) + 2


def test_what_a_kill_cut_off_is_asked_for_again(repository: Repository, tmp_path: Path) -> None:
    left = tmp_path / "cache" / "maven" / "org" / "example" / "pinned" / "2.0" / "pinned-2.0.pom"
    left.parent.mkdir(parents=True)
    left.write_bytes((repository.folder / "org/example/pinned/2.0/pinned-2.0.pom").read_bytes()[:60])
    assert "below-1.0.jar" in {path.name for path in ensure_jars("5.1.4")}


def test_two_that_learn_a_release_at_once_learn_it_once(repository: Repository) -> None:
    told: list[str] = []
    with ThreadPoolExecutor(2) as pool:
        one, other = pool.map(lambda _: ensure_jars("5.1.4", progress=told.append), range(2))
    assert one == other
    assert sum("was not used here before" in text for text in told) == 1


def test_the_jars_of_a_proxy_are_those_that_its_release_lacks(repository: Repository) -> None:
    repository.publish(central.GROUP, central.PROXY, "5.1.4", ("pinned", "2.0"), ("codec", "1.0"))
    repository.publish("org.example", "codec", "1.0")
    ensure_jars("5.1.4")
    assert {path.name for path in ensure_jars(f"{jars.PROXY}5.1.4")} == {"rocketmq-proxy-5.1.4.jar", "codec-1.0.jar"}
    assert known_releases() == tuple(sorted({*recorded_releases(), "5.1.4"}))


def test_a_release_whose_proxy_nobody_has_is_a_sentence(repository: Repository) -> None:
    ensure_jars("5.1.4")
    with pytest.raises(UsageError, match=r"^Maven Central has no proxy of RocketMQ 5\.1\.4 \(rocketmq-proxy\)$"):
        ensure_jars(f"{jars.PROXY}5.1.4")


def test_a_jar_that_is_another_one_since_is_not_run(repository: Repository) -> None:
    (path,) = (one for one in ensure_jars("5.1.4") if one.name == "pinned-2.0.jar")
    published = repository.folder / "org/example/pinned/2.0/pinned-2.0.jar"
    path.write_bytes(b"changed")
    ensure_jars("5.1.4")
    assert path.read_bytes() == published.read_bytes()
    path.write_bytes(b"changed")
    published.write_bytes(b"another one")
    published.with_name("pinned-2.0.jar.sha1").write_text(hashlib.sha1(b"another one").hexdigest())
    with pytest.raises(ReleaseError, match=r"org.example:pinned:2.0 .* its SHA-256 differs from the noted one"):
        ensure_jars("5.1.4")


@pytest.mark.parametrize(
    ("release", "says", "advice"),
    [
        ("5.3.2", "has a part of it, without rocketmq-namesrv and rocketmq-tools", "Take 5.3.1."),
        ("9.9.9", "Maven Central has no RocketMQ 9.9.9", "Take 5.3.1."),
        ("5.2.0", "Maven Central has no RocketMQ 5.2.0", "Take 5.1.4 or 5.3.1."),
        ("4.3.0", "RocketMQ 4.3.0 is older than 4.4.0", "Name 4.4.0 or a newer one."),
    ],
)
def test_a_release_that_there_is_not_is_a_sentence(
    repository: Repository, release: str, says: str, advice: str
) -> None:
    with pytest.raises(UsageError, match=says) as caught:
        ensure_jars(release)
    assert caught.value.advice == advice
    assert release not in known_releases()


def test_a_jar_that_was_changed_is_named_where_it_cannot_be_had_again(
    repository: Repository, monkeypatch: pytest.MonkeyPatch
) -> None:
    (path,) = (one for one in ensure_jars("5.1.4") if one.name == "pinned-2.0.jar")
    path.write_bytes(b"changed")
    monkeypatch.setattr(central, "REPOSITORIES", {"central": "http://127.0.0.1:1"})
    with pytest.raises(ReleaseError, match="its SHA-256 differs from the noted one and Connection refused"):
        ensure_jars("5.1.4")


def test_without_a_network_it_is_said_that_there_is_none(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(central, "REPOSITORIES", {"central": "http://127.0.0.1:1"})
    with pytest.raises(
        ReleaseError,
        match=r"5.1.4 was not used here before, and Maven Central cannot be asked for it: Connection refused$",
    ):
        ensure_jars("5.1.4")


def _jar(word: str) -> bytes:
    with zipfile.ZipFile(content := io.BytesIO(), "w") as jar:
        jar.writestr(zipfile.ZipInfo("word"), word)
    return content.getvalue()


def _distribution(folder: Path, version: str = "5.5.0-corp1") -> Path:
    lib = folder / "rocketmq-all" / "lib"
    lib.mkdir(parents=True)
    for artifact in central.ARTIFACTS:
        (lib / f"{artifact}-{version}.jar").write_bytes(_jar(artifact))
    (folder / "rocketmq-all" / "conf").mkdir()
    (folder / "rocketmq-all" / "conf" / "broker.conf").write_text("brokerName=a\n")
    return folder / "rocketmq-all"


def test_a_build_is_the_same_one_as_a_folder_and_packed(tmp_path: Path) -> None:
    home = _distribution(tmp_path / "build")
    with tarfile.open(tmp_path / "build.tar.gz", "w:gz") as tar:
        tar.add(home, arcname="rocketmq-all")
    shutil.make_archive(str(tmp_path / "build"), "zip", home.parent)
    paths = [home, home.parent, tmp_path / "build.tar.gz", tmp_path / "build.zip"]
    options = argparse.Namespace(release=tuple(RELEASE(str(path)) for path in paths), client_release=RELEASE(str(home)))
    assert names_a_build(options)
    assert not (tmp_path / "cache").exists() or not list((tmp_path / "cache").rglob("*.jar"))
    take_builds(options)
    assert not names_a_build(options)
    (name,) = options.release
    assert options.client_release == name
    assert name.startswith("5.5.0-corp1-")
    assert [jar.group for jar in read_lock(name)] == [jars.BUILD] * len(central.ARTIFACTS)
    shutil.rmtree(home)
    assert [path.read_bytes() for path in ensure_jars(name)] == [
        _jar(artifact) for artifact in sorted(central.ARTIFACTS)
    ]
    assert central.version_key(name) == (5, 5, 0)


def test_a_build_with_another_jar_is_another_release(tmp_path: Path) -> None:
    home = _distribution(tmp_path)
    before = take_build(home)
    (home / "lib" / "rocketmq-broker-5.5.0-corp1.jar").write_bytes(_jar("mended"))
    assert take_build(home) != before


def test_a_builds_jar_that_was_changed_or_is_gone_is_named(tmp_path: Path) -> None:
    name = take_build(_distribution(tmp_path))
    path = ensure_jars(name)[0]
    path.write_text("changed afterwards")
    with pytest.raises(ReleaseError, match=f"a jar of your build {name} was changed: rocketmq-broker") as caught:
        ensure_jars(name)
    assert "--release PATH" in caught.value.advice
    with pytest.raises(ReleaseError, match="is gone from the cache"):
        ensure_jars(name)


def _packed(path: Path, names: list[str]) -> Path:
    with zipfile.ZipFile(path, "w") as packed:
        for name in names:
            packed.writestr(name, _jar("x"))
    return path


def test_what_is_no_build_is_a_sentence(tmp_path: Path) -> None:
    broken = tmp_path / "broken.tar.gz"
    broken.write_bytes(b"no archive")
    all_but_one = [f"lib/{artifact}-5.5.0.jar" for artifact in central.ARTIFACTS[:-1]]
    for path, says in (
        (tmp_path / "absent", "there is no such file or folder"),
        (broken, "it cannot be read"),
        (tmp_path, "there is no rocketmq-broker and no rocketmq-namesrv"),
        (_packed(tmp_path / "most.zip", all_but_one), "its lib has no rocketmq-tools"),
        (_packed(tmp_path / "old.zip", [f"lib/{one}-4.2.0.jar" for one in central.ARTIFACTS]), "it is of 4.2.0"),
        (_packed(tmp_path / "x.zip", [f"lib/{one}-x.jar" for one in central.ARTIFACTS]), "has no version in its name"),
    ):
        with pytest.raises(UsageError, match=says):
            take_build(path)


def _changed(path: Path, what: str) -> Path:
    """One byte of a zip's only entry, both in its header and in the archive's directory."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    if what == "encrypted":
        data[6], data[at + 8] = 1, 1
    if what == "packed in an unknown way":
        data[8], data[at + 10] = 99, 99
    if what == "damaged":
        data[30 + len("lib/rocketmq-broker-5.5.0.jar") + 3] ^= 0xFF
    path.write_bytes(data)
    return path


@pytest.mark.parametrize("what", ["encrypted", "packed in an unknown way", "damaged"])
def test_a_packed_build_that_cannot_be_unpacked_is_a_sentence(tmp_path: Path, what: str) -> None:
    path = tmp_path / "build.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("lib/rocketmq-broker-5.5.0.jar", random.Random(1).randbytes(500))
    with pytest.raises(UsageError, match="it cannot be read"):
        take_build(_changed(path, what))


def test_a_packed_build_is_not_unpacked_beyond_its_bound(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, read, sizes = tmp_path / "bomb.zip", zipfile.ZipExtFile.read, []

    def counted(self: zipfile.ZipExtFile, size: int = -1) -> bytes:
        sizes.append(len(piece := read(self, size)))
        return piece

    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as packed:
        packed.writestr("lib/rocketmq-broker-5.5.0.jar", bytes(20 * 2**20))
    monkeypatch.setattr(builds, "BYTES_MAX", 3 * 2**20)
    monkeypatch.setattr(zipfile.ZipExtFile, "read", counted)
    with pytest.raises(UsageError, match="it holds more than 50,000 files or 3 MiB"):
        take_build(path)
    assert not sizes


@pytest.mark.parametrize("depth", [1, 3000])
def test_headers_of_a_packed_build_are_not_read_without_a_bound(tmp_path: Path, depth: int) -> None:
    path = tmp_path / "headers.tar.gz"
    with gzip.open(path, "wb", compresslevel=1) as out:
        for _ in range(depth):
            header = tarfile.TarInfo("x")
            header.type, header.size = tarfile.XHDTYPE, 512 if depth > 1 else 64 * 2**20
            out.write(header.tobuf(tarfile.USTAR_FORMAT) + b"12 path=a/b\n" + bytes(header.size - 12))
    with pytest.raises(UsageError, match="it cannot be read"):
        take_build(path)


def test_a_jar_of_a_build_that_is_a_pipe_holds_nobody_up(tmp_path: Path) -> None:
    (tmp_path / "lib").mkdir()
    os.mkfifo(tmp_path / "lib" / "rocketmq-broker-5.5.0.jar")
    with pytest.raises(UsageError, match="there is no rocketmq-broker"):
        take_build(tmp_path)


def test_no_jar_of_a_build_is_written_outside_of_the_cache(tmp_path: Path) -> None:
    evil = [*(f"lib/{artifact}-5.5.0.jar" for artifact in central.ARTIFACTS), "../../lib/evil.jar", "lib/../../x.jar"]
    take_build(_packed(tmp_path / "evil.zip", evil))
    outside = [path for path in tmp_path.rglob("*.jar") if tmp_path / "cache" not in path.parents]
    assert outside == []


def test_a_load_on_a_cluster_takes_the_clients_of_its_release_or_older_recorded_ones(repository: Repository) -> None:
    assert release_near((5, 1, 4)) == "5.1.4"
    assert "5.1.4" in known_releases()
    assert release_near((5, 3, 2)) == "4.9.7"
    assert release_near((4, 2, 0)) == recorded_releases()[0]
    assert release_near(()) == recorded_releases()[0]


@pytest.mark.parametrize("entry", [
    "http://192.0.2.1/x.jar", "//192.0.2.1/x.jar", "file:/etc/", "/etc/", "../../x.jar", "%2e%2e/x.jar", "a.jar jar:file:x!/",
    "a-name-of-so-many-letters-that-the-line-is-wrapped-in-a-manifest-as-the-format-demands.jar ftp://192.0.2.1/",
])  # fmt: skip
def test_no_jar_of_a_build_has_java_look_for_classes_elsewhere(tmp_path: Path, entry: str) -> None:
    home = _distribution(tmp_path)
    jar = home / "lib" / "rocketmq-broker-5.5.0-corp1.jar"

    def with_class_path(text: str) -> None:
        line = f"Class-Path: {text}"
        wrapped = "\r\n ".join(line[at : at + 70] for at in range(0, len(line), 70))
        with zipfile.ZipFile(jar, "w") as packed:
            packed.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\r\n{wrapped}\r\n\r\n")

    with_class_path("rocketmq-common.jar lib/other.jar")
    assert take_build(home)
    with_class_path(entry)
    with pytest.raises(UsageError, match=r"its rocketmq-broker-5\.5\.0-corp1\.jar has Java look for classes at"):
        take_build(home)


@pytest.mark.parametrize("lines", [
    "Class-Path: htt\r p://192.0.2.1/\r", "Class-Path: a.jar\fhttp://192.0.2.1/\n",
    f"X: {'x' * PIECE_BYTES}\nClass-Path: http://192.0.2.1/\n",
])  # fmt: skip
def test_a_manifest_is_read_as_java_reads_it_or_not_at_all(tmp_path: Path, lines: str) -> None:
    home = _distribution(tmp_path)
    with zipfile.ZipFile(home / "lib" / "rocketmq-broker-5.5.0-corp1.jar", "w") as jar:
        jar.writestr("META-INF/MANIFEST.MF", f"Manifest-Version: 1.0\n{lines}\n")
    with pytest.raises(UsageError, match=r"has Java look for classes at|a manifest of more than"):
        take_build(home)


@pytest.mark.parametrize("what", ["sum", "name", "version", "twice", "none"])
def test_a_jar_that_java_reads_and_python_does_not_is_refused(tmp_path: Path, what: str) -> None:
    home = _distribution(tmp_path)
    jar = home / "lib" / "rocketmq-broker-5.5.0-corp1.jar"
    with warnings.catch_warnings(action="ignore"), zipfile.ZipFile(jar, "w") as packed:
        for name in ["META-INF/MANIFEST.MF"] * (2 if what == "twice" else 1):
            packed.writestr(name, "Class-Path: http://192.0.2.1/\n")
    data = bytearray(jar.read_bytes())
    at = data.index(b"PK\x01\x02")
    if what == "sum":
        data[at + 16] ^= 1
    if what == "name":
        data[30] ^= 0x20
    if what == "version":
        data[at + 6] = 99
    jar.write_bytes(b"no jar" if what == "none" else data)
    with pytest.raises(UsageError, match=r"its rocketmq-broker-5\.5\.0-corp1\.jar cannot be read: "):
        take_build(home)


def test_classes_of_a_build_are_bounded_before_they_are_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    home = _distribution(tmp_path)
    with zipfile.ZipFile(home / "lib" / "rocketmq-broker-5.5.0-corp1.jar", "w", zipfile.ZIP_DEFLATED) as jar:
        jar.writestr("org/apache/rocketmq/A.class", bytes(builds.CLASS_BYTES_MAX + 1))
    with pytest.raises(UsageError, match="it has a class of more than 16,777,216 bytes"):
        take_build(home)
    monkeypatch.setattr(builds, "CLASS_BYTES_MAX", 2**30)
    monkeypatch.setattr(builds, "BYTES_MAX", 10**6)
    with pytest.raises(UsageError, match="it holds more than 50,000 files or 1 MiB"):
        take_build(home)


def test_an_archive_that_is_no_file_holds_nobody_up(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe.zip")
    (tmp_path / "endless.zip").symlink_to("/dev/zero")
    for name in ("pipe.zip", "endless.zip"):
        with pytest.raises(UsageError, match="there is no such file or folder"):
            take_build(tmp_path / name)


def test_classes_that_java_cannot_take_are_told_in_one_sentence() -> None:
    printed = (
        'Exception in thread "main" java.lang.ExceptionInInitializerError\n\tat Defaults.main(Defaults.java:17)\n'
        "Caused by: java.lang.ClassFormatError: Truncated class\x1b[31m file\n\tat java.base/java.lang.ClassLoader\n"
    )
    assert failure_of(printed) == "java.lang.ClassFormatError: Truncated class\\x1b[31m file"
    assert (
        failure_of("Error: Could not find or load main class Defaults\n")
        == "Error: Could not find or load main class Defaults"
    )
    assert failure_of(" \n") == "it said nothing"


@pytest.mark.parametrize(("index", "is_taken"), [
    ("rocketmq-common-5.5.0.jar\norg/a\n\nlib/other.jar\norg/b\n", True),
    ("../evil.jar\norg/a\n", False),
    ("a.jar\r\norg/a\r\n\r\n../x.jar\r\norg/b\r\n", False), ("a.jar\norg/a\n/tmp/x.jar\n", False), ("a.jar\rhttp:x.jar\r", False),
    ("a.jar\n" + "org/a\n" * 200_000 + "../x.jar\n", False),
    ("a.jar\norg/a\n\nhttp://192.0.2.1/x.jar\norg/b\n", False), ("file:/tmp/x.jar\norg/a\n", False),
])  # fmt: skip
def test_no_index_of_a_jar_has_java_look_elsewhere(tmp_path: Path, index: str, is_taken: bool) -> None:
    home = _distribution(tmp_path)
    with zipfile.ZipFile(home / "lib" / "rocketmq-broker-5.5.0-corp1.jar", "w") as packed:
        packed.writestr("META-INF/INDEX.LIST", f"JarIndex-Version: 1.0\n\n{index}\n")
    if is_taken:
        assert take_build(home)
    else:
        with pytest.raises(UsageError, match=r"has Java look for classes at|an index of more than 1,048,576 bytes"):
            take_build(home)


def test_a_jar_that_java_reads_by_another_record_is_refused(tmp_path: Path) -> None:
    home = _distribution(tmp_path)
    jar = home / "lib" / "rocketmq-broker-5.5.0-corp1.jar"
    empty = b"PK\5\6" + bytes(18)
    with zipfile.ZipFile(jar, "w") as packed:
        packed.writestr("META-INF/MANIFEST.MF", "Manifest-Version: 1.0\nClass-Path: file:/tmp/x.jar\n")
        packed.comment = empty + b"x"
    with pytest.raises(UsageError, match="its last record does not end with it"):
        take_build(home)
    with zipfile.ZipFile(jar, "w") as packed:
        packed.writestr("a", "b")
        packed.comment = b"signed by its maker"
    assert take_build(home)
