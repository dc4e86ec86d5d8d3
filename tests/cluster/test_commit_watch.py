"""Commits of the transient store pool that are seen, in a real broker of the oldest and of the newest release."""

from __future__ import annotations

import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.cluster import ClusterSpec, ask, create_topic, masters
from harness.backends.local import start_local
from harness.faults.injections import injection_of
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import CommitWatch
from harness.plan.deployments import beside_others
from harness.releases.java import Java
from harness.wait import patience, wait_until
from tests.lib.clusters import OLDEST_AND_NEWEST

TOPIC = "watched"
POOL = {"transientStorePoolEnable": "true", "mappedFileSizeCommitLog": str(1024 * 1024)}
WATCH_S, APART_S, FIRST_S_MAX = 1.5, 0.01, 120.0
FIVE_PAGES = 5 * 4096
"""Four are committed at once."""


@pytest.mark.parametrize("release", OLDEST_AND_NEWEST)
def test_small_messages_are_committed_by_the_timer_and_large_ones_at_once(
    release: str, tmp_path: Path, leases: Leases, java: Java
) -> None:
    spec = ClusterSpec(
        name=f"commits-{release}",
        release=release,
        topology=Topology(name="single"),
        settings=beside_others(BrokerSettings(conf=POOL), release),
        can_stall=True,
    )
    cluster = start_local(spec, tmp_path, leases, java, until_s=600.0)
    try:
        create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
        with ask(masters(cluster)[0], timeout_s=60) as connection:

            def installs_the_rule() -> bool:
                # Its first file has to be there within 5 s, which on a busy host it is not.
                with patience():
                    connection.send(TOPIC, 0, b"a")
                return True

            wait_until("the first message", installs_the_rule, timeout_s=FIRST_S_MAX)

            def share_of(body: bytes) -> float:
                readings: dict[str, float] = {}

                def stay(seconds: float) -> None:
                    until = time.monotonic() + seconds
                    while time.monotonic() < until:
                        connection.send(TOPIC, 0, body)
                        time.sleep(APART_S)

                events = SimpleNamespace(reading=lambda name, value, **of: readings.update({name: value}))
                params = {"watch_ms": WATCH_S * 1000}
                trial = cast(Any, SimpleNamespace(cluster=cluster, params=params, events=events, stay=stay))
                fault = CommitWatch()
                assert injection_of(fault).inject(fault, trial, cast(Any, None)).exercised
                return readings["commit_after_period_share"]

            small, large = share_of(b"a"), share_of(bytes(FIVE_PAGES))
    finally:
        cluster.down()
    assert small > 0.9
    assert large < 0.5
