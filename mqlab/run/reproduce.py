"""``mqlab reproduce``: one trial of one arm under the user's own settings, to look at or to be told what it comes to."""

from __future__ import annotations

import argparse
import dataclasses
import time
from pathlib import Path

from rich.console import Console

import scenarios
from harness.backends.topologies import TOPOLOGIES
from harness.errors import EXIT_OK, ClientError, ConfigurationError, Interrupted, UsageError
from harness.faults.injections import USUAL_INJECTION
from harness.host.abilities import Abilities
from harness.model.cluster import UserSettings
from harness.model.scenario import Scenario
from harness.plan.request import Request
from harness.releases.jars import recorded_releases
from harness.releases.java import Java
from harness.run.context import DEPLOYMENT_S_MAX
from harness.rundir.reading import read_run_directory
from mqlab.ask.looking import prepare
from mqlab.ask.recorded import committed_ledger
from mqlab.console import print_lines
from mqlab.kinds import INCIDENT_OR_BUNDLE, NAME, NEW_FOLDER, PARAMETER, RELEASE, SEED, is_bundle, number
from mqlab.options import (
    DEFAULT_RUNS,
    Adder,
    add_backend_options,
    add_bundle,
    add_settings,
    add_spark,
    print_json,
    read_settings,
)
from mqlab.own.own_incident import incidents_of
from mqlab.run.hold import MINUTES, MINUTES_MAX, Hold
from mqlab.run.judging import analyse
from mqlab.run.on_release import on_releases
from mqlab.run.one_trial import one_trial, params_of
from mqlab.run.replay import replay
from mqlab.run.running import Job, carry_out, make_ready
from mqlab.run.verify import injections_asked


def add_command(add: Adder) -> None:
    """``reproduce``."""
    command = add("reproduce", reproduce, "one trial of one arm of an incident, with your settings, topology and load")
    command.add_argument(
        "incidents",
        nargs=1,
        type=INCIDENT_OR_BUNDLE,
        metavar="INCIDENT",
        help="see `mqlab explain`, or a file of your own, or a bundle (FILE.tar.gz), which is replayed as it was made",
    )
    newest = recorded_releases()[-1]
    command.add_argument("--release", type=RELEASE, metavar="R", help=f"default: {newest}")
    command.add_argument("--client-release", type=RELEASE, metavar="R", help="of the clients; default: the cluster's")
    command.add_argument("--arm", type=NAME, metavar="ARM", help="default: its first incident arm")
    command.add_argument(
        "--param",
        action="append",
        type=PARAMETER,
        default=[],
        metavar="NAME=VALUE",
        help="of the arm's cell, such as stall_ms=900 or rate_hz=2000, or of its load, such as groups=4 or body_bytes=1024; "
        "may be repeated",
    )
    command.add_argument("--topology", choices=sorted(TOPOLOGIES), help="of the cluster; default: the incident's own")
    command.add_argument(
        "--injection", type=NAME, metavar="NAME", help="how appends are stalled: byteman or freeze; default: byteman"
    )
    command.add_argument(
        "--hold",
        nargs="?",
        const=MINUTES,
        type=number(0.05, MINUTES_MAX),
        metavar="MINUTES",
        help="keep cluster and load up when the fault is made, say how to look inside, and end everything after so long "
        f"or at Ctrl-C; default: {MINUTES:g}",
    )
    command.add_argument("--seed", type=SEED, default=1, help="draws the load; default: 1")
    command.add_argument(
        "--out", type=NEW_FOLDER, metavar="DIR", help=f"run directory; default: a new one in {DEFAULT_RUNS}/"
    )
    command.add_argument("--plan", action="store_true", help="say what would be run, how long it takes, and stop")
    add_backend_options(command)
    add_settings(command)
    add_bundle(command)
    command.add_argument(
        "--anyway", action="store_true", help="replay a bundle by other code than the one that made it"
    )
    command.add_argument(
        "--trust",
        action="store_true",
        help="replay a bundle although it brings Python, an image or JVM options with it, which are run then",
    )
    command.add_argument("--strict", action="store_true", help="of a bundle: exit 1 when a verdict or a figure differs")
    add_spark(command)
    command.add_argument("--json", action="store_true", help="print measures and findings as JSON on standard output")
    command.set_defaults(
        verb="reproduce", all=False, quick=False, trials=None, register=False, resume=None, of_bundle=False
    )


def reproduce(options: argparse.Namespace, console: Console) -> int:
    """Run the trial, and say what it showed; with ``--hold`` keep it at the moment that matters instead."""
    if options.hold and options.bundle:
        raise UsageError(
            "a trial that is held is not judged, so there is no bundle of it", advice="Leave one of the two out."
        )
    if is_bundle(options.incidents[0]):
        return replay(options, console)
    if options.anyway or options.trust or options.strict:
        raise UsageError("--anyway, --trust and --strict are about a bundle", advice="Leave them out.")
    started = time.monotonic()
    options.release = options.release or recorded_releases()[-1]
    params = params_of(options.param)
    (found,) = on_releases(incidents_of(options.incidents), (options.release,))
    hold_s = 60 * (options.hold or 0.0)
    chosen = one_trial(
        found, arm=options.arm or "", release=options.release, topology=options.topology or "", params=params,
        hold_s=hold_s,
    )  # fmt: skip
    java = make_ready(console)
    prepare(java, sorted({options.release, options.client_release or options.release}), console)
    request = _request(options, chosen, read_settings(options, (options.release,), console))
    hold = Hold(options.hold, java) if options.hold else None
    job = Job(
        request=request, java=java, started=started, notes=_notes(found, chosen), resumed_by="",
        client_release=options.client_release or "", at_moment=hold, until_s=DEPLOYMENT_S_MAX + hold_s,
    )  # fmt: skip
    try:
        return carry_out(job, options, console, lambda path: _judge(path, chosen, options, java, console))
    except Interrupted:
        if hold is None or hold.run is None:
            raise
        print(f"the hold is over, and nothing is left up; what was recorded is in {hold.run}")
        return EXIT_OK


def _request(options: argparse.Namespace, chosen: Scenario, user: UserSettings) -> Request:
    options.injection = (options.injection,) if options.injection else ()
    injections, _ = injections_asked(options, [chosen], "quick")
    request = Request(
        scenarios=[chosen], releases=(options.release,), seed=options.seed, user=user,
        injections=injections or (USUAL_INJECTION,), abilities=Abilities.of_this_host(), backend=options.backend,
    )  # fmt: skip
    for arm, reason in request.left_out(chosen).items():
        raise ConfigurationError(f"arm {arm} cannot be run here: {reason}", advice="See `mqlab doctor`.")
    return request


def _notes(whole: Scenario, chosen: Scenario) -> tuple[str, ...]:
    (arm,) = chosen.arms
    usual = whole.arm(arm.name).topology or whole.topology
    return (
        f"{whole.name}: one trial of arm {arm.name} alone, so that no claim is decided (mqlab reproduce)",
        *((f"topology {chosen.topology.name} instead of {usual.name}",) if chosen.topology != usual else ()),
    )


def _judge(path: Path, chosen: Scenario, options: argparse.Namespace, java: Java, console: Console) -> int:
    trial = read_run_directory(path).trials[-1]
    if trial.status != "complete":
        raise ClientError(
            f"the trial is {trial.status}: {trial.error or 'it left nothing'}",
            advice=f"What was recorded is in {path}.",
        )
    from analysis.ledger import agreement
    from analysis.report.one_trial import trial_lines
    from analysis.report.terminal import summary_lines

    data = analyse(path, [chosen], options, java, console)
    if options.json:
        print_json(
            {
                "trials": [dataclasses.asdict(one) for one in data.trials],
                "measured": [dataclasses.asdict(one) for one in data.distributions],
                "findings": [dataclasses.asdict(one) for one in data.findings],
            }
        )
        return EXIT_OK
    print_lines(trial_lines(data))
    if not data.findings:
        print("no claim is about this arm with these parameters")
    elif chosen.name in {one.name for one in scenarios.ALL}:
        print_lines(agreement.lines(agreement.agreements(data.findings, committed_ledger())))
    else:
        print_lines(summary_lines(data.findings))
    return EXIT_OK
