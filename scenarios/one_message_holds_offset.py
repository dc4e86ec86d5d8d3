"""Users: one message that is not acknowledged holds its queue (apache/rocketmq 1404, 9019)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="one-message-holds-offset",
    title="One message that is not acknowledged holds the offset of its queue",
    symptom='A group consumes nothing of a queue, or its offset does not move, and the client logs "span too long" '
    "or flow control with the same minOffset.",
    threads=("issues/1404", "issues/9019"),
    advice="Look at that message with `mqadmin queryMsgByOffset -t TOPIC -b BROKER -i QUEUE -o OFFSET`, and for the "
    "thread that has it: `jstack PID | grep -A30 ConsumeMessageThread`. Give calls in the listener a timeout. A "
    "client that restarts consumes all from that offset again; consumeTimeout (15 min) sends the message back by "
    "itself, unless the consumer is ordered.",
    sign=Sign(
        pattern=LogPattern.OFFSET_HELD,
        events=(Logged.FLOW_CONTROL, Logged.SPAN_CONTROL),
        because="the smallest cached offset of a queue stayed the same for a minute or more while pulls were put off",
    ),
)
