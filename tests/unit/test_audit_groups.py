"""What an audit says of consumer groups: forgotten by a broker, of one client id, of different subscriptions."""

from __future__ import annotations

import json
from contextlib import ExitStack

import pytest

from harness.audit.asking import read_cluster
from harness.audit.finding import Severity
from harness.audit.findings import judge
from harness.protocol.broker import subscribed
from tests.lib.audited import CONF, Fake, cluster, serve


def test_groups_that_one_broker_has_forgotten_are_found(serving: ExitStack) -> None:
    groups = ("billing", "stock", "gone")
    broker, servers, addresses = cluster(serving, {f"%RETRY%{group}": (1, 1) for group in groups})
    second = Fake(
        topics={f"%RETRY%{group}": (1, 1) for group in (*groups, "elsewhere")}, conf=CONF | {"brokerName": "broker-b"}
    )
    second.members = {"elsewhere": ["3"], "stock": ["2"]}
    broker.members = {"billing": ["1"], "stock": ["2"]}
    for one in servers:
        one.brokers["broker-b"] = {0: serving.enter_context(serve(second))}
        one.topics["%RETRY%elsewhere"] = (1, 1)
    reading = read_cluster(addresses)
    assert reading.unknown == {"broker-b": ("billing",)}
    assert reading.offline == {"gone"}
    (found,) = (one for one in judge(reading) if one.kind == "groups-unknown-to-broker")
    assert (found.severity, found.where) == (Severity.WARNING, "broker-b")
    assert found.says.startswith("groups that other brokers know are unknown here: billing; ")


def _running_info(*subscriptions: tuple[str, str, list[str]]) -> bytes:
    """As fastjson writes what a client says of itself: with objects as keys, which is no JSON."""
    each = [
        {"topic": topic, "subString": words, "tagsSet": tags, "subVersion": 7} for topic, words, tags in subscriptions
    ]
    return (
        b'{"mqTable":{{"topic":"t","queueId":0}:{"locked":true}},"subscriptionSet":' + json.dumps(each).encode() + b"}"
    )


def test_members_that_have_one_client_id_are_found(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {f"%RETRY%{group}": (1, 1) for group in ("billing", "stock", "sound")})
    broker.members = {"billing": ["1", "1", "2"], "stock": ["1", "1"], "sound": ["1", "2"]}
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("client-ids-equal", Severity.CRITICAL, "1")
    assert ": billing, stock; " in found.says


def test_members_that_subscribe_to_different_things_are_found_when_they_are_asked(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {f"%RETRY%{group}": (1, 1) for group in ("billing", "sound")})
    broker.members = {"billing": ["1", "2", "3"], "sound": ["4", "5", "6"]}
    retry = ("%RETRY%billing", "*", list[str]())
    broker.said = {
        "1": _running_info(("orders", "a", ["a"]), retry),
        "2": _running_info(("orders", "b", ["b"]), ("bills", "*", []), retry),
        "4": _running_info(("orders", "a || b", ["a", "b"])),
        "5": _running_info(("orders", "b || a", ["b", "a"])),
    }
    assert judge(read_cluster(addresses)) == []
    assert 307 not in broker.asked
    (found,) = judge(read_cluster(addresses, ask_clients=True))
    assert (found.kind, found.severity, found.where) == ("subscriptions-differ", Severity.CRITICAL, "billing")
    assert found.says.startswith("orders a (1) / bills *; orders b (2): ")


@pytest.mark.parametrize(
    "body",
    [
        b"",
        b'{"subscriptionSet":[{]}',
        b'{"subscriptionSet":[1]}',
        b'{"subscriptionSet":[{"topic":"t"}]}',
        b'"subscriptionSet":[\xff',
    ],
)
def test_a_client_that_answers_in_another_way_has_not_answered(body: bytes) -> None:
    assert subscribed(body) is None


def test_tags_are_compared_in_an_order_of_their_own() -> None:
    body = b'{"mqTable":{{"queueId":1}:{}},"subscriptionSet":[{"subString":"b || a","tagsSet":["b","a"],"topic":"t"}]}'
    assert subscribed(body) == {"t": "a || b"}
