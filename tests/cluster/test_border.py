"""A broker that is given a production's broker.conf comes up, and knows nobody but the lab."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, ask, create_topic, masters
from harness.backends.local import LocalCluster, start_local
from harness.leases.leases import Leases
from harness.model.cluster import Topology, UserSettings
from harness.releases.jars import recorded_releases
from harness.releases.java import Java
from tests.lib.border import KEPT, conf_of, hostile_conf, strangers

HOSTILE = hostile_conf()


@pytest.fixture(scope="module")
def hostile(tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java) -> Iterator[LocalCluster]:
    spec = ClusterSpec(
        name="tests-border",
        release=recorded_releases()[-1],
        topology=Topology(name="single"),
        user=UserSettings(broker=HOSTILE, broker_jvm={"http.proxyHost": "proxy", "java.io.tmpdir": "/nowhere"}),
    )
    started = start_local(spec, tmp_path_factory.mktemp("border"), leases, java, until_s=600)
    yield started
    started.down()


def test_it_comes_up_with_a_conf_that_names_loopback_and_its_own_folder_alone(hostile: LocalCluster) -> None:
    (master,) = masters(hostile)
    home = hostile.folder / "nodes" / master.name
    conf = conf_of(home / "broker.conf")
    assert not list(strangers(conf, home))
    # 5.x writes all that it runs with into its file.
    assert {key for key in HOSTILE if conf.get(key) == HOSTILE[key]} == KEPT.keys()
    create_topic(hostile, "border", read_queues=1, write_queues=1)
    with ask(master) as broker:
        running = broker.broker_config()
    assert {key: running[key] for key in KEPT} == KEPT
    for switch in (
        "enableControllerMode",
        "enableDLegerCommitLog",
        "fetchNamesrvAddrByAddressServer",
    ):
        assert running.get(switch, "false") == "false"
    told = " ".join(running.values())
    assert not re.search(r"prod|10\.20\.30|otel|fileserver|mirror", told)


def test_each_of_its_settings_is_named(hostile: LocalCluster) -> None:
    named = {key.removeprefix("broker.") for key in hostile.overrides if key.startswith("broker.")}
    assert named == HOSTILE.keys() - KEPT.keys()
    assert {"broker-jvm.http.proxyHost", "broker-jvm.java.io.tmpdir"} <= hostile.overrides.keys()


def test_it_has_no_file_open_of_the_places_that_it_was_told(hostile: LocalCluster) -> None:
    (master,) = masters(hostile)
    opened = {str(one.readlink()) for one in Path(f"/proc/{hostile.pid(master.name)}/fd").iterdir() if one.is_symlink()}
    assert not [path for path in opened if path.startswith(("/data", "/opt/rocketmq", "/etc/rocketmq", "/tmp/tiered"))]
