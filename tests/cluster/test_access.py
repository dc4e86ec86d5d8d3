"""Clusters with ACL, the older and the newer one, whose nodes take TLS alone: read with the keys, refused without."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from harness.audit.reading import read_cluster
from harness.backends.cluster import ClusterSpec, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.errors import AccessDeniedError
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.paths import PACKAGES
from harness.protocol.access import Access
from harness.releases.jars import is_5x
from harness.releases.java import Java
from tests.lib.clusters import OLDEST_AND_NEWEST

TLS = PACKAGES / "tests" / "data" / "tls"
SERVES_TLS = {
    "tls.server.mode": "enforcing",
    "tls.test.mode.enable": "false",
    "tls.server.certPath": str(TLS / "node.crt"),
    "tls.server.keyPath": str(TLS / "node.key"),
}
KEY, SECRET = "operator", "not-for-everybody"


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
            conf=conf,
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
    reading = read_cluster(servers, access=guarded.spec.access)
    assert [one.problem for one in reading.name_servers] + [one.problem for one in reading.brokers] == ["", ""]
    assert reading.brokers[0].topics
