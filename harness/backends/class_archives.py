"""Archives of the classes that nodes load: later nodes of the same release start with a third less work.

Java's own archive has Java's classes, these have RocketMQ's as well. Java writes one when a node shuts down in an
orderly way; the lab kills its nodes, so one cluster is started and shut down for it.
"""

import contextlib
import hashlib
import tempfile
from collections.abc import Callable
from pathlib import Path

from harness.backends.cluster import Cluster, ClusterSpec, NodeKind, create_topic
from harness.errors import LabError
from harness.model.cluster import BrokerSettings, Topology
from harness.releases.cache import cache_folder
from harness.releases.jars import ensure_jars
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS

STOP_S_MAX = 60.0
"""The archive is written while the node ends."""
UP_S_MAX = 300.0
_WITH_AGENT = ("-XX:+UnlockDiagnosticVMOptions", "-XX:+AllowArchivingWithJavaAgent")
KINDS: tuple[NodeKind, ...] = ("broker", "namesrv")


def class_archive(release: str, kind: NodeKind, java: Java) -> Path:
    """The archive for a release's nodes of a kind, this Java and these jars."""
    what = [str(java.home), java.version, *MODULE_FLAGS, *map(str, ensure_jars(release))]
    name = hashlib.sha256("\n".join(what).encode()).hexdigest()[:16]
    return cache_folder("class-archives") / f"{release}-{kind}-{name}.jsa"


def archived_classes(release: str, kind: NodeKind, java: Java) -> tuple[str, ...]:
    """The JVM's options to start from the archive; none where there is none."""
    archive = class_archive(release, kind, java)
    return (*_WITH_AGENT, f"-XX:SharedArchiveFile={archive}") if archive.exists() else ()


def have_archives(release: str, java: Java) -> bool:
    """Whether nodes of the release start from archives."""
    return all(archived_classes(release, kind, java) for kind in KINDS)


def leave_archives(release: str, java: Java, start: Callable[[ClusterSpec, Path], Cluster]) -> None:
    """Start a name server and a broker, and end them so that each leaves its archive.

    Where that fails (a Java without an archive of its own), nodes start without, and nothing else changes.
    """
    archives = {kind: class_archive(release, kind, java) for kind in KINDS}
    folder = archives["broker"].parent
    with tempfile.TemporaryDirectory(dir=folder) as scratch, contextlib.suppress(LabError, OSError):
        options = {kind: (*_WITH_AGENT, f"-XX:ArchiveClassesAtExit={scratch}/{kind}.jsa") for kind in archives}
        settings = BrokerSettings(jvm=options["broker"], name_server_jvm=options["namesrv"])
        spec = ClusterSpec(name="class-archives", release=release, topology=Topology(name="single"), settings=settings)
        cluster = start(spec, Path(scratch) / "cluster")
        try:
            create_topic(cluster, "class-archives", read_queues=1, write_queues=1)
            for node in reversed(cluster.nodes):
                cluster.stop_node(node.name, grace_s=STOP_S_MAX)
        finally:
            cluster.down()
        for kind, archive in archives.items():
            # Another command may have been as far.
            (Path(scratch) / f"{kind}.jsa").replace(archive)
