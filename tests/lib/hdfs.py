"""An HDFS of one node on loopback, Hadoop's own cluster of one process, under a lease."""

from __future__ import annotations

from pathlib import Path

import pyspark

from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.releases.jars import HADOOP, ensure_jars
from harness.releases.java import Java
from harness.wait import wait_until

MAIN = "org.apache.hadoop.mapreduce.MiniHadoopClusterManager"
UP_S_MAX = 300.0
ENDS_S_MAX = 900.0


def start_hdfs(leases: Leases, folder: Path, java: Java) -> str:
    """Start it and wait until it serves; its URL. It ends with its lease."""
    port, ready = free_port(), folder / "up.xml"
    jars = [*map(str, ensure_jars(HADOOP)), str(Path(pyspark.__file__).parent / "jars" / "*")]
    options = (
        "-Xmx256m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Djava.net.preferIPv4Stack=true",
        f"-Dtest.build.data={folder}/data", "-cp", ":".join(jars),
    )  # fmt: skip
    # Without Yarn; it writes its settings once it is up.
    asked = ("-nomr", "-format", "-datanodes", "1", "-nnport", str(port), "-writeConfig", str(ready))
    with (folder / "hdfs.out").open("wb") as out:
        leases.spawn(
            [str(java.executable), *options, MAIN, *asked],
            name="hdfs", until_s=ENDS_S_MAX, stdout=out, stderr=out, cwd=folder,
        )  # fmt: skip
    wait_until("HDFS", ready.exists, timeout_s=UP_S_MAX)
    return f"hdfs://127.0.0.1:{port}"
