"""Nodes whose configuration strangers may change, by their release and their settings. Nothing is tried.

CVE-2023-33246 (brokers) and CVE-2023-37582 (name servers): a request that changes the configuration makes the node run a command,
or write a file of the sender's choice. https://nvd.nist.gov/vuln/detail/CVE-2023-33246, https://nvd.nist.gov/vuln/detail/CVE-2023-37582.
"""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading, Reading
from harness.protocol.frames import Version

BROKERS, NAME_SERVERS = "CVE-2023-33246", "CVE-2023-37582"
CURED: dict[str, tuple[Version, Version]] = {BROKERS: ((4, 9, 6), (5, 1, 1)), NAME_SERVERS: ((4, 9, 7), (5, 1, 2))}
"""The first releases of 4.x and of 5.x that have the cure. 4.9.7 has no ``FilterServerManager`` any more, which ran the command;
its name server refuses the keys that are paths (``DefaultRequestProcessor.updateConfig``)."""
LISTED: Version = (5, 1, 2)
"""From here on a broker refuses the keys of its ``configBlackList`` (``AdminBrokerProcessor.validateBlackListConfigExist``)."""
NEVER_REMOTE = ("brokerConfigPath", "configBlackList")
"""What that list has by default: where the broker writes its configuration, and the list itself."""


def is_open(version: Version, cve: str) -> bool:
    """Whether a release has this defect; not where the release is not known."""
    if not version:
        return False
    of_4x, of_5x = CURED[cve]
    return version < (of_4x if version < (5, 0, 0) else of_5x)


def remote_configuration(reading: Reading) -> Iterator[AuditFinding]:
    """Brokers and name servers of releases with these defects, and lists of forbidden keys that were shortened."""
    for broker in reading.brokers:
        if is_open(broker.version, BROKERS):
            yield _broker(broker)
        elif broker.version >= LISTED:
            yield from _shortened(broker)
    for server in reading.name_servers:
        if is_open(server.version, NAME_SERVERS):
            yield AuditFinding(
                kind="configuration-open",
                severity=Severity.CRITICAL,
                where=f"name server {server.address}",
                says=f"a name server of {_words(server.version)} lets whoever reaches it change its configuration, and so write "
                f"files ({NAME_SERVERS})",
            )


def _broker(broker: BrokerReading) -> AuditFinding:
    asks = broker.conf.get("aclEnable") == "true"
    who = "an account with admin rights" if asks else "whoever reaches it"
    return AuditFinding(
        kind="configuration-open",
        severity=Severity.WARNING if asks else Severity.CRITICAL,
        where=broker.words,
        says=f"a broker of {_words(broker.version)} lets {who} change its configuration, and so run commands ({BROKERS})",
    )


def _shortened(broker: BrokerReading) -> Iterator[AuditFinding]:
    listed = {key.strip() for key in broker.conf.get("configBlackList", ";".join(NEVER_REMOTE)).split(";")}
    if missing := [key for key in NEVER_REMOTE if key not in listed]:
        yield AuditFinding(
            kind="configuration-open",
            severity=Severity.WARNING,
            where=broker.words,
            says=f"configBlackList leaves out {' and '.join(missing)}, which a request may change then",
            advice="Put back what the release has by default: configBlackList;brokerConfigPath.",
        )


def _words(version: Version) -> str:
    return ".".join(map(str, version))
