"""Archives of the classes that nodes load: later nodes of the same release start with a third less work.

Java's own archive has Java's classes, these have RocketMQ's as well. Java writes one when a node shuts down in an
orderly way; the lab kills its nodes, so one cluster is started and shut down for it.
"""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

from harness.backends.cluster import ClusterSpec, create_topic
from harness.backends.local import class_archive, start_local
from harness.errors import LabError
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.releases.java import Java

STOP_S_MAX = 60.0
"""The archive is written while the node ends."""
UP_S_MAX = 300.0


def have_archives(release: str, java: Java) -> bool:
    """Whether nodes of the release start from archives."""
    return all(class_archive(release, kind, java).exists() for kind in ("broker", "namesrv"))


def leave_archives(release: str, java: Java, leases: Leases) -> None:
    """Start a name server and a broker, and end them so that each leaves its archive.

    Where that fails (a Java without an archive of its own), nodes start without, and nothing else changes.
    """
    archives = {kind: class_archive(release, kind, java) for kind in ("broker", "namesrv")}
    folder = archives["broker"].parent
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder) as scratch, contextlib.suppress(LabError, OSError):
        options = {kind: (f"-XX:ArchiveClassesAtExit={scratch}/{kind}.jsa",) for kind in archives}
        settings = BrokerSettings(jvm=options["broker"], name_server_jvm=options["namesrv"])
        spec = ClusterSpec(name="class-archives", release=release, topology=Topology(name="single"), settings=settings)
        cluster = start_local(spec, Path(scratch) / "cluster", leases, java, until_s=UP_S_MAX)
        try:
            create_topic(cluster, "class-archives", read_queues=1, write_queues=1)
            for node in reversed(cluster.nodes):
                cluster.stop_node(node.name, grace_s=STOP_S_MAX)
        finally:
            cluster.down()
        for kind, archive in archives.items():
            # Another command may have been as far.
            (Path(scratch) / f"{kind}.jsa").replace(archive)
