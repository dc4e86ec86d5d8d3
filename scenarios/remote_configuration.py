"""Strangers change a node's configuration. Replaying that would be an attack: ``mqlab audit`` tells by release and settings."""

from __future__ import annotations

from harness.model.incident import Incident

INCIDENT = Incident(
    name="remote-configuration",
    title="Whoever reaches a node's port may change its configuration",
    symptom="Strangers change a node's configuration, and so run commands on it or write files.",
    faces={"a broker": "CVE-2023-33246", "a name server": "CVE-2023-37582"},
    advice="Upgrade to 4.9.7, 5.1.2 or newer, and let only clients, brokers and operators reach the ports of brokers and name "
    "servers. Until then aclEnable=true with accounts in plain_acl.yml keeps strangers from a broker: each release that has "
    "this defect goes by it.",
    audited_as_itself="configuration-open",
    no_sign="No log tells. `mqlab audit` does, by the release that a node tells: critical, but a warning for a broker whose "
    "aclEnable is on, and for one of a newer release whose configBlackList leaves out brokerConfigPath or configBlackList.",
)
