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
from harness.backends.class_archives import UP_S_MAX, have_archives, leave_archives
from harness.errors import (
    EXIT_OK,
    ConfigurationError,
    Interrupted,
    UsageError,
)
from harness.faults.injections import USUAL_INJECTION, injections_of
from harness.host import facts
from harness.host.abilities import Abilities
from harness.host.signals import cancelling
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.leases.store import state_home
from harness.model.cluster import UserSettings
from harness.model.scenario import Scenario
from harness.plan.cost import Costs
from harness.plan.request import BudgetName, Request
from harness.plan.schedule import Plan, make_plan
from harness.releases.jars import jars_sha256, known_releases
from harness.releases.java import find_java
from harness.run.context import RunContext
from harness.run.display import Display, duration
from harness.run.run_plan import run_plan
from harness.rundir.files import require_space
from harness.rundir.layout import new_run_id
from harness.rundir.manifest import USER_SETTING, Manifest
from harness.rundir.writing import RunWriter
from mqlab.judging import archive_spark, judge, print_report
from mqlab.looking import prepare
from mqlab.options import DEFAULT_RUNS, read_settings
from mqlab.own_incident import SUFFIX, incidents_of, keep_files
from mqlab.recording import register_run
from mqlab.resume import command_line, complete_trials, restore_options, rules_of

ARCHIVE_NODES_MIN = 20
"""Fewer nodes of a release save no more than the archives cost."""


def verify(options: argparse.Namespace, console: Console) -> int:
    """Run incidents and judge their claims; returns the exit code of the verdicts."""
    started = time.monotonic()
    if options.anyway and not options.resume:
        raise UsageError("--anyway says how to resume", advice="Give it together with --resume RUN_DIR.")
    if options.register and options.resume:
        raise UsageError(
            "a run is registered when it starts", advice="Start it with --register; --resume goes on with it."
        )
    if options.register and any(word.endswith(SUFFIX) for word in options.incidents):
        raise UsageError("the record is of the lab's own incidents", advice="Leave --register out for one of yours.")
    resumed = restore_options(options) if options.resume else ""
    java = find_java()
    for one in clean(state_home()):
        console.print(f"left by an earlier run: {one}", markup=False, highlight=False)
    budget: BudgetName = "quick" if options.quick or not (options.incidents or options.all) else "full"
    unnamed = scenarios.ALL if options.all else scenarios.QUICK
    chosen = incidents_of(options.incidents) or list(unnamed)
    unnamed_quick = budget == "quick" and not options.incidents and not options.all
    default = (known_releases()[0], known_releases()[-1]) if unnamed_quick else known_releases()
    releases = options.release or default
    arms = _arms(options.arm, chosen)
    injections, injection_notes = _injections(options, chosen, budget)
    prepare(java, releases, console)
    user = read_settings(options, releases, console)
    request = Request(
        scenarios=chosen, releases=releases, budget=budget, trials=options.trials, seed=options.seed, arms=arms,
        user=user, injections=injections, abilities=Abilities.of_this_host(),
        backend=options.backend,
    )  # fmt: skip
    host = facts.host_of_plan()
    plan = make_plan(request, host, Costs.of(DEFAULT_RUNS, host.cores))
    plan = dataclasses.replace(plan, notes=(*plan.notes, *injection_notes))
    if options.resume:
        plan = plan.without(complete_trials(options.resume))
    _print_plan(plan, request, console)
    if options.plan:
        return EXIT_OK
    run_id = new_run_id()
    path = options.resume or options.out or DEFAULT_RUNS / run_id
    require_space(path, plan.disk_bytes)
    backend = choose_backend(options.backend, options.image or "", releases, java, console.print)
    archive_spark(options, java, console)
    manifest = _manifest(run_id, request, plan, backend, options)
    if options.register:
        register_run(manifest)
    with _open_run(options.resume, path, manifest) as run:
        keep_files(run.path, () if options.resume else options.incidents)
        if resumed:
            run.add_note(resumed)
        if backend.docker is None:
            _archive_nodes(plan, backend, console)
        _run(run, plan, backend, user, console)
        findings_code = judge(run.path, chosen, options, java, console)
    console.print(f"finished in {duration(time.monotonic() - started)}", highlight=False)
    print_report(run.path, options)
    return findings_code


def _arms(names: tuple[str, ...], chosen: Sequence[Scenario]) -> tuple[str, ...]:
    known = {arm.name for scenario in chosen for arm in scenario.arms}
    for name in names:
        if name not in known:
            raise UsageError.unknown("arm", name, known)
    return names


def _injections(
    options: argparse.Namespace, chosen: Sequence[Scenario], budget: BudgetName
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The injections, and a note for each that a full run would have taken and that this host cannot."""
    offered = {name: injection for scenario in chosen for name, injection in injections_of(scenario).items()}
    asked = options.injection
    for name in asked:
        if name not in offered:
            raise UsageError.unknown("injection", name, offered)
    wanted = asked or (tuple(offered) if budget == "full" else (USUAL_INJECTION,))
    obstacles = {
        name: reason
        for name in wanted
        if name in offered and (reason := offered[name].can(Abilities.of_this_host())) is not None
    }
    if asked and obstacles:
        name, reason = next(iter(obstacles.items()))
        raise ConfigurationError(f"--injection {name} cannot be done here: {reason}", advice="See `mqlab doctor`.")
    injections = tuple(name for name in wanted if name not in obstacles)
    if offered:
        # A resumed run makes the trials that it planned, whatever this host can by then.
        options.injection = injections
    return injections, tuple(f"appends were not stalled by {name}: {reason}" for name, reason in obstacles.items())


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
        budget=plan.budget,
        rules=rules_of(request.scenarios),
        jars={release: jars_sha256(release) for release in request.releases},
        host=facts.manifest_facts(backend.java),
        trials=tuple(trial.id for _, trial in plan.trials()),
        notes=(
            *plan.notes,
            *backend.notes(),
            *(f"{USER_SETTING}{key}={value}" for key, value in request.user.by_prefix().items()),
        ),
    )


def _open_run(resume: Path | None, path: Path, manifest: Manifest) -> RunWriter:
    return RunWriter.open(resume) if resume else RunWriter.create(path, manifest)


def _archive_nodes(plan: Plan, backend: Backend, console: Console) -> None:
    """Leave the archives from which nodes start sooner, for each release that starts so many that it is worth it."""
    nodes: Counter[str] = Counter()
    for deployment in plan.deployments():
        nodes[deployment.release] += 0 if deployment.can_stall else deployment.topology.nodes
    for release, count in nodes.items():
        if count >= ARCHIVE_NODES_MIN and not have_archives(release, backend.java):
            console.print(
                f"RocketMQ {release}: its classes are archived for quicker starts, once, in a quarter of a minute",
                highlight=False,
            )
            with Leases.open(state_home()) as leases:
                leave_archives(
                    release, backend.java, lambda spec, folder: backend.start(spec, folder, leases, until_s=UP_S_MAX)
                )


def _run(run: RunWriter, plan: Plan, backend: Backend, user: UserSettings, console: Console) -> None:
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
            user=user,
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
