"""Clusters that ask who sends a request, and nodes that take TLS: what is sent, what is refused, and what never has a secret."""

from __future__ import annotations

import base64
import dataclasses
import hashlib
import hmac
import json
import os
import socketserver
import ssl
import struct
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest

from harness.audit.asking import read_cluster
from harness.backends.cluster import ClusterSpec, ask, masters
from harness.backends.given import GivenCluster
from harness.clients import java as java_clients
from harness.clients.java import worker_spec
from harness.errors import EXIT_USAGE, AccessDeniedError, ClientError, ConfigurationError
from harness.model.cluster import Topology
from harness.paths import PACKAGES
from harness.protocol.access import DENIED, Access, Keys, read_keys
from harness.protocol.broker import Broker
from harness.protocol.connection import Connection
from harness.releases.java import Java
from mqlab.main import main

TLS = PACKAGES / "tests" / "data" / "tls"
SECRET = "not-for-everybody"
NO_KEY = (
    "org.apache.rocketmq.acl.common.AclException: No accessKey is configured, org.apache.rocketmq.acl.plain.P.validate"
)
WRONG = (
    "org.apache.rocketmq.acl.common.AclException: Check signature failed for accessKey=auditor, org.apache.rocketmq.a"
)


class _Node(socketserver.ThreadingTCPServer):
    """Answers what is signed by these keys, as ``PlainAccessValidator`` and ``DefaultAuthenticationContextBuilder`` read it."""

    daemon_threads = True
    allow_reuse_address = True
    secured: ssl.SSLContext | None = None

    def get_request(self) -> tuple[ssl.SSLSocket, object]:
        connection, address = super().get_request()
        return (self.secured.wrap_socket(connection, server_side=True) if self.secured else connection), address  # type: ignore[return-value]

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that goes away is what some tests are about."""


def _denied(fields: Mapping[str, str], body: bytes) -> str:
    if "AccessKey" not in fields:
        return NO_KEY
    content = "".join(fields[name] for name in sorted(fields) if name != "Signature").encode() + body
    expected = base64.b64encode(hmac.new(SECRET.encode(), content, hashlib.sha1).digest()).decode()
    return "" if fields["Signature"] == expected else WRONG


@contextmanager
def _node(*, asks: bool = True, secured: ssl.SSLContext | None = None) -> Iterator[str]:
    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            while len(start := self.rfile.read(8)) == 8:
                length, header_length = struct.unpack(">II", start)
                rest = self.rfile.read(length - 4)
                header, body = json.loads(rest[:header_length]), rest[header_length:]
                remark = _denied(header["extFields"], body) if asks else ""
                answer = {"code": int(bool(remark)), "opaque": header["opaque"], "flag": 1, "remark": remark}
                text = json.dumps({**answer, "extFields": {"offset": "7"}}).encode()
                self.wfile.write(struct.pack(">II", 4 + len(text), len(text)) + text)

    with _Node(("127.0.0.1", 0), Handler) as server:
        server.secured = secured
        threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
        yield f"127.0.0.1:{server.server_address[1]}"
        server.shutdown()


@pytest.fixture
def credentials(tmp_path: Path) -> Path:
    path = tmp_path / "tools.yml"
    path.write_text(f"# of the audit\naccessKey: auditor\nsecretKey: {SECRET}\n")
    return path


def _of(folder: Path, secret: str) -> Path:
    path = folder / "other.yml"
    path.write_text(f"accessKey=auditor\nsecretKey={secret}\n")
    return path


# --- keys ---------------------------------------------------------------------------------------------------------------


def test_a_broker_that_asks_answers_who_has_the_keys(credentials: Path) -> None:
    with _node() as address:
        with Broker(address, access=Access(credentials=credentials)) as broker:
            assert broker.max_offset("orders", 3) == 7
            assert [one.fields["offset"] for one in broker.ask_many(30, [{"topic": "a"}, {"topic": "b"}])] == ["7", "7"]
            broker.create_group("a group, whose request has a body")
        with Broker(address) as broker, pytest.raises(AccessDeniedError, match="no keys were given") as raised:
            broker.max_offset("orders", 3)
        assert "--credentials" in raised.value.advice
        assert "No accessKey is configured" in str(raised.value)


def test_wrong_keys_are_refused_by_name_and_without_the_secret(tmp_path: Path) -> None:
    wrong = Access(credentials=_of(tmp_path, "something-else"))
    with _node() as address, Broker(address, access=wrong) as broker:
        with pytest.raises(AccessDeniedError, match="does not let auditor send request 30: Check signature") as raised:
            broker.max_offset("orders", 3)
        with pytest.raises(AccessDeniedError):
            list(broker.ask_many(30, [{"topic": "a"}]))
    assert "something-else" not in str(raised.value) + raised.value.advice


def test_the_signature_is_of_all_values_by_name_and_the_body() -> None:
    signed = Keys(access_key="me", secret_key="key").sign({"b": 2, "C": "x", "a": "1"}, b"body")
    # As AclUtils of 4.6.0 and of 5.5.0 computes it; capitals come first: AccessKey, C, a, b.
    assert signed == {"AccessKey": "me", "C": "x", "a": "1", "b": "2", "Signature": "2L7mMYmIrSOPvOH7oSn6Bp7MF/c="}


@pytest.mark.parametrize(
    ("remark", "is_denied"),
    [
        ("check signature failed.", True),
        ("User:auditor is not found.", True),
        ("username cannot be null.", True),
        ("User:auditor has no permission to access Cluster:c from 127.0.0.1, no matched policies.", True),
        ("the broker[127.0.0.1] sending message is forbidden", False),
        ("consumer's group info not exist", False),
    ],
)
def test_refusals_of_5x_are_told_from_other_ones(remark: str, is_denied: bool) -> None:
    assert bool(DENIED.search(remark)) == is_denied


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no accessKey and no secretKey"),
        (f"accessKey: auditor\nsecretKey {SECRET}\n", ":2 is no"),
        (f"secretKey: {SECRET}\n", "no accessKey"),
        (f"secretKey: {SECRET}\nsecretKey: {SECRET}\n", ":2 is no"),
        (f"password: {SECRET}\n", ":1 is no"),
    ],
)
def test_a_file_without_keys_is_refused_and_nothing_of_it_is_shown(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "tools.yml"
    path.write_text(text)
    with pytest.raises(ConfigurationError, match=says) as raised:
        read_keys(path)
    assert SECRET not in str(raised.value) + raised.value.advice


def test_keys_are_read_in_the_forms_of_yaml_and_properties(tmp_path: Path) -> None:
    for text in ("accessKey: ak\nsecretKey: 'a:b=c'\n", 'secretKey="a:b=c"\n\n  accessKey=ak\n'):
        (tmp_path / "keys").write_text(text)
        assert read_keys(tmp_path / "keys") == Keys(access_key="ak", secret_key="a:b=c")


def test_no_value_that_is_handed_on_has_the_secret(credentials: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    access = Access(credentials=credentials, tls=True)
    monkeypatch.setattr(java_clients, "ensure_jars", lambda _: ())
    monkeypatch.setattr(java_clients, "compiled_classes", lambda *_: Path("classes"))
    java = Java(home=Path("/jdk"), version="17", source="a test")
    spec = worker_spec(name="n", release="5.5.0", java=java, folder=Path("f"), jvm_options=(), access=access)
    assert SECRET not in json.dumps(spec)
    assert spec["credentials"] == str(credentials)
    assert "-Dtls.enable=true" in spec["jvm_options"]  # type: ignore[operator]
    assert SECRET not in repr(dataclasses.asdict(access)) + repr(access) + repr(access.keys())


def test_nodes_of_a_given_cluster_are_asked_with_its_access(credentials: Path, tmp_path: Path) -> None:
    with _node() as address:
        cluster = GivenCluster(
            ClusterSpec(name="given", release="5.5.0", topology=Topology(name="given")), tmp_path, None,  # type: ignore[arg-type]
            namesrv=[address], brokers={"broker-a": address}, access=Access(credentials=credentials),
        )  # fmt: skip
        with ask(masters(cluster)[0]) as broker:
            assert broker.max_offset("orders", 0) == 7


# --- TLS ----------------------------------------------------------------------------------------------------------------


@pytest.fixture
def secured() -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(TLS / "node.crt", TLS / "node.key")
    return context


def test_a_node_that_takes_tls_is_asked_by_tls_with_keys_or_without(credentials: Path, secured: ssl.SSLContext) -> None:
    with _node(secured=secured) as address:
        for access in (
            Access(tls=True, credentials=credentials),
            Access(tls=True, credentials=credentials, tls_ca=TLS / "node.crt"),
        ):
            with Broker(address, access=access) as broker:
                assert broker.max_offset("orders", 0) == 7


def test_a_certificate_of_a_stranger_is_refused_where_one_is_asked_for(secured: ssl.SSLContext) -> None:
    with _node(asks=False, secured=secured) as address:
        with pytest.raises(ClientError, match="is not signed by one of"):
            Connection(address, access=Access(tls=True, tls_ca=TLS / "stranger.crt"))
        with pytest.raises(ConfigurationError, match="has no certificates"):
            Connection(address, access=Access(tls=True, tls_ca=TLS / "node.key"))


@pytest.mark.parametrize("odd", ["empty", "zeros", "pipe", "folder", "terabyte"])
def test_whatever_is_named_for_a_certificate_is_read_within_bounds(
    secured: ssl.SSLContext, tmp_path: Path, odd: str
) -> None:
    path = tmp_path / "ca.pem"
    match odd:
        case "empty":
            path.touch()
        case "zeros":
            path.write_bytes(bytes(1000))
        case "pipe":
            os.mkfifo(path)
        case "folder":
            path.mkdir()
        case _:
            with path.open("wb") as file:
                file.truncate(2**40)
    with (
        _node(asks=False, secured=secured) as address,
        pytest.raises(ConfigurationError, match=r"ca\.pem has no certificates"),
    ):
        Connection(address, access=Access(tls=True, tls_ca=path))


def test_what_stands_beside_a_certificate_is_no_matter(secured: ssl.SSLContext, tmp_path: Path) -> None:
    path = tmp_path / "ca.pem"
    path.write_bytes("# for the café\n".encode() + (TLS / "node.key").read_bytes() + (TLS / "node.crt").read_bytes())
    with _node(asks=False, secured=secured) as address:
        Connection(address, access=Access(tls=True, tls_ca=path)).close()


def test_what_is_missing_is_said_on_both_sides_of_tls(secured: ssl.SSLContext) -> None:
    with (
        _node(asks=False, secured=secured) as address,
        Connection(address) as plain,
        pytest.raises(ClientError, match=r"\(--tls\)"),
    ):
        plain.ask(105)
    with _node(asks=False) as address, pytest.raises(ClientError, match="does not take TLS") as raised:
        Connection(address, access=Access(tls=True), timeout_s=0.5)
    assert "--tls" in raised.value.advice


def test_java_is_told_to_check_the_certificate_only_by_which_one() -> None:
    assert Access().jvm_options() == ()
    assert Access(tls=True).jvm_options() == ("-Dtls.enable=true",)
    checked = Access(tls=True, tls_ca=Path("/ca.pem")).jvm_options()
    assert {"-Dtls.test.mode.enable=false", "-Dtls.client.authServer=true"} < set(checked)
    assert "-Dtls.client.trustCertPath=/ca.pem" in checked


# --- the commands -------------------------------------------------------------------------------------------------------


def test_an_audit_without_keys_says_what_is_missing(credentials: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with _node() as address:
        assert main(["audit", "--namesrv", address]) == EXIT_USAGE
        said = capsys.readouterr().err
        assert f"{address} asks who sends request 106, and no keys were given" in said
        assert "--credentials FILE" in said
        with pytest.raises(AccessDeniedError):
            read_cluster([address])


@pytest.mark.parametrize("command", ["audit", "load"])
def test_a_file_without_keys_ends_a_command_before_anything_is_asked(
    command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "keys").write_text(f"secret: {SECRET}\n")
    arguments = [command, "--namesrv", "127.0.0.1:1", "--credentials", str(tmp_path / "keys")]
    assert main(arguments) == EXIT_USAGE
    said = capsys.readouterr().err
    assert "keys:1 is no accessKey or secretKey" in said
    assert SECRET not in said


def test_a_load_on_a_cluster_of_the_labs_takes_no_keys(credentials: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["load", "--release", "5.5.0", "--credentials", str(credentials)]) == EXIT_USAGE
    assert main(["load", "--namesrv", "127.0.0.1:1", "--client", "native", "--tls"]) == EXIT_USAGE
    assert capsys.readouterr().err.count("are of a cluster of yours and its Java client") == 2
