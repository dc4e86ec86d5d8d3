"""``mqlab upgrade`` of a real cluster: what a started broker tells of itself, and what it has set."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from harness.audit.kept import read_kept
from harness.backends.cluster import ClusterSpec, create_topic
from harness.backends.local import start_local
from harness.errors import EXIT_OK
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.plan.deployments import beside_others
from harness.releases.java import Java
from harness.wait import NotYet, wait_until
from mqlab.main import main

BEFORE, AFTER = "4.9.7", "5.5.0"


def test_a_started_broker_is_read_and_only_what_it_has_set_is_judged(
    tmp_path: Path, leases: Leases, java: Java, capsys: pytest.CaptureFixture[str]
) -> None:
    settings = BrokerSettings(conf={"flushDiskType": "SYNC_FLUSH", "transientStorePoolEnable": "true"})
    spec = ClusterSpec(
        name="preflight", release=BEFORE, topology=Topology(name="preflight"), settings=beside_others(settings, BEFORE)
    )
    started = start_local(spec, tmp_path / "cluster", leases, java, until_s=900.0)
    try:
        create_topic(started, "orders", read_queues=4, write_queues=4)
        (server,) = (node.address for node in started.nodes if node.kind == "namesrv")
        kept = tmp_path / "reading.json"
        asked = ["upgrade", "--namesrv", server, "--to", AFTER, "--json", "--reading", str(kept)]

        def told() -> str:
            # In its first second a broker cannot tell of its rates.
            capsys.readouterr()
            if main(asked) != EXIT_OK:
                raise NotYet("no broker was read")
            return capsys.readouterr().out

        found = json.loads(wait_until("the broker to tell", told, timeout_s=180.0))
    finally:
        started.down()
    assert found["releases"] == {BEFORE: ["broker-a"]}
    worse = {one["kind"]: one for one in found["findings"] if one["weight"] in ("blocker", "warning")}
    # The lab gives the address to each release's broker, and this one reads it of no file.
    assert {kind: one["key"] for kind, one in worse.items()} == {
        "pool-delays-sends": "transientStorePoolEnable",
        "key-comes-into-force": "bindAddress",
    }
    # A key that neither release knows would be one that the reading took for somebody's own.
    assert not [one for one in found["findings"] if one["kind"] == "key-gone"]
    assert worse["pool-delays-sends"]["value"] == "true"
    (broker,) = read_kept(kept).brokers
    assert broker.release == BEFORE
    assert broker.topics["normal"] == 1
    assert float(broker.disk_share) > 0
    assert main(["upgrade", "--from-reading", str(kept), "--to", AFTER, "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out) == found
