"""Clusters that stay until they are ended, their images, and what crashed commands left behind."""

from __future__ import annotations

import argparse
import dataclasses
import shutil
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from harness.backends.choose import choose_backend
from harness.backends.cluster import ClusterSpec, grpc_addresses, masters, namesrv_addresses
from harness.backends.nodes import require_topology
from harness.backends.proxy_node import proxy_jars
from harness.backends.topologies import TOPOLOGIES
from harness.errors import (
    EXIT_FAILED,
    EXIT_OK,
    UsageError,
)
from harness.leases.healing import clean
from harness.leases.leases import Leases
from harness.leases.store import Healed, LeaseRecord, leases_in
from harness.paths import cache_home, state_home
from harness.releases.cache import remove_cache, require_mark
from harness.releases.jars import recorded_releases
from harness.releases.java import find_java
from harness.rundir.layout import new_run_id
from mqlab.ask.looking import prepare
from mqlab.kinds import HOURS, NAME, PORT, RELEASE, RELEASES_SAID
from mqlab.options import (
    Adder,
    add_backend_options,
    add_releases,
    add_settings,
    print_json,
    read_settings,
)

UP_HOURS = 8.0


def _clusters_folder() -> Path:
    return state_home() / "clusters"


def add_commands(add: Adder) -> None:
    """``cluster up``, ``cluster image`` and ``cluster down``."""
    command = add("cluster up", up, "start a cluster on loopback that stays until `mqlab cluster down`")
    add_releases(command, "the newest; the first one named is used")
    command.add_argument("--topology", choices=sorted(TOPOLOGIES), default="single", help="default: single")
    command.add_argument("--port", type=PORT, help="port of the first name server; default: a free one")
    command.add_argument(
        "--hours", type=HOURS, default=UP_HOURS, help=f"ends by itself after so long; default: {UP_HOURS:g}"
    )
    add_backend_options(command)
    add_settings(command, of_incident=False)
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add(
        "cluster image", image, "build an image of a release from the same jars, for the compose files and backend"
    )
    command.add_argument(
        "releases",
        nargs="*",
        type=RELEASE,
        metavar="RELEASE",
        help=f"of {RELEASES_SAID}; none: all that are recorded",
    )
    command.add_argument("--json", action="store_true", help="machine-readable")

    command = add(
        "cluster down", down, "end the clusters that `mqlab cluster up` started, all of them or those that are named"
    )
    command.add_argument(
        "clusters",
        nargs="*",
        type=NAME,
        metavar="NAME",
        help="as `mqlab cluster up` has told it; none: every cluster that is up",
    )


def add_clean(add: Adder) -> None:
    """``runs clean``."""
    command = add("runs clean", clean_up, "heal and end what an earlier, crashed command left behind")
    command.add_argument("--dry-run", action="store_true", help="only say what is there")
    command.add_argument("--cache", action="store_true", help="remove the cache of jars and classes as well")
    command.add_argument(
        "--images", action="store_true", help="remove the images that `mqlab cluster image` built as well"
    )
    command.add_argument("--json", action="store_true", help="machine-readable")


def up(options: argparse.Namespace, console: Console) -> int:
    """Start a cluster that stays after the command has ended."""
    release = (options.release or recorded_releases()[-1:])[0]
    topology = TOPOLOGIES[options.topology]
    require_topology(topology, release)
    if topology.proxies and options.backend != "local":
        raise UsageError(f"topology {topology.name} is of --backend local", advice="Leave --backend out.")
    java = find_java()
    prepare(java, (release,), console)
    if topology.proxies:
        proxy_jars(release, lambda text: console.print(text, highlight=False))
    user = read_settings(options, (release,), console)
    if user.client:
        raise UsageError("--set client.KEY: `mqlab cluster up` starts no client", advice="Give it to your own clients.")
    name = f"up-{new_run_id()}"
    folder = _clusters_folder() / name
    spec = ClusterSpec(name=name, release=release, topology=topology, user=user)
    backend = choose_backend(options.backend, options.image or "", (release,), java, console.print)
    with Leases.open(state_home()) as leases:
        cluster = backend.start(spec, folder, leases, until_s=options.hours * 3600, port=options.port)
        cluster.keep()
    addresses = namesrv_addresses(cluster)
    elected = masters(cluster) if topology.elects else ()
    if options.json:
        nodes = [dataclasses.asdict(node) for node in cluster.nodes]
        print_json({"cluster": name, "namesrv": addresses, "folder": str(folder), "nodes": nodes})
    else:
        for node in cluster.nodes:
            print(f"{node.name:14} {node.address}{', master' if node in elected else ''}")
        for address in grpc_addresses(cluster):
            print(f"{'gRPC':14} {address}")
        print(
            f"\nNAMESRV_ADDR={addresses}\nlogs: {folder}/nodes\nmqlab cluster down {name} ends it; by itself in {options.hours:g} h"
        )
    for change in cluster.overrides.items():
        console.print(f"the lab overrides {change[0]}: {change[1]}", markup=False, highlight=False)
    return EXIT_OK


def image(options: argparse.Namespace, console: Console) -> int:
    """Build images of the releases that the command names."""
    # The Docker SDK is loaded only where it is used.
    from harness.backends.docker.engine import find_engine
    from harness.backends.docker.image import build_image

    releases = tuple(dict.fromkeys(options.releases)) or recorded_releases()
    engine, java = find_engine(), find_java()
    prepare(java, releases, console)
    images = [build_image(engine, release, java) for release in releases]
    if options.json:
        print_json([dataclasses.asdict(image) for image in images])
    else:
        for image in images:
            print(f"{image.tag}  Java {image.java}, {image.bytes // 2**20} MiB, {image.id}")
    return EXIT_OK


def down(options: argparse.Namespace, console: Console) -> int:
    """End the clusters that ``up`` started."""
    folder = _clusters_folder()
    there = sorted(path.name for path in folder.glob("*"))
    for name in options.clusters:
        if name not in there:
            up = f"Up: {', '.join(there)}." if there else "No cluster is up."
            raise UsageError(f"{name} is no cluster of `mqlab cluster up`", advice=up)
    named = tuple(options.clusters)
    healed = clean(state_home(), include_kept=True, only=lambda lease: not named or _is_of(lease, named))
    for one in healed:
        print(one)
    for name in named or there:
        shutil.rmtree(folder / name, ignore_errors=True)
    if not healed:
        print("no cluster is up")
    return EXIT_OK if all(one.complete for one in healed) else EXIT_FAILED


def _is_of(lease: LeaseRecord, clusters: Sequence[str]) -> bool:
    """Whether something that is held belongs to one of the clusters, whose names are unlike any other word."""
    return any(cluster in str(value) for cluster in clusters for value in lease.data.values())


def clean_up(options: argparse.Namespace, console: Console) -> int:
    """Heal and end leftovers; remove caches and images where asked."""
    if options.cache:
        require_mark()
    healed: list[Healed] = clean(state_home(), dry_run=options.dry_run)
    if options.json:
        print_json([dataclasses.asdict(one) for one in healed])
    else:
        for one in healed:
            print(one)
        kept = sum(record.kept for record in leases_in(state_home()))
        print(f"{len(healed)} leftovers" + (f"; {kept} of `mqlab cluster up` are kept" if kept else ""))
    if options.cache and not options.dry_run:
        left = remove_cache()
        print(f"removed {cache_home()}" + (f" but for what is not the lab's: {', '.join(left)}" if left else ""))
    if options.images and not options.dry_run:
        # The Docker SDK is loaded only where it is used.
        from harness.backends.docker.engine import find_engine
        from harness.backends.docker.image import remove_images

        for name in remove_images(find_engine()):
            print(f"removed the image {name}")
    return EXIT_OK if options.dry_run or all(one.complete for one in healed) else EXIT_FAILED
