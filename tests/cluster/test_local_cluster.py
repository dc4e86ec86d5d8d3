from __future__ import annotations

import re
import socket
from pathlib import Path

import pytest

from harness.backends.cluster import (
    ClusterSpec,
    ask,
    ask_name_server,
    change_live,
    create_topic,
    masters,
    namesrv_addresses,
)
from harness.backends.local import LocalCluster, start_local
from harness.errors import ClientError, NodeStartError, PortTakenError
from harness.faults.rules import asked_rule
from harness.host.ports import free_port, take_port
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.model.cluster import BrokerSettings, Topology
from harness.protocol.connection import split_address
from harness.releases.java import Java


def test_every_broker_is_in_the_topics_route_on_the_name_server(cluster: LocalCluster) -> None:
    create_topic(cluster, "route-test", read_queues=3, write_queues=5)
    with ask_name_server(cluster.nodes[0]) as namesrv:
        route = namesrv.route("route-test")
        assert namesrv.route("never-created") is None
    assert route is not None
    assert route.write_queues == {"broker-a": 5, "broker-b": 5}
    assert route.read_queues == {"broker-a": 3, "broker-b": 3}
    assert all(address.startswith("127.0.0.1:") for by_id in route.addresses.values() for address in by_id.values())


def test_the_users_settings_arrive_and_what_the_lab_overrides_is_listed(cluster: LocalCluster) -> None:
    master = masters(cluster)[0]
    with ask(master) as connection:
        running = connection.broker_config()
    assert running["flushDiskType"] == "ASYNC_FLUSH"
    assert running["listenPort"] == str(split_address(master.address)[1])
    assert cluster.overrides["broker.listenPort"].startswith("1234 -> ")
    assert "broker.flushDiskType" not in cluster.overrides


def test_a_live_setting_is_read_back(cluster: LocalCluster) -> None:
    master = masters(cluster)[0]
    change_live(master, {"waitTimeMillsInSendQueue": "321"})
    with ask(master) as connection:
        assert connection.broker_config()["waitTimeMillsInSendQueue"] == "321"
    change_live(master, {"waitTimeMillsInSendQueue": "30000"})
    with pytest.raises(ClientError, match="noSuchSetting"):
        change_live(master, {"noSuchSetting": "1"})


def test_a_lock_is_refused_by_its_own_broker_while_another_client_holds_it(cluster: LocalCluster) -> None:
    create_topic(cluster, "lock-test", read_queues=1, write_queues=1)
    queue = ("lock-test", "broker-a", 0)
    with ask(masters(cluster)[0]) as broker:
        assert broker.lock("group", "127.0.0.1@one", [queue]) == {("broker-a", 0)}
        assert broker.lock("group", "127.0.0.1@two", [queue]) == set()
        assert broker.lock("other-group", "127.0.0.1@two", [queue]) == {("broker-a", 0)}


def test_logs_have_milliseconds_in_utc_and_collections_are_logged(cluster: LocalCluster) -> None:
    home = cluster.folder / "nodes" / "broker-a"
    first = (home / "logs" / "broker.log").read_text().splitlines()[0]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ \[", first)
    assert "safepoint" in (home / "gc.log").read_text()


def test_a_port_that_is_taken_is_said(leases: Leases, java: Java, tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", free_port())) as server:
        port = server.getsockname()[1]
        with pytest.raises(PortTakenError, match=str(port)):
            take_port(port)
        spec = ClusterSpec(name="port", release="4.6.0", topology=Topology(name="single"))
        with pytest.raises(PortTakenError, match=str(port)):
            start_local(spec, tmp_path, leases, java, until_s=60, port=port)


def test_a_broker_that_does_not_come_up_shows_its_last_lines_and_leaves_nothing(
    leases: Leases, java: Java, tmp_path: Path
) -> None:
    before = {record.id for record in leases_in(leases.state_dir)}
    settings = BrokerSettings(properties={"rocketmq.broker.rebalance.lockMaxLiveTime": "soon"})
    spec = ClusterSpec(name="broken", release="4.6.0", topology=Topology(name="single"), settings=settings)
    with pytest.raises(NodeStartError) as caught:
        start_local(spec, tmp_path, leases, java, until_s=120)
    assert "broker-a" in str(caught.value)
    assert caught.value.log_lines
    assert {record.id for record in leases_in(leases.state_dir)} <= before


def test_a_stalled_append_is_as_long_as_asked_and_reported_with_its_stamps(
    cluster: LocalCluster, leases: Leases, java: Java, tmp_path: Path
) -> None:
    from harness.clients.commands import SendSettings
    from harness.clients.java import JavaClient
    from harness.clients.leased import ScheduleSpec
    from harness.clock import mono_ns

    topic = "stall-test"
    create_topic(cluster, topic, read_queues=4, write_queues=4)
    client = JavaClient.start(
        leases, name="stalled", release=cluster.spec.release, java=java, folder=tmp_path, until_s=120
    )
    client.wait_started()
    client.open_history(tmp_path / "history.jsonl")
    client.start_producer("p", "g", namesrv_addresses(cluster), retryTimesWhenSendAsyncFailed=0)
    client.wait_for_route("p", topic, 8)
    client.start_schedule(
        ScheduleSpec(
            name="s",
            instance="p",
            rate_hz=200,
            start_ns=mono_ns(),
            operations=4000,
            sends=SendSettings(topic=topic),
        )
    )
    asked_ns = mono_ns()
    entry_ns, delay_end_ns, exit_ns = asked_rule(masters(cluster)[0], "stall 300", 3)
    with socket.create_connection(("127.0.0.1", masters(cluster)[0].stall_port), timeout=5) as connection:
        connection.sendall(b"nonsense\n")
        assert connection.recv(10) == b""
    client.stop()
    assert asked_ns < entry_ns < delay_end_ns <= exit_ns < mono_ns()
    # Never shorter than asked; how much longer is the machine's business, which the trial's validity judges.
    assert (exit_ns - entry_ns) / 1e6 >= 300
    with ask(masters(cluster)[0]) as broker:
        assert sum(broker.max_offset(topic, queue) for queue in range(4)) > 0
