"""Slaves that could not stand in for their master."""

from collections.abc import Iterator

from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading, Reading
from harness.language import phrase

SLAVE_READ, REFUSES_SINCE = "slaveReadEnable", (5,)
"""PullMessageProcessor.rejectRequest of 5.3.3 and 5.5.0 looks at it; a slave of 4.6.0 and 4.9.7 answers all the same."""


def slaves_unread(reading: Reading) -> Iterator[AuditFinding]:
    """Slaves of 5.x that refuse reads, worse where their master does not answer."""
    alive = {broker.name for broker in reading.masters()}
    for broker in reading.brokers:
        if broker.broker_id != 0 and not broker.problem:
            yield from serves_no_reads(broker, master_lives=broker.name in alive)


def serves_no_reads(broker: BrokerReading, *, master_lives: bool = True) -> Iterator[AuditFinding]:
    """A slave without slaveReadEnable. With a controller another broker becomes master, which is not measured here."""
    conf = broker.conf
    refuses = broker.has_attributes or broker.version[:1] >= REFUSES_SINCE
    is_slave = conf.get("brokerRole") == "SLAVE" and conf.get("enableControllerMode") != "true"
    if refuses and is_slave and conf.get(SLAVE_READ, "false") == "false":
        yield AuditFinding(
            kind="reads-refused-by-slave",
            severity=Severity.WARNING if master_lives else Severity.CRITICAL,
            where=broker.words,
            says=phrase(
                "slaveReadEnable is false: if its master dies, nobody reads its backlog"
                if master_lives
                else "slaveReadEnable is false: its master does not answer, and nobody reads its backlog, as it refuses every pull",
            ),
        )
