"""A synchronous master without its slave stores what it is sent, and the history says that it is not sure of it."""

from __future__ import annotations

from pathlib import Path

from harness.backends.cluster import ClusterSpec, ask, create_topic, masters, namesrv_addresses
from harness.backends.local import start_local
from harness.clients.commands import SendSettings
from harness.clients.java import JavaClient, ScheduleSpec
from harness.clock import mono_ns
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.wait import wait_until

TOPIC, SENDS = "unsure", 20


def test_a_synchronous_master_without_a_slave_answers_with_a_status_that_is_recorded(
    leases: Leases, java: Java, tmp_path: Path
) -> None:
    # The limit of the send queue is raised, since a broker's first sends may wait long on a busy machine.
    conf = {"brokerRole": "SYNC_MASTER", "waitTimeMillsInSendQueue": "30000"}
    spec = ClusterSpec(
        name="unsure", release="4.6.0", topology=Topology(name="single"), settings=BrokerSettings(conf=conf)
    )
    cluster = start_local(spec, tmp_path / "cluster", leases, java, until_s=300)
    try:
        create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
        client = JavaClient.start(
            leases, name="client", release="4.6.0", java=java, folder=tmp_path / "logs", until_s=300
        )
        client.wait_started()
        client.open_history(tmp_path / "history.jsonl")
        client.start_producer("p", "g", namesrv_addresses(cluster))
        client.wait_for_route("p", TOPIC, 1)
        sends = SendSettings(topic=TOPIC, mode="sync")
        client.start_schedule(
            ScheduleSpec(name="s", instance="p", rate_hz=100, start_ns=mono_ns(), operations=SENDS, sends=sends)
        )
        wait_until("the schedule", lambda: client.schedule_state("s").is_through, timeout_s=60)
        client.stop()
        with ask(masters(cluster)[0]) as broker:
            assert broker.max_offset(TOPIC, 0) == SENDS
    finally:
        cluster.down()
    records = [record for record in read_records(tmp_path / "history.jsonl").records if record["type"] == "send"]
    assert len(records) == SENDS
    assert {(record["outcome"], record["status"]) for record in records} == {("unknown", "SLAVE_NOT_AVAILABLE")}
    assert sorted(int(str(record["offset"])) for record in records) == list(range(SENDS))
