"""What a proxy of a release is started with, as a node of a cluster or beside one: its class path, and its file.

Whatever is configured it asks for its two ports on every interface, as 4.6.0 does (org.apache.rocketmq.proxy.grpc
.GrpcServerBuilder), and as every node of the lab it gets them on loopback alone.
"""

import json
from collections.abc import Callable
from pathlib import Path

from harness.errors import UsageError
from harness.releases.class_file import has_class
from harness.releases.jars import PROXY, ensure_jars, is_build

PROXY_MAIN = "org.apache.rocketmq.proxy.ProxyStartup"
PROXY_JVM = ("-Xms128m", "-Xmx384m", "-XX:+UseSerialGC", "-Xss512k", "-XX:MaxDirectMemorySize=256m")
PROXY_PORTS = (0, 1)
"""Clients of RocketMQ's own protocol come to the first, gRPC's to the one above."""


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


def proxy_conf(
    cluster: str, host: str, namesrv: str, *, grpc_port: int, remoting_port: int, mode: str = "CLUSTER"
) -> str:
    """Its file. In the mode ``LOCAL`` it is a broker as well, whose own file says the rest."""
    return json.dumps(
        {
            "rocketMQClusterName": cluster,
            "proxyMode": mode,
            "namesrvAddr": namesrv,
            "localServeAddr": host,
            "grpcServerPort": grpc_port,
            "remotingListenPort": remoting_port,
            # The topic of a load has no type; ordered messages may go to it all the same.
            "enableTopicMessageTypeCheck": False,
            # Told to clients: a second try hides the first.
            "grpcClientProducerMaxAttempts": 1,
        }
    )
