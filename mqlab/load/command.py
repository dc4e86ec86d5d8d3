"""Carries ``mqlab load`` out: a plan of one deployment, one arm and one trial, by the same runner as an incident's."""

from __future__ import annotations

import argparse
import dataclasses
import shlex
import sys
import threading
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from harness.backends.cluster import Cluster, ClusterSpec
from harness.backends.given import GivenCluster
from harness.backends.local import start_local
from harness.backends.nodes import require_topology
from harness.backends.proxy_node import proxy_jars
from harness.backends.reached import Reached
from harness.backends.topologies import TOPOLOGIES
from harness.clients.python.clients import CLIENTS
from harness.errors import ClientError, DiskFullError, Interrupted, PortTakenError, UsageError
from harness.generator.load_run import DAY_S, LOAD
from harness.generator.locust_processes import NO_PART
from harness.generator.options import LoadOptions
from harness.generator.target import Target, find_target
from harness.host import facts
from harness.host.ports import take_port
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.load.own import OwnLoad
from harness.model.cells import Parameters
from harness.model.cluster import Topology, UserSettings
from harness.model.scenario import Phases
from harness.paths import state_home
from harness.plan.cost import Cost
from harness.plan.deployments import PlannedDeployment, PlannedTrial
from harness.plan.overrides import override_notes
from harness.plan.schedule import Plan, Schedule
from harness.protocol.targets import check_allowed, parse_networks
from harness.releases.border import masked_words
from harness.releases.jars import recorded_releases
from harness.releases.java import Java, find_java
from harness.releases.settings import Feature, has
from harness.run.context import RunContext
from harness.run.display import Display
from harness.run.run_plan import run_plan
from harness.rundir.files import require_space
from harness.rundir.joined import RUN_NAME, WORKERS
from harness.rundir.layout import new_run_id
from harness.rundir.manifest import USER_SETTING, Manifest
from harness.rundir.writing import RunWriter
from harness.signals import EarlyEnd, ending_early
from mqlab.ask.looking import prepare
from mqlab.load.faults import check_faults, named_nodes, print_dry_run, reach_nodes, settings_for
from mqlab.load.options import load_options_of
from mqlab.options import access_of, read_settings
from scenarios.own_load import OWN_LOAD

RECORD_BYTES = 700
"""Records of one message: its send and its consumption."""
CLUSTER_BYTES = 600 * 2**20
UNBOUNDED_S = 600.0
"""Disk space is asked for so many seconds of a load without an end."""


@dataclass(frozen=True, kw_only=True)
class Ran:
    """A load that ran: its run directory, and whether its user stopped it before its time."""

    path: Path
    is_stopped: bool


def load(options: argparse.Namespace, console: Console) -> Ran | None:
    """Run one load; None after a dry run of its faults, which is printed.

    Raises:
        UsageError: the options contradict each other.
        ConfigurationError: a fault cannot be put on this load, or not on this host.
        TargetNotAllowedError: an address lies outside of what is allowed.
        PortTakenError: a port that was asked for is in use.
        ClientError: the load failed; what was recorded is kept.
        DiskFullError: the disk has no room left; what was recorded before is kept.
        Interrupted: stopped by the user before it sent anything, or twice; what was recorded is kept.
    """
    run_id = new_run_id()
    asked = load_options_of(options, options.run_name or run_id)
    release = "" if options.namesrv else str(options.release or recorded_releases()[-1])
    user = _user_settings(options, release, console)
    take_ports(options)
    topology = Topology(name="given") if options.namesrv else TOPOLOGIES[options.topology]
    named = named_nodes(options)
    check_faults(options.fault, topology, options, named)
    _check_proxy(options, release)
    if release:
        require_topology(topology, release)
    java = find_java()
    path = options.out or Path("runs") / run_id
    target, reached = None, Reached()
    if options.namesrv:
        reached = reach_nodes(options, named, _name_servers(options))
        if options.dry_run:
            print_dry_run(options, reached)
            return None
        target = _find(options)
        release = target.release()
        _check_proxy(options, release)
        user = read_settings(options, (options.client_release or release,), console)
    # Here Ctrl-C ends a download, and what is downloaded is told; a cluster's start would do it by itself.
    prepare(java, sorted({release, options.client_release or release}), console)
    if topology.proxies or (options.client == "grpc" and not options.proxy):
        proxy_jars(release, lambda text: console.print(text, highlight=False))
    own = _own_load(options, asked, run_id)
    plan = _plan(options, own, release, topology)
    for note in override_notes(plan, user):
        console.print(note, markup=False, highlight=False)
    require_space(path, int(CLUSTER_BYTES + RECORD_BYTES * own.rate_hz * (asked.duration_s or UNBOUNDED_S)))
    for one in clean(state_home()):
        console.print(f"left by an earlier run: {one}", markup=False, highlight=False)
    with (
        RunWriter.create(path, _manifest(run_id, options, release, java, user, own)) as run,
        Leases.open(state_home()) as leases,
        Display(console, plan) as display,
    ):
        if options.web:
            display.say(f"Locust's page: http://127.0.0.1:{options.web}")
        cancel, early = threading.Event(), EarlyEnd()
        with ending_early(early, cancel, display.say):
            context = RunContext(
                run=run,
                leases=leases,
                java=java,
                start_cluster=lambda spec, folder, until_s: _start(
                    spec, folder, leases, java, until_s, target, reached
                ),
                backend="given" if target else "local",
                observer=display,
                user=user,
                client_releases={release: options.client_release or release},
                until_s=DAY_S,
                cancel=cancel,
                early_end=early,
            )
            try:
                run_plan(context, plan)
            except Interrupted as error:
                raise Interrupted(
                    f"stopped; what was recorded is in {path}",
                    advice=f"mqlab runs analyze {path} says what can be said of it.",
                ) from error
            except DiskFullError as error:
                raise DiskFullError(
                    str(error),
                    advice=f"Make room, or choose a folder on another disk with --out. mqlab runs analyze {path} says what can be "
                    "said of what was recorded.",
                ) from error
        trial = run.trial(LOAD).read()
        for change in run.deployment(LOAD).read().overrides:
            run.add_note(f"the lab overrides {change}")
    if trial.status != "complete":
        kind = UsageError if NO_PART in trial.error else ClientError
        raise kind(f"the load is {trial.status}: {trial.error}", advice=f"What was recorded is in {path}.")
    return Ran(path=path, is_stopped=early.is_asked.is_set() and bool(asked.duration_s))


def take_ports(options: argparse.Namespace) -> None:
    """Raises PortTakenError: somebody else listens on a port that Locust was to have. The page there would be another's."""
    for option, port in (("--web", options.web), ("--master-port", options.master_port)):
        if port:
            try:
                take_port(port)
            except PortTakenError as error:
                raise PortTakenError(str(error), advice=f"Give {option} another, or end what listens there.") from error


def _name_servers(options: argparse.Namespace) -> tuple[str, ...]:
    return tuple(part.strip() for part in options.namesrv.split(",") if part.strip())


def _find(options: argparse.Namespace) -> Target:
    create = options.queues if options.create_topic else None
    return find_target(
        _name_servers(options), options.topic, allowed=parse_networks(options.allow_target), create_queues=create,
        access=access_of(options),
    )  # fmt: skip


def _start(
    spec: ClusterSpec, folder: Path, leases: Leases, java: Java, until_s: float, target: Target | None, reached: Reached
) -> Cluster:
    if target is None:
        return start_local(spec, folder, leases, java, until_s=until_s)
    return GivenCluster(
        spec, folder, leases, namesrv=target.namesrv, brokers=target.brokers, access=target.access,
        reached=reached, until_s=until_s,
    )  # fmt: skip


def _user_settings(options: argparse.Namespace, release: str, console: Console) -> UserSettings:
    """The user's own settings, as far as they are for what this load starts; of a given cluster they are checked later.

    Raises:
        UsageError: they are for a cluster that is there already, or for a client that has no such settings.
    """
    user = read_settings(options, (release,) if release else (), console)
    if options.namesrv and (user.broker or user.broker_jvm or options.broker_conf):
        raise UsageError(
            "the brokers of --namesrv are up already, and no setting of a broker can be given to them",
            advice="Leave --broker-conf, --set broker.KEY and --set broker-jvm.KEY out, or start a cluster with --release.",
        )
    if options.client != "java" and user.client:
        raise UsageError(
            f"--set client.KEY is for the Java client, and --client {options.client} has no such settings",
            advice="Leave it out, or leave --client out.",
        )
    return user


def _check_proxy(options: argparse.Namespace, release: str) -> None:
    """Raises UsageError if the release has no proxy. ``release`` is empty as long as the cluster has not been asked."""
    if options.client == "grpc" and release and not has(release, Feature.POP):
        raise UsageError(
            f"--client grpc speaks to a proxy, which asks brokers for PopMessageProcessor, and {release} has none",
            advice="Give --release 5.0.0 or a newer one, or another --client.",
        )
    if options.proxy:
        check_allowed([options.proxy], parse_networks(options.allow_target))


# --- the plan ---------------------------------------------------------------------------------------------------------


def _own_load(options: argparse.Namespace, asked: LoadOptions, run_id: str) -> OwnLoad:
    return OwnLoad(
        options=asked,
        client=options.client,
        create_queues=None if options.namesrv else options.queues,
        allowed=parse_networks(options.allow_target),
        access=access_of(options),
        proxy=options.proxy or "",
        workers=options.processes,
        wait_for=_workers(options),
        bind=options.bind,
        master_port=options.master_port,
        web_port=options.web,
        join=options.join or "",
        # A name of its own, so that it is nobody else's group and has no offsets yet.
        group=f"mqlab-load-{run_id}",
        consumers=options.consumers,
        ordered=options.ordered,
        keep_groups=options.keep_groups,
    )


def _workers(options: argparse.Namespace) -> int:
    """Locust's workers in all, those on other machines too."""
    return int(max(options.expect_workers, options.processes))


def _params(options: argparse.Namespace, asked: LoadOptions) -> Parameters:
    amount = (
        {"in_flight": int(asked.users * asked.per_user)} if asked.closed else {"rate_hz": asked.users * asked.per_user}
    )
    return {
        **amount,
        "mode": asked.sends.mode,
        "route": asked.sends.route,
        "size": options.size,
        "shape": "replay" if options.replay else options.shape,
        "processes": options.processes,
        "consumers": options.consumers,
        "ordered": "yes" if options.ordered else "no",
        **({RUN_NAME: options.run_name, WORKERS: _workers(options)} if options.run_name else {}),
    }


def _plan(options: argparse.Namespace, own: OwnLoad, release: str, topology: Topology) -> Plan:
    seconds = own.options.duration_s
    phases = Phases(steady_s=0.0, hold_s_min=0.0, hold_s_max=seconds, recover_s=0.0)
    arm = dataclasses.replace(
        OWN_LOAD.arm("incident" if options.fault else "baseline"),
        load=own,
        steps=options.fault,
        every_s=options.fault_every or 0.0,
    )
    scenario = dataclasses.replace(OWN_LOAD, topology=topology, arms=(arm,), phases=phases)
    settings = arm.broker
    for timed in options.fault:
        settings = settings_for(settings, timed)
    trial = PlannedTrial(
        id=LOAD,
        arm=arm,
        params=_params(options, own.options),
        repetition=1,
        seed=options.seed,
        cost=Cost(seconds=seconds or UNBOUNDED_S),
    )
    deployment = PlannedDeployment(
        id=LOAD, scenario=scenario, release=release, settings=settings, index=1, trials=(trial,)
    )
    return Plan(schedule=Schedule(deployments=(deployment,), host=facts.host_of_plan()), budget="full")


def _manifest(
    run_id: str, options: argparse.Namespace, release: str, java: Java, user: UserSettings, own: OwnLoad
) -> Manifest:
    commit = facts.own_commit()
    notes = [f"{USER_SETTING}{key}={value}" for key, value in user.by_prefix().items()]
    if own.client in CLIENTS:
        can = CLIENTS[own.client].can
        notes += [f"{can.name}: {limit}" for limit in can.limits]
        if own.consumers:
            notes.append(f"consumptions are those of the client java {release}")
    return Manifest(
        run=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=shlex.join(["mqlab", *masked_words(sys.argv[1:])]),
        commit=commit.id,
        dirty=commit.dirty,
        seed=options.seed,
        incidents=(LOAD,),
        releases=(release,),
        client_releases={release: options.client_release or release},
        backend="given" if options.namesrv else "local",
        budget="full",
        rules={},
        host=facts.manifest_facts(java),
        trials=(LOAD,),
        notes=tuple(notes),
    )
