"""A release's jars from Maven Central, the Java that runs them, and the flags that Java needs.

Which jars make up a release is committed, with their SHA-256 sums, in ``harness/releases/checksums/RELEASE.sha256``. Nothing that
differs from a committed sum is ever put on a classpath. ``python -m harness.releases.jars lock RELEASE`` resolves a release
anew and writes such a file; users never need it.
"""

import contextlib
import fcntl
import hashlib
import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path

from harness.errors import LabError, ReleaseError, UsageError
from harness.printable import printable
from harness.program import carried_out
from harness.releases.cache import cache_folder

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

PROXY = "proxy"
"""Name of the lock of the jars that RocketMQ's proxy for gRPC clients needs beyond those of its release."""

PROXY_RELEASE = "5.3.3"
"""Whose proxy is locked. It sends as a client does, to brokers of 5.5.0 as well."""

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

RELEASE_ARTIFACTS = ("rocketmq-broker", "rocketmq-namesrv", "rocketmq-client", "rocketmq-tools")


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


def jars_sha256(release: str) -> str:
    """SHA-256 of a release's lock: of the names and the SHA-256 of all of its jars."""
    return hashlib.sha256((CHECKSUMS / f"{release}.sha256").read_bytes()).hexdigest()


def version_key(version: str) -> tuple[int, ...]:
    """Its numbers, by which versions have an order; words such as ``-SNAPSHOT`` are left out."""
    return tuple(int(number) for number in re.findall(r"\d+", version))


def is_5x(release: str) -> bool:
    """Whether a release is 5.0.0 or newer, where logging and several settings changed their names."""
    return version_key(release) >= (5,)


def read_lock(name: str) -> tuple[LockedJar, ...]:
    """The jars of a release (or of ``tools``). Raises UsageError when there is no such release."""
    path = CHECKSUMS / f"{name}.sha256"
    if not path.exists():
        raise UsageError.unknown("release", name, recorded_releases())
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
    """Every jar of a lock, in the cache and with its committed sum; downloads what is missing.

    Two runs that start at once take turns; a jar that arrived broken is fetched again, ``DOWNLOAD_TRIES_MAX`` times.

    Raises UsageError for an unknown release, ReleaseError when a jar could not be had or its sum differs from the
    committed one.
    """
    jars = read_lock(name)
    repository = cache_folder("maven", cache)
    fetch = download or _download_with_jgo
    stamp = repository / f".{name}.verified.json"
    paths = tuple(jar_path(jar, repository) for jar in jars)
    if _is_verified(stamp, jars, repository):
        return paths
    # One lock for all: releases have jars in common.
    with _exclusive(repository / ".lock"):
        if _is_verified(stamp, jars, repository):
            return paths
        say = progress or (lambda text: None)
        what = f"RocketMQ {name}" if name[0].isdigit() else name
        missing = [jar for jar in jars if not jar_path(jar, repository).exists()]
        if missing:
            say(f"{what}: {len(missing)} jars to download, {_megabytes(missing)}")
        with _downloading() as pool:
            ensured = [pool.submit(_ensure_jar, jar, repository, fetch) for jar in jars]
            for done, one in enumerate(as_completed(ensured), start=1):
                one.result()
                if missing and done % JARS_TOLD == 0:
                    say(f"{what}: {done} of {len(jars)} jars are there")
        temporary = stamp.with_suffix(f".{os.getpid()}.tmp")
        temporary.write_text(json.dumps(_stamp_of(jars, repository)))
        temporary.replace(stamp)
    return paths


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
    """Of a table beside the locks, since a lock's own bytes are part of what names an experiment."""
    sizes = json.loads((CHECKSUMS / BYTES).read_text())
    return f"{sum(sizes[jar.coordinate] for jar in some) / 1e6:.0f} MB"


def _is_verified(stamp: Path, jars: Sequence[LockedJar], repository: Path) -> bool:
    with contextlib.suppress(OSError, ValueError):
        return bool(json.loads(stamp.read_text()) == _stamp_of(jars, repository))
    return False


def _ensure_jar(jar: LockedJar, repository: Path, fetch: Download) -> Path:
    path, problem = jar_path(jar, repository), ""
    for tries_left in range(DOWNLOAD_TRIES_MAX, -1, -1):
        if path.exists():
            if _sha256(path) == jar.sha256:
                return path
            problem = "its SHA-256 differs from the committed one"
            path.unlink()
        if tries_left:
            try:
                fetch(jar, repository)
            except Exception as error:  # a resolver may raise anything that its HTTP library raises
                problem = f"{type(error).__name__}: {error}"
    raise ReleaseError(
        f"{jar.coordinate} could not be had in {DOWNLOAD_TRIES_MAX} tries: {problem}",
        advice="Check that Maven Central can be reached and start again; what has arrived whole is kept.",
    )


def jar_path(jar: LockedJar, repository: Path) -> Path:
    """Where a jar lies in a repository folder of Maven's layout."""
    suffix = f"-{jar.classifier}" if jar.classifier else ""
    folder = repository.joinpath(*jar.group.split(".")) / jar.artifact / jar.version
    return folder / f"{jar.artifact}-{jar.version}{suffix}.jar"


def _download_with_jgo(jar: LockedJar, repository: Path) -> Path:
    from jgo.maven import MavenContext

    context = MavenContext(repo_cache=repository, timeout=60)
    component = context.project(jar.group, jar.artifact).at_version(jar.version)
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


def resolve_lock(name: str, cache: Path | None = None) -> tuple[LockedJar, ...]:
    """Resolve a release's dependencies and hash what arrives. For maintainers, since a lock is made once.

    Maven itself resolves: jgo's own resolver takes 5.3.3's pinned range ``[1.53.0]`` of gRPC for a version's name.
    """
    from jgo.maven import Dependency, MavenContext, MvnResolver

    repository = cache_folder("maven", cache)
    context = MavenContext(repo_cache=repository, timeout=60, resolver=MvnResolver(Path("mvn")))
    roots = LOCK_ROOTS.get(name) or tuple(f"org.apache.rocketmq:{artifact}:{name}" for artifact in RELEASE_ARTIFACTS)
    wanted = []
    for root in roots:
        group, artifact, version = root.split(":")
        wanted.append(Dependency(context.project(group, artifact).at_version(version).artifact()))
    _, nodes = context.resolver.get_dependency_list(wanted)
    found = {}
    for node in (*wanted, *(node.dep for node in nodes)):
        if node.type != "jar":
            continue
        path = Path(node.artifact.resolve())
        jar = LockedJar(
            group=node.groupId,
            artifact=node.artifactId,
            version=node.version,
            classifier=node.classifier or "",
            sha256=_sha256(path),
        )
        found[jar.coordinate] = jar
    return tuple(found[coordinate] for coordinate in sorted(found))


def resolved_jars(name: str, cache: Path | None = None) -> tuple[Path, ...]:
    """The jars of a release that has no lock, resolved by Maven (``mvn``). For maintainers: nothing vouches for them.

    Raises UsageError where Maven does not resolve it.
    """
    try:
        jars = resolve_lock(name, cache)
    except Exception as error:  # jgo passes on whatever mvn says, which is pages
        raise UsageError(
            f"unknown release {name!r}, which Maven does not resolve either", advice="Run mvn by hand to see why."
        ) from error
    return tuple(jar_path(jar, cache_folder("maven", cache)) for jar in jars)


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


SAID_MAX = 500


def _lock(name: str) -> None:
    """Raises ReleaseError: it cannot be resolved."""
    if shutil.which("mvn") is None:
        raise ReleaseError(
            f"{name} cannot be resolved: there is no command mvn on the path",
            advice="Install Maven; locks alone need it.",
        )
    try:
        jars = resolve_lock(name)
    except LabError:
        raise
    except Exception as error:  # a resolver may raise anything that Maven or its HTTP library makes it raise
        raise ReleaseError(
            f"{name} cannot be resolved from Maven Central: {_says(error)}",
            advice=f"Is {name} a release of RocketMQ, can Maven Central be reached, and does mvn -version answer?",
        ) from error
    CHECKSUMS.mkdir(exist_ok=True)
    (CHECKSUMS / f"{name}.sha256").write_text("".join(f"{jar.sha256}  {jar.coordinate}\n" for jar in jars))
    write_sizes(jars, cache_folder("maven"))


def _says(error: Exception) -> str:
    """Maven's own first word of what is wrong, among all that it prints, else the error's first line."""
    lines = [line.strip() for line in str(error).splitlines() if line.strip()]
    wrong = [line.removeprefix("[ERROR]").strip() for line in lines if line.startswith("[ERROR]")]
    told = next((line for line in wrong if re.search(r"[Cc]ould not|Failed|Non-resolvable|invalid|missing", line)), "")
    return printable((told or [*wrong, *lines, type(error).__name__][0])[:SAID_MAX])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
