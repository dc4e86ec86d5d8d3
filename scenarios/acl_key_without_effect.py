"""Users: after an upgrade everybody may send and read (apache/rocketmq 9362, 8776, 10496, 10499).

``aclEnable`` and plain_acl.yml are the access control lists of 4.x, which 5.2.0 has, too. 5.3.3 and 5.5.0 have the setter still and
nothing that reads it (``dead_keys`` of harness.releases), and print the key as they start, as older releases do. Those read their
accounts after that, and say so.
"""

from __future__ import annotations

from harness.model.incident import Incident, Sign
from harness.model.log_events import Logged

INCIDENT = Incident(
    name="acl-key-without-effect",
    title="A broker with aclEnable=true asks nobody for keys",
    symptom="After an upgrade to 5.3.3 or 5.5.0 clients without keys, or with wrong ones, send and consume although "
    "aclEnable=true.",
    threads=("issues/9362", "issues/8776", "issues/10496", "pull/10499"),
    advice="On 5.3.3 and newer set up authenticationEnabled and authorizationEnabled, which take the place of aclEnable (5.2.0 and "
    "older go by aclEnable=true and plain_acl.yml), and try a request without keys before others can reach the broker; "
    "`mqlab audit --broker-conf FILE` says on which releases the key is dead.",
    sign=Sign(
        events=(Logged.ACL_KEY_ON,),
        unless=(Logged.ACL_READ,),
        because="a broker started with aclEnable=true and said nothing of the accounts that it has read: 5.3.3 and 5.5.0 take the "
        "key and do nothing with it, where older releases read plain_acl.yml",
        against="authenticationEnabled may be on, which no log says: see the broker.conf, or send a request without keys",
        lines=("2026-11-23 14:10:29 INFO main - aclEnable=true",),
    ),
)
