"""Users: consumers fall behind and log flow control (apache/rocketmq 5262, 1404)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="consumer-too-slow",
    title="A consumer is slower than what comes",
    symptom='The backlog of a group grows, and its client logs "so do flow control": it has 1,000 messages or 100 '
    "MB of a queue cached.",
    threads=("issues/5262",),
    advice="See in what its threads wait: `jstack PID | grep -A20 ConsumeMessageThread`, three times; mostly it is a "
    "database, a call without a timeout or a lock. `mqadmin consumerProgress -g GROUP` shows whether all queues "
    "are late or one. Then more members (up to the number of read queues), consumeThreadMin and "
    "consumeThreadMax, or consumeMessageBatchMaxSize; a higher pullThresholdForQueue takes memory and has "
    "nothing consumed sooner.",
    sign=Sign(
        pattern=LogPattern.CONSUMER_SLOW,
        events=(Logged.FLOW_CONTROL, Logged.SPAN_CONTROL),
        because="a client pulls no more of a queue while it has as much of it cached as pullThresholdForQueue, "
        "pullThresholdSizeForQueue or consumeConcurrentlyMaxSpan allow",
    ),
)
