"""Users: "unable to create new native thread"."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="no-more-threads",
    title="A process can make no more threads",
    symptom='A broker or a client fails with "unable to create new native thread", though its heap is fine.',
    advice="`ulimit -u` of its user, `cat /proc/PID/limits`, pids.max of its cgroup, and `ls /proc/PID/task | wc "
    "-l`: raise the limit, or find in `jstack PID` what makes the threads. Mostly an application starts a "
    "producer or consumer for each request and never shuts it down.",
    sign=Sign(
        events=(Logged.NO_THREAD,),
        because="the system gave the JVM no further thread: a limit of the user or of the container, or no memory "
        "for a stack",
        lines=("java.lang.OutOfMemoryError: unable to create new native thread",),
    ),
)
