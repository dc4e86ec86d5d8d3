"""Carries a request out for `mqlab verify` and `mqlab reproduce`: a plan, a recorded run of it, and what is made of that."""

from __future__ import annotations

import argparse
import dataclasses
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from analysis.analyst import Analyst
from harness.backends.choose import Backend, choose_backend
from harness.backends.class_archives import UP_S_MAX, have_archives, leave_archives
from harness.errors import EXIT_FAILED, EXIT_OK, ConfigurationError, Interrupted, LedgerError
from harness.host import facts
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.paths import state_home
from harness.plan.cost import Costs
from harness.plan.overrides import override_notes
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.printable import counted
from harness.releases.jars import jars_sha256
from harness.releases.java import Java, find_java
from harness.run.context import DEPLOYMENT_S_MAX, AtMoment, RunContext
from harness.run.display import Display, duration
from harness.run.run_plan import run_plan
from harness.rundir.files import require_space
from harness.rundir.layout import new_run_id
from harness.rundir.manifest import USER_SETTING, Manifest, TrialRecord
from harness.rundir.reading import read_run_directory
from harness.rundir.writing import RunWriter
from harness.signals import cancelling
from mqlab.ask.recorded import FOLDER_OF_RECORD
from mqlab.options import DEFAULT_RUNS
from mqlab.own.own_incident import keep_files
from mqlab.run.bundle import write_bundle
from mqlab.run.first_answer import FirstAnswer
from mqlab.run.judging import archive_spark, print_report
from mqlab.run.resume import command_line, finished_trials, rules_of
from mqlab.run.trust import remember_named

ARCHIVE_NODES_MIN = 20
"""Fewer nodes of a release save no more than the archives cost."""


@dataclass(frozen=True, kw_only=True)
class Job:
    """What is to be carried out, and what a reader of its report has to know of it."""

    request: Request
    java: Java
    started: float
    """Seconds of the monotonic clock when the command began."""
    notes: tuple[str, ...] = ()
    analyst: Analyst | None = None
    """Of a quick run: gives the first answer, and judges the whole."""
    resumed: str = ""
    """By what the code is another than that of the run's start."""
    client_release: str = ""
    """Of the clients where it is not the cluster's."""
    resumed_by: str = "verify"
    """The command whose ``--resume`` goes on with it; empty where none does."""
    further: Callable[[Path], Request | None] = lambda run: None
    """Asked when everything has been run: what is to be run beside it, which holds what has been; None when that is all."""
    at_moment: AtMoment | None = None
    until_s: float = DEPLOYMENT_S_MAX


def make_ready(console: Console) -> Java:
    """End what an earlier run left, and find Java. Raises JavaNotFoundError."""
    java = find_java()
    for one in clean(state_home()):
        console.print(f"left by an earlier run: {one}", markup=False, highlight=False)
    return java


def carry_out(job: Job, options: argparse.Namespace, console: Console, judge: Callable[[Path], int]) -> int:
    """Run it, or with ``--plan`` say what would be run; ``judge`` gives the exit code of a run directory.

    Raises Interrupted, with the run's folder, when the user stopped it.
    """
    request = job.request
    plan = plan_of(request)
    plan = dataclasses.replace(plan, notes=(*plan.notes, *job.notes, *override_notes(plan, request.user)))
    _require_trials(plan, request)
    finished: frozenset[str] = frozenset()
    if options.resume:
        with RunWriter.open(options.resume) as earlier:
            finished = finished_trials(earlier)
        plan = plan.without(finished)
    _print_plan(plan, request, console)
    if options.plan:
        return EXIT_OK
    run_id = new_run_id()
    path = options.resume or options.out or DEFAULT_RUNS / run_id
    require_space(path, plan.disk_bytes)
    backend = choose_backend(options.backend, options.image or "", request.releases, job.java, console.print)
    if job.at_moment is None and job.analyst is None:  # it has started already
        archive_spark(options, job.java, console)
    manifest = _manifest(run_id, job, plan, backend, options)
    if options.register:
        _register(manifest)
    with RunWriter.open(path) if options.resume else RunWriter.create(path, manifest) as run:
        if options.resume:
            run.set_aside([name for name in run.manifest.begun if name not in finished])
        else:
            keep_files(run.path, options.incidents, options.broker_conf)
            if not options.of_bundle:
                remember_named(options)
        if job.resumed:
            run.add_note(job.resumed)
        if backend.docker is None:
            _archive_nodes(plan, backend, console)
        if job.analyst is not None and not job.analyst.is_ready():
            console.print("no first answer: Spark did not start beside the run", highlight=False)
        _run(run, plan, backend, job, console)
        _run_further(run, backend, job, console)
        _tell_client_overrides(run, console)
        code = judge(run.path) or code_of(read_run_directory(run.path).trials)
        if code == EXIT_FAILED:
            console.print("no trial came to its end: the report says why of each", highlight=False)
        if options.bundle:
            write_bundle(run.path, options.bundle)
            console.print(f"mqlab reproduce {options.bundle} replays it", markup=False, highlight=False, soft_wrap=True)
    console.print(f"finished in {duration(time.monotonic() - job.started)}", highlight=False)
    print_report(run.path, options)
    return code


def code_of(trials: Sequence[TrialRecord]) -> int:
    """The exit code of a run that was judged: one of which no trial came to its end has failed, whatever its report says."""
    return EXIT_OK if any(one.status == "complete" for one in trials) else EXIT_FAILED


def plan_of(request: Request) -> Plan:
    """For this host, by what earlier runs took."""
    host = facts.host_of_plan()
    return make_plan(request, host, Costs.of(DEFAULT_RUNS, host.cores))


def _run_further(run: RunWriter, backend: Backend, job: Job, console: Console) -> None:
    while (request := job.further(run.path)) is not None:
        plan = plan_of(request).without(finished_trials(run))
        _print_plan(plan, request, console)
        planned = run.manifest.trials
        run.set_trials((*planned, *(trial.id for _, trial in plan.trials() if trial.id not in planned)))
        _run(run, plan, backend, job, console)


def _tell_client_overrides(run: RunWriter, console: Console) -> None:
    """What loads set themselves on clients that they have started; of brokers the plan has told it."""
    changes = [change for one in read_run_directory(run.path).deployments for change in one.overrides]
    for note in dict.fromkeys(f"the lab overrides {one}" for one in changes if one.startswith("client.")):
        if note not in run.manifest.notes:
            console.print(note, markup=False, highlight=False)
            run.add_note(note)


def _require_trials(plan: Plan, request: Request) -> None:
    """Raises ConfigurationError when nothing of what is asked for can be run."""
    if not any(plan.trials()):
        names = ", ".join(scenario.name for scenario in request.scenarios)
        why = next(iter(request.left_out_notes()), "no arm that is asked for is of these releases")
        raise ConfigurationError(
            f"{names}: nothing can be run: {why}", advice="`mqlab doctor` says what this host can do."
        )


def _print_plan(plan: Plan, request: Request, console: Console) -> None:
    for scenario in request.scenarios:
        trials = [trial for deployment, trial in plan.trials() if deployment.scenario is scenario]
        if not trials and scenario.name in request.deployments:
            continue
        cells = {(trial.arm.name, tuple(trial.params.items())) for trial in trials}
        console.print(
            f"{scenario.name}: {counted(len(trials), 'trial')} of {counted(len(cells), 'cell')} on {', '.join(request.releases)}, "
            f"{scenario.schedule}",
            highlight=False,
        )
    for note in plan.notes:
        console.print(note, markup=False, highlight=False)
    first = f"the first answer after about {duration(plan.first_answer_s)}, all " if plan.first_answer_s else ""
    console.print(
        f"expected: {first}about {duration(plan.seconds)} on an idle machine, {plan.disk_bytes / 2**20:.0f} MiB of disk",
        highlight=False,
    )


def _manifest(run_id: str, job: Job, plan: Plan, backend: Backend, options: argparse.Namespace) -> Manifest:
    commit, request = facts.own_commit(), job.request
    return Manifest(
        run=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=command_line(options),
        commit=commit.id,
        dirty=commit.dirty,
        seed=request.seed,
        incidents=tuple(scenario.name for scenario in request.scenarios),
        releases=tuple(request.releases),
        client_releases={release: job.client_release or release for release in request.releases},
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


def _run(run: RunWriter, plan: Plan, backend: Backend, job: Job, console: Console) -> None:
    cancel = threading.Event()
    with (
        Leases.open(state_home()) as leases,
        Display(console, plan, tells_late=job.at_moment is None) as display,
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
            user=job.request.user,
            client_releases=run.manifest.client_releases,
            until_s=job.until_s,
            cancel=cancel,
        )
        if plan.first is not None and job.analyst is not None:
            ask = FirstAnswer(run=run.path, analyst=job.analyst, started=job.started, cancel=cancel, say=display.say)
            context = dataclasses.replace(context, judge_first=ask)
        if job.at_moment is not None:
            context = dataclasses.replace(context, at_moment=job.at_moment)
        try:
            run_plan(context, plan)
            if cancel.is_set():
                # The trials had come to their end already, and nothing looked again.
                raise Interrupted("stopped by the user")
        except Interrupted as error:
            raise Interrupted(
                f"stopped; what was recorded is in {run.path}",
                advice=how_to_go_on(job.resumed_by, run.path),
            ) from error


def how_to_go_on(command: str, run: Path) -> str:
    """Advice to whom has stopped a run, by the command that goes on with it; empty where none does."""
    or_judge = f", or judge it as it is with mqlab runs analyze {run}" if command == "verify" else ""
    return f"Go on with mqlab {command} --resume {run}{or_judge}." if command else ""


def _register(manifest: Manifest) -> None:
    """Before the first trial of `mqlab verify --register`. Raises LedgerError."""
    from analysis.ledger.add import register

    if not FOLDER_OF_RECORD.is_dir():
        raise LedgerError(f"there is no {FOLDER_OF_RECORD}", advice="The record is in a checkout, not in a wheel.")
    register(FOLDER_OF_RECORD, manifest)
