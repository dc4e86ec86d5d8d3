from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import create_topic, namesrv_addresses
from harness.backends.local import LocalCluster
from harness.clients.commands import SendSettings
from harness.clients.java import JavaClient
from harness.clients.leased import ScheduleSpec
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.leases.leases import Leases
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.wait import wait_until

pytestmark = [pytest.mark.root, pytest.mark.skipif(os.geteuid() != 0, reason="mounting a small disk needs root")]


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 64 KiB."""
    folder = tmp_path / "small"
    folder.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "mqlab-test", folder], check=True)
    yield folder
    subprocess.run(["umount", folder], check=True)


def test_a_full_disk_is_said_and_what_was_recorded_before_is_whole(
    cluster: LocalCluster, leases: Leases, java: Java, small_disk: Path, tmp_path: Path
) -> None:
    create_topic(cluster, "disk-full", read_queues=4, write_queues=4)
    client = JavaClient.start(
        leases, name="full", release=cluster.spec.release, java=java, folder=tmp_path / "logs", until_s=120
    )
    client.wait_started()
    client.open_history(small_disk / "history.jsonl")
    client.start_producer("p", "g", namesrv_addresses(cluster))
    client.wait_for_route("p", "disk-full", 8)
    client.start_schedule(
        ScheduleSpec(
            name="s",
            instance="p",
            rate_hz=500,
            start_ns=mono_ns(),
            operations=1000,
            sends=SendSettings(topic="disk-full"),
        )
    )
    wait_until("the schedule", lambda: client.schedule_state("s").is_through, timeout_s=180)
    with pytest.raises(ClientError, match="No space left") as caught:
        client.close_history()
    assert "disk space" in caught.value.advice
    client.stop()
    records = read_records(small_disk / "history.jsonl").records
    assert 50 < len(records) < 1000
    assert [record["n"] for record in records] == list(range(1, len(records) + 1))
