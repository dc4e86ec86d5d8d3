"""Users: a broker does not start, since another process holds the lock of its store (apache/rocketmq 1609)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="store-locked",
    title="A second broker on one store does not start",
    symptom='A broker ends at once with "Lock failed,MQ already started", in broker.out or on the terminal.',
    threads=("issues/1609", "issues/2458"),
    advice="Look who has the store's lock file open: `fuser -v STORE/lock` or `lsof STORE/lock`. An old process has "
    "to end first (`mqshutdown broker`, and wait); two brokers on one host, or a master and its slave, need a "
    "storePathRootDir each, and storePathCommitLog below it, without a blank at the line's end. In Kubernetes "
    "two pods share one volume, or the old pod has not ended: `kubectl get pods`.",
    sign=Sign(
        events=(Logged.STORE_LOCKED,),
        because="a broker locks the file `lock` below storePathRootDir when it starts, and ends when it cannot: "
        "another process has it",
        lines=("java.lang.RuntimeException: Lock failed,MQ already started",),
    ),
)
