"""Users: messages with a delivery time never come (apache/rocketmq 7641, 9654, 10668)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="timer-messages-stuck",
    title="Messages with a delivery time are not put into the timer, or not taken out",
    symptom="Nothing that was sent with a delivery time or an arbitrary delay comes any more; delay levels work.",
    threads=("issues/7641", "issues/9654", "issues/10668"),
    advice="The exception below the line comes of one message, at which the timer stays: `mqadmin getBrokerConfig -b "
    "ADDRESS | grep timer`, and the offset in STORE/config/timercheckpoint. A message near maxMessageSize does "
    "not fit its buffer (raise maxMessageSize and restart); after a commit log was truncated move "
    "STORE/timerwheel and STORE/timerlog away, so that they are built anew. Upgrade: newer releases skip what "
    "cannot be read.",
    sign=Sign(
        events=(Logged.TIMER_THREW,),
        because="a thread of TimerMessageStore threw an exception and goes on at the same offset",
        at_least=3,
        lines=("2026-11-23 14:10:29 ERROR TimerEnqueueGetService - Unknown exception in enqueuing",) * 3,
    ),
)
