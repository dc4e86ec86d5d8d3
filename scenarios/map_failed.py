"""Users: java.lang.OutOfMemoryError: Map failed, and sends are refused as if the disk were full (apache/rocketmq 486)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="map-failed",
    title="A broker can map no more files into memory",
    symptom='Sends fail with CODE 14 "service not available now, maybe disk full" though the disk has room, or new '
    "topics have no consume queue.",
    threads=("issues/486",),
    advice="`sysctl vm.max_map_count` and `wc -l /proc/PID/maps`: each file of a consume queue is a mapping, so that "
    "topics times queues count. Raise it, as bin/os.sh does (`sysctl -w vm.max_map_count=655360`, and in "
    "/etc/sysctl.conf), see that `ulimit -v` is unlimited, and restart the broker: a store that was marked not "
    "writable stays so. Then delete topics that nobody uses, or make them with fewer queues.",
    sign=Sign(
        pattern=LogPattern.MAP_FAILED,
        events=(Logged.MAP_FAILED, Logged.NOT_WRITABLE, Logged.STORE_REFUSES, Logged.NO_FILE),
        because="the system refused to map a file of the store; after 30 tries the store takes no more messages "
        "until the broker is started again",
    ),
)
