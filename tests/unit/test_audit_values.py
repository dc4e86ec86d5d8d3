"""Values that a broker takes without a word and cannot work with, each as started brokers showed it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from harness.audit.conf import judge_conf
from harness.audit.finding import AuditFinding, Severity
from harness.model.broker_conf import conf_of
from harness.model.rocketmq import FRAME_BYTES_MAX, FRAME_LIMIT
from harness.releases.class_file import class_of, has_class, texts
from harness.releases.jars import recorded_releases
from harness.releases.settings import settings_of
from tests.lib.conf_oracle import is_brokers, stock

POOL_OF_5X = {"transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"}
GROUP = {
    "enableDLegerCommitLog": "true",
    "dLegerGroup": "g",
    "dLegerPeers": "n0-a:1;n1-b:1;n2-c:1",
    "dLegerSelfId": "n0",
}


def found(settings: dict[str, str], release: str = "4.9.7") -> dict[str, AuditFinding]:
    return {one.kind: one for one in judge_conf(conf_of({"brokerName": "a", **settings}), release).findings}


@pytest.mark.parametrize("release", ["4.9.7", "5.5.0"])
@pytest.mark.parametrize(("settings", "kind", "severity", "says"), [
    ({"namesrvAddr": "10.0.0.1:9876,10.0.0.2:9876"}, "name-servers-unread", Severity.CRITICAL, "splits it at ; alone"),
    ({"namesrvAddr": "10.0.0.1"}, "name-servers-unread", Severity.CRITICAL, "not each part is HOST:PORT"),
    ({"deleteWhen": "25"}, "deletion-never-due", Severity.WARNING, "only once the disk is as full"),
    ({"deleteWhen": "04;24"}, "deletion-never-due", Severity.WARNING, "deleteWhen has 24"),
    ({"deleteWhen": "04,05"}, "deletion-fails", Severity.CRITICAL, "none is deleted"),
    ({"deleteWhen": "04:00"}, "deletion-fails", Severity.CRITICAL, "none is deleted"),
    ({"fileReservedTime": "0"}, "files-not-kept", Severity.CRITICAL, "at deleteWhen=04 each but the newest"),
    ({"fileReservedTime": "-1"}, "files-not-kept", Severity.CRITICAL, "fileReservedTime=-1"),
    ({"mappedFileSizeCommitLog": "1024"}, "files-too-small", Severity.CRITICAL, "acknowledged with SEND_OK and not stored"),
    ({"maxMessageSize": "16777217"}, "message-over-frame", Severity.WARNING, "more than a frame has, 16,777,216 bytes"),
    ({"brokerPermission": "2"}, "nothing-is-read", Severity.CRITICAL, "no consumer gets anything"),
    ({"brokerPermission": "4"}, "nothing-is-written", Severity.WARNING, "consumers read what is there"),
    ({"brokerPermission": "0"}, "nothing-is-written", Severity.WARNING, "consumers get nothing of it either"),
    ({"storePathRootDir": "~/store"}, "path-of-a-shell", Severity.CRITICAL, "no shell reads it"),
    ({"storePathCommitLog": "${user.home}/log"}, "path-of-a-shell", Severity.CRITICAL, "storePathCommitLog=${user.home}/log"),
    ({"maxMessageSize": "2147483647"}, "files-too-small", Severity.CRITICAL, "maxMessageSize=2,147,483,647"),
    ({"mappedFileSizeCommitLog": "0"}, "no-files", Severity.CRITICAL, "each send fails"),
    ({"mappedFileSizeCommitLog": "-1"}, "no-files", Severity.CRITICAL, "each send fails"),
    ({"mappedFileSizeConsumeQueue": "0"}, "no-queue-files", Severity.CRITICAL, "no message reaches its queue"),
    ({"maxMessageSize": "0"}, "no-message-fits", Severity.CRITICAL, "CODE 13"),
    ({"flushIntervalCommitLog": "0"}, "flush-without-pause", Severity.WARNING, "takes a core"),
    ({"flushDiskType": "SYNC_FLUSH", "syncFlushTimeout": "0"}, "no-time-to-flush", Severity.CRITICAL, "FLUSH_DISK_TIMEOUT"),
    ({"waitTimeMillsInSendQueue": "0"}, "no-time-in-queue", Severity.WARNING, "may be refused"),
    ({"brokerRole": "SLAVE"}, "does-not-start", Severity.CRITICAL, "brokerId=0"),
    ({"brokerRole": "ASYNC_MASTER", "brokerId": "1"}, "second-master", Severity.CRITICAL, "as a master with brokerId=0"),
    ({"brokerId": "1"}, "second-master", Severity.CRITICAL, "brokerRole=ASYNC_MASTER"),
    ({**GROUP, "brokerRole": "SLAVE"}, "does-not-start", Severity.CRITICAL, "does not start"),
    ({**GROUP, "brokerRole": "SLAVE", "brokerId": "1"}, "role-without-meaning", Severity.WARNING, "elects its master"),
    ({"brokerId": "-1"}, "second-master", Severity.CRITICAL, "registers as a master with brokerId=0"),
    ({**GROUP, "dLegerSelfId": "n7"}, "does-not-start-group", Severity.CRITICAL, "none of the ids in dLegerPeers (n0, n1, n2)"),
    ({**GROUP, "dLegerSelfId": ""}, "does-not-start-group", Severity.CRITICAL, "without dLegerSelfId"),
    ({**GROUP, "dLegerSelfId": "x"}, "does-not-start-group", Severity.CRITICAL, "not a letter and a number"),
    ({**GROUP, "dLegerPeers": "a:1;b:1;c:1"}, "does-not-start-group", Severity.CRITICAL, 'has "a:1", which is not ID-HOST:PORT'),
    ({**GROUP, "dLegerPeers": "n0-a:1,n1-b:1"}, "does-not-start-group", Severity.CRITICAL, "not ID-HOST:PORT"),
    ({**GROUP, "dLegerPeers": ""}, "does-not-start-group", Severity.CRITICAL, "without dLegerPeers"),
    ({**GROUP, "dLegerPeers": "n0-a:1;n0-b:1;n1-c:1"}, "group-falls-apart", Severity.CRITICAL, "n0 more than once"),
    ({**GROUP, "dLegerPeers": "n0-a:1; n1-b:1;n2-c:1"}, "group-falls-apart", Severity.CRITICAL, "has a blank"),
    ({**GROUP, "dLegerPeers": "n0-a:1;n1-b:1"}, "even-group", Severity.WARNING, "survives the loss of 0, as a group of 1"),
    ({**GROUP, "dLegerGroup": ""}, "group-without-name", Severity.WARNING, "a group without a name"),
    ({"sendMessageThreadPoolNums": "0"}, "does-not-start-sendMessageThreadPoolNums", Severity.CRITICAL, "does not start"),
    ({"pullThreadPoolQueueCapacity": "-1"}, "does-not-start-pullThreadPoolQueueCapacity", Severity.CRITICAL, "=-1"),
    ({"listenPort": "70000"}, "does-not-start-listenPort", Severity.CRITICAL, "does not start"),
    ({"listenPort": "-1"}, "does-not-start-listenPort", Severity.CRITICAL, "does not start"),
    ({"messageDelayLevel": "1s,5s"}, "does-not-start-messageDelayLevel", Severity.CRITICAL, "does not start"),
    ({"messageDelayLevel": "1s  5s"}, "does-not-start-messageDelayLevel", Severity.CRITICAL, "does not start"),
])  # fmt: skip
def test_a_value_that_breaks_a_broker_is_told_with_what_to_write(
    settings: dict[str, str], kind: str, severity: Severity, says: str, release: str
) -> None:
    one = found(settings, release)[kind]
    assert one.severity is severity
    assert says in one.says
    assert one.advice


@pytest.mark.parametrize(("settings", "of_4x", "of_5x"), [
    ({"listenPort": "0"}, "does-not-start-listenPort", "any-port"),
    ({"haListenPort": "70000"}, "ha-port-overridden", "does-not-start-haListenPort"),
    ({"haListenPort": "11912"}, "ha-port-overridden", ""),
    ({"haListenPort": "10912"}, "", ""),
    ({"listenPort": "65534"}, "", ""),
    ({"listenPort": "65535"}, "does-not-start-listenPort", "does-not-start-listenPort"),
    ({"listenPort": "2"}, "", ""),
    ({"listenPort": "1"}, "does-not-start-listenPort", ""),
    ({"haListenPort": "0"}, "", ""),
    ({"haListenPort": "10911"}, "ha-port-overridden", "port-taken-by-itself"),
    ({"haListenPort": "10909"}, "ha-port-overridden", "port-taken-by-itself"),
    ({**GROUP, "dLegerPeers": "n0-a:10911;n1-b:1;n2-c:1"}, "port-taken-by-itself", "port-taken-by-itself"),
    ({**GROUP, "listenPort": "65535"}, "", ""),
    ({"storeType": "rocksdb"}, "ignored-keys", "store-of-no-type"),
    ({"brokerRole": "SYNC_MASTER", "totalReplicas": "2", "inSyncReplicas": "3"}, "ignored-keys", "copies-never-enough"),
    ({"brokerRole": "SYNC_MASTER", "totalReplicas": "2", "inSyncReplicas": "2"}, "ignored-keys", ""),
    ({"storeType": "defaultROCKSDB"}, "ignored-keys", ""),
    ({**GROUP, "enableControllerMode": "true"}, "ignored-keys", "two-kinds-of-groups"),
])  # fmt: skip
def test_what_a_value_does_may_differ_by_release(settings: dict[str, str], of_4x: str, of_5x: str) -> None:
    for release, kind in (("4.6.0", of_4x), ("4.9.7", of_4x), ("5.5.0", of_5x)):
        assert set(found(settings, release)) == ({kind} if kind else set())


@pytest.mark.parametrize("settings", [
    {"namesrvAddr": "10.0.0.1:9876;ns-2.example:9876;"}, {"namesrvAddr": ""}, {"deleteWhen": "04;16"}, {"deleteWhen": "0"},
    {"fileReservedTime": "1"}, {"mappedFileSizeCommitLog": "8388608"},
    {"maxMessageSize": "65536", "mappedFileSizeCommitLog": "1048576"},
    {"listenPort": "10911"}, {"messageDelayLevel": "1s 5s 10m 2h 1d "}, {"brokerId": "0", "brokerRole": "SYNC_MASTER"},
    {"brokerId": "1", "brokerRole": "SLAVE"}, {**GROUP, "brokerId": "2"},
    {"flushDiskType": "SYNC_FLUSH", "flushIntervalCommitLog": "0"},
    {"ackMessageThreadPoolNums": "0"}, {"recoverThreadPoolNums": "0"},
])  # fmt: skip
def test_a_value_that_a_broker_can_work_with_is_no_finding(settings: dict[str, str]) -> None:
    assert {kind for kind in found(settings) if kind != "ignored-keys"} == set()


def test_what_eight_releases_ship_breaks_nothing(tmp_path: Path) -> None:
    from harness.releases.properties import read_conf

    kinds: set[str] = set()
    for release, paths in stock(tmp_path).items():
        for path in paths:
            if is_brokers(path):
                kinds |= {one.kind for one in judge_conf(read_conf(path), release).findings}
    assert kinds == {"reads-refused-by-slave", "sync-master-alone"}


def test_a_pool_beside_sync_flush_is_not_said_to_lose_what_no_kill_was_measured_with() -> None:
    one = found(POOL_OF_5X, "5.5.0")["pool-delays-sends"]
    assert "was measured with ASYNC_FLUSH alone" in one.says
    assert "a send waits until its buffer is committed, every 200 ms, and flushed" in one.says
    assert "--set broker.flushDiskType=SYNC_FLUSH" in one.advice
    assert "pool-loses-data" not in found(POOL_OF_5X, "5.5.0")
    assert "pool-loses-data" in found({"transientStorePoolEnable": "true"}, "5.5.0")
    assert "pool-loses-data" in found({**POOL_OF_5X, "flushDiskType": "ASYNC_FLUSH"}, "5.5.0")


def test_a_pool_is_off_on_a_slave_or_on_and_not_both() -> None:
    for release in ("4.9.7", "5.0.0", "5.5.0"):
        for flush in ("SYNC_FLUSH", "ASYNC_FLUSH"):
            kinds = set(found({**POOL_OF_5X, "flushDiskType": flush, "brokerRole": "SLAVE", "brokerId": "1"}, release))
            assert {kind for kind in kinds if kind.startswith("pool")} == {"pool-off"}
    led = {**POOL_OF_5X, "brokerRole": "SLAVE", "enableControllerMode": "true"}
    assert {kind for kind in found(led, "5.5.0") if kind.startswith("pool")} == {"pool-delays-sends"}


@pytest.mark.parametrize("release", ["5.3.3", "5.5.0"])
def test_what_a_broker_prints_as_it_refuses_two_kinds_of_groups_is_in_its_class(release: str) -> None:
    says = found({**GROUP, "enableControllerMode": "true"}, release)["two-kinds-of-groups"].says
    printed = [one.removesuffix("%n") for one in texts(class_of(release, "org.apache.rocketmq.broker.BrokerStartup"))]
    assert any(one and f'"{one}"' in says for one in printed)
    assert {"default", "defaultRocksDB"} <= {*texts(class_of(release, "org.apache.rocketmq.store.StoreType"))}


def test_a_controller_is_asked_for_where_a_release_knows_one() -> None:
    led = {"enableControllerMode": "true"}
    for blank in ({}, {"controllerAddr": ""}, {"controllerAddr": " ; "}):
        assert found({**led, **blank}, "5.3.3")["no-controller"].severity is Severity.CRITICAL
    assert "no-controller" not in found({**led, "controllerAddr": "h:9878"}, "5.3.3")
    assert "no-controller" not in found(led, "4.9.7")
    assert "no-controller" not in found({"controllerAddr": ""}, "5.5.0")


@pytest.mark.parametrize("release", ["4.9.7", "5.5.0"])
def test_what_fits_is_not_told(release: str) -> None:
    fits = {"maxMessageSize": "16777216", "brokerPermission": "6", "storePathRootDir": "/data/~old/store"}
    assert (
        not {"message-over-frame", "nothing-is-read", "nothing-is-written", "path-of-a-shell"}
        & found(fits, release).keys()
    )


def test_the_frame_is_the_same_in_the_classes_of_each_release() -> None:
    for release in recorded_releases():
        assert FRAME_LIMIT in texts(class_of(release, "org.apache.rocketmq.remoting.netty.NettyDecoder"))
        assert str(FRAME_BYTES_MAX) in texts(class_of(release, "org.apache.rocketmq.remoting.netty.NettyDecoder"))


def test_users_have_a_store_where_they_are_asked_for() -> None:
    asks = {"authenticationEnabled": "true"}
    for release in ("5.3.3", "5.5.0"):
        told = found(asks, release)["no-users"]
        assert told.severity is Severity.CRITICAL
        (provider,) = re.findall(r"authenticationMetadataProvider=([\w.]+)", told.advice)
        assert "no-users" not in found({**asks, "authenticationMetadataProvider": provider}, release)
        assert has_class(release, provider)
    assert "no-users" not in found(asks, "5.2.0")


@pytest.mark.parametrize("release", ["5.3.3", "5.5.0"])
def test_the_whole_way_from_the_dead_key_is_in_the_classes_of_the_release(release: str) -> None:
    told = found({"aclEnable": "true"}, release)["dead-keys"]
    assert told.severity is Severity.CRITICAL
    keys = set(re.findall(r"\b(\w*[aA]uth\w+)=", told.advice))
    assert {
        "authenticationEnabled",
        "authenticationMetadataProvider",
        "initAuthenticationUser",
        "authorizationEnabled",
        "innerClientAuthenticationCredentials",
        "migrateAuthFromV1Enabled",
        "authorizationMetadataProvider",
    } <= keys
    assert keys <= settings_of(release).broker.keys() - set(settings_of(release).dead)
    for provider in re.findall(r"org\.apache\.rocketmq[\w.]+Provider", told.advice):
        assert has_class(release, provider)
