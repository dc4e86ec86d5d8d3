"""Users: java.lang.OutOfMemoryError: Java heap space of a broker, a name server or a client (apache/rocketmq 8959)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="heap-full",
    title="A process has no heap left",
    symptom="A broker closes connections and does not answer, or a client stops, with java.lang.OutOfMemoryError.",
    threads=("issues/8959", "issues/5262"),
    advice="Take a dump before it is restarted: `jmap -dump:live,format=b,file=heap.hprof PID`, or start with "
    "-XX:+HeapDumpOnOutOfMemoryError, and see what fills it. A broker: -Xmx in bin/runbroker.sh, tens of "
    "thousands of topics or groups, large batches that are pulled at once. A client: 1,000 messages or 100 MB a "
    "queue are cached (pullThresholdForQueue, pullThresholdSizeForQueue), times its queues. Threads that an "
    "error ended do not come back: restart the process.",
    sign=Sign(
        events=(Logged.HEAP_FULL,),
        because="the JVM could not allocate on the heap, and threads that were not ready for it end",
        lines=("java.lang.OutOfMemoryError: Java heap space",),
    ),
)
