"""What a broker.conf decides, without a cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.audit.conf import judge_conf
from harness.audit.finding import Severity
from harness.errors import EXIT_USAGE
from harness.model.broker_conf import conf_of
from harness.releases.class_file import class_of, texts
from mqlab.main import main

POOL = {"transientStorePoolEnable": "true"}


def kinds(settings: Mapping[str, str], release: str = "4.9.7") -> set[str]:
    return {one.kind for one in judge_conf(conf_of(settings), release).findings}


def test_an_empty_file_refuses_sends_after_a_second_in_the_lock_and_has_no_finding() -> None:
    judged = judge_conf(conf_of({}), "4.9.7")
    assert "1,000 ms (osPageCacheBusyTimeOutMills)" in judged.refuses
    assert "pool" not in judged.refuses
    assert not judged.has_pool
    assert judged.findings == ()


def test_the_pool_is_one_more_reason_to_refuse_and_its_price_is_said() -> None:
    judged = judge_conf(conf_of(POOL), "5.5.0")
    assert "all in use" in judged.refuses
    assert judged.has_pool
    assert kinds(POOL) == {"pool-loses-data"}


@pytest.mark.parametrize(("release", "role", "expected"), [
    ("4.6.0", "ASYNC_MASTER", {"pool-off", "one-message-a-flush"}),
    ("4.9.7", "ASYNC_MASTER", {"pool-off"}),
    ("5.5.0", "ASYNC_MASTER", {"pool-delays-sends"}),
])  # fmt: skip
def test_a_synchronous_flush_switches_the_pool_off_on_4x_alone(release: str, role: str, expected: set[str]) -> None:
    assert kinds({**POOL, "flushDiskType": "SYNC_FLUSH", "brokerRole": role}, release) == expected


def test_a_synchronous_master_of_5x_that_waits_for_nobody_is_said() -> None:
    assert kinds({"brokerRole": "SYNC_MASTER"}, "5.5.0") == {"sync-master-alone"}
    assert kinds({"brokerRole": "SYNC_MASTER", "inSyncReplicas": "2"}, "5.5.0") == set()
    assert kinds({"brokerRole": "SYNC_MASTER"}, "4.9.7") == set()


@pytest.mark.parametrize("release", ["4.9.7", "5.5.0"])
def test_a_member_of_a_dledger_group_has_no_pool_and_waits_for_its_group(release: str) -> None:
    given = {**POOL, "enableDLegerCommitLog": "true", "brokerRole": "SYNC_MASTER"}
    judged = judge_conf(conf_of(given), release)
    assert not judged.has_pool
    (off,) = (one for one in judged.findings if one.kind == "pool-off")
    assert "the log of a DLedger group does not use it" in off.says
    assert not kinds(given, release) & {"pool-loses-data", "pool-delays-sends", "sync-master-alone"}
    # Its classes name neither a pool nor another kind of copy.
    assert not any(
        "ransientStore" in text
        for text in texts(class_of(release, "org.apache.rocketmq.store.dledger.DLedgerCommitLog"))
    )


def test_a_slave_of_5x_that_serves_no_reads_is_said() -> None:
    slave = {"brokerRole": "SLAVE", "brokerId": "1"}
    assert kinds(slave, "5.5.0") == {"reads-refused-by-slave"}
    assert kinds({**slave, "slaveReadEnable": "true"}, "5.5.0") == set()
    assert kinds(slave, "4.9.7") == set()


@pytest.mark.parametrize("size", ["1", "2"])
def test_a_pool_that_is_too_small_is_critical(size: str) -> None:
    judged = judge_conf(conf_of({**POOL, "transientStorePoolSize": size}), "5.5.0")
    assert judged.findings[0].kind == "pool-too-small"
    assert judged.findings[0].severity is Severity.CRITICAL


@pytest.mark.parametrize(("settings", "kind"), [
    ({"osPageCacheBusyTimeOutMills": "300"}, "busy-early"),
    ({"waitTimeMillsInSendQueue": "1000"}, "wait-over-busy"),
    ({"brokerFastFailureEnable": "false"}, "no-fast-failure"),
    ({"noSuchKey": "1"}, "ignored-keys"),
    ({"rocketmq.broker.rebalance.lockMaxLiveTime": "ten"}, "lock-settings"),
    ({"rocketmq.client.rebalance.lockInterval": "0"}, "lock-settings"),
])  # fmt: skip
def test_each_mistake_is_named(settings: dict[str, str], kind: str) -> None:
    assert kind in kinds(settings)


def test_settings_within_the_defaults_are_no_finding() -> None:
    assert kinds({"waitTimeMillsInSendQueue": "999", "osPageCacheBusyTimeOutMills": "1000"}) == set()


def test_a_value_that_the_broker_would_ignore_is_told_with_what_it_keeps() -> None:
    (found,) = judge_conf(conf_of({"osPageCacheBusyTimeOutMills": "soon"}), "4.6.0").findings
    assert found.kind == "ignored-values"
    assert (
        found.says
        == 'osPageCacheBusyTimeOutMills: "soon" is not a long, and 4.6.0 keeps its default of 1000 without a word'
    )


def test_the_door_that_aclenable_leaves_open_is_critical() -> None:
    given = conf_of({"brokerName": "a", "aclEnable": "true"})
    assert kinds(given.settings, "4.9.7") == set()
    for release in ("5.3.3", "5.5.0"):
        (found,) = judge_conf(given, release).findings
        assert (found.kind, found.severity) == ("dead-keys", Severity.CRITICAL)
        assert "asks nobody who sends a request" in found.says
    guarded = judge_conf(conf_of({**given.settings, "authenticationEnabled": "true"}), "5.5.0").findings
    assert {one.kind: one.severity for one in guarded} == {
        "dead-keys": Severity.WARNING, "no-users": Severity.CRITICAL,
    }, "a door that everybody stands before, and no longer an open one"  # fmt: skip


def test_the_command_answers_by_the_record_and_its_code_is_the_worst_finding(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("transientStorePoolEnable=true\ntransientStorePoolSize=2\n")
    assert main(["audit", "--broker-conf", str(conf), "--release", "4.6.0", "--json"]) == Severity.CRITICAL
    (said,) = json.loads(capsys.readouterr().out)
    assert said["release"] == "4.6.0"
    assert {one["claim"] for one in said["measured"]} == {"BUSY-14", "POOL-03"}
    assert [one["severity"] for one in said["findings"]] == ["critical", "warning"]
    assert main(["audit", "--broker-conf", str(conf)]) == Severity.CRITICAL
    assert "sends are refused with [REJECTREQUEST] after" in capsys.readouterr().out


def test_what_is_the_same_on_several_releases_is_told_once_and_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text(
        "brokerName=a\nnonsense=1\nwaitTimeMillsInSendQueue=soon\nenableControllerMode=true\nfileReservedTime=0\n"
    )
    main(["audit", "--broker-conf", str(conf)])
    told = capsys.readouterr().out
    heads = [line for line in told.splitlines() if line.startswith("on ")]
    assert heads == ["on each of 4.6.0, 4.9.7, 5.3.3, 5.5.0:", "on 4.6.0, 4.9.7:", "on 5.3.3, 5.5.0:"]
    for once in ("CRITICAL files-not-kept", "and the release keeps its default of 200", "(BUSY-14)"):
        assert told.count(once) == 1
    assert told.index("CRITICAL") < told.index("WARNING") < told.index("on 4.6.0, 4.9.7:")
    assert "measured on 4.6.0, 4.9.7, 5.3.3, 5.5.0, here of 5.5.0 (BUSY-14): A stall" in told


def test_what_was_measured_with_another_value_than_the_files_says_so(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("brokerName=a\nosPageCacheBusyTimeOutMills=300\n")
    main(["audit", "--broker-conf", str(conf), "--release", "5.5.0"])
    assert "(BUSY-14) with osPageCacheBusyTimeOutMills=1000 (yours is 300): A stall" in capsys.readouterr().out
    main(["audit", "--broker-conf", str(conf), "--release", "5.5.0", "--json"])
    (said,) = json.loads(capsys.readouterr().out)
    assert said["measured"][0]["otherwise"] == {"osPageCacheBusyTimeOutMills": ["1000", "300"]}
    conf.write_text("brokerName=a\nosPageCacheBusyTimeOutMills=1000\n")
    main(["audit", "--broker-conf", str(conf), "--release", "5.5.0"])
    assert "yours is" not in capsys.readouterr().out


def test_an_audit_says_which_keys_it_looked_at(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("brokerName=a\nflushDiskType=SYNC_FLUSH\naclEnable=true\nnonsense=1\nregionId=here\n")
    main(["audit", "--broker-conf", str(conf), "--release", "5.5.0"])
    assert (
        "5 keys: 1 checked for what the value does (flushDiskType), 3 only for whether the broker reads it, 1 not known to 5.5.0"
        in capsys.readouterr().out
    )
    main(["audit", "--broker-conf", str(conf), "--release", "5.5.0", "--json"])
    (said,) = json.loads(capsys.readouterr().out)
    assert (said["checked"], said["unknown"]) == (["flushDiskType"], ["nonsense"])
    assert said["read"] == ["brokerName", "aclEnable", "regionId"]


def test_an_audit_is_of_a_cluster_or_of_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    conf = tmp_path / "broker.conf"
    conf.write_text("")
    for arguments in (["audit"], ["audit", "--namesrv", "127.0.0.1:9876", "--broker-conf", str(conf)]):
        assert main(arguments) == EXIT_USAGE
        assert "--namesrv HOST:PORT,... or --broker-conf FILE" in capsys.readouterr().err
