"""What an audit says of settings and releases, and of a disk as the broker counts it."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace

import pytest

from harness.audit.asking import read_cluster
from harness.audit.finding import Severity
from harness.audit.findings import judge
from tests.lib.audited import CONF, Fake, broker_of, cluster, kinds_of, reading_of, serve


def test_a_broker_that_has_members_reset_their_offsets_is_named(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {})
    broker.conf["useServerSideResetOffset"] = "true"
    assert judge(read_cluster(addresses)) == []
    broker.conf["useServerSideResetOffset"] = "false"
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("reset-stops-members", Severity.WARNING, "broker-a")


@pytest.mark.parametrize(
    ("version", "conf", "is_found"),
    [
        ("V4_6_0", {"sendMessageThreadPoolNums": "1"}, True),
        ("V4_6_0", {"sendMessageThreadPoolNums": "16"}, False),
        ("V4_6_0", {"sendMessageThreadPoolNums": "1", "flushDiskType": "ASYNC_FLUSH"}, False),
        ("V4_9_7", {"sendMessageThreadPoolNums": "1"}, False),
        ("", {"sendMessageThreadPoolNums": "1"}, False),
    ],
)
def test_a_master_that_stores_one_message_a_flush_is_named(
    serving: ExitStack, version: str, conf: dict[str, str], is_found: bool
) -> None:
    broker, _, addresses = cluster(serving, {})
    broker.version = version
    broker.conf |= {"flushDiskType": "SYNC_FLUSH"} | conf
    kinds = {one.kind for one in judge(read_cluster(addresses))}
    assert ("one-message-a-flush" in kinds) is is_found


def test_a_disk_is_as_full_as_the_broker_counts(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {})
    broker.disk = "0.8199304"
    (found,) = judge(read_cluster(addresses))
    assert (found.kind, found.severity, found.where) == ("disk-full-after-upgrade", Severity.WARNING, "broker-a")
    broker.disk = "0.82"
    assert judge(read_cluster(addresses)) == []


@pytest.mark.parametrize(
    ("version", "conf", "severity"),
    [
        ("V5_3_3", {"slaveReadEnable": "false"}, Severity.WARNING),
        ("V5_5_0", {"slaveReadEnable": "false"}, Severity.WARNING),
        ("V5_5_0", {"slaveReadEnable": "true"}, None),
        ("V5_5_0", {"slaveReadEnable": "false", "enableControllerMode": "true"}, None),
        ("V4_9_7", {"slaveReadEnable": "false"}, None),
    ],
)
def test_a_slave_of_5x_that_serves_no_reads_is_named(
    serving: ExitStack, version: str, conf: dict[str, str], severity: Severity | None
) -> None:
    _, servers, addresses = cluster(serving, {})
    slave = Fake(version=version, conf={**CONF, "brokerRole": "SLAVE", **conf})
    for one in servers:
        one.brokers["broker-a"][1] = serving.enter_context(serve(slave))
    found = [one for one in judge(read_cluster(addresses)) if one.kind == "reads-refused-by-slave"]
    assert [(one.severity, one.where) for one in found] == ([(severity, "broker-a (slave 1)")] if severity else [])
    for one in servers:
        one.brokers["broker-a"][0] = "127.0.0.1:1"
    dead = [one for one in judge(read_cluster(addresses)) if one.kind == "reads-refused-by-slave"]
    assert [one.severity for one in dead] == ([Severity.CRITICAL] if severity else [])
    assert all("its master does not answer" in one.says for one in dead)


@pytest.mark.parametrize(
    ("conf", "has_attributes", "kinds"),
    [
        ({"transientStorePoolEnable": "true"}, False, ["pool-loses-data"]),
        ({"transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"}, False, []),
        ({"transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"}, True, ["pool-delays-sends"]),
        ({"fileReservedTime": "0"}, True, ["files-not-kept"]),
        ({"rocketmq.broker.rebalance.lockMaxLiveTime": "30000"}, False, ["lock-settings"]),
        ({"transientStorePoolEnable": "false"}, False, []),
        ({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "1"}, True, ["sync-master-alone"]),
        ({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}, True, []),
        ({"brokerRole": "ASYNC_MASTER", "inSyncReplicas": "1"}, True, []),
        ({"brokerRole": "SYNC_MASTER"}, False, []),
    ],
)
def test_settings_that_lose_data_or_do_nothing_are_found(
    conf: dict[str, str], has_attributes: bool, kinds: list[str]
) -> None:
    assert kinds_of(reading_of(replace(broker_of(conf=conf), has_attributes=has_attributes))) == kinds


OPEN = Severity.CRITICAL


@pytest.mark.parametrize(
    ("version", "conf", "of_broker", "of_server"),
    [
        ((4, 6, 0), {}, OPEN, OPEN),
        ((4, 6, 0), {"aclEnable": "true"}, Severity.WARNING, OPEN),
        ((4, 9, 5), {}, OPEN, OPEN),
        ((4, 9, 6), {}, None, OPEN),
        ((4, 9, 7), {}, None, None),
        ((5, 0, 0), {}, OPEN, OPEN),
        ((5, 1, 1), {}, None, OPEN),
        ((5, 1, 2), {}, None, None),
        ((5, 5, 0), {"configBlackList": "configBlackList;brokerConfigPath"}, None, None),
        ((5, 5, 0), {"configBlackList": "brokerConfigPath;x"}, Severity.WARNING, None),
        ((), {}, None, None),
    ],
)
def test_releases_that_let_strangers_change_their_configuration_are_found(
    version: tuple[int, ...],
    conf: dict[str, str],
    of_broker: Severity | None,
    of_server: Severity | None,
) -> None:
    reading = reading_of(replace(broker_of(conf=conf), version=version))
    reading = replace(reading, name_servers=tuple(replace(one, version=version) for one in reading.name_servers))
    found = {one.where: one for one in judge(reading)}
    assert all(one.kind == "configuration-open" for one in found.values())
    severities = {where: one.severity for where, one in found.items()}
    assert severities.get("broker-a") == of_broker
    assert severities.get("name server 127.0.0.1:9876") == of_server


def test_a_lock_that_lives_for_less_than_three_renewals_is_said() -> None:
    broker = broker_of(conf={"rocketmq.broker.rebalance.lockMaxLiveTime": "30000"})
    assert "1.5 renewals" in judge(reading_of(broker))[0].says
