"""A cluster's reading as one file: what is kept of it, what is not, and which other files are readings."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from harness.audit.asking import read_cluster
from harness.audit.kept import KeptBroker, KeptClients, Source, kept, own_settings, read_kept, text_of
from harness.errors import ConfigurationError
from harness.releases.border import HIDDEN
from harness.releases.settings import settings_of
from tests.lib.audited import cluster

SECRETS = {
    "initAuthenticationUser": '{"username":"u","password":"planted-1"}',
    "innerClientAuthenticationCredentials": '{"accessKey":"u","secretKey":"planted-2"}',
    "metricsGrpcExporterHeader": "Authorization:Bearer planted-3",
    "objectStoreSecretKey": "planted-4",
    "namesrvAddr": "user:planted-5@names:9876",
}
PRINTED = """\
============Master: 10.0.0.1:10911============
brokerName                                        =  broker-a
brokerId                                          =  0
flushDiskType                                     =  SYNC_FLUSH
messageDelayLevel                                 =  1s 5s 10s
accessKey                                         =  planted-6
namesrvAddr                                       =  a=b:9876

============My Master: 10.0.0.1:10911=====Slave: 10.0.0.2:10911============
brokerName                                        =  broker-a
brokerId                                          =  1
brokerRole                                        =  SLAVE
"""


def test_a_cluster_is_kept_without_a_secret_and_without_a_name_of_its_users(serving: ExitStack, tmp_path: Path) -> None:
    broker, _, addresses = cluster(serving, {"orders": (4, 4), "%RETRY%billing": (1, 1), "TBW102": (8, 8)})
    broker.conf |= SECRETS
    broker.members["billing"] = ["of-one"]
    found = kept(read_cluster(addresses))
    text = text_of(found)
    assert not any(word in text for word in ("planted", "orders", "billing", "of-one"))
    (one,) = found.brokers
    assert (one.topics["normal"], one.groups, one.queues) == (1, 1, 13)
    assert {one.settings[key] for key in SECRETS} == {HIDDEN}
    assert sum(some.connections for some in found.clients) == 1
    path = tmp_path / "reading.json"
    path.write_text(text)
    assert read_kept(path) == found


def test_clients_are_told_by_language_release_and_whether_they_pull(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {"%RETRY%billing": (1, 1)})
    broker.bodies[203] = json.dumps(
        {
            "consumeType": "CONSUME_ACTIVELY",
            "connectionSet": [
                {"clientId": str(number), "clientAddr": "10.0.0.9:1", "language": "JAVA", "version": 401}
                for number in range(2)
            ],
        }
    ).encode()
    assert kept(read_cluster(addresses)).clients == (
        KeptClients(language="JAVA", release="4.9.4", pulls=True, connections=2),
    )


def test_a_secret_that_was_put_into_the_file_by_hand_is_not_passed_on(tmp_path: Path) -> None:
    path = tmp_path / "reading.json"
    broker = {"name": "broker-a", "release": "4.9.7", "settings": {"accessKey": "planted"}}
    path.write_text(json.dumps({"format": 1, "source": "cluster", "brokers": [broker]}))
    assert read_kept(path).brokers[0].settings == {"accessKey": HIDDEN}


def test_what_mqadmin_prints_is_a_reading(tmp_path: Path) -> None:
    path = tmp_path / "printed.txt"
    path.write_text(PRINTED)
    found = read_kept(path)
    assert found.source is Source.MQADMIN
    assert [(one.name, one.address, one.broker_id) for one in found.brokers] == [
        ("broker-a", "10.0.0.1:10911", 0),
        ("broker-a (slave 1)", "10.0.0.2:10911", 1),
    ]
    master = found.brokers[0].settings
    assert master["messageDelayLevel"] == "1s 5s 10s"
    assert master["accessKey"] == HIDDEN
    assert master["namesrvAddr"] == "a=b:9876"


def test_a_folder_of_files_is_a_reading_and_names_what_is_no_brokers(tmp_path: Path) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "broker.conf").write_text("brokerName=broker-a\n\nflushDiskType=SYNC_FLUSH\nsecretKey=planted\n")
    (tmp_path / "namesrv.conf").write_text("rocketmqHome=/opt\nkvConfigPath=/opt/kv\n")
    (tmp_path / "broken.conf").write_text("storePathRootDir=\\u12\n")
    found = read_kept(tmp_path)
    assert [one.name for one in found.brokers] == ["a/broker.conf", "broken.conf"]
    assert found.brokers[0].lines == {"brokerName": 1, "flushDiskType": 3, "secretKey": 4}
    assert "planted" not in text_of(found)
    assert "does not start" in found.brokers[1].problem
    assert "a name server's file" in found.left_out[0]


@pytest.mark.parametrize("text", ["{", '{"brokers": 3}', '{"source": "cluster", "brokers": [], "format": 2}'])
def test_what_is_no_reading_is_refused_with_a_sentence(text: str, tmp_path: Path) -> None:
    (tmp_path / "reading.json").write_text(text)
    with pytest.raises(ConfigurationError, match="reading"):
        read_kept(tmp_path / "reading.json")


@pytest.mark.parametrize("release", ["4.6.0", "4.9.7", "5.3.3", "5.5.0"])
def test_a_running_broker_has_set_nothing_that_is_its_releases_default(release: str, tmp_path: Path) -> None:
    known = settings_of(release)
    settings = {key: value.split(" and ")[0] for key, value in known.broker.items() if value != "null"}
    path = tmp_path / "reading.json"
    broker = {"name": "broker-a", "release": release, "settings": settings | {"flushDiskType": "SYNC_FLUSH"}}
    path.write_text(json.dumps({"format": 1, "source": "cluster", "brokers": [broker]}))
    assert own_settings(read_kept(path).brokers[0], known).settings == {"flushDiskType": "SYNC_FLUSH"}


def test_a_field_that_a_running_broker_tells_is_told_by_its_key() -> None:
    known = settings_of("4.9.7")
    default = KeptBroker(name="broker-a", settings={"isEnableBatchPush": "false"})
    changed = KeptBroker(name="broker-a", settings={"isEnableBatchPush": "true"})
    assert own_settings(default, known).settings == {}
    assert own_settings(changed, known).settings == {"enableBatchPush": "true"}
