"""``mqlab verify``: from options to a plan, a recorded run and its verdicts."""

from __future__ import annotations

import argparse
import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

import scenarios
from harness.backends.choose import Backend, choose_backend
from harness.backends.class_archives import have_archives, leave_archives
from harness.errors import (
    EXIT_OK,
    ConfigurationError,
    Interrupted,
    UsageError,
)
from harness.faults.injections import DEFAULT_WAY, injections_of
from harness.host import facts
from harness.host.abilities import Abilities
from harness.host.signals import cancelling
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.leases.store import state_home
from harness.model.scenario import Scenario
from harness.plan.cost import Costs
from harness.plan.request import EffortName, Request
from harness.plan.schedule import Plan, make_plan
from harness.releases.jars import known_releases
from harness.releases.java import Java, find_java
from harness.run.context import RunContext
from harness.run.display import Display, duration
from harness.run.run_plan import run_plan
from harness.rundir.files import require_space
from harness.rundir.layout import new_run_id
from harness.rundir.manifest import Manifest
from harness.rundir.writing import RunWriter
from mqlab.judging import archive_spark, judge, print_report
from mqlab.looking import prepare
from mqlab.options import DEFAULT_RUNS, chosen_releases, read_user_conf
from mqlab.resume import command_line, restore_options, rules_of

ARCHIVE_NODES_MIN = 20
"""Fewer nodes of a release save no more than the archives cost."""


def verify(options: argparse.Namespace, console: Console) -> int:
    """Run incidents and judge their claims; returns the exit code of the verdicts."""
    started = time.monotonic()
    if options.anyway and not options.resume:
        raise UsageError("--anyway says how to resume", advice="Give it together with --resume RUN_DIR.")
    resumed = restore_options(options) if options.resume else ""
    java = find_java()
    for one in clean(state_home()):
        console.print(f"left by an earlier run: {one}", markup=False, highlight=False)
    effort: EffortName = "quick" if options.quick or not (options.incidents or options.all) else "full"
    unnamed = scenarios.ALL if options.all else scenarios.QUICK
    chosen = [scenarios.find(name) for name in dict.fromkeys(options.incidents)] or list(unnamed)
    unnamed_quick = effort == "quick" and not options.incidents and not options.all
    default = (known_releases()[0], known_releases()[-1]) if unnamed_quick else known_releases()
    releases = chosen_releases(options.release, default)
    arms = _arms(options.arm, chosen)
    ways, way_notes = _ways(options, chosen, effort)
    if options.trials is not None and options.trials < 1:
        raise UsageError("--trials must be at least 1", advice="Leave it out for the scenario's own number.")
    prepare(java, releases, console)
    user_conf = read_user_conf(options, releases, console)
    request = Request(
        scenarios=chosen, releases=releases, effort=effort, trials=options.trials, seed=options.seed, arms=arms,
        user_conf=user_conf, ways=ways, abilities=Abilities.of_this_host(),
    )  # fmt: skip
    host = facts.host_of_plan()
    plan = make_plan(request, host, Costs.of(DEFAULT_RUNS, host.cores))
    plan = dataclasses.replace(plan, notes=(*plan.notes, *way_notes))
    _print_plan(plan, request, console)
    if options.plan:
        return EXIT_OK
    run_id = new_run_id()
    path = options.resume or options.out or DEFAULT_RUNS / run_id
    require_space(path, plan.disk_bytes)
    backend = choose_backend(options.backend, options.image, releases, java, console.print)
    archive_spark(options, java, console)
    manifest = _manifest(run_id, request, plan, backend, options)
    with _open_run(options.resume, path, manifest) as run:
        if resumed:
            run.add_note(resumed)
        if backend.docker is None:
            _archive_nodes(plan, java, console)
        _run(run, plan, backend, user_conf, console)
        findings_code = judge(run.path, chosen, options, java, console)
    console.print(f"finished in {duration(time.monotonic() - started)}", highlight=False)
    print_report(run.path, options)
    return findings_code


def _arms(text: str, chosen: Sequence[Scenario]) -> tuple[str, ...]:
    names = tuple(part.strip() for part in text.split(",") if part.strip())
    known = {arm.name for scenario in chosen for arm in scenario.arms}
    for name in names:
        if name not in known:
            raise UsageError.unknown("arm", name, known)
    return names


def _ways(
    options: argparse.Namespace, chosen: Sequence[Scenario], effort: EffortName
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ways of injection, and a note for each that a full run would have taken and that this host cannot."""
    offered = {way: injection for scenario in chosen for way, injection in injections_of(scenario).items()}
    asked = tuple(dict.fromkeys(part.strip() for part in options.injection.split(",") if part.strip()))
    for way in asked:
        if way not in offered:
            raise UsageError.unknown("way of injection", way, offered)
    wanted = asked or (tuple(offered) if effort == "full" else (DEFAULT_WAY,))
    obstacles = {
        way: reason
        for way in wanted
        if way in offered and (reason := offered[way].can(Abilities.of_this_host())) is not None
    }
    if asked and obstacles:
        way, reason = next(iter(obstacles.items()))
        raise ConfigurationError(f"--injection {way} cannot be done here: {reason}", advice="See `mqlab doctor`.")
    ways = tuple(way for way in wanted if way not in obstacles)
    if offered:
        # A resumed run makes the trials that it planned, whatever this host can by then.
        options.injection = ",".join(ways)
    return ways, tuple(f"appends were not stalled by {way}: {reason}" for way, reason in obstacles.items())


def _print_plan(plan: Plan, request: Request, console: Console) -> None:
    for scenario in request.scenarios:
        trials = [trial for deployment, trial in plan.trials() if deployment.scenario is scenario]
        cells = {(trial.arm.name, tuple(trial.params.items())) for trial in trials}
        console.print(
            f"{scenario.name}: {len(trials)} trials of {len(cells)} cells on {', '.join(request.releases)}, "
            f"{scenario.schedule}",
            highlight=False,
        )
    for note in plan.notes:
        console.print(note, highlight=False)
    console.print(
        f"expected: about {duration(plan.seconds)} on an idle machine, {plan.disk_bytes / 2**20:.0f} MiB of disk",
        highlight=False,
    )


def _manifest(run_id: str, request: Request, plan: Plan, backend: Backend, options: argparse.Namespace) -> Manifest:
    commit = facts.own_commit()
    return Manifest(
        run=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command_line(options),
        commit=commit.id,
        dirty=commit.dirty,
        seed=request.seed,
        incidents=tuple(scenario.name for scenario in request.scenarios),
        releases=tuple(request.releases),
        client_releases={release: release for release in request.releases},
        backend=backend.name,
        effort=plan.effort,
        rules=rules_of(request.scenarios),
        host=facts.manifest_facts(backend.java),
        trials=tuple(trial.id for _, trial in plan.trials()),
        notes=(
            *plan.notes,
            *backend.notes(),
            *(f"broker setting of the user: {key}={value}" for key, value in request.user_conf.items()),
        ),
    )


def _open_run(resume: Path | None, path: Path, manifest: Manifest) -> RunWriter:
    return RunWriter.open(resume) if resume else RunWriter.create(path, manifest)


def _archive_nodes(plan: Plan, java: Java, console: Console) -> None:
    """Leave the archives from which nodes start sooner, for each release that starts so many that it is worth it."""
    nodes: Counter[str] = Counter()
    for deployment in plan.deployments():
        nodes[deployment.release] += 0 if deployment.can_stall else deployment.topology.nodes
    for release, count in nodes.items():
        if count >= ARCHIVE_NODES_MIN and not have_archives(release, java):
            console.print(
                f"RocketMQ {release}: its classes are archived for quicker starts, once, in a quarter of a minute",
                highlight=False,
            )
            with Leases.open(state_home()) as leases:
                leave_archives(release, java, leases)


def _run(run: RunWriter, plan: Plan, backend: Backend, user_conf: dict[str, str], console: Console) -> None:
    cancel = threading.Event()
    with (
        Leases.open(state_home()) as leases,
        Display(console, plan) as display,
        cancelling(
            cancel, lambda: display.say("stopping: the running trials are ended and what they recorded is kept")
        ),
    ):
        context = RunContext(
            run=run,
            leases=leases,
            java=backend.java,
            start_cluster=lambda spec, folder, until_s: backend.start(
                spec, folder, leases, until_s=until_s, run_folder=run.path
            ),
            backend=backend.name,
            observer=display,
            user_conf=user_conf,
            client_releases=run.manifest.client_releases,
            cancel=cancel,
        )
        try:
            run_plan(context, plan)
        except Interrupted as error:
            raise Interrupted(
                f"stopped; what was recorded is in {run.path}",
                advice=f"Go on with mqlab verify --resume {run.path}, or judge it as it is with mqlab analyze {run.path}.",
            ) from error
