from __future__ import annotations

import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, ask, ask_name_server, create_topic, masters, namesrv_addresses
from harness.backends.docker.compose import ComposeCluster, Docker, start_compose
from harness.backends.docker.engine import Engine, find_compose
from harness.backends.docker.image import ensure_image
from harness.backends.store_mount import mount_store
from harness.backends.topologies import TOPOLOGIES
from harness.clients.commands import SendSettings
from harness.clients.java import JavaClient
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError, NodeStartError
from harness.faults.rules import asked_rule
from harness.host.standstill import look
from harness.leases import proc
from harness.leases.container_kinds import CONTAINER, LEASE_LABEL, PAUSE
from harness.leases.leases import Leases
from harness.leases.store import leases_in
from harness.model.cluster import BrokerSettings
from harness.protocol.connection import split_address
from harness.releases.jars import recorded_releases
from harness.releases.java import Java
from harness.wait import wait_until


def _containers(docker: Docker, lease: str) -> list[str]:
    client = docker.engine.client()
    try:
        return [str(one.name) for one in client.containers.list(all=True, filters={"label": f"{LEASE_LABEL}={lease}"})]
    finally:
        client.close()


def test_the_users_settings_arrive_and_what_the_lab_overrides_is_listed(cluster: ComposeCluster) -> None:
    [master] = masters(cluster)
    with ask(master) as connection:
        running = connection.broker_config()
    assert running["waitTimeMillsInSendQueue"] == "30000"
    assert running["listenPort"] == str(split_address(master.address)[1])
    assert cluster.overrides["broker.listenPort"].startswith("1234 -> ")


def test_logs_lie_where_the_local_backend_has_them(cluster: ComposeCluster) -> None:
    home = cluster.folder / "nodes" / "broker-a"
    first = (home / "logs" / "broker.log").read_text().splitlines()[0]
    assert re.match(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d,\d{3} [A-Z]+ \[", first)
    assert "safepoint" in (home / "gc.log").read_text()


def test_an_append_stalls_and_a_killed_client_stops_at_the_stamp_of_its_kill(
    cluster: ComposeCluster, docker: Docker, java: Java, leases: Leases
) -> None:
    topic = "stall-test"
    create_topic(cluster, topic, read_queues=4, write_queues=4)
    folder = cluster.folder.parent / "client"
    client = JavaClient.start(
        cluster.client_host, name="stalled", release=cluster.spec.release, java=java, folder=folder, until_s=120
    )
    client.wait_started()
    history = folder / "history.jsonl"
    client.open_history(history)
    client.start_producer("p", "g", namesrv_addresses(cluster), retryTimesWhenSendAsyncFailed=0)
    client.wait_for_route("p", topic, 4)
    client.start_schedule(
        ScheduleSpec(
            name="s",
            instance="p",
            rate_hz=400,
            start_ns=mono_ns(),
            operations=40_000,
            sends=SendSettings(topic=topic),
        )
    )
    asked_ns = mono_ns()
    entry_ns, delay_end_ns, exit_ns = asked_rule(masters(cluster)[0], "stall 300", 3)
    assert asked_ns < entry_ns < delay_end_ns <= exit_ns < mono_ns()
    assert (exit_ns - entry_ns) / 1e6 >= 300

    # More than were under way when the stall ended.
    enough = client.schedule_state("s").issued + 100
    wait_until("later sends that have ended", lambda: client.schedule_state("s").ended >= enough, timeout_s=180.0)
    owned = [record.id for record in leases_in(leases.state_dir) if record.kind == CONTAINER]
    in_container = Path(f"/proc/{client.pid}/cgroup").read_text()
    before_ns, gone_ns = client.kill()
    assert not client.is_running()
    assert not Path(f"/proc/{client.pid}").exists()
    assert "docker" in in_container or in_container.strip() == "0::/"
    # What it recorded comes from before the stamp at which it was seen gone, and the kill was asked for before that.
    sent_ns = [int(stamp) for stamp in re.findall(r'"started_ns":\s*(\d+)', history.read_text())]
    assert sent_ns
    assert before_ns < gone_ns
    assert exit_ns < max(sent_ns) <= gone_ns
    gone = [lease for lease in owned if not _containers(docker, lease)]
    assert len(gone) == 1
    client.stop()


def test_a_client_writes_to_the_disk_that_is_mounted_in_its_folder(cluster: ComposeCluster, leases: Leases) -> None:
    run = cluster.folder.parent
    own, others = (run / "disks" / name for name in ("own", "others"))
    disks = [
        mount_store(leases, folder / "disk", BrokerSettings(store="loop-ext4"), until_s=120) for folder in (own, others)
    ]
    try:
        with (own / "stderr.log").open("ab") as stderr:
            devices = "import os, sys; print(*(os.stat(path).st_dev for path in sys.argv[1:]))"
            command = [sys.executable, "-c", devices, str(own / "disk"), str(others / "disk"), str(run)]
            client = cluster.client_host.spawn(
                command, name="devices", until_s=120, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=stderr
            )
            assert client.stdout is not None
            said = client.stdout.read().split()
        client.release()
        assert [int(device) for device in said] == [
            (own / "disk").stat().st_dev, run.stat().st_dev, run.stat().st_dev
        ]  # fmt: skip
    finally:
        for disk in disks:
            assert disk is not None
            disk.unmount()


def test_a_killed_broker_comes_back_with_its_store(cluster: ComposeCluster) -> None:
    create_topic(cluster, "kept-topic", read_queues=1, write_queues=1)
    pid = cluster.pid("broker-a")
    assert pid is not None
    before_ns, gone_ns = cluster.kill_node("broker-a")
    assert before_ns < gone_ns
    assert not Path(f"/proc/{pid}").exists()
    assert cluster.pid("broker-a") is None
    cluster.check_running()
    cluster.restart_node("broker-a")
    assert cluster.pid("broker-a") not in (None, pid)
    with ask_name_server(cluster.nodes[0]) as namesrv:
        assert namesrv.route("kept-topic") is not None


def test_a_stopped_name_server_shuts_down_by_itself_and_can_be_started_again(cluster: ComposeCluster) -> None:
    assert cluster.stop_node("namesrv-1", grace_s=30.0)
    with pytest.raises(OSError, match="refused"), socket.create_connection(split_address(cluster.nodes[0].address), 5):
        pass
    cluster.restart_node("namesrv-1")
    with ask_name_server(cluster.nodes[0]) as namesrv:
        assert set(namesrv.cluster_brokers()) == {"broker-a"}


def test_a_pause_ends_with_its_lease(cluster: ComposeCluster, leases: Leases) -> None:
    [master] = masters(cluster)
    stopped = cluster.pause_node("broker-a", until_s=2.0)
    paused = time.monotonic()
    assert cluster.pid("broker-a") in {one.pid for one in stopped}
    assert [look(one).running for one in stopped] == [""] * len(stopped), "its control group is frozen"
    with pytest.raises(ClientError, match="did not answer"), ask(master, timeout_s=0.5) as connection:
        connection.broker_config()
    wait_until(
        "the healer to resume it", lambda: PAUSE not in {r.kind for r in leases_in(leases.state_dir)}, timeout_s=10.0
    )
    assert 1.5 < time.monotonic() - paused < 8.0
    with ask(master) as connection:
        assert connection.broker_config()
    cluster.resume_node("broker-a")


def test_a_node_that_ends_by_itself_is_told_with_its_last_lines(cluster: ComposeCluster) -> None:
    pid = cluster.pid("broker-a")
    assert pid is not None
    process = proc.identify(pid)
    assert process is not None
    proc.send_signal(process, None, signal.SIGTERM)
    assert not proc.wait_gone([process], timeout_s=30.0)
    with pytest.raises(NodeStartError, match=r"broker-a of RocketMQ 4\.6\.0 ended with code") as caught:
        cluster.check_running()
    assert caught.value.log_lines
    cluster.stop_node("broker-a", grace_s=1.0)
    cluster.restart_node("broker-a")


def test_a_broker_that_does_not_come_up_shows_its_last_lines_and_leaves_nothing(
    docker: Docker, java: Java, leases: Leases, tmp_path: Path
) -> None:
    before = {record.id for record in leases_in(leases.state_dir)}
    spec = ClusterSpec(
        name="broken",
        release="4.6.0",
        topology=TOPOLOGIES["single"],
        settings=BrokerSettings(properties={"rocketmq.broker.rebalance.lockMaxLiveTime": "soon"}),
    )
    with pytest.raises(NodeStartError) as caught:
        start_compose(spec, tmp_path, leases, java, docker, until_s=120)
    assert "broker-a" in str(caught.value)
    assert caught.value.log_lines
    assert {record.id for record in leases_in(leases.state_dir)} <= before
    labels = subprocess.run(
        ["docker", "ps", "--all", "--format", "{{.Labels}}"], capture_output=True, text=True, check=True, timeout=30
    )
    assert str(tmp_path) not in labels.stdout


def test_a_broker_of_the_newest_release_comes_up(engine: Engine, java: Java, leases: Leases, tmp_path: Path) -> None:
    newest = recorded_releases()[-1]
    docker = Docker(engine=engine, compose=find_compose(), images={newest: ensure_image(engine, newest, java)})
    spec = ClusterSpec(name="newest", release=newest, topology=TOPOLOGIES["single"])
    cluster = start_compose(spec, tmp_path / "deployment", leases, java, docker, until_s=120, run_folder=tmp_path)
    try:
        [master] = masters(cluster)
        with ask(master) as connection:
            assert connection.broker_config()["brokerName"] == "broker-a"
    finally:
        cluster.down()
