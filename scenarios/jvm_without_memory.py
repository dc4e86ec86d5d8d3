"""Users: nothing starts, since the host has less memory than the scripts ask for (apache/rocketmq 251, 1511, 1100)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="jvm-without-memory",
    title="The JVM of a node does not get the memory that it asks for",
    symptom='mqbroker or mqnamesrv ends at once, or hours later, with "insufficient memory for the Java Runtime '
    'Environment" and an hs_err_pid file.',
    threads=("issues/251", "issues/1511", "issues/1100"),
    advice="bin/runbroker.sh asks for 8 GB of heap and bin/runserver.sh for 4 GB by default: set -Xms, -Xmx and -Xmn "
    "there to what `free -m` allows, and leave at least as much for the page cache. One that ends later ran out "
    "of it: see `dmesg -T`, and `sysctl vm.max_map_count vm.overcommit_memory`.",
    sign=Sign(
        events=(Logged.NO_MEMORY,),
        because="the JVM itself says that the system gave it no memory",
        lines=("# There is insufficient memory for the Java Runtime Environment to continue.",),
    ),
)
