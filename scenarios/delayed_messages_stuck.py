"""Users: delayed messages of some levels never come (apache/rocketmq 1869, 4226, 7077)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="delayed-messages-stuck",
    title="Delayed messages are read at an offset that their queue does not have",
    symptom="Messages with a delay level, and retries of consumers, do not come any more; others do.",
    threads=("issues/1869", "issues/4226", "issues/7077"),
    advice="`mqadmin brokerStatus -b ADDRESS | grep scheduleMessageOffset` shows each level's offset and the end of "
    "its queue. Stop the broker, set the level in STORE/config/delayOffset.json (and its .bak) to an offset that "
    "the queue has, and start it; a broker of 4.9.7 or newer does so by itself. delayOffset.json is of another store, "
    "or SCHEDULE_TOPIC_XXXX was lost or deleted.",
    sign=Sign(
        events=(Logged.DELAY_OFFSET,),
        because="the thread of a delay level reads its consume queue at an offset that none of its files has, each "
        "second",
        having="thread",
        at_least=5,
        lines=(
            "2026-11-23 14:10:29 WARN ScheduleMessageTimerThread - Offset not matched. Request offset: 418381620, "
            "firstOffset: 0, lastOffset: 4800000, mappedFileSize: 4800000, mappedFiles count: 1",
        )
        * 5,
    ),
)
