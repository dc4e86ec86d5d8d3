"""``mqlab verify --resume``: a run goes on as what it was when it started, or says why it cannot."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from harness.errors import ConfigurationError, UsageError
from harness.host.abilities import usable_cores
from harness.host.facts import is_same_code, own_commit
from harness.model.scenario import Scenario
from harness.releases.border import masked_words
from harness.rundir.manifest import RESUMED, Manifest, read_manifest
from harness.rundir.reading import read_run_directory, verified
from harness.rundir.writing import RunWriter
from mqlab.kinds import FOLDER
from mqlab.own.own_incident import KEPT, SUFFIX
from mqlab.run.recorded_command import command_of_run
from mqlab.run.trust import files_of_run, listed, options_of, own_names, read_answered, unanswered

OF_A_SWEEP = ("sample", "deployments", "goal", "margin")
WITH_VALUE = (
    *("arm", "release", "injection", "backend", "image", "trials", "seed", "topology", "client_release", "part"),
    *OF_A_SWEEP,
    "against",
)
"""Topology and client release are of ``mqlab reproduce``."""

_REMEMBERED = (*WITH_VALUE, "incidents", "all", "quick", "broker_conf", "set", "sweep", "param")
"""Options that decide what a run is; a resumed run takes them from its manifest."""


def add_resume(command: argparse._ActionsContainer, text: str) -> None:
    """Add ``--resume``, and on what terms."""
    command.add_argument("--resume", type=FOLDER, metavar="RUN_DIR", help=text)
    command.add_argument(
        "--anyway", action="store_true", help="with --resume: also by other code than the run's, which its findings say"
    )
    command.add_argument(
        "--trust",
        action="store_true",
        help="with --resume: run the Python, the image and the JVM options that the run brings",
    )


def require_resumed(options: argparse.Namespace) -> None:
    """Raises UsageError: an option that is about a run that goes on was given without one."""
    for name in ("anyway", "trust"):
        if getattr(options, name) and not options.resume:
            raise UsageError(f"--{name} says how to resume", advice="Give it together with --resume RUN_DIR.")


@dataclass(frozen=True, kw_only=True)
class Resumed:
    """What a run that goes on brings: a note for its manifest, mostly an empty one, and its own incidents by the options' words."""

    note: str = ""
    own: Mapping[str, Scenario] = field(default_factory=dict)


def restore_options(options: argparse.Namespace) -> Resumed:
    """Set the options to those that the run was started with.

    Raises:
        UsageError: it is the run of another command, or of a load, which has nothing left to do.
        ConfigurationError: it was started by another commit or under other rules, and ``--anyway`` was not given; it brings code
            that nobody answers for, and ``--trust`` was not given; or its command cannot be made out.
    """
    run: Path = options.resume
    manifest = read_manifest(run)
    if manifest.incidents == ("load",):
        raise UsageError(
            f"{run} holds a load, which cannot be gone on with",
            advice=f"Start it again: {manifest.command}. Or judge what it recorded: mqlab runs analyze {run}.",
        )
    made_by = manifest.command.split()[1:2]
    if made_by not in (["verify"], ["tune"], ["check"]):
        raise UsageError(
            f"{run} holds a single trial, which cannot be gone on with",
            advice=f"Start it again: {manifest.command}.",
        )
    if made_by != [options.verb]:
        raise UsageError(f"{run} is a run of mqlab {made_by[0]}", advice=f"mqlab {made_by[0]} --resume {run}")
    try:
        remembered = command_of_run(run, manifest, options.parse, (options.verb,))
    except ConfigurationError as error:
        raise ConfigurationError(f"{run} cannot be gone on with: {error.message}", advice="Start a new run.") from error
    own_words = own_names(remembered)
    names = tuple(dict.fromkeys((*manifest.incidents, *own_words.values())))
    files = files_of_run(run, names)
    if asked_for := unanswered([*files.values(), *options_of(remembered)], trust=options.trust):
        raise ConfigurationError(
            f"{run} cannot be gone on with: it brings {listed(asked_for)} with it, which would be run here",
            advice=f"Look at it (Python is in {run / KEPT}), and add --trust if you answer for it.",
        )
    by_name = {scenario.name: scenario for scenario in read_answered(run, names, files)}
    # A sweep judges no claim.
    judged = [by_name[name] for name in manifest.incidents if name in by_name] if options.verb != "tune" else []
    note = difference(manifest, rules_of(judged))
    if note and not options.anyway:
        raise ConfigurationError(
            f"{run} was {note}: to go on would mix two experiments",
            advice="Go on with the code that started it, start a new run, or add --anyway, which its findings will say.",
        )
    for name in _REMEMBERED:
        if hasattr(remembered, name):
            setattr(options, name, getattr(remembered, name))
    own = {word: by_name[name] for word, name in own_words.items()}
    return Resumed(note=f"{RESUMED}{note}" if note else "", own=own)


def finished_trials(run: RunWriter) -> frozenset[str]:
    """The ids of those that need not be run again; one that was too noisy only if its repetition has ended.

    A trial whose evidence is not what its last record says is run again, as is one whose cluster was not closed.
    """
    directory = verified(read_run_directory(run.path), threads=usable_cores())
    found = {trial.trial: trial for trial in directory.trials}

    def has_ended(trial: str) -> bool:
        record = found.get(trial)
        return (
            record is not None
            and record.status == "complete"
            and not directory.damage_of(trial)
            and (not record.superseded_by or has_ended(record.superseded_by))
        )

    return frozenset(filter(has_ended, found))


def difference(manifest: Manifest, rules: Mapping[str, str]) -> str:
    """By what this code is another than that of a run's start, with ``rules`` of its claims; empty where it is the same."""
    now, parts = own_commit(), []
    if now.dirty != manifest.dirty or not is_same_code(manifest.commit, now.id):
        parts.append(f"{_named(manifest.commit, manifest.dirty)} and not {_named(now.id, now.dirty)}")
    changed = sorted(claim for claim in {*rules, *manifest.rules} if rules.get(claim) != manifest.rules.get(claim))
    if changed:
        parts.append(f"other rules of {', '.join(changed)}")
    return "started with " + " and ".join(parts) if parts else ""


def _named(commit: str, dirty: bool) -> str:
    return f"commit {commit[:12]}" + (" with changes" if dirty else "")


def rules_of(chosen: Sequence[Scenario]) -> dict[str, str]:
    """The hash of each claim's rule."""
    return {claim.id: claim.rule_hash() for scenario in chosen for claim in scenario.claims}


def command_line(options: argparse.Namespace) -> str:
    """The command that repeats this run, of the options that decide what it is, without the secrets of its settings."""
    own = {word: str(Path(word).absolute()) for word in options.incidents if word.endswith(SUFFIX)}
    words = ["mqlab", options.verb, *(own.get(word, word) for word in options.incidents)]
    for name in ("all", "quick"):
        words += [f"--{name}"] if getattr(options, name) else []
    for name in WITH_VALUE:
        value = getattr(options, name, None)
        words += (
            [f"--{name.replace('_', '-')}", ",".join(value) if isinstance(value, tuple) else str(value)]
            if value not in (None, ())
            else []
        )
    words += ["--broker-conf", str(Path(options.broker_conf).absolute())] if options.broker_conf else []
    for name in ("set", "sweep"):
        for value in getattr(options, name, ()):
            words += [f"--{name}", value]
    for name, value in getattr(options, "param", ()):
        words += ["--param", f"{name}={value}"]
    return shlex.join(masked_words(words))
