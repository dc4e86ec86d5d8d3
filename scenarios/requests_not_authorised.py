"""Users: access control refuses a slave, a dashboard or a client (apache/rocketmq 3115, 6884)."""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="requests-not-authorised",
    title="Access control refuses requests",
    symptom='Clients, dashboards, slaves or proxies get "No accessKey is configured", a failed signature, or no '
    "permission.",
    threads=("issues/3115", "issues/6884", "issues/1379"),
    advice="Where no key came, give that client an AclClientRPCHook (Java), WithCredentials (Go), SessionCredentials "
    "(C++), a dashboard rocketmq.config.accessKey and secretKey, a broker that is a slave or a proxy its "
    "tools.yml. Where the signature failed, compare both keys. Which address asks stands in the broker's "
    "remoting.log: `grep -B2 AclException`. 4.9.7 and older: conf/plain_acl.yml or `mqadmin updateAclConfig`, with "
    "topicPerms and groupPerms; on 5.3.3 and 5.5.0 `mqadmin getUser` and `getAcl`.",
    sign=Sign(
        events=(Logged.NOT_AUTHORISED,),
        because="the broker answered a request with a refusal of its access control",
        gap_s=300.0,
        lines=(
            "org.apache.rocketmq.acl.common.AclException: No accessKey is configured",
            "org.apache.rocketmq.auth.authentication.exception.AuthenticationException: check signature failed.",
        ),
    ),
)
