"""Clusters with ACL, the older and the newer one, whose nodes take TLS alone: read and sent to with the keys, refused without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.audit.reading import read_cluster
from harness.backends.cluster import ClusterSpec, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.clients.commands import SendSettings
from harness.clients.java import ConsumerSpec, JavaClient, ScheduleSpec
from harness.clock import mono_ns
from harness.errors import AccessDeniedError
from harness.generator.groups import begin_at_end
from harness.generator.target import find_target
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.paths import PACKAGES
from harness.protocol.access import DENIED, Access
from harness.protocol.targets import LOOPBACK
from harness.releases.jars import is_5x
from harness.releases.java import Java
from harness.wait import NotYet, wait_until
from tests.lib.clusters import OLDEST_AND_NEWEST

TLS = PACKAGES / "tests" / "data" / "tls"
SERVES_TLS = {
    "tls.server.mode": "enforcing",
    "tls.test.mode.enable": "false",
    "tls.server.certPath": str(TLS / "node.crt"),
    "tls.server.keyPath": str(TLS / "node.key"),
}
PATIENT = {"waitTimeMillsInSendQueue": "30000", "osPageCacheBusyTimeOutMills": "30000"}
"""A broker that has just started on a busy machine refuses some of its first sends otherwise."""
KEY, SECRET = "operator", "not-for-everybody"
MESSAGES = 50


def _credentials(folder: Path, secret: str = SECRET) -> Path:
    path = folder / f"{secret}.yml"
    path.write_text(f"accessKey: {KEY}\nsecretKey: {secret}\n")
    return path


def _acl(release: str, home: Path) -> dict[str, str]:
    """What a broker.conf needs for the release's own ACL; 4.x reads its accounts from a file in the broker's home."""
    if not is_5x(release):
        (home / "conf").mkdir(parents=True)
        account = f"- accessKey: {KEY}\n  secretKey: {SECRET}\n  admin: true\n"
        (home / "conf" / "plain_acl.yml").write_text(f"globalWhiteRemoteAddresses: []\naccounts:\n{account}")
        return {"aclEnable": "true"}
    provider = "org.apache.rocketmq.auth.{0}.provider.Local{1}MetadataProvider"
    return {
        "authenticationEnabled": "true",
        "authenticationMetadataProvider": provider.format("authentication", "Authentication"),
        "authorizationEnabled": "true",
        "authorizationMetadataProvider": provider.format("authorization", "Authorization"),
        "initAuthenticationUser": json.dumps({"username": KEY, "password": SECRET}),
        "innerClientAuthenticationCredentials": json.dumps({"accessKey": KEY, "secretKey": SECRET}),
        "authConfigPath": str(home / "auth"),
    }


@pytest.fixture(scope="module", params=OLDEST_AND_NEWEST)
def guarded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java
) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("guarded")
    conf = _acl(request.param, folder / "nodes" / "broker-a")
    spec = ClusterSpec(
        name=f"guarded-{request.param}",
        release=request.param,
        topology=Topology(name="single"),
        settings=BrokerSettings(
            conf={**conf, **PATIENT},
            properties={**SERVES_TLS, "tls.enable": "true"},
            name_server_jvm=tuple(f"-D{key}={value}" for key, value in SERVES_TLS.items()),
        ),
        access=Access(credentials=_credentials(folder), tls=True, tls_ca=TLS / "node.crt"),
    )
    started = start_local(spec, folder, leases, java, until_s=900.0)
    yield started
    started.down()


def test_an_audit_reads_it_with_the_keys_and_says_what_is_missing_without(
    guarded: LocalCluster, tmp_path: Path
) -> None:
    servers = namesrv_addresses(guarded).split(";")
    with pytest.raises(AccessDeniedError, match="no keys were given"):
        read_cluster(servers, access=Access(tls=True))
    with pytest.raises(AccessDeniedError, match=f"does not let {KEY} send"):
        read_cluster(servers, access=Access(tls=True, credentials=_credentials(tmp_path, "another-secret")))
    assert "(--tls)" in read_cluster(servers).name_servers[0].problem
    # In its first second a broker of 4.6.0 answers with an exception when it is asked for its runtime information.
    wait_until(
        "the broker to tell",
        lambda: not read_cluster(servers, access=guarded.spec.access).brokers[0].problem,
        timeout_s=180.0,
    )
    reading = read_cluster(servers, access=guarded.spec.access)
    assert [one.problem for one in reading.name_servers] + [one.problem for one in reading.brokers] == ["", ""]
    assert reading.brokers[0].topics


def test_a_java_client_sends_and_consumes_with_the_keys(
    guarded: LocalCluster, leases: Leases, java: Java, tmp_path: Path
) -> None:
    servers, access = namesrv_addresses(guarded).split(";"), guarded.spec.access
    target = find_target(servers, "orders", allowed=LOOPBACK, create_queues=2, access=access)
    begin_at_end(target, "billing")
    history = tmp_path / "history.jsonl"
    client = JavaClient.start(
        leases, name="with-keys", release=guarded.spec.release, java=java, folder=tmp_path, until_s=300, access=access
    )
    try:
        client.wait_started()
        client.open_history(history)
        consumer = ConsumerSpec(instance="consumer", group="billing", topic="orders", ordered=False)
        client.wait_consumer_started(consumer, target.namesrv_list)
        client.start_producer("producer", "senders", target.namesrv_list)
        client.wait_for_route("producer", "orders", 2)
        sends = SendSettings(topic="orders", run="access")
        client.start_schedule(
            ScheduleSpec(
                name="sends", instance="producer", rate_hz=100.0, start_ns=mono_ns(), operations=MESSAGES, sends=sends
            )
        )
        wait_until("every send to end", lambda: _through(client), timeout_s=180.0, poll_s=0.2)
        wait_until("what was accepted to be consumed", lambda: _none_left(history), timeout_s=180.0, poll_s=0.2)
        client.close_history()
    finally:
        client.stop()
    assert not [one for one in _records(history, "send") if DENIED.search(str(one))]
    assert not [path for path in tmp_path.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]


def _through(client: JavaClient) -> bool:
    state = client.schedule_state("sends")
    if not state.is_through:
        raise NotYet(str(state))
    return True


def _none_left(history: Path) -> bool:
    accepted = {one["seq"] for one in _records(history, "send") if one["outcome"] == "ok"}
    left = accepted - {one["seq"] for one in _records(history, "consume")}
    if left or not accepted:
        raise NotYet(f"{len(left)} of {len(accepted)}")
    return True


def _records(history: Path, kind: str) -> list[dict[str, object]]:
    """Those that are whole by now."""
    lines = history.read_text(errors="replace").splitlines()
    found = (json.loads(line) for line in lines if line.startswith("{") and line.endswith("}"))
    return [one for one in found if one["type"] == kind]
