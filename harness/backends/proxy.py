"""A release's own proxy beside a cluster of ours, for clients that speak gRPC.

It runs in cluster mode: it finds the brokers by the name servers and sends to them as a client does. When it starts, it
makes a topic of its own in the cluster.
"""

import contextlib
import os
import shutil
import socket
from collections.abc import Iterable, Iterator
from pathlib import Path

from harness.backends.cluster import Node
from harness.backends.local import require_border
from harness.backends.nodes import CLUSTER_NAME, HOST, peers_of
from harness.backends.proxy_node import PROXY_JVM, PROXY_MAIN, proxy_conf, proxy_jars
from harness.errors import NodeStartError
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.protocol.connection import split_address
from harness.releases.guard import TEMPORARY, guard_jar, guard_options, write_guard
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS
from harness.releases.node_logging import write_node_logging
from harness.wait import wait_until

START_S_MAX = 120.0


@contextlib.contextmanager
def proxy_beside(
    release: str, namesrv: str, home: Path, leases: Leases, java: Java, *, nodes: Iterable[Node], until_s: float
) -> Iterator[str]:
    """Start a release's proxy, which lives as long as the block; gives its address, HOST:PORT.

    ``home`` is its folder, ``nodes`` are the cluster's, to which it may connect.

    Raises, beside what ``proxy_jars`` does:
        NodeStartError: it ended while it should start.
        WaitTimeout: it does not listen in time.
        ReleaseError: it listens elsewhere than on loopback as well.
    """
    (home / "logs").mkdir(parents=True, exist_ok=True)
    write_guard(home, peers_of(nodes), leases.files)
    port = free_port()
    conf = home / "rmq-proxy.json"
    conf.write_text(proxy_conf(CLUSTER_NAME, HOST, namesrv, grpc_port=port, remoting_port=free_port()))
    command = [
        str(java.executable), *MODULE_FLAGS, *PROXY_JVM,
        *write_node_logging(release, home=home, logs=home / "logs", stock=False),
        f"-Drocketmq.home.dir={home}", f"-Duser.home={home}", *guard_options(home, guard_jar(java)),
        "-cp", os.pathsep.join(map(str, proxy_jars(release))), PROXY_MAIN, "-pc", str(conf),
    ]  # fmt: skip
    with (home / "stdout.log").open("ab") as out:
        process = leases.spawn(
            command, name="proxy", until_s=until_s, cwd=home, stdout=out, stderr=out,
            # 5.0.0 asks for its home here alone.
            env={**os.environ, "RMQ_PROXY_HOME": str(home)},
        )  # fmt: skip
    address = f"{HOST}:{port}"
    try:
        wait_until("the proxy to listen", lambda: _listens(address, process, home), timeout_s=START_S_MAX, poll_s=0.3)
        require_border(process.pid, release, "proxy")
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
