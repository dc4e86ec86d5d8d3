"""The audit as Prometheus reads it, and the example of alarms that rest on it."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping
from typing import Any

import pytest
import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from harness.audit.finding import AuditFinding, Severity
from harness.audit.findings import Growth, judge
from harness.audit.reading import BrokerReading, NameServerReading, Reading
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.paths import PACKAGES
from harness.protocol.broker import TopicConfig
from mqlab.ask.audit_prometheus import FINDINGS_MAX, exposition
from tests.lib.prometheus_text import Samples, read_exposition

RULES = PACKAGES / "docs" / "mqlab-alarms.yml"
SICK = Reading(
    at_s=1_800_000_000.25,
    name_servers=(
        NameServerReading(address="127.0.0.1:9876", brokers={"broker-a": {0: "127.0.0.1:1"}}),
        NameServerReading(address="127.0.0.1:9877", problem="cannot connect"),
    ),
    brokers=(
        BrokerReading(
            name="broker-a",
            broker_id=0,
            address="127.0.0.1:1",
            topics=(TopicConfig(name="orders", read_queues=4, write_queues=8),),
            frame_bytes=1000,
            overdue={3: 7},
            undispatched_bytes=60,
        ),
        BrokerReading(name="broker-b", broker_id=1, address="127.0.0.1:2", problem="no answer"),
    ),
    offline=frozenset({"gone"}),
)
GROWN = Growth(at_s=SICK.at_s - 10, frame_bytes={"broker-a": 990})


def _samples(reading: Reading, findings: list[AuditFinding] | None = None) -> Samples:
    found = judge(reading, earlier=GROWN) if findings is None else findings
    return read_exposition(exposition(reading, found, GROWN, FRAME_BYTES_MAX))


def _value(samples: Samples, name: str, **labels: str) -> float:
    return samples[f"mqlab_audit_{name}", frozenset(labels.items())]


def test_what_was_read_and_what_is_wrong_are_samples() -> None:
    found = _samples(SICK)
    of_a = {"broker": "broker-a", "broker_id": "0"}
    assert _value(found, "read_timestamp_seconds") == SICK.at_s
    assert _value(found, "severity") == 2
    assert _value(found, "finding", kind="queue-numbers-differ", severity="critical", where="orders on broker-a") == 1
    assert _value(found, "findings", severity="warning") == 0
    assert _value(found, "findings", severity="critical") == len(judge(SICK, earlier=GROWN))
    assert [_value(found, "name_server_up", address=f"127.0.0.1:{port}") for port in (9876, 9877)] == [1, 0]
    assert [_value(found, "broker_up", **of_a), _value(found, "broker_up", broker="broker-b", broker_id="1")] == [1, 0]
    assert _value(found, "registration_share", **of_a) == 1000 / FRAME_BYTES_MAX
    assert _value(found, "registration_full_timestamp_seconds", **of_a) == SICK.at_s + FRAME_BYTES_MAX - 1000
    assert _value(found, "topics", type="normal", **of_a) == 1
    assert _value(found, "topics", type="dead_letter", **of_a) == 0
    assert _value(found, "overdue_messages", level="3", **of_a) == 7
    assert _value(found, "undispatched_bytes", **of_a) == 60
    assert _value(found, "offline_groups") == 1


def test_a_sound_cluster_says_so_with_zeros() -> None:
    found = _samples(dataclasses.replace(SICK, brokers=(), name_servers=()), [])
    assert _value(found, "severity") == 0
    assert _value(found, "findings", severity="critical") == 0
    assert not [name for name, _ in found if name == "mqlab_audit_finding"]


def test_of_thousands_of_findings_the_worst_have_samples_and_all_are_counted() -> None:
    def finding(index: int, severity: Severity) -> AuditFinding:
        return AuditFinding(kind="k", severity=severity, where=f"topic-{index}", says="", advice="")

    worst = [finding(index, Severity.CRITICAL) for index in range(3)]
    found = _samples(SICK, [*worst, *(finding(index, Severity.WARNING) for index in range(5000))])
    told = [dict(labels) for name, labels in found if name == "mqlab_audit_finding"]
    assert len(told) == FINDINGS_MAX
    assert sum(one["severity"] == "critical" for one in told) == 3
    assert _value(found, "findings", severity="warning") == 5000


@settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])  # cores are shared
@given(name=st.text(max_size=20), wheres=st.lists(st.text(max_size=20), max_size=4))
def test_whatever_a_node_is_called_the_text_stays_one(name: str, wheres: list[str]) -> None:
    broker = dataclasses.replace(SICK.brokers[0], name=name)
    findings = [
        AuditFinding(kind="k", severity=Severity.WARNING, where=where, says="\n", advice='"') for where in wheres
    ]
    found = _samples(dataclasses.replace(SICK, brokers=(broker,)), findings)
    assert _value(found, "broker_up", broker=name, broker_id="0") == 1
    assert {dict(labels)["where"] for of, labels in found if of == "mqlab_audit_finding"} == set(wheres)


@pytest.mark.parametrize(
    "text",
    [
        "a 1",
        "a 1\n",
        "# HELP a b\n# TYPE a gauge\na one\n",
        "# HELP a b\n# TYPE a gauge\na 1 1700000000000\n",
        '# HELP a b\n# TYPE a gauge\na{b="c"} 1\na{b="c"} 2\n',
        '# HELP a b\n# TYPE a gauge\na{b="c"d"} 1\n',
        "# HELP a b\n# TYPE a gauge\n# HELP c d\n# TYPE c gauge\nc 1\na 1\n",
        "# HELP a b\n# TYPE a gauge\na 1\n\n",
    ],
)
def test_the_reader_refuses_what_is_none_of_the_format(text: str) -> None:
    with pytest.raises(ValueError, match=r"line|group|sample"):
        read_exposition(text)


# --- the alarms ---------------------------------------------------------------------------------------------------------


def _alarms() -> list[Mapping[str, Any]]:
    document = yaml.safe_load(RULES.read_text("utf-8"))
    return [rule for group in document["groups"] for rule in group["rules"]]


def test_each_alarm_rests_on_metrics_and_labels_that_there_are() -> None:
    known: dict[str, set[str]] = {}
    for name, labels in _samples(SICK):
        known.setdefault(name, set()).update(dict(labels))
    for alarm in _alarms():
        assert set(alarm) == {"alert", "expr", "for", "labels", "annotations"}
        asked = re.findall(r"(mqlab_audit_\w+)(?:\{([^}]*)\})?", alarm["expr"])
        assert asked, alarm
        for name, matchers in asked:
            assert name in known, alarm["alert"]
            assert set(re.findall(r"(\w+)=", matchers)) <= known[name]
        used = set(re.findall(r"\$labels\.(\w+)", " ".join(alarm["annotations"].values())))
        assert used <= {"instance"}.union(*(known[name] for name, _ in asked))


def test_alarms_have_names_of_their_own_and_the_severities_of_findings() -> None:
    names = [alarm["alert"] for alarm in _alarms()]
    assert len(set(names)) == len(names) >= 5
    assert {alarm["labels"]["severity"] for alarm in _alarms()} == {"warning", "critical"}
