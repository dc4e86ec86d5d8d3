"""Carries ``mqlab load`` out: a cluster or a given one, the run directory, the load, and what is said meanwhile."""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import shlex
import sys
import threading
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rich.console import Console

from harness.backends.cluster import Cluster, ClusterSpec, namesrv_addresses
from harness.backends.local import start_local
from harness.backends.proxy import proxy_beside
from harness.backends.topologies import TOPOLOGIES
from harness.clients.python.install import LIMITS, NAMES
from harness.errors import UsageError
from harness.generator.load_run import ARM, DAY_S, GROUP, LOAD, LoadRun, Progress
from harness.generator.options import DriverSpec, LoadOptions
from harness.generator.phases import run_load
from harness.generator.senders import java_driver, python_driver
from harness.generator.target import Target, find_target
from harness.host import facts
from harness.host.signals import cancelling
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.leases.store import state_home
from harness.protocol.targets import check_allowed, parse_networks
from harness.releases.jars import PROXY_RELEASE, is_5x, known_releases
from harness.releases.java import Java, find_java
from harness.releases.node_logging import LAB_ZONE
from harness.rundir.files import require_space
from harness.rundir.layout import new_run_id
from harness.rundir.manifest import DeploymentRecord, Manifest, NodeRecord, TrialRecord
from harness.rundir.writing import RunWriter
from mqlab.load_options import load_options_of

RECORD_BYTES = 700
"""Records of one message: its send and its consumption."""
CLUSTER_BYTES = 600 * 2**20
UNBOUNDED_S = 600.0
"""Disk space is asked for so many seconds of a load without an end."""


def load(options: argparse.Namespace, console: Console) -> Path:
    """Run one load; returns its run directory.

    Raises:
        UsageError: the options contradict each other.
        TargetNotAllowedError: an address lies outside of what is allowed.
        Interrupted: stopped by the user before its time; what was recorded is kept.
    """
    run_id = new_run_id()
    asked = load_options_of(options, options.run_name or run_id)
    java = find_java()
    allowed = parse_networks(options.allow_target)
    path = options.out or Path("runs") / run_id
    rate_hz = asked.users * asked.per_user if not asked.closed else 30_000.0
    require_space(path, int(CLUSTER_BYTES + RECORD_BYTES * rate_hz * (asked.duration_s or UNBOUNDED_S)))
    for one in clean(state_home()):
        console.print(f"left by an earlier run: {one}", markup=False, highlight=False)
    release = _release(options)
    _check_proxy(options, release)
    manifest = _manifest(run_id, options, release, java)
    with (
        RunWriter.create(path, manifest) as run,
        Leases.open(state_home()) as leases,
        _cluster(options, release, run, leases, java) as namesrv,
        _proxy(options, namesrv, run, leases, java) as proxy,
    ):
        create = options.queues if not options.namesrv or options.create_topic else None
        target = find_target(namesrv, options.topic, allowed=allowed, create_queues=create)
        release = release or target.release()
        _check_proxy(options, release)
        client_release = options.client_release or release
        driver = _driver(options, client_release, java, target, proxy)
        record = _trial(asked, release, str(driver.first_line["client"]), options)
        for limit in LIMITS.get(options.client, ()):
            run.add_note(f"{NAMES[options.client]}: {limit}")
        if options.consumers and options.client != "java":
            run.add_note(f"consumptions are those of the client java {release}")
        if options.namesrv:
            run.make_deployment(_given(target, release))
        run.set_trials((LOAD,))
        cancel = threading.Event()
        with cancelling(cancel, lambda: console.print("stopping", highlight=False)):
            run_load(
                LoadRun(
                    run=run,
                    record=record,
                    target=target,
                    options=asked,
                    driver=driver,
                    leases=leases,
                    java=java,
                    processes=options.processes,
                    wait_for=max(options.expect_workers, options.processes),
                    bind=options.bind,
                    master_port=options.master_port,
                    web_port=options.web,
                    join=options.join,
                    consumers=options.consumers,
                    ordered=options.ordered,
                    say=lambda text: console.print(text, markup=False, highlight=False),
                    on_progress=_Teller(console, asked, options.web),
                    cancel=cancel,
                )
            )
    return path


def _release(options: argparse.Namespace) -> str:
    """The release of the cluster that is started; empty for a given cluster, which tells its own."""
    if options.namesrv:
        return ""
    release = options.release or known_releases()[-1]
    if release not in known_releases():
        raise UsageError.unknown("release", release, known_releases())
    return str(release)


@contextlib.contextmanager
def _cluster(
    options: argparse.Namespace, release: str, run: RunWriter, leases: Leases, java: Java
) -> Iterator[Sequence[str]]:
    """The name servers of the given cluster, or of one that lives as long as the block."""
    if options.namesrv:
        yield tuple(part.strip() for part in options.namesrv.split(",") if part.strip())
        return
    topology = TOPOLOGIES[options.topology]
    spec = ClusterSpec(name=LOAD, release=release, topology=topology)
    directory = run.make_deployment(_deployment(release, dict(vars(topology))))
    cluster: Cluster = start_local(spec, directory.path, leases, java, until_s=DAY_S)
    try:
        nodes = tuple(
            NodeRecord(name=node.name, kind=node.kind, role=node.role and ("SLAVE" if node.broker_id else "MASTER"),
                       address=node.address, pid=cluster.pid(node.name))
            for node in cluster.nodes
        )  # fmt: skip
        directory.write(dataclasses.replace(directory.read(), nodes=nodes))
        yield namesrv_addresses(cluster).split(";")
    finally:
        cluster.down()


def _deployment(release: str, topology: dict[str, str | int]) -> DeploymentRecord:
    return DeploymentRecord(
        deployment=LOAD,
        incident=LOAD,
        release=release,
        index=1,
        topology=dict(topology),
        logging="lab",
        log_zone=LAB_ZONE,
        settings={"conf": {}, "properties": {}, "environment": {}},
    )


def _given(target: Target, release: str) -> DeploymentRecord:
    """The record of a given cluster: its addresses, without logs and settings."""
    nodes = [
        NodeRecord(name=f"namesrv-{i}", kind="namesrv", role="", address=address, pid=None)
        for i, address in enumerate(target.namesrv)
    ]
    nodes += [
        NodeRecord(name=name, kind="broker", role="MASTER", address=address, pid=None)
        for name, address in target.brokers.items()
    ]
    return dataclasses.replace(_deployment(release, {"name": "given"}), nodes=tuple(nodes))


def _check_proxy(options: argparse.Namespace, release: str) -> None:
    """Raises UsageError if the release has no proxy. ``release`` is empty as long as the cluster has not been asked."""
    if options.client == "grpc" and release and not is_5x(release):
        raise UsageError(
            f"--client grpc speaks to the proxy of a 5.x cluster, and this one is {release}",
            advice=f"Give --release {PROXY_RELEASE}, or another --client.",
        )
    if options.proxy:
        check_allowed([options.proxy], parse_networks(options.allow_target))


@contextlib.contextmanager
def _proxy(
    options: argparse.Namespace, namesrv: Sequence[str], run: RunWriter, leases: Leases, java: Java
) -> Iterator[str]:
    """The address that a gRPC client speaks to: the given proxy, or one beside our own cluster; empty for other
    clients."""
    if options.client != "grpc" or options.proxy:
        yield options.proxy
        return
    home = run.deployment(LOAD).path / "nodes" / "proxy"
    with proxy_beside(";".join(namesrv), home, leases, java, until_s=DAY_S) as address:
        yield address


def _driver(options: argparse.Namespace, client_release: str, java: Java, target: Target, proxy: str) -> DriverSpec:
    if options.client == "java":
        return java_driver(client_release, java, target, is_punctual=not options.closed)
    return python_driver(options.client, target, proxy)


def _trial(asked: LoadOptions, release: str, client: str, options: argparse.Namespace) -> TrialRecord:
    amount = (
        {"in_flight": int(asked.users * asked.per_user)} if asked.closed else {"rate_hz": asked.users * asked.per_user}
    )
    return TrialRecord(
        trial=LOAD,
        incident=LOAD,
        arm=ARM,
        params={
            **amount,
            "mode": asked.sends.mode,
            "route": asked.sends.route,
            "size": options.size,
            "shape": "replay" if options.replay else options.shape,
            "processes": options.processes,
            "consumers": options.consumers,
            "ordered": "yes" if options.ordered else "no",
        },
        release=release,
        client=client,
        backend="given" if options.namesrv else "local",
        injection="none",
        deployment=LOAD,
        repetition=1,
        seed=asked.sends.seed,
        topic=asked.sends.topic,
        groups=(GROUP,) if options.consumers else (),
    )


def _manifest(run_id: str, options: argparse.Namespace, release: str, java: Java) -> Manifest:
    commit = facts.own_commit()
    return Manifest(
        run=run_id,
        created=datetime.now(UTC).isoformat(timespec="seconds"),
        command=shlex.join(["mqlab", *sys.argv[1:]]),
        commit=commit.id,
        dirty=commit.dirty,
        seed=options.seed,
        incidents=(LOAD,),
        releases=(release,) if release else (),
        client_releases={release: options.client_release or release} if release else {},
        backend="given" if options.namesrv else "local",
        effort="full",
        rules={},
        host=facts.manifest_facts(java),
    )


class _Teller:
    """Prints a line of progress every few seconds."""

    EVERY = 5

    def __init__(self, console: Console, asked: LoadOptions, web_port: int) -> None:
        self._console = console
        self._asked = asked
        self._heard = 0
        if web_port:
            console.print(f"Locust's page: http://127.0.0.1:{web_port}", markup=False, highlight=False)

    def __call__(self, progress: Progress) -> None:
        self._heard += 1
        if self._heard % self.EVERY:
            return
        late = "" if self._asked.closed else f", starts late by {progress.late_p999_ms:.1f} ms (p99.9)"
        self._console.print(
            f"{progress.users} users, {progress.rate_hz:,.0f} messages/s, {progress.requests:,} ended, "
            f"{progress.failures:,} failed{late}",
            markup=False,
            highlight=False,
        )
