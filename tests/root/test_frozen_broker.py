"""A real broker whose store stands still: the append waits inside the put lock, and the rest of the broker does not."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, ask, create_topic, masters, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.backends.store_mount import MEMORY
from harness.clients.commands import SendSettings
from harness.clients.java import JavaClient
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.faults.append_stall import watch_appends
from harness.faults.store_freeze import Freezer, settings_for_freeze
from harness.host.abilities import Abilities
from harness.host.hiccups import NoiseProbe, worst_ms
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.releases.java import Java

pytestmark = pytest.mark.cluster

TOPIC, RATE_HZ, FREEZE_MS = "frozen", 200, 800


@pytest.fixture(scope="module")
def cluster(
    host: Abilities, leases: Leases, java: Java, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[LocalCluster]:
    if (reason := host.why_no_loop_mount()) is not None:
        pytest.skip(reason)
    spec = ClusterSpec(
        name="frozen",
        release="4.6.0",
        topology=Topology(name="single"),
        settings=settings_for_freeze(BrokerSettings()),
        can_stall=True,
    )
    before = set(MEMORY.glob("mqlab-*"))
    started = start_local(spec, tmp_path_factory.mktemp("frozen"), leases, java, until_s=300)
    yield started
    started.down()
    assert str(started.folder) not in Path("/proc/self/mountinfo").read_text()
    assert not {*started.folder.glob("**/*.img"), *MEMORY.glob("mqlab-*")} - before


def test_an_append_waits_for_the_thaw_while_the_broker_answers_what_needs_no_store(
    cluster: LocalCluster, leases: Leases, java: Java, tmp_path: Path, noise: NoiseProbe
) -> None:
    (broker,) = masters(cluster)
    assert broker.store is not None
    create_topic(cluster, TOPIC, read_queues=4, write_queues=4)
    client = JavaClient.start(leases, name="sends", release="4.6.0", java=java, folder=tmp_path, until_s=120)
    client.wait_started()
    client.open_history(tmp_path / "history.jsonl")
    client.start_producer("p", "g", namesrv_addresses(cluster), retryTimesWhenSendAsyncFailed=0)
    client.wait_for_route("p", TOPIC, 4)
    sends = SendSettings(topic=TOPIC)
    client.start_schedule(
        ScheduleSpec(name="s", instance="p", rate_hz=RATE_HZ, start_ns=mono_ns(), operations=6000, sends=sends)
    )
    time.sleep(2)
    with Freezer.start(leases, broker.store, until_s=60) as freezer, watch_appends(broker) as appends:
        stamps = freezer.freeze(FREEZE_MS)
        entry_ns, exit_ns = appends.longest()
    client.stop()
    late_ms = worst_ms(noise.hiccups(stamps.asked_ns, stamps.released_ns))
    assert late_ms is not None
    assert FREEZE_MS <= stamps.achieved_ms <= FREEZE_MS + 15 + late_ms
    # It began while the freeze engaged or soon after, and ended no earlier than the thaw was asked for.
    assert stamps.asked_ns <= entry_ns <= stamps.engaged_ns + 200_000_000
    assert exit_ns >= stamps.thawing_ns
    with ask(broker) as connection:
        assert sum(connection.max_offset(TOPIC, queue) for queue in range(4)) > 0
