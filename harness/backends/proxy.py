"""A release's own proxy beside a cluster of ours, for clients that speak gRPC.

It runs in cluster mode: it finds the brokers by the name servers and sends to them as a client does. When it starts, it
makes a topic of its own in the cluster. Whatever is configured it asks for its two ports on every interface, as 4.6.0 does
(org.apache.rocketmq.proxy.grpc.GrpcServerBuilder), and as every node of the lab it gets them on loopback alone.
"""

import contextlib
import json
import os
import shutil
import socket
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path

from harness.backends.cluster import Node
from harness.backends.local import require_border
from harness.backends.nodes import CLUSTER_NAME, HOST, peers_of
from harness.errors import NodeStartError, UsageError
from harness.host.ports import free_port
from harness.leases.leases import Leases
from harness.leases.process import LeasedProcess
from harness.protocol.connection import split_address
from harness.releases.class_file import has_class
from harness.releases.guard import TEMPORARY, guard_jar, guard_options, write_guard
from harness.releases.jars import PROXY, ensure_jars, is_build
from harness.releases.java import Java
from harness.releases.jvm import MODULE_FLAGS
from harness.releases.node_logging import write_node_logging
from harness.wait import wait_until

PROXY_MAIN = "org.apache.rocketmq.proxy.ProxyStartup"
PROXY_JVM = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-Xss512k", "-XX:MaxDirectMemorySize=256m")
START_S_MAX = 120.0


def proxy_jars(release: str, progress: Callable[[str], None] | None = None) -> tuple[Path, ...]:
    """The class path of a release's proxy; a build of the user's own brings its own.

    Raises:
        UsageError: a build has none, or Maven Central none of the release.
        ReleaseError: its jars cannot be had.
    """
    if has_class(release, PROXY_MAIN):
        return ensure_jars(release)
    if is_build(release):
        raise UsageError(
            f"the build {release} has no proxy: its lib has no {PROXY_MAIN}", advice="Give another --client."
        )
    return (*ensure_jars(f"{PROXY}{release}", progress=progress), *ensure_jars(release))


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
