"""Users: messages that take longer than consumeTimeout come again (TOPICS-08 of the claims has what happens to them)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="consume-timeout",
    title="Messages outlast consumeTimeout and are consumed again",
    symptom="Messages are consumed more than once, 15 minutes or more after they came first, though nothing failed.",
    threads=("issues/9019",),
    advice="Set consumeTimeout (in minutes) above the longest time that the listener takes, or have it return sooner "
    "and do the work elsewhere; make it idempotent by the message's key. `jstack PID | grep -A20 "
    "ConsumeMessageThread` shows what takes so long.",
    sign=Sign(
        events=(Logged.EXPIRED_BACK,),
        because="the client sent messages back that were being consumed for longer than consumeTimeout: they come "
        "again from the retry topic",
        gap_s=1800.0,
        by_clients=True,
        lines=(
            "2026-11-23 14:10:29 INFO RocketmqClient - send expire msg back. topic=T, msgId=C0, "
            "storeHost=/10.0.0.1:10911, queueId=0, queueOffset=1",
        ),
    ),
)
