"""The one gate for code that a run or a bundle brings with it: it is run where the user answers for it, and nowhere else.

What somebody else made may bring Python (the files of incidents that are not the lab's), options of Java processes, and the name of
an image. Each is told by its name and the SHA-256 of its content. A user answers for it in one of two ways:

- He has named it himself on a command line of this machine: a file of these very bytes, an option of this very text. The lab
  remembers that in its state folder, so that he goes on with his own runs and judges them again without another word. What a run
  says of itself, such as where its incident's file lay, shows nothing: whoever made the run wrote that, and may have put a file
  there, too.
- He has looked at it, and says ``--trust``, which is about that command alone.

What was summed is what is run: a file is read once.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import os
import stat
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import scenarios
from harness.bounded import read_whole
from harness.errors import ConfigurationError
from harness.model.scenario import Scenario
from harness.paths import state_home
from harness.releases.border import masked_words
from harness.rundir.own_files import own_file
from mqlab.own.own_incident import FILE_BYTES_MAX, FILE_NAME, KEPT, SUFFIX, is_of_the_lab, name_of, read_incident

NAMED_BY_THE_USER = "code-named-by-the-user.txt"
"""In the state folder, as ``sha256sum`` writes it: SHA-256 and name, one a line."""


@dataclass(frozen=True, kw_only=True)
class BroughtCode:
    """Something that would be run here. ``content`` is what was looked at: of a file its bytes, of an option its text."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """Of the content, in hexadecimal digits."""
        return hashlib.sha256(self.content).hexdigest()

    def __str__(self) -> str:
        return f"{self.name} (SHA-256 {self.sha256})"


def listed(brought: Iterable[BroughtCode]) -> str:
    """Each by its name and its SHA-256."""
    return ", ".join(map(str, brought))


# --- what there is --------------------------------------------------------------------------------------------------------


def files_of_run(run: Path, incidents: Iterable[str]) -> dict[str, BroughtCode]:
    """By incident a run's copy of its file; those of the lab have none, whatever lies there, nor has what a link leads to.

    Raises ConfigurationError: one cannot be read, or is longer than any incident's file.
    """
    files = {name: _file_of_run(run, name) for name in incidents}
    return {name: file for name, file in files.items() if file is not None}


def _file_of_run(run: Path, incident: str) -> BroughtCode | None:
    file = f"{incident.replace('-', '_')}{SUFFIX}"
    if is_of_the_lab(incident) or not FILE_NAME.fullmatch(file) or (path := own_file(run, KEPT, file)) is None:
        return None
    try:
        return BroughtCode(name=path.name, content=read_whole(path, FILE_BYTES_MAX, follow=False))
    except OSError as error:
        raise ConfigurationError(f"{path} cannot be read: {error.strerror}") from error


def own_names(command: argparse.Namespace) -> dict[str, str]:
    """By the words of a command that name files, what their incidents are called."""
    return {word: name_of(Path(word)) for word in command.incidents if word.endswith(SUFFIX)}


def options_of(command: argparse.Namespace) -> Iterator[BroughtCode]:
    """Options of Java processes, and an image: what of a command may make a program read, write or run what it should not."""
    # As the run's own command has them: a secret is let into no process.
    for setting in masked_words((*command.set, *getattr(command, "sweep", ()))):
        key, _, value = setting.partition("=")
        prefix, _, name = key.partition(".")
        if prefix == "broker-jvm" or (prefix == "client" and "." in name):
            yield BroughtCode(name=f"-D{name}", content=f"-D{name}={value}".encode())
    if command.image:
        yield BroughtCode(name=f"the image {command.image}", content=f"image {command.image}".encode())


# --- who answers for it ---------------------------------------------------------------------------------------------------


def remember_named(command: argparse.Namespace) -> None:
    """Note what the user has named on this command line. Where that cannot be noted, ``--trust`` is asked for later."""
    with contextlib.suppress(OSError):
        files = [
            BroughtCode(name=Path(word).name, content=read_whole(Path(word), FILE_BYTES_MAX))
            for word in command.incidents
            if word.endswith(SUFFIX)
        ]
        known = _named_by_the_user()
        lines = [f"{code.sha256}  {code.name}\n" for code in (*files, *options_of(command)) if code.sha256 not in known]
        path = state_home() / NAMED_BY_THE_USER
        path.parent.mkdir(parents=True, exist_ok=True)
        handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
        try:
            os.write(handle, "".join(lines).encode())
        finally:
            os.close(handle)


def unanswered(brought: Iterable[BroughtCode], *, trust: bool) -> list[BroughtCode]:
    """What of it the user does not answer for."""
    if trust:
        return []
    known = _named_by_the_user()
    return [code for code in brought if code.sha256 not in known]


def _named_by_the_user() -> frozenset[str]:
    path = state_home() / NAMED_BY_THE_USER
    try:
        status = path.lstat()
        # What others may write to is not the user's word.
        if not stat.S_ISREG(status.st_mode) or status.st_uid != os.geteuid() or status.st_mode & 0o022:
            return frozenset()
        return frozenset(line[:64] for line in path.read_text("utf-8", errors="replace").splitlines())
    except OSError:
        return frozenset()


# --- the incidents of a run -----------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class IncidentsOfRun:
    """Of a recorded run: the incidents that can be judged, and by their names the files of those that cannot, since nobody answers
    for their code."""

    known: tuple[Scenario, ...]
    not_run: Mapping[str, BroughtCode]


def incidents_of_run(run: Path, names: Sequence[str], *, trust: bool) -> IncidentsOfRun:
    """The incidents that a run's manifest names: the lab's own, and those of its files that the user answers for.

    Raises UsageError where one is neither the lab's nor has a file, and ConfigurationError for a mistake in a file.
    """
    files = files_of_run(run, names)
    not_run = {name: file for name, file in files.items() if unanswered([file], trust=trust)}
    return IncidentsOfRun(
        known=read_answered(run, [name for name in names if name not in not_run], files), not_run=not_run
    )


def read_answered(run: Path, names: Iterable[str], files: Mapping[str, BroughtCode]) -> tuple[Scenario, ...]:
    """The incidents of these names; of those that have a file its content is executed, which the user answers for.

    Raises UsageError and ConfigurationError as above.
    """
    return tuple(
        read_incident(run / KEPT / files[name].name, files[name].content) if name in files else scenarios.find(name)
        for name in names
    )
