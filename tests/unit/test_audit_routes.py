"""What an audit says of routes: brokers, topics and queues that name servers lack or have otherwise."""

from __future__ import annotations

from contextlib import ExitStack

import pytest

from harness.audit.asking import read_cluster
from harness.audit.finding import Severity
from harness.audit.findings import judge
from tests.lib.audited import cluster, kinds_of


def test_a_name_server_that_lacks_the_broker_is_named(serving: ExitStack) -> None:
    _, servers, addresses = cluster(serving, {"orders": (4, 4)})
    servers[1].brokers.clear()
    servers[1].topics.clear()
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.where) for one in found] == [("broker-missing", "broker-a")]
    assert addresses[1] in found[0].says
    assert addresses[0] not in found[0].says


def test_a_name_server_that_lacks_only_a_topic_is_named(serving: ExitStack) -> None:
    _, servers, addresses = cluster(serving, {"orders": (4, 4), "%RETRY%g": (1, 1)})
    del servers[1].topics["%RETRY%g"]
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.where) for one in found] == [("topics-missing", addresses[1])]
    assert "%RETRY%g" in found[0].says


def test_routes_with_other_queue_numbers_are_found(serving: ExitStack) -> None:
    _, servers, addresses = cluster(serving, {"orders": (4, 4)})
    servers[1].topics["orders"] = (8, 8)
    assert kinds_of(read_cluster(addresses)) == ["routes-differ"]


@pytest.mark.parametrize(("queues", "severity"), [((8, 4), Severity.CRITICAL), ((4, 8), Severity.WARNING)])
def test_queue_numbers_that_differ_are_found(serving: ExitStack, queues: tuple[int, int], severity: Severity) -> None:
    _, _, addresses = cluster(serving, {"orders": queues})
    found = judge(read_cluster(addresses))
    assert [(one.kind, one.severity) for one in found] == [("queue-numbers-differ", severity)]


def test_a_name_server_that_is_down_is_a_finding_and_no_error(serving: ExitStack) -> None:
    _, _, addresses = cluster(serving, {"orders": (4, 4)}, servers=1)
    assert kinds_of(read_cluster([*addresses, "127.0.0.1:1"])) == ["unreachable"]
