"""Users: "No route info of this topic" (apache/rocketmq 278, 241, 484)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="topic-without-route",
    title="A topic has no route",
    symptom='Sends fail with "No route info of this topic", or consumers start and get nothing.',
    threads=("issues/278", "issues/241", "issues/484"),
    advice="`mqadmin topicRoute -n NAMESRV -t TOPIC` with the very name servers that the client has: if there is "
    "none, make it with `mqadmin updateTopic -c CLUSTER -t TOPIC` (autoCreateTopicEnable is off, as it should "
    "be). If there is one, the client asks another name server, has another namespace, or a wrong name of a "
    "host: see NAMESRV_ADDR. If `mqadmin clusterList -n NAMESRV` shows no broker, that is what is missing: "
    "namesrvAddr of the broker.",
    sign=Sign(
        pattern=LogPattern.NO_ROUTE,
        events=(Logged.NO_ROUTE,),
        because="a name server knows no broker with that topic",
    ),
)
