"""Users: sends fail for a while since nothing can connect to a broker that was killed (apache/rocketmq 4604)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="broker-gone",
    title="A broker was killed, or could not be reached, while clients used it",
    symptom="Sends and pulls fail with RemotingConnectException for seconds or minutes, and work again by themselves.",
    threads=("issues/4604",),
    advice="Find out why it ended: `dmesg -T | grep -i oom` (a JVM of -Xmx8g and its page cache on a small host), "
    "hs_err_pid*.log in its working directory, `kubectl describe pod` (OOMKilled, a failed probe), `last -x` for "
    "the host. Stop brokers with `mqshutdown broker` and give them time for it. Producers go on with "
    "retryTimesWhenSendFailed of 2 and a second broker that has the topic's queues: see `mqadmin topicRoute -t "
    "TOPIC`.",
    sign=Sign(
        pattern=LogPattern.BROKER_GONE,
        events=(Logged.UNREACHABLE, Logged.KILLED, Logged.BROKER_WENT, Logged.BROKER_CAME),
        because="clients could not connect to the address of a broker, a name server dropped it, or it found its own "
        "abort file when it started again: two of these agree",
    ),
)
