"""RocketMQ's own proxy beside a 5.x cluster of ours, for clients that speak gRPC.

It runs in cluster mode: it finds the brokers by the name servers and sends to them as a client does. When it starts, it
makes a topic of its own in the cluster. Whatever is configured it asks for its two ports on every interface, as 4.6.0 does
(org.apache.rocketmq.proxy.grpc.GrpcServerBuilder), and as every node of the lab it gets them on loopback alone.
"""

import contextlib
import json
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.backends.cluster import Node
from harness.backends.nodes import CLUSTER_NAME, HOST, peers_of
from harness.errors import NodeStartError
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.protocol.connection import split_address
from harness.releases.guard import TEMPORARY, guard_jar, guard_options, write_guard
from harness.releases.jars import PROXY, PROXY_RELEASE, ensure_jars
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS
from harness.releases.node_logging import write_node_logging
from harness.wait import wait_until

PROXY_MAIN = "org.apache.rocketmq.proxy.ProxyStartup"
PROXY_JVM = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-Xss512k", "-XX:MaxDirectMemorySize=256m")
START_S_MAX = 120.0


@contextlib.contextmanager
def proxy_beside(
    namesrv: str, home: Path, leases: Leases, java: Java, *, nodes: Iterable[Node], until_s: float
) -> Iterator[str]:
    """Start a proxy that lives as long as the block; gives its address, HOST:PORT.

    ``home`` is its folder, ``nodes`` are the cluster's, to which it may connect.

    Raises:
        NodeStartError: it ended while it should start.
        WaitTimeout: it does not listen in time.
    """
    (home / "logs").mkdir(parents=True, exist_ok=True)
    write_guard(home, peers_of(nodes), leases.files)
    port = free_port()
    conf = home / "rmq-proxy.json"
    conf.write_text(
        json.dumps(
            {
                "rocketMQClusterName": CLUSTER_NAME,
                "proxyMode": "CLUSTER",
                "namesrvAddr": namesrv,
                "localServeAddr": HOST,
                "grpcServerPort": port,
                "remotingListenPort": free_port(),
                # The topic of a load has no type; ordered messages may go to it all the same.
                "enableTopicMessageTypeCheck": False,
                # Told to clients: a second try hides the first.
                "grpcClientProducerMaxAttempts": 1,
            }
        )
    )
    command = [
        str(java.executable), *MODULE_FLAGS, *PROXY_JVM,
        *write_node_logging(PROXY_RELEASE, home=home, logs=home / "logs", stock=False),
        f"-Drocketmq.home.dir={home}", f"-Duser.home={home}", *guard_options(home, guard_jar(java)),
        "-cp", os.pathsep.join(map(str, (*ensure_jars(PROXY), *ensure_jars(PROXY_RELEASE)))), PROXY_MAIN, "-pc", str(conf),
    ]  # fmt: skip
    with (home / "stdout.log").open("ab") as out:
        process = leases.spawn(command, name="proxy", until_s=until_s, cwd=home, stdout=out, stderr=out)
    address = f"{HOST}:{port}"
    try:
        wait_until("the proxy to listen", lambda: _listens(address, process, home), timeout_s=START_S_MAX, poll_s=0.3)
        yield address
    finally:
        if process.poll() is None:
            process.kill()
        process.release()
        shutil.rmtree(home / TEMPORARY, ignore_errors=True)


def _listens(address: str, process: LeasedProcess, home: Path) -> bool:
    lines = (home / "stdout.log").read_text(errors="replace").splitlines()
    # Threads that it has begun by then keep a proxy alive that failed to start.
    if process.poll() is not None or any(line.startswith('Exception in thread "main"') for line in lines):
        raise NodeStartError("the proxy did not start", advice=f"Its logs are in {home}.", log_lines=lines[-12:])
    with socket.create_connection(split_address(address), timeout=1.0):
        return True
