"""Users: a consumer drops its queues and takes them again, and gets nothing (apache/rocketmq 1918)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="nothing-pulled",
    title="A consumer gives up queues of which nothing was pulled for two minutes",
    symptom='A consumer gets nothing of some queues; its log has "[BUG]doRebalance ... because pull is pause" '
    "every 20 s.",
    threads=("issues/1918",),
    advice="Take `jstack PID` of the client twice: a PullMessageService thread that waits, or "
    "NettyClientPublicExecutor threads that are all busy, is where it stands. Mostly the listener's or a "
    "callback's work is done in the client's own threads, or a connection is dead and was not closed: look for "
    "timeouts above the lines. Restart the client; upgrade one that is older than 4.9.",
    sign=Sign(
        events=(Logged.PULL_PAUSED,),
        because="a client gives a queue up when its last pull was two minutes ago (pullTimeout, "
        "ProcessQueue.isPullExpired), and takes it again",
        against="a client whose host slept or stood still for two minutes writes the same, once for each queue",
        gap_s=180.0,
        at_least=2,
        by_clients=True,
        lines=(
            "2026-11-23 14:10:29 ERROR RebalanceService - [BUG]doRebalance, g, remove unnecessary mq, MessageQueue "
            "[topic=T, brokerName=b, queueId=0], because pull is pause, so try to fixed it",
        )
        * 2,
    ),
)
