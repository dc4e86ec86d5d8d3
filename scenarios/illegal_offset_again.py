"""Users: a broadcasting consumer asks for one offset for ever (apache/rocketmq 7740)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="illegal-offset-again",
    title="A consumer asks again and again for an offset that its queue does not have",
    symptom='One queue of a group is not consumed any more; the client writes "the pull request offset illegal" '
    'and "fix the pull request offset" all the time.',
    threads=("issues/7740", "issues/7634"),
    advice="Compare the offset with `mqadmin topicStatus -t TOPIC`. A broadcasting consumer keeps its own: stop it, "
    "correct or delete the queue's entry in ~/.rocketmq_offsets/CLIENT_ID/GROUP/offsets.json, and start it, with "
    "a client of 5.2.0 or newer. In a cluster set it with `mqadmin resetOffsetByTime -g GROUP -t TOPIC -s -1`, or "
    "with `mqadmin skipAccumulatedMessage`, which 4.6.0 does not have.",
    sign=Sign(
        pattern=LogPattern.OFFSET_LOOP,
        events=(Logged.OFFSET_ILLEGAL,),
        because="a consumer goes on from the offset that the broker gives it, once; the same offset three times in a "
        "row is one that is never corrected",
    ),
)
