"""A release's jars from Maven Central, the Java that runs them, and the flags that Java needs.

Which jars make up a release is noted in a lock, ``RELEASE.sha256``, with their SHA-256 sums, and nothing that differs from such a
sum is ever put on a classpath. The locks of the recorded releases are committed in ``harness/releases/checksums``. Any other
release is learned when it is first used, and a build of the user's own when it is named (``builds``): their locks are in
the folder ``releases`` of the lab's state. ``python -m harness.releases.jars lock RELEASE`` writes one that is to be committed.
"""

import contextlib
import dataclasses
import fcntl
import hashlib
import json
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from harness.errors import FULL, ReleaseError, UsageError
from harness.paths import state_home
from harness.program import carried_out
from harness.releases import central
from harness.releases.cache import cache_folder
from harness.releases.central import version_key

CHECKSUMS = Path(__file__).parent / "checksums"
BYTES = "bytes.json"
"""How long each jar of the locks is, by its coordinate."""

TOOLS = "tools"
"""Name of the lock of the harness's own Java tools: Byteman and Janino."""

BENCHMARK = "benchmark"
"""Name of the lock of RocketMQ's own benchmark. The newest published one is 4.6.0's; it runs with the jars of 4.6.0."""

BENCHMARK_RELEASE = "4.6.0"

HADOOP = "hadoop"
"""Name of the lock of Hadoop's cluster of one process, of the version that PySpark brings, which tests start."""

PROXY = "proxy-"
"""Before a release's name: the lock of the jars that its proxy for gRPC clients needs beyond those of the release."""

DOWNLOAD_TRIES_MAX = 4

DOWNLOADS_AT_ONCE = 8
JARS_TOLD = 25
"""While jars are downloaded, a line comes after so many."""

LOCK_ROOTS = {
    TOOLS: (
        "org.jboss.byteman:byteman:4.0.26",
        "org.codehaus.janino:janino:3.1.12",
        "org.codehaus.janino:commons-compiler:3.1.12",
    ),
}

BUILD = "mqlab.build"
"""The group of jars that are of a build of the user's own, which no repository has."""

VERSION = re.compile(r"\d{1,3}(\.\d{1,3}){2}([.-][A-Za-z0-9.-]{1,40})?", re.ASCII)
"""How a release or a build is named."""


@dataclass(frozen=True, kw_only=True)
class LockedJar:
    """One line of a lock file."""

    group: str
    artifact: str
    version: str
    classifier: str
    sha256: str

    @property
    def coordinate(self) -> str:
        """``group:artifact:version`` with ``:classifier`` where there is one."""
        return ":".join(part for part in (self.group, self.artifact, self.version, self.classifier) if part)


def recorded_releases() -> tuple[str, ...]:
    """Releases whose lock is committed, oldest first: those that the ledger is about. Any other can be run (``learned``)."""
    names = (path.stem for path in CHECKSUMS.glob("*.sha256"))
    return tuple(sorted((name for name in names if name[0].isdigit()), key=version_key))


def known_releases() -> tuple[str, ...]:
    """The recorded releases, and what was learned here, oldest first."""
    learned = (path.stem for path in learned_folder().glob("*.sha256"))
    found = {*recorded_releases(), *(name for name in learned if name[0].isdigit())}
    return tuple(sorted(found, key=lambda name: (version_key(name), name)))


def learned_folder() -> Path:
    """Where what is known of releases lies that are not recorded; it need not exist."""
    return state_home() / "releases"


def lock_path(name: str) -> Path:
    """The lock of a release, a build or of tools, whether or not there is one."""
    committed = CHECKSUMS / f"{name}.sha256"
    return committed if committed.exists() else learned_folder() / committed.name


def jars_sha256(release: str) -> str:
    """SHA-256 of a release's lock: of the names and the SHA-256 of all of its jars."""
    return hashlib.sha256(lock_path(release).read_bytes()).hexdigest()


def read_lock(name: str) -> tuple[LockedJar, ...]:
    """The jars of a known release (or of ``tools``). Raises UsageError when it is not known."""
    path = lock_path(name)
    if not path.exists():
        raise UsageError.unknown("release", name, known_releases())
    return tuple(_parse_locked(line) for line in path.read_text().splitlines() if line.strip())


def _parse_locked(line: str) -> LockedJar:
    sha256, coordinate = line.split()
    group, artifact, version, *rest = coordinate.split(":")
    return LockedJar(group=group, artifact=artifact, version=version, classifier=rest[0] if rest else "", sha256=sha256)


Download = Callable[[LockedJar, Path], Path]
"""Brings one jar into a repository folder and returns its path; may leave a broken file behind."""


def ensure_jars(
    name: str,
    *,
    cache: Path | None = None,
    download: Download | None = None,
    progress: Callable[[str], None] | None = None,
) -> tuple[Path, ...]:
    """Every jar of a lock, in the cache and with its noted sum; downloads what is missing, and learns a release first.

    Two runs that start at once take turns; a jar that arrived broken is fetched again, ``DOWNLOAD_TRIES_MAX`` times.

    Raises UsageError for a release that there is not, ReleaseError when a jar could not be had or its sum differs from
    the noted one.
    """
    repository = cache_folder("maven", cache)
    fetch = download or _download_with_jgo
    if not lock_path(name).exists() and VERSION.fullmatch(name.removeprefix(PROXY)):
        # Two that learn at once would take away each other's jars, for which nothing vouches yet.
        with _exclusive(repository / ".learning"):
            if not lock_path(name).exists():
                _learn(name, repository, fetch, progress or (lambda text: None))
    jars = read_lock(name)
    stamp = repository / f".{name}.verified.json"
    paths = tuple(jar_path(jar, repository) for jar in jars)
    if _is_verified(stamp, jars, repository):
        return paths
    # One lock for all: releases have jars in common.
    with _exclusive(repository / ".lock"):
        if _is_verified(stamp, jars, repository):
            return paths
        say = progress or (lambda text: None)
        what = _called(name)
        missing = [jar for jar in jars if not jar_path(jar, repository).exists()]
        if missing:
            say(f"{what}: {len(missing)} jars to download{_megabytes(missing)}")
        _ensure_all(jars, repository, fetch, f"{what}: " if missing else "", say)
        temporary = stamp.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(_stamp_of(jars, repository)))
        temporary.replace(stamp)
    return paths


def _called(name: str) -> str:
    return f"RocketMQ {name}" if name[0].isdigit() else name


def _ensure_all(
    jars: Sequence[LockedJar], repository: Path, fetch: Download, what: str, say: Callable[[str], None]
) -> None:
    with _downloading() as pool:
        ensured = [pool.submit(_ensure_jar, jar, repository, fetch) for jar in jars]
        for done, one in enumerate(as_completed(ensured), start=1):
            one.result()
            if what and done % JARS_TOLD == 0:
                say(f"{what}{done} of {len(jars)} jars are there")


def _learn(name: str, repository: Path, fetch: Download, say: Callable[[str], None]) -> None:
    """Note which jars make up a release that is not recorded, and their sums as they are when they first arrive."""
    if name.startswith(PROXY):
        central.require_proxy(name.removeprefix(PROXY))
    else:
        central.require_release(name)
    say(f"{_called(name)} was not used here before: Maven Central is asked for what it consists of")
    write_lock(name, resolved(name, repository, fetch, say))


def resolved(
    name: str, repository: Path, fetch: Download | None = None, say: Callable[[str], None] = lambda text: None
) -> tuple[LockedJar, ...]:
    """The jars of a release, of its proxy or of tools, with the sums that other locks have of them, or that they arrived with.

    Raises ReleaseError.
    """
    beside: set[tuple[str, str, str]] = set()
    artifacts: Sequence[str] = central.ARTIFACTS
    version = name
    if name.startswith(PROXY):
        artifacts, version = (central.PROXY,), name.removeprefix(PROXY)
        beside = {(jar.group, jar.artifact, jar.classifier) for jar in read_lock(version)}
    roots = LOCK_ROOTS.get(name) or tuple(f"{central.GROUP}:{artifact}:{version}" for artifact in artifacts)
    noted = {jar.coordinate: jar.sha256 for path in _locks() for jar in read_lock(path.stem)}
    found = [
        LockedJar(group=group, artifact=artifact, version=version, classifier=classifier, sha256="")
        for group, artifact, version, classifier in central.resolve(roots, repository)
        if (group, artifact, classifier) not in beside
    ]
    found = [dataclasses.replace(jar, sha256=noted.get(jar.coordinate, "")) for jar in found]
    with _exclusive(repository / ".lock"):
        for jar in found:
            if not jar.sha256:  # nothing vouches for what an interrupted download may have left
                jar_path(jar, repository).unlink(missing_ok=True)
        _ensure_all(found, repository, fetch or _download_with_jgo, f"RocketMQ {name}: ", say)
        return tuple(dataclasses.replace(jar, sha256=_sha256(jar_path(jar, repository))) for jar in found)


def _locks() -> list[Path]:
    return [*CHECKSUMS.glob("*.sha256"), *learned_folder().glob("*.sha256")]


def write_lock(name: str, jars: Sequence[LockedJar], folder: Path | None = None) -> None:
    """Keep the list of a release's jars; ``folder`` is another one than that of what was learned here."""
    folder = folder or learned_folder()
    folder.mkdir(parents=True, exist_ok=True)
    draft = folder / f".{name}.{os.getpid()}.tmp"
    draft.write_text("".join(f"{jar.sha256}  {jar.coordinate}\n" for jar in jars))
    draft.replace(folder / f"{name}.sha256")


@contextlib.contextmanager
def _downloading() -> Iterator[ThreadPoolExecutor]:
    """Threads that download; an interrupt does not wait for a network that may hang."""
    pool = ThreadPoolExecutor(DOWNLOADS_AT_ONCE)
    is_awaited = True
    try:
        yield pool
    except KeyboardInterrupt:
        is_awaited = False
        raise
    finally:
        pool.shutdown(wait=is_awaited, cancel_futures=True)


def _megabytes(some: Sequence[LockedJar]) -> str:
    """Of a table beside the committed locks, since a lock's own bytes are part of what names an experiment."""
    sizes = json.loads((CHECKSUMS / BYTES).read_text())
    known = [sizes[jar.coordinate] for jar in some if jar.coordinate in sizes]
    return f", {sum(known) / 1e6:.0f} MB" if len(known) == len(some) else ""


def _is_verified(stamp: Path, jars: Sequence[LockedJar], repository: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return bool(json.loads(stamp.read_text()) == _stamp_of(jars, repository))
    return False


def is_build(release: str) -> bool:
    """Whether a known release is a build of the user's own."""
    return any(jar.group == BUILD for jar in read_lock(release))


def _ensure_jar(jar: LockedJar, repository: Path, fetch: Download) -> Path:
    path, problem, changed = jar_path(jar, repository), "", ""
    for tries_left in range(DOWNLOAD_TRIES_MAX, -1, -1):
        if path.exists():
            if not jar.sha256 or _sha256(path) == jar.sha256:
                return path
            changed = "its SHA-256 differs from the noted one"
            path.unlink()
        if jar.group == BUILD:
            raise ReleaseError(
                f"a jar of your build {jar.version} {'was changed' if changed else 'is gone from the cache'}: {jar.artifact}",
                advice="Name the build by its path again, --release PATH.",
            )
        if tries_left:
            try:
                fetch(jar, repository)
            except Exception as error:  # a resolver may raise anything that its HTTP library raises
                problem = central.says(error)
                path.unlink(missing_ok=True)  # a lost connection may have cut it off, and no sum may be noted to tell
                if isinstance(error, OSError) and error.errno in FULL:
                    raise ReleaseError(
                        f"{repository} has no room left for {jar.coordinate}",
                        advice="Make room, or set MQLAB_CACHE to a folder that has some; what has arrived whole is kept.",
                    ) from error
    raise ReleaseError(
        f"{jar.coordinate} could not be had in {DOWNLOAD_TRIES_MAX} tries: {' and '.join(filter(None, (changed, problem)))}",
        advice="Check that Maven Central can be reached and start again; what has arrived whole is kept.",
    )


def jar_path(jar: LockedJar, repository: Path) -> Path:
    """Where a jar lies in a repository folder of Maven's layout."""
    suffix = f"-{jar.classifier}" if jar.classifier else ""
    folder = repository.joinpath(*jar.group.split(".")) / jar.artifact / jar.version
    return folder / f"{jar.artifact}-{jar.version}{suffix}.jar"


def _download_with_jgo(jar: LockedJar, repository: Path) -> Path:
    component = central.maven(repository).project(jar.group, jar.artifact).at_version(jar.version)
    return Path(component.artifact(jar.classifier, "jar").resolve())


def _stamp_of(jars: Sequence[LockedJar], repository: Path) -> dict[str, list[int] | None]:
    """Size and time of change of each jar by its sum, since hashing 80 MB at each start takes time."""
    return {jar.sha256: _stat_of(jar_path(jar, repository)) for jar in jars}


def _stat_of(path: Path) -> list[int] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return [status.st_size, status.st_mtime_ns]


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


@contextlib.contextmanager
def _exclusive(path: Path) -> Iterator[None]:
    with path.open("a") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


def write_sizes(jars: Sequence[LockedJar], repository: Path) -> None:
    """Add jars that are in a repository folder to the table of what each is long, in bytes."""
    table = CHECKSUMS / BYTES
    sizes = json.loads(table.read_text()) if table.exists() else {}
    sizes |= {jar.coordinate: jar_path(jar, repository).stat().st_size for jar in jars}
    table.write_text(json.dumps(sizes, indent=0, sort_keys=True) + "\n")


def main(arguments: Sequence[str]) -> int:
    """``lock NAME...`` writes lock files; ``fetch NAME...`` fills the cache. Returns an exit code as the command line has them."""
    words = arguments if arguments and arguments[0] in {"lock", "fetch"} else ()
    return carried_out(_program, words, "harness.releases.jars lock|fetch NAME...", least=2)


def _program(words: list[str]) -> None:
    command, *names = words
    for name in names:
        if command == "lock":
            _lock(name)
        else:
            ensure_jars(name, progress=lambda text: print(text, file=sys.stderr))


def _lock(name: str) -> None:
    """Raises ReleaseError: it cannot be resolved."""
    repository = cache_folder("maven")
    jars = resolved(name, repository)
    write_lock(name, jars, CHECKSUMS)
    write_sizes(jars, repository)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
