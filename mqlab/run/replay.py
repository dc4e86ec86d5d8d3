"""A bundle is replayed: what it was made with is run again, and both are compared. Nothing that it says is believed unread."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from rich.console import Console

from analysis.verdicts.numbers import printable
from harness.errors import EXIT_MISMATCH, ConfigurationError, LabError, UsageError
from harness.releases.jars import known_releases, recorded_releases
from harness.rundir.layout import new_run_id
from harness.rundir.manifest import Manifest, read_manifest
from harness.scratch import scratch_folder
from mqlab.console import print_lines
from mqlab.options import DEFAULT_RUNS, print_json
from mqlab.run.bundle import open_bundle
from mqlab.run.recorded_command import command_of_run
from mqlab.run.resume import difference, rules_of
from mqlab.run.trust import files_of_run, listed, options_of, own_names, read_answered, unanswered

if TYPE_CHECKING:
    from analysis.report.document import ReportData

SAID_BY_IT = (
    "arm", "backend", "broker_conf", "client_release", "image", "injection", "param", "release", "seed", "set", "topology",
)  # fmt: skip
"""Options of ``mqlab reproduce`` that a bundle has its own of."""


def replay(options: argparse.Namespace, console: Console) -> int:
    """Run what a bundle says again, and compare; returns 1 where that is asked for and something differs."""
    file = Path(options.incidents[0])
    usual = options.parse(["reproduce", "append-stall"])
    if given := [name for name in SAID_BY_IT if getattr(options, name) != getattr(usual, name)]:
        raise UsageError(
            f"--{given[0].replace('_', '-')}: a bundle says itself what is run",
            advice="Leave it out, or name an incident.",
        )
    with scratch_folder() as place:
        run = open_bundle(file, place)
        again = _options_of(file, run, options, console)
        # What is printed has to be JSON alone where that is asked for.
        with contextlib.redirect_stdout(sys.stderr) if options.json else contextlib.nullcontext():
            code: int = again.command(again, console)
        if code or again.plan or options.hold:
            return code
        return _compare(again.out, run, options)


def _options_of(file: Path, run: Path, options: argparse.Namespace, console: Console) -> argparse.Namespace:
    """The options that its run was made with, and of this command where and how it is run.

    Raises ConfigurationError: it is of other code or of an unknown release, or what it brings was not asked for.
    """
    try:
        manifest = read_manifest(run)
        _report_of(run)
    except (LabError, ValueError, OSError, RecursionError) as error:
        raise _refused(file, str(error), "Make it anew with --bundle.") from error
    named = {*manifest.releases, *manifest.client_releases.values()}
    if unknown := sorted(named - {*known_releases()}):
        raise _refused(
            file, f"it is of RocketMQ {unknown[0]}",
            "mqlab cluster fetch --release RELEASE learns a release of Maven Central, and a build by its path.",
        )  # fmt: skip
    try:
        again = command_of_run(run, manifest, options.parse, ("verify", "reproduce"))
        files = files_of_run(run, (*manifest.incidents, *own_names(again).values()))
    except ConfigurationError as error:
        raise _refused(file, error.message) from error
    if asked_for := unanswered([*files.values(), *options_of(again)], trust=options.trust):
        raise _refused(
            file, f"it brings {listed(asked_for)} with it, which would be run here",
            f"Look at it (tar -xzf {file}), and add --trust if you do.",
        )  # fmt: skip
    of_trial = again.release or recorded_releases()[-1]
    if not {*again.release} <= named if again.verb == "verify" else of_trial not in named:
        raise _refused(file, "its command is of another release than its run")
    _set_what_is_this_hosts(file, again, options)
    try:
        rules = rules_of(read_answered(run, manifest.incidents, files))
    except LabError as error:
        raise _refused(file, str(error)) from error
    _check_code(file, manifest, rules, options, console)
    console.print(printable(f"replaying: {manifest.command}"), markup=False, highlight=False, soft_wrap=True)
    return again


def _set_what_is_this_hosts(file: Path, again: argparse.Namespace, options: argparse.Namespace) -> None:
    """Where and how it is run here."""
    again.parse, again.out = options.parse, options.out or DEFAULT_RUNS / new_run_id()
    again.resume, again.register, again.anyway, again.trust, again.strict = None, False, False, False, False
    # What a bundle names was not named by the user.
    again.json, again.of_bundle = False, True
    for name in ("plan", "hold", "bundle", "spark_master", "spark_conf"):
        setattr(again, name, getattr(options, name))
    if again.verb == "verify" and options.hold:
        raise _refused(file, "a run of many trials cannot be held", "Leave --hold out.")


def _check_code(
    file: Path, manifest: Manifest, rules: Mapping[str, str], options: argparse.Namespace, console: Console
) -> None:
    # A single trial's manifest has the rules of the claims that speak of it.
    other = difference(manifest, {claim: rule for claim, rule in rules.items() if claim in manifest.rules})
    if other and not options.anyway:
        raise _refused(
            file, f"it was {other}", "Replay it by the code that made it, or add --anyway: what differs may then be the code's."
        )  # fmt: skip
    if other:
        console.print(printable(f"it was {other}"), markup=False, highlight=False, soft_wrap=True)


def _compare(now: Path, then: Path, options: argparse.Namespace) -> int:
    from analysis.report.replayed import compared

    found = compared(_report_of(now), _report_of(then))
    if options.json:
        print_json({**dataclasses.asdict(found), "same": found.is_same})
    else:
        print_lines(found.lines())
    return EXIT_MISMATCH if options.strict and not found.is_same else 0


def _report_of(run: Path) -> ReportData:
    from analysis.report.document import load_report_data

    return load_report_data(run)


def _refused(file: Path, why: str, advice: str = "Give a file that `--bundle` wrote.") -> ConfigurationError:
    return ConfigurationError(f"{file} is not replayed: {printable(' '.join(why.split()))}", advice=advice)
