"""Users: OutOfDirectMemoryError (apache/rocketmq 8124)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="direct-memory-full",
    title="A process has no direct memory left",
    symptom='A broker does not answer, or delayed messages stop, with OutOfDirectMemoryError or "Direct buffer '
    'memory".',
    threads=("issues/8124", "issues/2321"),
    advice="Raise -XX:MaxDirectMemorySize in bin/runbroker.sh (transientStorePoolSize times mappedFileSizeCommitLog, "
    "5 GB by default, comes from it), and look for clients that read slowly: `ss -tm state established 'sport = "
    ":10911'` shows what waits to be sent. Restart the broker: a task that an error ended, as that of a delay "
    "level, does not come back.",
    sign=Sign(
        events=(Logged.DIRECT_FULL,),
        because="Netty or the JVM could not allocate outside of the heap",
        lines=(
            "io.netty.util.internal.OutOfDirectMemoryError: failed to allocate 16777216 byte(s) of direct memory "
            "(used: 1056964615, max: 1073741824)",
        ),
    ),
)
