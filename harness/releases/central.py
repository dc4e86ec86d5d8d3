"""Which releases of RocketMQ Maven Central has, and which jars make up one of them. jgo resolves, so that nobody needs mvn."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

from harness.errors import ReleaseError, UsageError
from harness.printable import printable

GROUP = "org.apache.rocketmq"
ARTIFACTS = ("rocketmq-broker", "rocketmq-namesrv", "rocketmq-client", "rocketmq-tools")
PROXY = "rocketmq-proxy"
"""Central has it of some releases since 5.0.0, not of 5.1.4; a cluster runs without it."""
OLDEST = "4.4.0"
"""No older one is tried."""

REPOSITORIES = {"central": "https://repo.maven.apache.org/maven2"}
ANSWER_S_MAX = 60
TRIES_MAX = 4
"""A connection that was lost is made again."""
SAID_MAX = 500

_NOT_FOUND = 404
_LISTED = re.compile(r"<version>([^<]+)</version>")
_PINNED = re.compile(r"\[([^,\]]+)\]")


def maven(repository: Path) -> Any:
    """jgo's context of a repository folder, which reads ``[1.53.0]`` as Maven does: that version and no other.

    What a lost connection cut off is taken away and asked for again: jgo would leave out what it cannot read the needs of.
    """
    from jgo.maven import MavenContext, PythonResolver
    from jgo.parse import Coordinate

    class Resolver(PythonResolver):
        def download(self, artifact: Any) -> Path | None:
            for tries_left in range(TRIES_MAX - 1, -1, -1):
                try:
                    return super().download(artifact)
                except OSError as error:  # what requests raises is one
                    Path(artifact.cached_path).unlink(missing_ok=True)
                    if not tries_left:
                        raise _LostError(says(error)) from error
            raise AssertionError("the last try returns or raises")

    class Context(MavenContext):
        def create_dependency(self, coordinate: Any, exclusions: Any = None) -> Any:
            found = Coordinate.parse(coordinate)
            if found.version and (pinned := _PINNED.fullmatch(found.version)):
                found = dataclasses.replace(found, version=pinned.group(1))
            return super().create_dependency(found, exclusions)

    return Context(repo_cache=repository, remote_repos=REPOSITORIES, timeout=ANSWER_S_MAX, resolver=Resolver())


class _LostError(Exception):
    """No kind of error that jgo takes for an artifact without needs."""


def version_key(version: str) -> tuple[int, ...]:
    """The numbers that it begins with, by which versions have an order; ``-SNAPSHOT`` or a build's letters are left out."""
    begins = re.match(r"\d+(\.\d+)*", version)
    return tuple(map(int, begins.group().split("."))) if begins else ()


def require_release(release: str) -> None:
    """That Maven Central has all of a release that is run.

    Raises:
        UsageError: it is too old, Central has none of that version, or a part of it alone.
        ReleaseError: Central does not answer.
    """
    if version_key(release) < version_key(OLDEST):
        raise UsageError(
            f"RocketMQ {release} is older than {OLDEST}, the oldest release that the lab runs",
            advice=f"Name {OLDEST} or a newer one.",
        )
    if not (lacking := _lacking(release, release)):
        return
    listed = sorted(
        {one for one in _listed(release) if one != release and version_key(one) >= version_key(OLDEST)}, key=version_key
    )
    older = [one for one in listed if version_key(one) <= version_key(release)]
    whole = [next((one for one in of if not _lacking(one, release)), "") for of in (older[::-1], listed[len(older) :])]
    advice = f"Take {' or '.join(filter(None, whole))}." if any(whole) else ""
    if len(lacking) == len(ARTIFACTS):
        raise UsageError(f"Maven Central has no RocketMQ {release}", advice=advice)
    raise UsageError(
        f"RocketMQ {release} cannot be run: Maven Central has a part of it, without {' and '.join(lacking)}",
        advice=advice,
    )


def releases_between(before: str, after: str) -> list[str]:
    """The releases that Maven Central lists between two others, the oldest first, whole or not; without candidates of a release.

    Raises ReleaseError: Central does not answer.
    """
    listed = {one for one in _listed(after) if re.fullmatch(r"\d+(\.\d+)+", one)}
    between = (one for one in listed if version_key(before) < version_key(one) < version_key(after))
    return sorted(between, key=version_key)


def require_proxy(release: str) -> None:
    """That Maven Central has a release's proxy. Raises UsageError: it has none; ReleaseError: it does not answer."""
    if _get("head", PROXY, f"{release}/{PROXY}-{release}.jar", release) is None:
        raise UsageError(
            f"Maven Central has no proxy of RocketMQ {release} ({PROXY})",
            advice="Give another --release, a build that has one in its lib, or another --client.",
        )


def _lacking(version: str, asked: str) -> list[str]:
    """The artifacts of a version that Central does not have. Its lists of versions leave out some that are there."""
    with ThreadPoolExecutor(len(ARTIFACTS)) as pool:
        there = pool.map(
            lambda artifact: _get("head", artifact, f"{version}/{artifact}-{version}.jar", asked), ARTIFACTS
        )
        return [artifact for artifact, answer in zip(ARTIFACTS, there, strict=True) if answer is None]


def _listed(asked: str) -> frozenset[str]:
    return frozenset(_LISTED.findall(_get("get", ARTIFACTS[0], "maven-metadata.xml", asked) or ""))


def _get(method: str, artifact: str, path: str, asked: str) -> str | None:
    """What a repository has of an artifact, None where none has it."""
    for url in REPOSITORIES.values():
        try:
            answer = _answer(method, f"{url}/{GROUP.replace('.', '/')}/{artifact}/{path}")
            if answer.status_code == _NOT_FOUND:
                continue
            answer.raise_for_status()
        except OSError as error:  # what requests raises is one
            raise ReleaseError(
                f"RocketMQ {asked} was not used here before, and Maven Central cannot be asked for it: {says(error)}",
                advice="Try again when it can be reached; a release that was used here once needs no network.",
            ) from error
        return str(answer.text)
    return None


def _answer(method: str, url: str) -> Any:
    """Raises OSError: there was none."""
    from jgo.util import http
    from requests import ConnectionError as NoConnectionError
    from requests import Timeout

    for tries_left in range(TRIES_MAX - 1, -1, -1):
        try:
            return http.request(method, url, timeout=ANSWER_S_MAX, allow_redirects=True)
        except NoConnectionError as error:
            if not tries_left or isinstance(error, Timeout):
                raise
    raise AssertionError("the last try returns or raises")


def resolve(roots: Sequence[str], repository: Path) -> list[tuple[str, str, str, str]]:
    """Group, artifact, version and classifier of the jars that ``group:artifact:version`` roots and what they depend on are.

    Raises ReleaseError.
    """
    from jgo.maven import Dependency

    for is_last in (False, True):
        context = maven(repository)
        wanted = []
        for root in roots:
            group, artifact, version = root.split(":")
            wanted.append(Dependency(context.project(group, artifact).at_version(version).artifact()))
        try:
            _, nodes = context.resolver.get_dependency_list(wanted)
            break
        except Exception as error:  # a resolver may raise anything that its XML and HTTP libraries raise
            if is_last or not _forget_broken_poms(repository):
                raise ReleaseError(
                    f"{roots[0]} cannot be resolved from Maven Central: {says(error)}",
                    advice="Can Maven Central be reached? What has arrived whole is kept; start again.",
                ) from error
    found = {
        (one.groupId, one.artifactId, one.version, one.classifier or "")
        for one in (*wanted, *(node.dep for node in nodes))
        if one.type == "jar"
    }
    return sorted(found, key=lambda one: ":".join(filter(None, one)))


def _forget_broken_poms(repository: Path) -> bool:
    """Whether there were any: a kill may cut off what is written where it will be looked for."""
    broken = [pom for pom in repository.rglob("*.pom") if not _is_xml(pom)]
    for pom in broken:
        pom.unlink(missing_ok=True)
    return bool(broken)


def _is_xml(path: Path) -> bool:
    try:
        ElementTree.parse(path)
    except (OSError, ElementTree.ParseError):
        return False
    return True


def says(error: Exception) -> str:
    """What the system said of it, which HTTP libraries wrap up in pages, else an error's first line; as a person may see it."""
    if told := re.search(r"\[Errno -?\d+\] ([^'\")]+)", str(error)):
        return printable(told.group(1).strip())
    first = next((line.strip() for line in str(error).splitlines() if line.strip()), "")
    return printable((first or type(error).__name__)[:SAID_MAX])
