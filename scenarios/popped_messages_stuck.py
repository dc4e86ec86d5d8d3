"""Users: messages that were popped and not acknowledged never come again (apache/rocketmq 8479, 3443)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="popped-messages-stuck",
    title="Popped messages that nobody acknowledged do not come again",
    symptom="With POP consumers, or gRPC clients by a proxy, messages that failed are not delivered again, and "
    "rmq_sys_REVIVE_LOG grows.",
    threads=("issues/8479", "issues/3443"),
    advice="`mqadmin consumerProgress -g CID_RMQ_SYS_REVIVE_GROUP` shows the queues that stand still. Compare their "
    "offsets with `mqadmin topicStatus -t rmq_sys_REVIVE_LOG_CLUSTER`; after a topic was deleted and made again, "
    "or a store was lost, set them with `mqadmin resetOffsetByTime`, and restart the broker. On a slave that "
    "acts as master look at the master first.",
    sign=Sign(
        events=(Logged.REVIVE_OFFSET,),
        because="the thread that revives popped messages reads its queue at an offset that is not there, again and "
        "again",
        at_least=3,
        lines=(
            "2026-11-23 14:10:29 ERROR PopReviveService_0 - reviveQueueId=0, OFFSET_ILLEGAL 142766, result is "
            "PullResult [pullStatus=OFFSET_ILLEGAL]",
        )
        * 3,
    ),
)
