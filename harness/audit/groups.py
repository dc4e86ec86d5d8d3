"""What is wrong with the members of consumer groups: equal client ids, subscriptions that differ, groups that a broker forgot."""

from collections import Counter
from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity, some
from harness.audit.reading import Reading
from harness.model.rocketmq import RETRY_PREFIX


def equal_ids(reading: Reading) -> Iterator[AuditFinding]:
    """Clients that have one id. Each of them finds itself at the same place among the group's members."""
    groups: dict[str, list[str]] = {}
    for group, members in sorted(reading.members.items()):
        counted = Counter(member.client_id for member in members)
        for client_id in sorted(client_id for client_id, count in counted.items() if count > 1):
            groups.setdefault(client_id, []).append(group)
    for client_id, names in groups.items():
        yield AuditFinding(
            kind="client-ids-equal",
            severity=Severity.CRITICAL,
            where=client_id,
            says=f"several members of a group have this client id: {some(names)}; they get the same queues, and others nobody. A "
            "connection that was lost without a word goes within two minutes; look again after that",
        )


def subscriptions_differ(reading: Reading) -> Iterator[AuditFinding]:
    """Groups whose members said that they subscribe to different things."""
    for group, by_client in sorted(reading.subscriptions.items()):
        found: dict[str, list[str]] = {}
        for client_id, topics in sorted(by_client.items()):
            words = "; ".join(
                f"{topic} {expression}"
                for topic, expression in sorted(topics.items())
                if not topic.startswith(RETRY_PREFIX)
            )
            found.setdefault(words, []).append(client_id)
        if len(found) > 1:
            yield AuditFinding(
                kind="subscriptions-differ",
                severity=Severity.CRITICAL,
                where=group,
                says=" / ".join(f"{words or 'nothing'} ({some(clients)})" for words, clients in found.items())
                + ": a broker keeps one subscription a group and topic, and messages are missing",
            )


def forgotten(reading: Reading) -> Iterator[AuditFinding]:
    """Brokers that do not know groups which others know, though they have had messages of them to retry."""
    for where, groups in sorted(reading.unknown.items()):
        yield AuditFinding(
            kind="groups-unknown-to-broker",
            severity=Severity.WARNING,
            where=where,
            says=f"groups that other brokers know are unknown here: {some(groups)}; it has forgotten them in a restart, and "
            "refuses their pulls until the next heartbeat of their clients (heartbeatBrokerInterval, 30 s)",
        )
