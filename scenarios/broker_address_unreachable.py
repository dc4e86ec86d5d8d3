"""Users: nothing connects to the address that a broker has registered, mostly that of its container (apache/rocketmq 6631)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="broker-address-unreachable",
    title="Clients never reach the address that a broker has registered",
    symptom='Each send fails with "connect to ADDRESS failed" or "sendDefaultImpl call timeout", while name '
    "servers can be reached.",
    threads=("issues/6631",),
    advice="Set brokerIP1 in the broker's file to an address that clients reach, with no comment behind it, restart "
    "the broker, and publish its ports 10911 and 10909 (10912 for slaves, 8081 for a proxy). See what it "
    "registered with `mqadmin clusterList -n NAMESRV`, and try it from the client's host: `nc -vz ADDRESS "
    "10911`. With a firewall between, open both ports.",
    sign=Sign(
        pattern=LogPattern.NEVER_REACHED,
        events=(Logged.UNREACHABLE, Logged.CONNECTED),
        because="all attempts to connect to one address failed, with none between that succeeded: where that goes on from a "
        "log's beginning to its end, it is no outage, but an address that this client never reaches",
    ),
)
