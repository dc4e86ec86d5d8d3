"""What befalls users and is replayed nowhere, since that would be an attack: ``mqlab audit`` tells by release and settings.

docs/incidents.md has it in a table of its own.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Audited:
    """``happens`` are its faces, each with its CVE, for which the audit knows the releases; ``told_by`` is what it goes by."""

    symptom: str
    happens: Mapping[str, str]
    told_by: str
    avoided_by: str


AUDITED: Mapping[str, Audited] = {
    "remote-configuration": Audited(
        symptom="Strangers change a node's configuration, and so run commands on it or write files.",
        happens={"a broker": "CVE-2023-33246", "a name server": "CVE-2023-37582"},
        told_by="the release that a node tells: critical, but a warning for a broker whose aclEnable is on; a warning, too, for a "
        "broker of a newer release whose configBlackList leaves out brokerConfigPath or configBlackList",
        avoided_by="an upgrade; until then aclEnable=true on brokers, and ports that only clients, brokers and operators reach",
    ),
}
"""By the incident's name, which the audit's findings have as their kind."""
