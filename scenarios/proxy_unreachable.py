"""Users: clients of gRPC fail with UNAVAILABLE or DEADLINE_EXCEEDED (rocketmq-clients 742, 818; apache/rocketmq 5653, 6496)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="proxy-unreachable",
    title="A client of gRPC does not reach its proxy, or gets no answer from it",
    symptom='Clients of gRPC fail with "UNAVAILABLE: io exception", "Network closed for unknown reason" or '
    '"DEADLINE_EXCEEDED", or do not start.',
    threads=("issues/5653", "issues/6496"),
    advice="The client's endpoints have to be a proxy's gRPC port (8081 by default), not a name server's (9876) or a "
    "broker's: `nc -vz ADDRESS 8081` from the client's host. Connection refused: no proxy listens there; start "
    "`mqproxy` (or `mqbroker --enable-proxy`) and read logs/rocketmqlogs/proxy.log. Network closed: one side "
    "speaks TLS and the other one not, or the port is not gRPC's. DEADLINE_EXCEEDED: the proxy is reached, and what "
    "lies behind it is not: namesrvAddr in rmq-proxy.json, and the brokers' addresses as the proxy sees them "
    "(`mqadmin clusterList -n NAMESRV`). Behind a mapped port clients need the outer address.",
    sign=Sign(
        events=(Logged.PROXY_SILENT,),
        because="gRPC ended a request with a status that says that nothing was reached, or that no answer came in time",
        by_clients=True,
        lines=(
            "Caused by: org.apache.rocketmq.shaded.io.grpc.StatusRuntimeException: UNAVAILABLE: Network closed for unknown reason",
            "org.apache.rocketmq.shaded.io.grpc.StatusRuntimeException: DEADLINE_EXCEEDED: deadline exceeded after 2.999828700s. "
            "[remote_addr=/192.0.2.4:8081]",
        ),
        against="gRPC says the same of any service: see that the address is a proxy's",
    ),
)
