"""How long `mqlab audit` takes to read a cluster whose first broker has 71,000 topics: `python benchmarks/audit.py`.

The topology of the article: 3 name servers, 2 masters, 2 slaves. Prints seconds and the reader's own CPU seconds of each
repetition, and what the reading left on the broker: nothing. The limit is 10 s on two idle cores.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from pathlib import Path

from harness.audit.asking import read_cluster
from harness.audit.findings import judge
from harness.backends.cluster import ClusterSpec
from harness.backends.local import LocalCluster, start_local
from harness.backends.topologies import TOPOLOGIES
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, TopicsAhead
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.releases.jars import recorded_releases
from harness.releases.java import find_java

LIMIT_S = 10.0
SETTINGS = BrokerSettings(
    # The topic that brokers of 4.x make for their first check of transactions must not come meanwhile.
    conf={"transactionCheckInterval": "3600000"},
    jvm=("-Xms512m", "-Xmx1200m", "-Xmn256m"),
    name_server_jvm=("-Xms256m", "-Xmx1g"),
    topics_ahead=TopicsAhead(frame_bytes=FRAME_BYTES_MAX, share=0.998),
)


def main() -> None:
    """Start each release's cluster and read it a few times."""
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--release", default=",".join(recorded_releases()))
    options.add_argument("--repeat", type=int, default=3)
    chosen = options.parse_args()
    for release in chosen.release.split(","):
        _measure(release, chosen.repeat)


def _measure(release: str, repeat: int) -> None:
    with tempfile.TemporaryDirectory() as folder, Leases.open(Path(folder) / "state") as leases:
        spec = ClusterSpec(name="audit", release=release, topology=TOPOLOGIES["article"], settings=SETTINGS)
        cluster = start_local(spec, Path(folder) / "cluster", leases, find_java(), until_s=1800.0)
        try:
            servers = [node.address for node in cluster.nodes if node.kind == "namesrv"]
            for _ in range(repeat):
                table, log = _kept(cluster)
                started, cpu = time.monotonic(), time.process_time()
                reading = read_cluster(servers)
                findings = [one.kind for one in judge(reading)]
                seconds, cpu = time.monotonic() - started, time.process_time() - cpu
                topics = max(len(broker.topics) for broker in reading.brokers)
                print(
                    f"{release}: {topics} topics read in {seconds:.1f} s (at most {LIMIT_S:g} s), {cpu:.1f} CPU s; "
                    f"{len(reading.offline)} groups offline; {', '.join(findings)}; {_left(cluster, table, log)}",
                    flush=True,
                )
        finally:
            cluster.down()


def _kept(cluster: LocalCluster) -> tuple[bytes, str]:
    """The first broker's file of topics, and its log."""
    node = cluster.folder / "nodes" / "broker-a"
    return (node / "store" / "config" / "topics.json").read_bytes(), (node / "logs" / "broker.log").read_text()


def _left(cluster: LocalCluster, table: bytes, log: str) -> str:
    """Whether the file of topics is another one, and how many lines warn or name one of the flood's groups."""
    table_now, log_now = _kept(cluster)
    lines = [line for line in log_now[len(log) :].splitlines() if "WARN" in line or "_test_" in line]
    return f"topics.json {'as before' if table_now == table else 'CHANGED'}, {len(lines)} lines in broker.log"


if __name__ == "__main__":
    main()
