"""``mqlab verify --resume``: a run goes on as what it was when it started, or says why it cannot."""

from __future__ import annotations

import argparse
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from harness.errors import ConfigurationError, UsageError
from harness.host.abilities import usable_cores
from harness.host.facts import is_same_code, own_commit
from harness.model.scenario import Scenario
from harness.rundir.manifest import RESUMED, Manifest, read_manifest
from harness.rundir.reading import read_run_directory, verified
from harness.rundir.writing import RunWriter
from mqlab.own_incident import KEPT, KEPT_CONF, SUFFIX, incidents_of_run

OF_A_SWEEP = ("sample", "deployments", "goal", "margin")
WITH_VALUE = (
    *("arm", "release", "injection", "backend", "image", "trials", "seed", "topology", "client_release", "part"),
    *OF_A_SWEEP,
)
"""Topology and client release are of ``mqlab reproduce``."""

_REMEMBERED = (*WITH_VALUE, "incidents", "all", "quick", "broker_conf", "set", "sweep", "param")
"""Options that decide what a run is; a resumed run takes them from its manifest."""


def restore_options(options: argparse.Namespace) -> str:
    """Set the options to those that the run was started with; returns a note for its manifest, mostly an empty one.

    Raises:
        UsageError: it is the run of another command, or of a load, which has nothing left to do.
        ConfigurationError: it was started by another commit or under other rules, and ``--anyway`` was not given.
    """
    manifest = read_manifest(options.resume)
    if manifest.incidents == ("load",):
        raise UsageError(
            f"{options.resume} holds a load, which cannot be gone on with",
            advice=f"Start it again: {manifest.command}. Or judge what it recorded: mqlab analyze {options.resume}.",
        )
    words = words_of(options.resume, manifest)
    made_by = words[0] if words else ""
    if made_by not in ("verify", "tune"):
        raise UsageError(
            f"{options.resume} holds a single trial, which cannot be gone on with",
            advice=f"Start it again: {manifest.command}.",
        )
    if made_by != options.verb:
        raise UsageError(
            f"{options.resume} is a run of mqlab {made_by}", advice=f"mqlab {made_by} --resume {options.resume}"
        )
    # A sweep judges no claim.
    rules = rules_of(incidents_of_run(options.resume, manifest.incidents)) if made_by == "verify" else {}
    note = difference(manifest, rules)
    if note and not options.anyway:
        raise ConfigurationError(
            f"{options.resume} was {note}: to go on would mix two experiments",
            advice="Go on with the code that started it, start a new run, or add --anyway, which its findings will say.",
        )
    remembered = options.parse(words)
    for name in _REMEMBERED:
        if hasattr(remembered, name):
            setattr(options, name, getattr(remembered, name))
    return f"{RESUMED}{note}" if note else ""


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


def words_of(run: Path, manifest: Manifest) -> list[str]:
    """The command that a run was started with, by the run's own copies of the user's files. Raises ValueError."""
    kept = {path.name: str(path) for path in (run / KEPT).glob(f"*{SUFFIX}")}
    words = [kept.get(Path(word).name, word) for word in shlex.split(manifest.command)[1:]]
    if (conf := run / KEPT_CONF).is_file() and "--broker-conf" in words:
        place = words.index("--broker-conf") + 1
        words[place : place + 1] = [str(conf)]
    return words


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
    """The command that repeats this run, of the options that decide what it is."""
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
    return shlex.join(words)
