"""Users: the kernel kills a broker (apache/rocketmq 4604)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="process-killed-for-memory",
    title="The kernel killed a Java process, as the host had no memory left",
    symptom="A broker or a client is gone without a last line in its own logs.",
    threads=("issues/4604",),
    advice="Give the broker less heap (-Xmx in bin/runbroker.sh; -XX:MaxDirectMemorySize as well), or the host more "
    "memory: heap, direct memory and the page cache that is written to have to fit. In containers the limit "
    "counts the page cache that is dirty: see `kubectl describe pod` (OOMKilled) and memory.max of its cgroup.",
    sign=Sign(
        events=(Logged.OOM_KILLED,),
        because="the kernel's log has a Java process that it killed for want of memory",
        having="java",
        lines=(
            "2026-11-23 14:10:29 rocketmq-3 kernel: Out of memory: Kill process 2395 (java) score 908 or sacrifice "
            "child",
        ),
    ),
)
