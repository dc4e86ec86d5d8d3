"""Clusters with each release's own ACL, whose nodes take TLS alone: audited and loaded with the keys, refused without."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path

import pytest

from harness.backends.cluster import ClusterSpec, namesrv_addresses
from harness.backends.local import LocalCluster, start_local
from harness.errors import EXIT_OK, EXIT_USAGE
from harness.leases.leases import Leases
from harness.model.cluster import BrokerSettings, Topology
from harness.paths import PACKAGES
from harness.plan.deployments import beside_others
from harness.protocol.access import DENIED, Access
from harness.releases.jars import recorded_releases
from harness.releases.java import Java
from harness.releases.settings import settings_of
from harness.rundir.lines import read_records
from harness.wait import NotYet, wait_until
from mqlab.main import main
from tests.lib.clusters import MORE
from tests.lib.commands import typed

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
MESSAGES = 100
OVER_TLS = ("--tls-ca", str(TLS / "node.crt"))
GIVE_KEYS = "Give --credentials FILE with an accessKey and a secretKey."


def _credentials(folder: Path, secret: str = SECRET) -> Path:
    # A command's line, and so a file's name, is recorded.
    path = folder / ("keys.yml" if secret == SECRET else "others-keys.yml")
    path.write_text(f"accessKey: {KEY}\nsecretKey: {secret}\n")
    return path


def _acl(release: str, home: Path) -> dict[str, str]:
    """What a broker.conf needs for the release's own ACL; before AuthConfig it reads its accounts from a file in its home."""
    if "authenticationEnabled" not in settings_of(release).broker:
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


@pytest.fixture(scope="module", params=(*recorded_releases(), *MORE))
def guarded(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, leases: Leases, java: Java
) -> Iterator[LocalCluster]:
    folder = tmp_path_factory.mktemp("guarded")
    conf = _acl(request.param, folder / "nodes" / "broker-a")
    spec = ClusterSpec(
        name=f"guarded-{request.param}",
        release=request.param,
        topology=Topology(name="single"),
        settings=beside_others(
            BrokerSettings(
                conf={**conf, **PATIENT},
                properties={**SERVES_TLS, "tls.enable": "true"},
                name_server_jvm=tuple(f"-D{key}={value}" for key, value in SERVES_TLS.items()),
            ),
            request.param,
        ),
        access=Access(credentials=_credentials(folder), tls=True, tls_ca=TLS / "node.crt"),
    )
    started = start_local(spec, folder, leases, java, until_s=900.0)
    yield started
    started.down()


def _where(guarded: LocalCluster) -> list[str]:
    return ["--namesrv", namesrv_addresses(guarded).replace(";", ",")]


def _keys(folder: Path, secret: str = SECRET) -> list[str]:
    return ["--credentials", str(_credentials(folder, secret))]


def test_an_audit_reads_it_with_the_keys_and_says_what_is_missing_without(
    guarded: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    def audit(*arguments: str) -> tuple[int, str, str]:
        code = main(["audit", *_where(guarded), *arguments])
        out, err = capsys.readouterr()
        return code, out, " ".join(err.split())

    code, _, said = audit(*OVER_TLS)
    assert (code, "no keys were given" in said, GIVE_KEYS in said) == (EXIT_USAGE, True, True)
    code, _, said = audit(*OVER_TLS, *_keys(tmp_path, "another-secret"))
    assert (code, f"does not let {KEY} send" in said, "another-secret" in said) == (EXIT_USAGE, True, False)
    assert "(--tls)" in audit(*_keys(tmp_path))[1]

    def told() -> bool:
        # In its first second a broker of 4.6.0 answers with an exception when it is asked for its runtime information.
        _, out, said = audit(*OVER_TLS, *_keys(tmp_path), "--json")
        found = json.loads(out)
        if not found["brokers"] or not found["name_servers"][0]["brokers"]:
            raise NotYet(f"{found['findings']} {said}")
        return True

    wait_until("name server and broker to tell", told, timeout_s=180.0)


def test_a_load_is_sent_and_consumed_with_the_keys_and_says_what_is_missing_without(
    guarded: LocalCluster, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    run = tmp_path / "run"
    load = [
        "load", *_where(guarded), "--topic", "orders", "--create-topic", "--queues", "2", "--rate", "50", "--duration", "2",
        "--consumers", "1", "--keep-groups", "--record-only", "--out", str(run),
    ]  # fmt: skip
    assert main([*load, *OVER_TLS]) == EXIT_USAGE
    said = " ".join(capsys.readouterr().err.split())
    assert "no keys were given" in said
    assert GIVE_KEYS in said
    assert main([*load, *_keys(tmp_path)]) != EXIT_OK
    assert "(--tls)" in capsys.readouterr().err
    assert not run.exists()

    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    done = typed(*load, *OVER_TLS, *_keys(tmp_path))
    assert done.code == EXIT_OK, done.err[-3000:]
    sends, consumed = _records(run, "producer", "send"), _records(run, "consumer", "consume")
    assert len(sends) >= MESSAGES
    assert not [one for one in sends if DENIED.search(str(one))]
    accepted = {one["seq"] for one in sends if one["outcome"] == "ok"}
    assert accepted
    assert accepted <= {one["seq"] for one in consumed}
    assert not [path for path in run.rglob("*") if path.is_file() and SECRET.encode() in path.read_bytes()]
    assert SECRET not in done.out + done.err


def _records(run: Path, process: str, kind: str) -> list[Mapping[str, object]]:
    histories = sorted((run / "trials" / "load" / "history").glob(f"{process}-*.jsonl"))
    return [one for path in histories for one in read_records(path).records if one["type"] == kind]
