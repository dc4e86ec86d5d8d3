"""Users: CODE 13, "the message is illegal" (apache/rocketmq 2282)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="message-too-long",
    title="Messages are longer than the broker or the client takes",
    symptom='Sends fail with CODE 13 "the message is illegal, maybe msg body or properties length not matched", or '
    'with "body size over max value".',
    threads=("issues/2282", "issues/523", "pull/4338"),
    advice="What counts is maxMessageSize of the broker (4,194,304 bytes by default; `mqadmin getBrokerConfig -b ADDRESS | grep "
    "maxMessageSize`), the producer's own maxMessageSize, and 32 KB of properties. The limit in the text is the broker's "
    "maxMessageSize on 4.9.4 and newer; on 4.8.0 and older it reads 128k whatever the broker takes. Raise both, or send "
    "less: compress, split batches (a batch counts as one message), or put the body elsewhere and send its place. The "
    "broker's store.log has the size: `grep 'size exceeded' store.log`.",
    sign=Sign(
        events=(Logged.TOO_LONG,),
        because="the broker or the client refused a message for its length",
        by_clients=True,
        lines=(
            "org.apache.rocketmq.client.exception.MQBrokerException: CODE: 13 DESC: the message is illegal, maybe "
            "msg body or properties length not matched. msg body length limit 128k, msg properties length "
            "limit 32k. BROKER: 10.0.0.1:10911",
        ),
    ),
)
