"""Users: pulls are refused for hours with "the consumer's group info not exist"."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged, LogPattern

INCIDENT = Incident(
    name="group-never-known",
    title="A broker does not know a consumer group for longer than heartbeats take",
    symptom='A consumer gets nothing and logs "the consumer\'s group info not exist" every few seconds, long after '
    "any restart.",
    threads=("issues/3434",),
    advice="See who is connected with `mqadmin consumerConnection -g GROUP`: if nobody is, the clients' heartbeats "
    "do not reach this broker, as when they come by another address or a proxy, or a name server gives them no "
    'route of the %RETRY% topic. Look for "send heart beat" in the client\'s log, and whether two programs use '
    "one group, or one client id. `mqadmin updateSubGroup -c CLUSTER -g GROUP` makes the group where "
    "autoCreateSubscriptionGroup is off.",
    sign=Sign(
        pattern=LogPattern.GROUPS_NEVER_KNOWN,
        events=(Logged.GROUP_UNKNOWN, Logged.CONSUMER_CAME),
        because="clients tell a broker of their groups every 30 s, so that a restart explains a minute of refused "
        "pulls and no more",
    ),
)
