from __future__ import annotations

from pathlib import Path

import pytest

import scenarios
from harness.backends.cluster import ClusterSpec
from harness.backends.nodes import OWN_SETTINGS
from harness.errors import EXIT_OK, UsageError
from harness.host.facts import Host
from harness.model.cluster import Topology, UserSettings
from harness.model.rocketmq import LOCK_INTERVAL, LOCK_LIFE
from harness.plan.overrides import override_notes
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.releases import user_settings
from harness.releases.user_settings import parse_sets
from mqlab.main import main
from tests.lib.clusters import drawn

SEND_WAIT = "waitTimeMillsInSendQueue"


@pytest.fixture
def known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(user_settings, "system_properties", lambda release: frozenset({LOCK_LIFE, LOCK_INTERVAL}))


@pytest.mark.usefixtures("known")
def test_sets_go_to_brokers_their_jvms_and_clients() -> None:
    asked = [
        "broker.flushDiskType=SYNC_FLUSH",
        f"broker-jvm.{LOCK_LIFE}=15000",
        f"client.{LOCK_INTERVAL}=5000",
        "client.pullBatchSize=8",
        "client.java.net.preferIPv4Stack=true",
    ]
    found = parse_sets(asked, ["4.6.0", "5.3.3"])
    assert [f"{key}={value}" for key, value in found.by_prefix().items()] == asked
    assert found.broker == {"flushDiskType": "SYNC_FLUSH"}
    assert found.broker_jvm == {LOCK_LIFE: "15000"}


@pytest.mark.usefixtures("known")
@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("broker.timerWheelEnable=true", "unknown broker setting of 4.6.0 'timerWheelEnable'"),
        ("broker.flushDiskType=x", "is not one of ASYNC_FLUSH, SYNC_FLUSH"),
        ("broker.autoCreateTopicEnable=yes", "is not true or false"),
        ("broker.flushDiskTyp=x", "flushDiskType"),
        ("broker.maxMessageSize=many", "maxMessageSize='many' is not an int"),
        ("broker.maxMessageSize=2147483648", "is not an int"),
        ("client.pullBatchSiz=8", "pullBatchSize"),
        ("client.useTLS=yes", "is not true or false"),
        ("client.instanceName=mine", "the lab itself sets it"),
        ("client.rocketmq.client.rebalance.lockIntervall=5000", LOCK_INTERVAL),
        ("broker-jvm.rocketmq.broker.rebalance.lockMaxLifeTime=1", LOCK_LIFE),
        ("broker-jvm.user.home=/tmp", "the lab itself sets it"),
        *((text, "is not broker.KEY=VALUE, broker-jvm.KEY=VALUE or client.KEY=VALUE") for text in
          ("flushDiskType=x", "clients.retries=1", "broker.=x", "broker.flushDiskType", "client.a b=1", "client.a=\0")),
    ],
)  # fmt: skip
def test_what_a_release_would_ignore_or_the_lab_sets_is_refused(text: str, said: str) -> None:
    with pytest.raises(UsageError) as caught:
        parse_sets([text], ["4.6.0", "5.3.3"])
    assert said in f"{caught.value} {caught.value.advice}"


@pytest.mark.usefixtures("known")
def test_a_setting_that_is_given_twice_is_refused() -> None:
    with pytest.raises(UsageError, match="given twice"):
        parse_sets(["client.useTLS=true", "client.useTLS=false"], ["4.6.0"])


@pytest.mark.usefixtures("known")
def test_a_truth_value_is_set_as_rocketmq_reads_it() -> None:
    assert parse_sets(["broker.autoCreateTopicEnable=FALSE"], ["4.6.0"]).broker == {"autoCreateTopicEnable": "false"}


# --- what the lab overrides is listed ---------------------------------------------------------------------------------

MINE = UserSettings(
    broker={"listenPort": "1", "brokerRole": "SYNC_MASTER", SEND_WAIT: "300", "flushDiskType": "SYNC_FLUSH"},
    client={"pullBatchSize": "8"},
)


def _plan(incident: str, *arms: str) -> Plan:
    request = Request(scenarios=[scenarios.find(incident)], releases=["5.5.0"], arms=arms, user=MINE)
    return make_plan(request, Host(cores=2, memory_mb=20_000))


def test_a_plan_says_what_the_lab_and_the_arms_of_an_incident_override() -> None:
    of_each = [f"the lab overrides broker.{key}: {MINE.broker[key]} -> each broker's own" for key in OWN_SETTINGS[2:4]]
    assert list(override_notes(_plan("append-stall", "incident"), MINE)) == of_each, (
        "it happens under the user's values"
    )
    notes = override_notes(_plan("append-stall"), MINE)
    assert f"append-stall overrides broker.{SEND_WAIT}: 300 -> 400, in fix-send-queue-wait-400" in notes
    assert not any("flushDiskType" in note or "pullBatchSize" in note for note in notes)
    assert override_notes(_plan("append-stall"), UserSettings()) == ()


def test_what_a_brokers_own_settings_are_no_user_changes(tmp_path: Path) -> None:
    user = UserSettings(broker=dict.fromkeys(OWN_SETTINGS, "mine"), broker_jvm={"a.b": "1"}, client={"c": "1"})
    spec = ClusterSpec(name="c", release="5.5.0", topology=Topology(name="two-masters", masters=2), user=user)
    blueprint = drawn(spec, tmp_path)
    assert set(blueprint.overrides) == {f"broker.{key}" for key in OWN_SETTINGS}


@pytest.mark.parametrize(
    "command",
    [
        ("verify", "append-stall", "--quick", "--release", "5.5.0"),
        ("reproduce", "append-stall"),
        ("tune", "append-stall", "--sweep", "broker.waitTimeMillsInSendQueue=200,300", "--param", "stall_ms=300"),
    ],
    ids=lambda command: command[0],
)
def test_every_command_that_starts_brokers_lists_it_before_it_starts_one(
    command: tuple[str, ...], capsys: pytest.CaptureFixture[str]
) -> None:
    assert main([*command, "--set", "broker.listenPort=1", "--plan"]) == EXIT_OK
    said = capsys.readouterr()
    assert "the lab overrides broker.listenPort: 1 -> each broker's own" in said.out + said.err
