"""No setting of a user's carries an address, a path or a peer out of the lab."""

from __future__ import annotations

from pathlib import Path

import pytest

import scenarios
from harness.backends.cluster import ClusterSpec
from harness.backends.nodes import OWN_SETTINGS
from harness.errors import EXIT_OK, UsageError
from harness.host.facts import Host
from harness.model.cluster import Topology, UserSettings
from harness.plan.overrides import override_notes
from harness.plan.request import Request
from harness.plan.schedule import make_plan
from harness.releases import border
from harness.releases.border import BROKER, CLIENT, JVM, LEFT_OUT, MAPPED, admitted, judge
from harness.releases.jars import recorded_releases
from harness.releases.settings import BY_PROCESSORS, Settings, settings_of
from harness.releases.user_settings import broker_keys, client_keys, read_broker_conf, system_properties
from mqlab.main import main
from mqlab.tune.sweep import check_settings, read_swept
from tests.lib.border import HOSTILE_CONF, KEPT, LEADS_OUT, conf_of, hostile_conf, strangers
from tests.lib.clusters import drawn

TEXT = "String"
NUMERIC = ("int", "long", "float", "double")
HOSTILE = hostile_conf()


@pytest.mark.parametrize("release", recorded_releases())
def test_every_setting_whose_value_is_a_text_has_a_rule(release: str) -> None:
    broker = {key for key, kind in broker_keys(release).items() if TEXT in kind}
    client = {key for key, kind in client_keys(release).items() if TEXT in kind}
    assert not broker - BROKER.keys() - MAPPED.keys(), "give each a rule in harness/releases/border.py"
    assert not client - CLIENT.keys(), "give each a rule in harness/releases/border.py"


@pytest.mark.parametrize("release", recorded_releases())
def test_every_setting_whose_value_is_a_text_lets_none_of_them_out(release: str) -> None:
    texts = [("broker", key) for key, kind in broker_keys(release).items() if TEXT in kind]
    texts += [("client", key) for key, kind in client_keys(release).items() if TEXT in kind]
    let_out = [(*one, value) for one in texts for value in LEADS_OUT if not judge(*one, value).why]
    assert not let_out


@pytest.mark.parametrize("release", recorded_releases())
def test_numbers_and_truth_values_are_kept_but_for_switches_of_what_leads_out(release: str) -> None:
    kinds = {("broker", key): kind for key, kind in broker_keys(release).items()}
    kinds |= {("client", key): kind for key, kind in client_keys(release).items()}
    left_out = set()
    for (prefix, key), kind in kinds.items():
        values = ("true", "false") if kind == "boolean" else ("1073741824", "-1") if kind in NUMERIC else ()
        left_out |= {key for value in values if judge(prefix, key, value).why}
    expected = {
        "brokerId", "listenPort", "haListenPort", "filterServerNums", "metricsPromExporterPort", "enableDLegerCommitLog",
        "enableControllerMode", "fetchControllerAddrByDnsLookup", "fetchNamesrvAddrByAddressServer",
        "fetchNameSrvAddrByDnsLookup", "aclEnable", "authenticationEnabled", "authorizationEnabled",
        "migrateAuthFromV1Enabled", "useTLS", "useEpollNativeSelector",
    }  # fmt: skip
    assert left_out == expected & {key for _, key in kinds}


@pytest.mark.parametrize("release", recorded_releases())
def test_the_defaults_of_a_release_may_be_set(release: str) -> None:
    kept = settings_of(release)
    asked = [("broker", key, value) for key, value in kept.broker.items() if key not in MAPPED]
    asked += [("client", key, value) for key, value in kept.client.items()]
    changed = {key for prefix, key, value in asked if value not in ("", "null", "?", BY_PROCESSORS)
               if " and " not in value and judge(prefix, key, value).why}  # fmt: skip
    of_the_lab = {
        "bindAddress", "brokerClusterName", "brokerId", "brokerRole", "haListenPort", "storePathCommitLog", "storePathRootDir",
        "socksProxyConfig", "metricsPromExporterPort", "consumerGroup", "producerGroup",
    }  # fmt: skip
    assert changed <= of_the_lab


@pytest.mark.parametrize("value", LEADS_OUT)
def test_a_key_that_nobody_knows_lets_none_of_them_out(value: str) -> None:
    for key in ("whatever", "some.key", "peerHost", "mirrorUrl"):
        assert judge("broker", key, value).why, key
        assert judge("broker-jvm", f"{key}.at", value).why or value == "2130706433", key


def test_a_key_that_nobody_knows_may_have_a_number_or_a_plain_word() -> None:
    assert not judge("broker", "rocketmq.broker.rebalance.lockMaxLiveTime", "15000").why
    for value in ("", "1", "-1", "0.75", "true", "WORD", "a-word_2", "one;two,three", "1s 5s"):
        assert not judge("broker", "whatever", value).why, value
    assert judge("broker", "mirrorPeer", "prodmirror").why == border._NAMED
    assert not judge("broker", "mirrorPeers", "3").why


def test_a_text_of_a_release_to_come_is_no_number(monkeypatch: pytest.MonkeyPatch) -> None:
    to_come = Settings(
        broker={"newText": "", "newWord": "fast", "newNumber": "5", "newHost": "null"}, client={}, codes={}
    )
    monkeypatch.setattr(border, "settings_of", lambda _: to_come)
    border._defaults.cache_clear()
    try:
        assert not judge("broker", "newNumber", "1073741824").why
        assert not judge("broker", "newText", "word").why
        assert judge("broker", "newHost", "word").why
        for key in ("newText", "newWord", "newNumber", "newHost"):
            assert all(judge("broker", key, value).why for value in LEADS_OUT if not (key == "newNumber" and value in
                       ("10.1", "2130706433"))), key  # fmt: skip
    finally:
        border._defaults.cache_clear()


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("messageDelayLevel", "1s 5s 10s 30s 1m 2h"), ("deleteWhen", "04;16"), ("flushDiskType", "SYNC_FLUSH"),
        ("combineCQLoadingCQTypes", "default;defaultRocksDB"), ("configBlackList", "configBlackList;brokerConfigPath"),
        ("regionId", "cn-hangzhou"), ("msgTraceTopicName", "MY_TRACE"), ("metricsExporterType", "LOG"),
        ("metricsExporterType", "DISABLE"), ("enableDLegerCommitLog", "false"), ("aclEnable", "false"),
        ("messageStorePlugIn", "org.apache.rocketmq.tieredstore.TieredMessageStore"), ("messageStorePlugIn", ""),
        ("tieredBackendServiceProvider", "org.apache.rocketmq.tieredstore.provider.PosixFileSegment"),
        ("maxMessageSize", "4194304"), ("warmMapedFileEnable", "true"), ("readAheadCacheSizeThresholdRate", "0.3"),
    ],
)  # fmt: skip
def test_what_tunes_a_broker_is_kept(key: str, value: str) -> None:
    assert judge("broker", key, value) == border.Judged()


@pytest.mark.parametrize("value", ["OTLP_GRPC", "PROM", "1", "2", "prom", ""])
def test_no_exporter_is_kept_that_sends_or_listens(value: str) -> None:
    assert judge("broker", "metricsExporterType", value).why


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("rocketmq.broker.rebalance.lockMaxLiveTime", "15000"), ("java.net.preferIPv4Stack", "true"),
        ("java.net.preferIPv6Addresses", "system"), ("com.rocketmq.remoting.frameMaxLength", "33554432"),
        ("rocketmq.client.logFileMaxSize", "1073741824"), ("rocketmq.serialize.type", "ROCKETMQ"), ("file.encoding", "UTF-8"),
        ("user.timezone", "Asia/Shanghai"), ("user.timezone", "GMT+08:00"), ("io.netty.allocator.type", "pooled"),
        ("jdk.nio.maxCachedBufferSize", "262144"), ("rocketmq.broker.diskSpaceWarningLevelRatio", "0.95"),
        ("sun.net.inetaddr.ttl", "60"), ("a.b", "1"),
    ],
)  # fmt: skip
def test_what_tunes_a_jvm_is_kept(key: str, value: str) -> None:
    for prefix in ("broker-jvm", "client"):
        assert not judge(prefix, key, value).why


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("http.proxyHost", "proxy"), ("https.proxyPort", "3128"), ("socksProxyHost", "proxy"), ("socksProxyPort", "1080"),
        ("com.sun.management.jmxremote.port", "9999"), ("java.rmi.server.hostname", "prod"), ("java.io.tmpdir", "/tmp"),
        ("user.home", "home"), ("rocketmq.client.logRoot", "logs"), ("rocketmq.namesrv.domain", "addressserver"),
        ("rocketmq.namesrv.domain.subgroup", "prod"), ("com.rocketmq.socks.proxy.config", "{}"), ("tls.enable", "true"),
        ("tls.server.certPath", "cert"), ("tls.config.file", "x"), ("tls.server.mode", "permissive"),
        ("rocketmq.acl.plain.file", "acl"), ("rocketmq.broker.multiPathSplitter", "a"), ("java.security.policy", "all"),
        ("javax.net.ssl.trustStore", "store"), ("java.class.path", "x"), ("mqlab.stall.port", "1"), ("user.timezone", "/etc/zone"),
        ("java.net.useSystemProxies", "true"), ("otel.exporter.otlp.endpoint", "collector"), ("log4j.configurationFile", "x"),
        ("some.peer.host", "prod"), ("some.peer.host", "167772161"), ("java.naming.provider.url", "x"),
        ("org.jboss.byteman.script", "x"), ("jdk.net.hosts.file", "hosts"),
        ("fastjson.parser.autoTypeSupport", "true"), ("com.sun.jndi.ldap.object.trustURLCodebase", "true"),
        ("jdk.serialFilter", "true"), ("jdk.internal.httpclient.disableHostnameVerification", "true"),
    ],
)  # fmt: skip
def test_what_leads_a_jvm_out_of_the_lab_is_left_out(key: str, value: str) -> None:
    # A key of a client without a dot is a property of its bean.
    for prefix in ("broker-jvm", *(("client",) if "." in key else ())):
        assert judge(prefix, key, value).why
        assert judge(prefix, key, value).place is None


@pytest.mark.parametrize("release", recorded_releases())
def test_no_system_property_of_rocketmq_lets_any_of_them_out(release: str) -> None:
    values = [value for value in LEADS_OUT if value != "2130706433"]
    assert not [
        (key, value)
        for key in system_properties(release)
        for value in values
        if not judge("broker-jvm", key, value).why
    ]


def test_every_sentence_is_one() -> None:
    whys = {rule.why for rules in (BROKER, CLIENT, JVM) for rule in rules.values()} | {border._NAMED, border._LOOKS}
    assert all(why.endswith(".") and "\n" not in why and len(why) < 140 for why in whys)


# --- a whole file -----------------------------------------------------------------------------------------------------


def test_the_file_is_hostile_enough() -> None:
    assert len(HOSTILE) - len(KEPT) >= 40
    assert len(list(strangers(HOSTILE, Path("/lab")))) >= 40
    assert "unicode" not in HOSTILE_CONF.read_text()


@pytest.mark.parametrize("release", recorded_releases())
def test_a_node_is_given_nothing_but_loopback_and_its_own_folder(release: str, tmp_path: Path) -> None:
    spec = ClusterSpec(
        name="c",
        release=release,
        topology=Topology(name="two-masters", masters=1, slaves_per_master=1),
        user=UserSettings(
            broker=HOSTILE, broker_jvm={"http.proxyHost": "proxy", "java.io.tmpdir": "/var/tmp", "a.b": "1"}
        ),
    )
    blueprint = drawn(spec, tmp_path)
    for launch in blueprint.launches:
        conf = conf_of(launch.conf)
        assert not list(strangers(conf, launch.home))
        if launch.node.kind == "broker":
            assert {key: conf[key] for key in KEPT} == KEPT
            assert conf.keys() & HOSTILE.keys() <= {*KEPT, *OWN_SETTINGS, *MAPPED}
            assert "-Da.b=1" in launch.options
            assert not [one for one in launch.options if "proxy" in one or "tmpdir=/var" in one]
    named = {key.partition(".")[2] for key in blueprint.overrides if key.startswith("broker.")}
    assert named == HOSTILE.keys() - KEPT.keys()
    assert blueprint.overrides["broker-jvm.http.proxyHost"] == f"proxy -> {LEFT_OUT}{border._PROXY}"
    assert not [secret for secret in ("hunter2", "Bearer") if secret in str(blueprint.overrides)]


def test_paths_of_files_that_a_broker_makes_lie_in_its_folder(tmp_path: Path) -> None:
    user = UserSettings(broker={"rocketmqHome": "/opt/rocketmq", "storePathEpochFile": "/data/epoch"})
    held = admitted(user, tmp_path)
    assert held.settings.broker == {
        "rocketmqHome": str(tmp_path),
        "storePathEpochFile": str(tmp_path / "store/epochFileCheckpoint"),
    }
    assert admitted(user).settings.broker == {}


def test_a_key_of_a_manifest_that_is_no_key_is_left_out(tmp_path: Path) -> None:
    user = UserSettings(broker={"a=1\nbrokerIP1": "1", "b:c": "1"}, client={"x y": "1", "pullBatchSize": "10.0.0.1"})
    assert admitted(user, tmp_path).settings == UserSettings()


def test_each_is_named_before_anything_starts() -> None:
    user = UserSettings(
        broker=HOSTILE, client={"socksProxyConfig": "{}", "http.proxyHost": "proxy", "unitName": "mine"}
    )
    request = Request(scenarios=[scenarios.find("append-stall")], releases=["5.5.0"], user=user)
    notes = override_notes(make_plan(request, Host(cores=2, memory_mb=20_000)), user)
    said = [note for note in notes if note.startswith("the lab overrides ")]
    named = {note.split()[3].rstrip(":") for note in said}
    expected = {f"broker.{key}" for key in HOSTILE.keys() - KEPT.keys()}
    assert named == {*expected, "client.socksProxyConfig", "client.http.proxyHost"}
    assert len(said) == len(named)
    assert not [secret for secret in ("hunter2", "Bearer") if secret in "".join(notes)]


def test_no_password_of_a_url_is_shown() -> None:
    assert border.told("mirrorUrl", "https://user:hunter2@host/x") == "(not shown)"
    assert border.told("mirrorUrl", "https://host/x") == "https://host/x"


def test_the_example_of_the_documents_is_kept_but_for_its_names() -> None:
    conf = read_broker_conf(Path(__file__).parents[2] / "docs" / "broker.conf")
    assert admitted(UserSettings(broker=conf)).changes.keys() == {"broker.brokerClusterName", "broker.brokerName"}


def test_what_would_be_left_out_is_not_swept() -> None:
    for text in ("broker.haMasterAddress=a,b", "broker.enableControllerMode=true,false", "broker.brokerName=a,b"):
        with pytest.raises(UsageError, match="--sweep broker"):
            check_settings([read_swept(text)], ["5.5.0"])


def test_verify_lists_the_whole_file(capsys: pytest.CaptureFixture[str]) -> None:
    command = ["verify", "append-stall", "--quick", "--release", "5.5.0", "--plan", "--broker-conf", str(HOSTILE_CONF)]
    assert main(command) == EXIT_OK
    said = capsys.readouterr()
    for key in HOSTILE.keys() - KEPT.keys():
        assert f"the lab overrides broker.{key}: " in said.out + said.err


def test_the_documents_name_every_setting_of_a_broker_that_is_not_taken_as_it_is() -> None:
    text = (Path(__file__).parents[2] / "docs" / "clusters.md").read_text("utf-8")
    words = {key for key, rule in BROKER.items() if rule is border._A_WORD}
    missing = sorted(key for key in {*BROKER, *MAPPED} - words if f"`{key}`" not in text)
    assert not missing
