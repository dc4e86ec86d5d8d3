"""The restarts of a rolling upgrade: their order, what each does, and clients that take over from others."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.cluster import Node
from harness.errors import ClientError
from harness.faults import rolling_upgrade
from harness.faults.rolling_upgrade import steps_of, upgrade
from harness.load.keyed import RENEWED_FIRST, KeyedSession
from harness.model.faults import RollingUpgrade
from harness.model.loads import KeyedSends

NAMES = ("namesrv-1", "broker-a", "broker-a-s1", "broker-b", "broker-b-s1")


def _node(name: str) -> Node:
    if name.startswith("namesrv"):
        return Node(name=name, kind="namesrv", address="127.0.0.1:1")
    master, _, slave = name.partition("-s")
    return Node(name=name, kind="broker", address="127.0.0.1:2", broker_name=master, broker_id=int(slave or 0))


NODES = [_node(name) for name in NAMES]


def _way(fault: RollingUpgrade) -> list[str]:
    return [f"{step.node.name if step.node else step.role}{' back' * step.back}" for step in steps_of(fault, NODES)]


def test_name_servers_come_before_slaves_and_these_before_masters() -> None:
    assert _way(RollingUpgrade()) == ["namesrv-1", "broker-a-s1", "broker-b-s1", "broker-a", "broker-b"]


def test_a_user_may_choose_another_order_and_name_clients() -> None:
    fault = RollingUpgrade(order=("consumer", "master", "producer"))
    assert _way(fault) == ["consumer", "broker-a", "broker-b", "producer"]


def test_the_way_back_begins_with_the_first_node_of_the_last_role() -> None:
    there = ["namesrv-1", "broker-a-s1", "broker-b-s1", "broker-a"]
    assert _way(RollingUpgrade(back=True)) == [*there, *(f"{name} back" for name in reversed(there))]


def test_a_role_that_the_cluster_has_no_node_of_is_a_mistake() -> None:
    with pytest.raises(ClientError, match="no slave to upgrade"):
        steps_of(RollingUpgrade(), [node for node in NODES if not node.broker_id])


class FakeCluster:
    """Notes what is done to its nodes; they tell the release that they were started as, or another one."""

    def __init__(self, told: str = "", timeouts: int = 0) -> None:
        self.timeouts = timeouts
        self.spec, self.nodes, self.done, self.told = SimpleNamespace(release="4.6.0"), NODES, list[str](), told
        self.releases: dict[str, str] = {}
        self.permission = 4
        """Of the first master, when its permission to write is taken away."""
        self.metered: list[int] = []
        """How much had been done each time."""

    def stop_node(self, name: str, *, grace_s: float) -> bool:
        self.done.append(f"stop {name}")
        return True

    def start_node(self, name: str, *, release: str) -> None:
        self.releases[name] = release
        self.done.append(f"start {name} {release}")


def _run(
    monkeypatch: pytest.MonkeyPatch, fault: RollingUpgrade, cluster: FakeCluster
) -> tuple[list[dict[str, Any]], Any]:
    class Asked:
        def __init__(self, node: Node) -> None:
            self.node = node

        def __enter__(self) -> Any:
            if cluster.timeouts:
                cluster.timeouts -= 1
                raise ClientError("did not answer request 28: timed out")
            release = cluster.told or cluster.releases.get(self.node.name, "")
            return SimpleNamespace(
                runtime_info=lambda: {"brokerVersionDesc": f"V{release.replace('.', '_')}"},
                route=lambda topic: SimpleNamespace(permissions={"broker-a": cluster.permission, "broker-b": 4}),
                version=tuple(int(part) for part in release.split(".") if part),
                wipe_write_permission=lambda broker: cluster.done.append(f"{self.node.name} wipes {broker}"),
            )

        def __exit__(self, *_: object) -> None:
            return None

    restarts: list[dict[str, Any]] = []
    monkeypatch.setattr(rolling_upgrade, "ask", Asked)
    monkeypatch.setattr(rolling_upgrade, "ask_name_server", Asked)
    monkeypatch.setattr(rolling_upgrade, "ensure_jars", lambda release: ())
    monkeypatch.setattr(rolling_upgrade, "wait_registered", lambda *_, **__: cluster.done.append("registered"))
    trial = SimpleNamespace(
        cluster=cluster, params={"to": "5.5.0"}, stay=lambda seconds: cluster.done.append(f"stay {seconds:g}"),
        events=SimpleNamespace(record=lambda kind, **values: restarts.append({"type": kind, **values})),
        meter=lambda: cluster.metered.append(len(cluster.done)),
    )  # fmt: skip
    return restarts, upgrade(fault, cast(Any, trial), cast(Any, SimpleNamespace()))


def test_each_node_is_back_before_the_next_one_is_stopped(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    restarts, done = _run(monkeypatch, RollingUpgrade(order=("namesrv", "slave")), cluster)
    names = ("namesrv-1", "broker-a-s1", "broker-b-s1")
    assert cluster.done == [word for name in names for word in (f"stop {name}", f"start {name} 5.5.0", "registered")]
    stops = [number for number, word in enumerate(cluster.done) if word.startswith("stop ")]
    assert cluster.metered == stops, "what a node has used is read before it is gone"
    assert [(one["step"], one["node"], one["role"]) for one in restarts] == [
        (1, "namesrv-1", "namesrv"), (2, "broker-a-s1", "slave"), (3, "broker-b-s1", "slave"),
    ]  # fmt: skip
    stamps = [one[name] for one in restarts for name in ("stopping_ns", "stopped_ns", "ready_ns")]
    assert stamps == sorted(stamps)
    assert done.injecting_ns <= stamps[0]
    assert done.healed_ns >= stamps[-1]


def test_on_the_way_back_a_node_gets_the_release_that_it_had(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    restarts, _ = _run(monkeypatch, RollingUpgrade(order=("namesrv", "master"), back=True), cluster)
    assert [(one["node"], one["from_release"], one["to_release"]) for one in restarts] == [
        ("namesrv-1", "4.6.0", "5.5.0"), ("broker-a", "4.6.0", "5.5.0"),
        ("broker-a", "5.5.0", "4.6.0"), ("namesrv-1", "5.5.0", "4.6.0"),
    ]  # fmt: skip
    assert cluster.releases == {"namesrv-1": "4.6.0", "broker-a": "4.6.0"}


def test_a_master_is_stopped_once_producers_know_that_it_takes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    _, done = _run(monkeypatch, RollingUpgrade(order=("slave", "master"), drained_s=35.0), cluster)
    assert done.exercised is True
    begin = cluster.done.index("stop broker-a")
    assert cluster.done[begin - 2 : begin] == ["namesrv-1 wipes broker-a", "stay 35"]
    assert cluster.done.count("stay 35") == 2


def test_a_master_that_is_listed_as_writable_was_not_drained(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster()
    cluster.permission = 6
    _, done = _run(monkeypatch, RollingUpgrade(order=("master",), drained_s=35.0), cluster)
    assert done.exercised is False
    assert done.detail == "4.6.0 to 5.5.0; namesrv-1 listed broker-a as writable all the same"


@pytest.mark.parametrize(("role", "node"), [("master", "broker-a"), ("namesrv", "namesrv-1")])
def test_a_node_that_is_of_another_release_than_it_was_started_as_is_no_upgrade(
    monkeypatch: pytest.MonkeyPatch, role: Any, node: str
) -> None:
    with pytest.raises(ClientError, match=rf"{node} was started as 5\.5\.0 and says 4\.6\.0"):
        _run(monkeypatch, RollingUpgrade(order=(role,)), FakeCluster(told="4.6.0"))


def test_a_broker_that_is_too_busy_to_say_its_release_is_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    cluster = FakeCluster(timeouts=3)
    restarts, _ = _run(monkeypatch, RollingUpgrade(order=("slave",)), cluster)
    assert len(restarts) == 2
    assert cluster.timeouts == 0


def test_a_load_whose_clients_nobody_can_take_over_from_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(ClientError, match="renews clients"):
        _run(monkeypatch, RollingUpgrade(order=("consumer",)), FakeCluster())


def _session(said: list[str]) -> KeyedSession:
    trial: Any = SimpleNamespace(
        record=SimpleNamespace(topic="t", groups=("g-hash", "g-normal"), trial="r1"),
        cluster=SimpleNamespace(nodes=[_node("namesrv-1"), _node("broker-a")]),
    )
    session = KeyedSession(trial, KeyedSends(kinds=("hash", "normal"), rate_hz=300.0, threads=12))
    cast(Any, session)._started = _client("old", "4.6.0", said)
    return session


def _client(name: str, release: str, said: list[str]) -> Any:
    def note(what: str) -> Any:
        return lambda *given, **_: said.append(" ".join([name, what, *(one for one in given if isinstance(one, str))]))

    return SimpleNamespace(
        release=release, start_producer=note("produces"), wait_for_route=lambda *_: None, stop_schedule=note("stops"),
        schedule_state=lambda kind: SimpleNamespace(is_through=True), close_history=note("closes"), stop=note("ends"),
        start_schedule=lambda spec: said.append(f"{name} sends {spec.name} from {spec.sends.first} with {spec.sends.keys} keys"),
    )  # fmt: skip


def test_producers_go_on_where_those_before_them_stopped() -> None:
    said: list[str] = []
    session = _session(said)
    cast(Any, session)._renewed = _client("new", "5.5.0", said)
    session.renew_producers("5.5.0")
    sends = [words for words in said if " sends " in words or " stops " in words]
    assert sends == [
        "old stops hash", f"new sends hash from {RENEWED_FIRST} with 97 keys",
        "old stops normal", f"new sends normal from {RENEWED_FIRST} with 0 keys",
    ]  # fmt: skip
    assert said[-2:] == ["old closes", "old ends"]
    assert session._client.release == "5.5.0"


def test_producers_do_not_come_before_consumers_of_their_process() -> None:
    with pytest.raises(ClientError, match="producers follow consumers"):
        _session([]).renew_producers("5.5.0")
