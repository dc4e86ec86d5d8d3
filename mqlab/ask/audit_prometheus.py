"""What an audit read, as Prometheus reads it: the text format of node_exporter's textfile collector.

https://prometheus.io/docs/instrumenting/exposition_formats/ has the format. The collector refuses samples with a time of their own.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from harness.audit.finding import AuditFinding, Severity
from harness.audit.findings import Growth, crossing, topics_by_type, topics_left
from harness.audit.reading import BrokerReading, Reading
from harness.printable import printable

FINDINGS_MAX = 100
"""Findings with a sample of their own, the worst first: a cluster may have thousands of topics of which the same is wrong."""


@dataclass(frozen=True, kw_only=True)
class Metric:
    """A gauge; of each set of labels there is one value."""

    name: str
    says: str
    samples: Mapping[tuple[tuple[str, str], ...], float] = field(default_factory=dict)

    def lines(self) -> Iterator[str]:
        """Its help, its type and its samples; none without samples."""
        if self.samples:
            yield f"# HELP mqlab_audit_{self.name} {_escaped(self.says)}"
            yield f"# TYPE mqlab_audit_{self.name} gauge"
        for labels, value in self.samples.items():
            inside = ",".join(f'{name}="{_escaped(of, quoted=True)}"' for name, of in labels)
            yield f"mqlab_audit_{self.name}{f'{{{inside}}}' if inside else ''} {float(value)!r}"


def exposition(
    reading: Reading,
    findings: Sequence[AuditFinding],
    earlier: Growth | None,
    limit_bytes: int,
    *,
    for_a_file: bool = True,
) -> str:
    """The whole text. ``findings`` are those of the reading, the worst first.

    In a file a label is what a node has written, whatever that is. What may reach a terminal has no control characters.
    """
    metrics = (*_of_all(reading, findings, limit_bytes), *_of_brokers(reading, earlier, limit_bytes))
    lines = (line for metric in metrics for line in metric.lines())
    return "".join(f"{line if for_a_file else _shown(line)}\n" for line in lines)


def _of_all(reading: Reading, findings: Sequence[AuditFinding], limit_bytes: int) -> Iterator[Metric]:
    counted = Counter(one.severity for one in findings)
    told = findings[:FINDINGS_MAX]
    worst = max((one.severity for one in findings), default=Severity.NONE)
    yield _one("read_timestamp_seconds", "When the cluster was read, in seconds since 1970.", reading.at_s)
    yield _one("severity", "Of the worst finding: 0 none, 1 warning, 2 critical.", worst)
    yield _many(
        "findings",
        "How many findings there are.",
        (({"severity": one.name.lower()}, counted[one]) for one in (Severity.WARNING, Severity.CRITICAL)),
    )
    yield _many(
        "finding",
        f"One thing that is wrong; of more than {FINDINGS_MAX} the worst.",
        (({"kind": one.kind, "severity": one.severity.name.lower(), "where": one.where}, 1) for one in told),
    )
    servers = reading.name_servers
    yield _many(
        "name_server_up",
        "Whether the name server answered, and as RocketMQ does.",
        (({"address": one.address}, not one.problem) for one in servers),
    )
    yield _many(
        "name_server_topics",
        "Topics that the name server lists.",
        (({"address": one.address}, len(one.topics)) for one in servers if not one.problem),
    )
    if reading.masters():
        yield _one("offline_groups", "Groups that are offline and have a retry topic.", len(reading.offline))
    yield _one("registration_limit_bytes", "The frame limit that registrations are judged by.", limit_bytes)


def _of_brokers(reading: Reading, earlier: Growth | None, limit_bytes: int) -> Iterator[Metric]:
    read = [one for one in reading.brokers if not one.problem]

    def each(name: str, says: str, values: Iterator[tuple[BrokerReading, float | None]]) -> Metric:
        return _many(name, says, ((_of(broker), value) for broker, value in values if value is not None))

    yield each(
        "broker_up",
        "Whether the broker answered, and as RocketMQ does.",
        ((one, not one.problem) for one in reading.brokers),
    )
    yield each("registration_bytes", "Bytes of its registration.", ((one, one.frame_bytes) for one in read))
    yield each(
        "registration_share",
        "Its registration's share of the frame limit.",
        ((one, one.frame_bytes / limit_bytes) for one in read),
    )
    yield each(
        "registration_full_timestamp_seconds",
        "When its registration reaches the limit at its growth, in seconds since 1970.",
        ((one, crossing(one, reading.at_s, earlier, limit_bytes)) for one in read),
    )
    yield each(
        "topics_left",
        "Further retry topics that fit into its registration.",
        ((one, topics_left(one, limit_bytes)) for one in read if one.topics),
    )
    yield _many(
        "topics",
        "Its topics by type.",
        (
            ({**_of(one), "type": kind.replace(" ", "_")}, count)
            for one in read
            for kind, count in topics_by_type(one).items()
        ),
    )
    yield _many(
        "overdue_messages",
        "Delayed messages that ought to have come, at least, by level.",
        ((_of(one) | {"level": str(level)}, count) for one in read for level, count in sorted(one.overdue.items())),
    )
    yield each(
        "undispatched_bytes",
        "How far its consume queues are behind its commit log, where they stand still.",
        ((one, one.undispatched_bytes) for one in read),
    )


def _of(broker: BrokerReading) -> dict[str, str]:
    return {"broker": broker.name, "broker_id": str(broker.broker_id)}


def _one(name: str, says: str, value: float) -> Metric:
    return Metric(name=name, says=says, samples={(): value})


def _many(name: str, says: str, samples: Iterator[tuple[dict[str, str], float]]) -> Metric:
    return Metric(name=name, says=says, samples={tuple(labels.items()): value for labels, value in samples})


def _shown(line: str) -> str:
    """The format knows no other escapes than its own, and so each of these has a backslash that is written out."""
    return "".join(char if char.isprintable() else printable(char).replace("\\", "\\\\") for char in line)


def _escaped(text: str, *, quoted: bool = False) -> str:
    """As HELP lines and, ``quoted``, labels' values need it."""
    text = text.replace("\\", r"\\").replace("\n", r"\n")
    return text.replace('"', r"\"") if quoted else text
