"""The command that a run was started with, as its manifest has it: read with care, since somebody else may have written it."""

from __future__ import annotations

import argparse
import contextlib
import io
import shlex
from collections.abc import Callable, Collection, Sequence
from pathlib import Path

from harness.errors import ConfigurationError, LabError, shown
from harness.rundir.manifest import Manifest
from harness.rundir.own_files import own_file
from mqlab.kinds import is_bundle, names_a_build
from mqlab.own.own_incident import KEPT, KEPT_CONF, SUFFIX

_TEXTS = ("--set", "--sweep", "--param", "--image")
"""Options whose values are never opened."""

CHARACTERS_MAX = 2**17
"""Of a command, as of one word of it (``MAX_ARG_STRLEN`` of Linux): it is parted into words character by character."""

Parse = Callable[[Sequence[str]], argparse.Namespace]


def command_of_run(run: Path, manifest: Manifest, parse: Parse, verbs: Collection[str]) -> argparse.Namespace:
    """The options that a run was started with; files of the user are the run's own copies of them.

    Raises ConfigurationError: nothing can be made of the command, it is none of ``verbs``, or the run lacks a file that it names:
    what lies at that place of this machine is none of the run's.
    """
    try:
        words = words_of(run, manifest)
        if words[:1] not in ([verb] for verb in verbs):
            raise ConfigurationError(f"it is {'neither ' * (len(verbs) > 1)}{' nor '.join(verbs)}")
        _check_paths(run, words)
        # What the parser says of it is about no option that the user gave.
        with contextlib.redirect_stderr(io.StringIO()) as complaint, contextlib.redirect_stdout(io.StringIO()):
            command = parse(words)
    except (SystemExit, LabError, ValueError) as error:
        why = (
            complaint.getvalue().partition("\n")[0].removeprefix("mqlab: ") if isinstance(error, SystemExit) else error
        )
        raise ConfigurationError(f"its command cannot be carried out: {why or 'it says nothing'}") from error
    if names_a_build(command):
        raise ConfigurationError("its command is of a build by its path")
    if any(map(is_bundle, command.incidents)):
        raise ConfigurationError("its command is of another bundle")
    for word in command.incidents:
        if word.endswith(SUFFIX) and Path(word) != own_file(run, KEPT, Path(word).name):
            raise ConfigurationError("it lacks its incident's file")
    if command.broker_conf and command.broker_conf != own_file(run, KEPT_CONF):
        raise ConfigurationError("it lacks its broker.conf")
    return command


def _check_paths(run: Path, words: Sequence[str]) -> None:
    """Raises ConfigurationError where a word leads out of the run: not even whether there is such a file is looked at.

    The values of settings are no paths of this command.
    """
    for before, word in zip(["", *words], words, strict=False):
        option, _, value = word.partition("=") if word.startswith("--") else (before, "", word)
        path = Path(value)
        is_own = path.is_relative_to(run) and ".." not in path.relative_to(run).parts
        leads_out = not is_own and (path.is_absolute() or ".." in path.parts)
        if leads_out and not option.startswith(_TEXTS):
            lacking = {"--broker-conf": "broker.conf"}.get(option, "incident's file" if path.suffix == SUFFIX else "")
            raise ConfigurationError(
                f"it lacks its {lacking}" if lacking else f"it names {shown(value)}, which is not the run's"
            )


def words_of(run: Path, manifest: Manifest) -> list[str]:
    """The words of the command, with the run's own copies of the user's files. Raises ValueError."""
    if len(manifest.command) > CHARACTERS_MAX:
        raise ValueError(f"it has more than {CHARACTERS_MAX:,} characters")
    kept = {path.name: str(path) for path in (run / KEPT).glob(f"*{SUFFIX}")}
    words = [kept.get(Path(word).name, word) for word in shlex.split(manifest.command)[1:]]
    if (conf := own_file(run, KEPT_CONF)) and "--broker-conf" in words:
        place = words.index("--broker-conf") + 1
        words[place : place + 1] = [str(conf)]
    return words
