"""Nodes that could not be read, and groups of brokers that nobody leads."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity, some
from harness.audit.reading import Reading


def not_read(reading: Reading) -> Iterator[AuditFinding]:
    """Nodes that did not answer, or answered what no RocketMQ answers."""
    nodes = [(f"name server {server.address}", server.problem, server.is_nonsense) for server in reading.name_servers]
    nodes += [(broker.words, broker.problem, broker.is_nonsense) for broker in reading.brokers]
    for where, problem, is_nonsense in nodes:
        if problem and is_nonsense:
            yield AuditFinding(
                kind="answers-nonsense",
                severity=Severity.CRITICAL,
                where=where,
                says=problem,
                advice="Look what listens there: another program, something between that changes what passes, or a node that is "
                "damaged. Everything else was judged without it.",
            )
        elif problem:
            yield AuditFinding(
                kind="unreachable",
                severity=Severity.CRITICAL,
                where=where,
                says=problem,
                advice="Clients that know only this node are cut off; what follows was judged without it.",
            )


def without_leader(reading: Reading) -> Iterator[AuditFinding]:
    """Brokers of a name that all wait for their role.

    With DLedger a broker registers as -1 until its group has elected one of them (org.apache.rocketmq.broker.BrokerStartup).
    """
    listed: dict[str, dict[int, str]] = {}
    for server in reading.name_servers:
        for name, by_id in server.brokers.items():
            listed.setdefault(name, {}).update(by_id)
    for name, by_id in sorted(listed.items()):
        if 0 not in by_id and any(number < 0 for number in by_id):
            yield AuditFinding(
                kind="no-leader",
                severity=Severity.CRITICAL,
                where=name,
                says="none of its brokers is master: name servers list "
                + some([f"{address} as {number}" for number, address in sorted(by_id.items())]),
                advice="Nobody takes what is sent to it: look whether most of its peers (dLegerPeers) run and reach each other.",
            )
