"""Faults on a real cluster of the oldest and of the newest release: each shows that it took effect, by what the nodes answer."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends.cluster import Node, ask, ask_name_server, create_topic, masters, wait_registered
from harness.backends.local import LocalCluster
from harness.faults.injections import injection_of
from harness.faults.questions import answers
from harness.faults.recreate_topic import delete_topic
from harness.faults.rolling_upgrade import _told_release, _wipe_write_permission
from harness.leases.leases import Leases
from harness.model.faults import (
    DeleteTopic,
    Fault,
    FlappingNode,
    ForgottenTopic,
    IdleBroker,
    KillNode,
    PauseNode,
    ReadOnlyBroker,
    RecreateTopic,
    UnheardBroker,
)
from harness.trial import Healed, Injected
from harness.wait import wait_until

TOPIC = "proved"
STILL_S = 0.5
LISTED_S_MAX = 60.0


class Topic:
    """A load that can give the topic its queues."""

    numbers = (2, 2)

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster

    def resize(self, write_queues: int, read_queues: int) -> None:
        create_topic(self._cluster, TOPIC, read_queues=read_queues, write_queues=write_queues)


@pytest.fixture
def trial(cluster: LocalCluster, leases: Leases) -> Iterator[Any]:
    create_topic(cluster, TOPIC, read_queues=2, write_queues=2)
    yield SimpleNamespace(
        cluster=cluster, leases=leases, until_s=600.0, cancel=threading.Event(), stay=time.sleep,
        record=SimpleNamespace(topic=TOPIC, groups=["g0"]), events=SimpleNamespace(probe=lambda *of, **more: None),
    )  # fmt: skip
    wait_registered(cluster)


def _done(fault: Fault, trial: Any) -> Injected:
    return injection_of(fault).inject(fault, trial, Topic(trial.cluster))  # type: ignore[arg-type]


def _healed(fault: Fault, trial: Any, done: Injected) -> Healed:
    return done.end() if done.end else injection_of(fault).heal(fault, trial, trial)


@pytest.mark.parametrize("node", ["broker-a", "namesrv-1"])
@pytest.mark.parametrize("still_s", [0.0, STILL_S])
def test_a_node_that_stands_still_is_silent_and_answers_when_it_goes_on(trial: Any, node: str, still_s: float) -> None:
    fault = PauseNode(node=node)
    done = _done(fault, trial)
    time.sleep(still_s)
    healed = _healed(fault, trial, done)
    assert healed.exercised is True, healed.achieved
    assert "stood still and computed nothing" in healed.achieved
    if still_s:
        assert "left a request of it unanswered for" in healed.achieved
    assert answers(next(one for one in trial.cluster.nodes if one.name == node))


def test_a_node_whose_pause_ended_before_its_time_did_not_stand_still(trial: Any) -> None:
    trial.until_s, process = 1.0, trial.cluster.pid("broker-a")
    done = _done(PauseNode(node="broker-a"), trial)
    wait_until("the healer to let it go on", lambda: answers(masters(trial.cluster)[0]), timeout_s=LISTED_S_MAX)
    healed = _healed(PauseNode(node="broker-a"), trial, done)
    assert healed.exercised is False
    assert f"threads of process {process} were not stopped" in healed.achieved


def test_a_node_that_flaps_stands_still_each_time(trial: Any) -> None:
    fault = FlappingNode(node="broker-b", stopped_s=0.3, runs_s=0.5)
    done = _done(fault, trial)
    time.sleep(2.0)
    healed = _healed(fault, trial, done)
    assert healed.exercised is True, healed.achieved


def test_a_killed_node_answers_no_more(trial: Any) -> None:
    fault = KillNode(node="broker-b")
    done = _done(fault, trial)
    assert (done.exercised, done.detail) == (True, "")
    _healed(fault, trial, done)
    assert answers(masters(trial.cluster)[1])


def test_a_broker_without_permission_to_write_is_listed_as_readable_alone(trial: Any) -> None:
    fault = ReadOnlyBroker(node="broker-b")
    healed = _healed(fault, trial, _done(fault, trial))
    assert (healed.exercised, healed.achieved) == (True, "namesrv-1 listed it as readable alone")


def test_a_broker_that_a_name_server_is_told_is_gone_is_not_listed(trial: Any) -> None:
    fault = UnheardBroker(every_s=0.2)
    done = _done(fault, trial)
    time.sleep(STILL_S)
    healed = _healed(fault, trial, done)
    assert healed.exercised is True, healed.achieved


def test_topics_are_forgotten_deleted_and_made_anew(trial: Any) -> None:
    forgotten = ForgottenTopic()
    done = _done(forgotten, trial)
    assert done.exercised is True
    _healed(forgotten, trial, done)
    for broker in masters(trial.cluster):
        with ask(broker) as connection:
            connection.create_group("g0")
    deletions: list[Fault] = [RecreateTopic(), RecreateTopic(cure="offsets"), DeleteTopic()]
    for fault in deletions:
        done = _done(fault, trial)
        assert done.exercised is True, done.detail
    assert delete_topic(trial.cluster, TOPIC).left_on == ()


def test_a_broker_that_is_sent_nothing_is_idle(trial: Any) -> None:
    fault = IdleBroker(watch_s=2.0)
    healed = _healed(fault, trial, _done(fault, trial))
    assert healed.exercised is True, healed.achieved


def test_each_node_says_its_release_and_a_drained_master_is_listed_as_readable_alone(trial: Any) -> None:
    cluster: LocalCluster = trial.cluster
    assert {_told_release(node) for node in cluster.nodes} == {cluster.spec.release}
    assert _wipe_write_permission(cluster, masters(cluster)[0]) == []
    _register_again(cluster, masters(cluster)[0])


def _register_again(cluster: LocalCluster, broker: Node) -> None:
    """A registration of a changed table gives back what a name server took away."""
    create_topic(cluster, f"{TOPIC}-again", read_queues=1, write_queues=1)
    with ask(broker) as connection:
        connection.update_broker_config({"brokerPermission": "6"})

    def is_writable() -> bool:
        with ask_name_server(cluster.nodes[0]) as server:
            route = server.route(TOPIC)
        return route is not None and route.permissions.get(broker.broker_name) == 6

    wait_until("it to be listed as writable again", is_writable, timeout_s=LISTED_S_MAX)
