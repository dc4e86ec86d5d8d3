"""``mqlab upgrade`` of a cluster of one's own: what a reading's brokers meet in the upgrade, on readings made by hand."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from harness.audit.kept import KeptBroker, KeptClients, KeptReading, Source, read_kept, text_of
from harness.audit.upgraded import Level, PreflightFinding, disk, modes
from harness.errors import EXIT_FAILED, EXIT_MISMATCH, EXIT_OK, EXIT_UNDECIDED, EXIT_USAGE
from harness.releases.settings import settings_of
from mqlab.ask.preflight import judge
from mqlab.main import main
from tests.lib.audited import WRITES, cluster
from tests.lib.conf_oracle import stock


def running(settings: Mapping[str, str], release: str = "4.9.7", **more: Any) -> KeptBroker:
    """A broker that tells all of its settings, as one that runs does."""
    known = settings_of(release).broker
    told = {key: value.split(" and ")[0] for key, value in known.items() if value not in ("?", "null", "")}
    own = {"brokerName": "broker-a", "brokerIP1": "10.0.0.1"}
    return KeptBroker(
        **({"name": "broker-a", "address": "10.0.0.1:10911", "release": release} | more),
        settings={**told, **own, **settings},
    )


def looked(*brokers: KeptBroker, to: str = "5.5.0", clients: tuple[KeptClients, ...] = ()) -> list[PreflightFinding]:
    return judge(KeptReading(source=Source.CLUSTER, brokers=brokers, clients=clients), to)


def worst(found: list[PreflightFinding]) -> dict[str, Level]:
    return {one.kind: one.weight for one in found if one.weight in (Level.BLOCKER, Level.WARNING)}


@pytest.mark.parametrize(
    ("before", "to"),
    [("4.6.0", "4.9.7"), ("4.6.0", "5.5.0"), ("4.9.4", "5.1.4"), ("4.9.7", "5.5.0"), ("5.3.3", "5.5.0")],
)
def test_a_broker_that_has_set_nothing_meets_nothing(before: str, to: str) -> None:
    assert worst(looked(running({}, before), to=to)) == {}


@pytest.mark.parametrize(
    ("settings", "before", "to", "expected"),
    [
        ({"aclEnable": "true"}, "4.9.7", "5.5.0", {"acl-dark": Level.BLOCKER}),
        ({"aclEnable": "true"}, "4.9.7", "5.1.4", {}),
        (
            {"transientStorePoolEnable": "true", "flushDiskType": "SYNC_FLUSH"},
            "4.9.7",
            "5.5.0",
            {"pool-delays-sends": Level.WARNING},
        ),
        ({"storeType": "defaultRocksDB"}, "4.9.7", "5.5.0", {"store-type-switched": Level.BLOCKER}),
        ({"storeType": "defaultRocksDB"}, "5.3.3", "5.5.0", {}),
        ({"brokerRole": "SLAVE", "brokerId": "1"}, "4.9.7", "5.5.0", {"slave-serves-no-reads": Level.WARNING}),
        ({"brokerRole": "SLAVE", "brokerId": "1", "slaveReadEnable": "true"}, "4.9.7", "5.5.0", {}),
        ({"brokerRole": "SYNC_MASTER"}, "4.9.7", "5.5.0", {"sync-master-alone": Level.BLOCKER}),
        ({"brokerRole": "SYNC_MASTER"}, "5.3.3", "5.5.0", {}),
        ({"enableLmq": "true"}, "4.8.0", "4.9.7", {"lmq-offsets": Level.BLOCKER}),
        ({"enableLmq": "true"}, "4.9.7", "5.5.0", {}),
        ({"haSlaveFallbehindMax": "1000"}, "4.9.7", "5.5.0", {"key-renamed": Level.WARNING}),
        (
            {"enableControllerMode": "true", "controllerAddr": "c:9878"},
            "4.9.7",
            "5.5.0",
            {"key-comes-into-force": Level.WARNING},
        ),
        ({"noSuchKey": "1"}, "4.9.7", "5.5.0", {}),
    ],
)
def test_what_a_setting_meets_is_told_by_weight(
    settings: Mapping[str, str], before: str, to: str, expected: Mapping[str, Level]
) -> None:
    found = looked(running(settings, before), to=to)
    assert worst(found) == expected
    for one in found:
        if one.weight in (Level.BLOCKER, Level.WARNING):
            assert one.brokers == ("broker-a",)
            assert one.key in settings
            assert one.value == settings[one.key]
            assert one.cure
            assert one.proofs[0] == "mqadmin getBrokerConfig -b 10.0.0.1:10911"


@pytest.mark.parametrize(
    ("key", "kind", "before"),
    [
        ("enableDLegerCommitLog", "dledger-mode", "4.9.7"),
        ("enableControllerMode", "controller-mode", "5.3.3"),
    ],
)
def test_modes_that_nothing_was_measured_with_are_not_looked_at(key: str, kind: str, before: str) -> None:
    more = {"controllerAddr": "c:9878"} if kind == "controller-mode" else {"dLegerPeers": "n0-a:40911"}
    found = looked(running({key: "true", "dLegerSelfId": "n0", **more}, before))
    assert [one.kind for one in found if one.weight is Level.UNKNOWN] == [kind]


def test_controller_mode_of_the_release_that_does_not_start_with_it_blocks() -> None:
    both = {"enableControllerMode": "true"}
    assert [one.weight for one in modes("5.1.1", "5.1.2", both, both)] == [Level.BLOCKER]
    assert [one.weight for one in modes("5.1.1", "5.1.3", both, both)] == [Level.UNKNOWN]


def test_brokers_with_equal_answers_are_told_once_and_releases_apart() -> None:
    acl = {"aclEnable": "true"}
    found = looked(running(acl), running(acl, name="broker-b"), running(acl, "4.9.4", name="broker-c"))
    (first, second) = (one for one in found if one.weight is Level.BLOCKER)
    assert {first.brokers, second.brokers} == {("broker-a", "broker-b"), ("broker-c",)}


def test_pull_clients_that_are_old_and_clients_of_other_languages_are_named() -> None:
    some = (
        KeptClients(language="JAVA", release="4.9.4", pulls=True, connections=2),
        KeptClients(language="JAVA", release="4.9.5", pulls=True, connections=1),
        KeptClients(language="JAVA", release="4.6.0", pulls=False, connections=1),
        KeptClients(language="GO", release="4.5.1", pulls=False, connections=1),
    )
    found = {(one.kind, one.weight) for one in looked(running({}), clients=some) if "client" in one.kind}
    assert found == {
        ("old-pull-clients", Level.WARNING),
        ("clients", Level.FINE),
        ("other-clients", Level.UNKNOWN),
    }


@pytest.mark.parametrize(("before", "to", "is_told"), [("4.9.1", "4.9.7", True), ("4.9.4", "4.9.7", False)])
def test_a_disk_that_counts_as_fuller_is_told_where_the_count_changes(before: str, to: str, is_told: bool) -> None:
    broker = KeptBroker(name="broker-a", release=before, disk_share="0.8321093", address="a:1")
    assert [one.kind for one in disk(broker, before, to)] == (["disk-full-after-upgrade"] if is_told else [])


def test_what_could_not_be_read_and_what_is_of_the_release_already_is_said() -> None:
    found = looked(running({}, "5.5.0"), KeptBroker(name="broker-b", problem="it did not answer"))
    assert {one.kind: (one.weight, one.brokers) for one in found} == {
        "same-release": (Level.FINE, ("broker-a",)),
        "not-read": (Level.UNKNOWN, ("broker-b",)),
    }


def test_files_that_releases_ship_meet_only_what_the_record_has_of_their_roles(tmp_path: Path) -> None:
    found: dict[str, set[str]] = {}
    for release, paths in stock(tmp_path).items():
        folder = tmp_path / release
        reading = read_kept(folder)
        assert len(reading.brokers) + len(reading.left_out) == len(paths)
        assert not [one.problem for one in reading.brokers if one.problem]
        for one in judge(reading, "5.5.0", release):
            if one.weight in (Level.BLOCKER, Level.WARNING):
                found.setdefault(f"{one.kind} {one.key}={one.value}", set()).update(one.brokers)
    assert found.keys() == {"sync-master-alone brokerRole=SYNC_MASTER", "slave-serves-no-reads brokerRole=SLAVE"}
    masters, slaves = found.values()
    if "2m-2s-async/broker-a-s.properties" in masters:
        masters, slaves = slaves, masters
    assert masters == {f"2m-2s-sync/broker-{one}.properties" for one in "ab"}
    assert slaves == {f"2m-2s-{how}/broker-{one}-s.properties" for how in ("sync", "async") for one in "ab"}


# --- the command -------------------------------------------------------------------------------------------------------------


def _write(path: Path, *brokers: KeptBroker) -> str:
    path.write_text(text_of(KeptReading(source=Source.CLUSTER, brokers=brokers)))
    return str(path)


@pytest.mark.parametrize(
    ("settings", "code"),
    [
        ({"aclEnable": "true"}, EXIT_MISMATCH),
        ({}, EXIT_OK),
        (
            {"enableDLegerCommitLog": "true", "dLegerPeers": "n0-a:40911", "dLegerSelfId": "n0", "dLegerGroup": "g"},
            EXIT_UNDECIDED,
        ),
    ],
)
def test_the_exit_code_says_what_is_to_be_prepared(settings: Mapping[str, str], code: int, tmp_path: Path) -> None:
    path = _write(tmp_path / "reading.json", running(settings))
    assert main(["upgrade", "--from-reading", path, "--to", "5.5.0", "--strict"]) == code
    assert main(["upgrade", "--from-reading", path, "--to", "5.5.0"]) == EXIT_OK


def test_a_cluster_is_read_kept_and_judged_the_same_and_nothing_is_written_to_it(
    serving: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, servers, addresses = cluster(serving, {"orders": (4, 4), "%RETRY%billing": (1, 1)})
    broker.version = "V4_9_7"
    broker.conf |= {"aclEnable": "true", "secretKey": "planted"}
    kept = tmp_path / "reading.json"
    asked = ["upgrade", "--namesrv", ";".join(addresses), "--to", "5.5.0", "--json", "--reading", str(kept)]
    assert main([*asked, "--strict"]) == EXIT_MISMATCH
    told = capsys.readouterr().out
    assert main(["upgrade", "--from-reading", str(kept), "--to", "5.5.0", "--json"]) == EXIT_OK
    assert json.loads(capsys.readouterr().out) == json.loads(told)
    assert "planted" not in told + kept.read_text()
    assert not WRITES & {code for node in (broker, *servers) for code in node.asked}
    assert json.loads(told)["releases"] == {"4.9.7": ["broker-a"]}
    first = json.loads(told)["findings"][0]
    assert (first["kind"], first["weight"], first["key"], first["value"]) == (
        "acl-dark",
        "blocker",
        "aclEnable",
        "true",
    )


def test_a_file_is_told_with_its_line_and_the_command_that_proves_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "broker.conf").write_text("brokerName=a\n\naclEnable=true\nsecretKey=planted\n")
    assert main(["upgrade", "--from-reading", str(tmp_path), "--from", "4.9.7", "--to", "5.5.0"]) == EXIT_OK
    told = capsys.readouterr().out
    assert "BLOCKERS  (1)" in told
    assert "line 3: aclEnable=true" in told
    assert f"mqlab audit --broker-conf {tmp_path}/broker.conf --release 5.5.0" in told
    assert "planted" not in told


def test_what_is_missing_or_does_not_go_together_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "broker.conf").write_text("brokerName=a\n")
    asked = ["upgrade", "--from-reading", str(tmp_path), "--to", "5.5.0"]
    assert main(asked) == EXIT_USAGE
    assert "--from RELEASE" in capsys.readouterr().err
    assert main([*asked, "--from", "4.9.7", "--verdicts"]) == EXIT_USAGE
    assert main([*asked, "--namesrv", "a:1"]) == EXIT_USAGE
    assert main(["upgrade", "--to", "5.5.0"]) == EXIT_USAGE
    assert main(["upgrade", "--from", "4.9.7", "--to", "5.5.0", "--reading", str(tmp_path / "new")]) == EXIT_USAGE
    (tmp_path / "broker.conf").write_text("controllerDLegerGroup=g\ncontrollerDLegerPeers=n0-a:1\n")
    assert main([*asked, "--from", "4.9.7"]) == EXIT_FAILED
