"""Nodes that are slow, never end, or answer nonsense: the audit ends, says what each did, and reads the others."""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from contextlib import ExitStack
from io import BufferedIOBase
from pathlib import Path

import pytest

from harness.audit.asking import Bounds, read_cluster
from harness.audit.finding import Severity
from harness.audit.findings import judge
from harness.errors import AnswerError, ClientError
from harness.generator.target import find_target
from harness.protocol import fastjson
from harness.protocol.broker import Broker
from harness.protocol.deadline import Deadline
from harness.protocol.fastjson import read_json
from harness.protocol.name_server import NameServer
from harness.protocol.targets import LOOPBACK
from mqlab.main import main
from tests.lib.audited import WRITES, Fake, cluster, serve, serving
from tests.lib.bad_nodes import (
    SLOW,
    Behaviour,
    Request,
    answer_to,
    answering,
    answers_late,
    frame_of,
    never_ends,
    node,
    silent,
    trickles,
)

__all__ = ["serving"]

SHORT = Bounds(answer_s=1.0, node_s=3.0, clients_s=1.0, all_s=60.0)
ENDS_S_MAX = 45.0
"""Of audits that take at most three seconds a node; the machine may be busy."""


def _with_brokers(stack: ExitStack, places: dict[str, str]) -> tuple[Fake, list[str]]:
    """A sound broker-a, and others of that name and place."""
    broker, servers, addresses = cluster(stack, {"orders": (4, 4)})
    for server in servers:
        server.brokers |= {name: {0: address} for name, address in places.items()}
    return broker, addresses


# --- slow and endless ---------------------------------------------------------------------------------------------------


def test_an_audit_of_six_slow_brokers_ends_and_says_which_they_are(serving: ExitStack) -> None:
    slow = {f"slow-{number}": serving.enter_context(node(behave)) for number, behave in enumerate(SLOW)}
    _, addresses = _with_brokers(serving, slow)
    began_s = time.monotonic()
    reading = read_cluster(addresses, bounds=SHORT)
    assert time.monotonic() - began_s < ENDS_S_MAX
    findings = [one for one in judge(reading) if one.kind in ("unreachable", "answers-nonsense")]
    assert {one.where: one.kind for one in findings} == dict.fromkeys(slow, "unreachable")
    for finding in findings:
        assert finding.severity is Severity.CRITICAL
        assert finding.says.startswith(f"{finding.where} at {slow[finding.where]} did not answer ")
        assert "within 1 s" in finding.says or "everything within 3 s" in finding.says
    assert [one.name for one in reading.masters()] == ["broker-a"]
    assert [topic.name for topic in reading.masters()[0].topics] == ["orders"]


def test_an_audit_of_slow_name_servers_ends_and_says_which_they_are(serving: ExitStack) -> None:
    _, addresses = _with_brokers(serving, {})
    slow = [serving.enter_context(node(behave)) for behave in SLOW if behave is not answers_late]
    began_s = time.monotonic()
    reading = read_cluster([*slow, *addresses], bounds=SHORT)
    assert time.monotonic() - began_s < ENDS_S_MAX
    problems = {one.address: one.problem for one in reading.name_servers if one.problem}
    assert list(problems) == slow
    assert all("did not answer" in problem for problem in problems.values())
    assert [one.name for one in reading.masters()] == ["broker-a"]


def test_when_the_time_for_all_is_over_no_further_node_is_asked(serving: ExitStack) -> None:
    places = {f"slow-{number}": serving.enter_context(node(silent)) for number in range(4)}
    _, addresses = _with_brokers(serving, places)
    reading = read_cluster(addresses, bounds=Bounds(answer_s=0.3, node_s=0.3, all_s=0.5))
    problems = [one.problem for one in reading.brokers if one.name in places]
    assert "within" in problems[0]
    assert problems[-1] == f"slow-3 at {places['slow-3']} was not asked: the 0.5 s for the whole cluster were over"


def test_a_broker_that_hangs_only_when_it_is_asked_for_groups_is_read_as_one_that_hangs(serving: ExitStack) -> None:
    _, servers, addresses = cluster(serving, {"%RETRY%g": (1, 1)})
    other = Fake(topics={"%RETRY%h": (1, 1)}, hangs_at=203)
    place = serving.enter_context(serve(other))
    for server in servers:
        server.brokers["broker-b"] = {0: place}
    reading = read_cluster(addresses, bounds=SHORT)
    assert reading.offline == {"g"}, "of broker-b nobody knows whether h is online"
    assert [(one.name, one.problem != "") for one in reading.brokers] == [("broker-a", False), ("broker-b", True)]
    assert "did not answer request 203 within 1 s" in reading.brokers[1].problem


def test_a_connection_that_has_failed_asks_no_more_and_says_why() -> None:
    with node(silent) as address, Broker(address, name="broker-a", timeout_s=0.3) as connection:
        began_s = time.monotonic()
        for _ in range(3):
            with pytest.raises(AnswerError, match=rf"broker-a at {address} did not answer request 30 within 0\.3 s"):
                connection.max_offset("T", 0)
        assert time.monotonic() - began_s < 5.0


def test_the_time_between_connecting_and_asking_is_nobodys() -> None:
    with (
        node(answering(lambda request: answer_to(request, extFields={"offset": "7"}))) as address,
        Broker(address, timeout_s=2.0) as connection,
    ):
        time.sleep(2.1)
        assert connection.max_offset("T", 0) == 7


def test_many_answers_are_bounded_together(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("harness.protocol.connection.FRAME_BYTES_MAX", 1_000)
    with (
        node(answering(lambda request: answer_to(request, b"x" * 300))) as address,
        Broker(address) as connection,
        pytest.raises(AnswerError, match="5 requests with more than 1,000 bytes"),
    ):
        list(connection.ask_many(30, [{"topic": "T", "queueId": queue} for queue in range(5)]))


def test_all_answers_together_have_an_end() -> None:
    with (
        node(answers_late) as address,
        Broker(address, timeout_s=5.0, within=Deadline.after(0.5)) as connection,
        pytest.raises(AnswerError, match=r"did not answer everything within 0\.5 s"),
    ):
        list(connection.ask_many(30, [{"topic": "T", "queueId": queue} for queue in range(100)]))


# --- nonsense -----------------------------------------------------------------------------------------------------------

DEEP = b'{"table":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
DIGITS = b'{"topicConfigTable":{"T":{"perm":6,"readQueueNums":' + b"9" * 5_000 + b',"writeQueueNums":1}}}'
NONSENSE: dict[str, tuple[Callable[[Request], bytes], str]] = {
    "a web server": (lambda _: b"HTTP/1.1 400 Bad Request\r\n\r\n", "a frame of 1,213,486,160 bytes"),
    "a negative length": (lambda _: struct.pack(">iI", -5, 10) + b"x" * 10, "a frame of 4,294,967,291 bytes"),
    "a length of nothing": (lambda _: struct.pack(">I", 0) * 4, "a frame of 0 bytes"),
    "a header beyond its frame": (lambda _: struct.pack(">II", 20, 17) + b"x" * 16, "a header of 17 bytes in a frame"),
    "a header of many bytes": (lambda _: struct.pack(">II", 2**24, 2**21), "a header of 2,097,152 bytes in a frame"),
    "a third serialisation": (lambda _: struct.pack(">II", 6, 7 << 24 | 2) + b"{}", "serialisation 7"),
    "a header that is no UTF-8": (lambda _: frame_of(b"\xff\xfe{}"), "not JSON"),
    "a header that is an array": (lambda _: frame_of([1, 2]), "in place of an object"),
    "a header of deep arrays": (lambda _: frame_of(b"[" * 100_000), "nested too deeply"),
    "no code": (lambda request: frame_of({"opaque": request["opaque"], "flag": 1}), "an object without code"),
    "a code that is a text": (lambda request: answer_to(request, code="ok"), "code is 'ok'"),
    "a code without bounds": (lambda request: answer_to(request, code=2**40), "which is no whole number from"),
    "a flag that is an object": (lambda request: answer_to(request, flag={}), "flag is {}"),
    "a remark that is a number": (lambda request: answer_to(request, remark=7), "a remark that is no text"),
    "fields that are an array": (lambda request: answer_to(request, extFields=["offset"]), "in place of an object"),
    "a field that is a number": (lambda request: answer_to(request, extFields={"a": 1}), "a header whose a is no text"),
    "another request's number": (
        lambda request: answer_to({"opaque": 2**31 - 1}), "a request that nobody asked, of number 2147483647"
    ),
    "a body that is no UTF-8": (lambda request: answer_to(request, b"\xc3\x28"), "not UTF-8"),
}  # fmt: skip
BODIES: dict[str, tuple[int, bytes, str]] = {
    "an array": (21, b"[]", "[] in place of an object"),
    "a number": (21, b"7", "7 in place of an object"),
    "deep arrays": (28, DEEP, "nested too deeply"),
    "thousands of digits": (21, DIGITS, "not JSON"),
    "hundreds of digits": (21, DIGITS.replace(b"9" * 4_500, b""), "readQueueNums is 999"),
    "an array of topics": (21, b'{"topicConfigTable":[]}', "[] in place of an object"),
    "a topic that is a text": (21, b'{"topicConfigTable":{"T":"x"}}', "'x' in place of an object"),
    "a topic without numbers": (21, b'{"topicConfigTable":{"T":{}}}', "an object without readQueueNums"),
    "billions of queues": (
        21, b'{"topicConfigTable":{"T":{"perm":6,"readQueueNums":2147483647,"writeQueueNums":1}}}', "from 0 to 100,000"
    ),
    "half a pair": (21, b'{"topicConfigTable":{"\\ud800":{}}}', "which is no name"),
    "a long name": (21, b'{"topicConfigTable":{"' + b"x" * 2_000 + b'":{}}}', "which is no name"),
    "strings that do not end": (21, b'{"' + b'\\"' * 200_000, "not JSON"),
    "an object in the runtime information": (28, b'{"table":{"putTps":{}}}', "putTps is {}"),
    "no offsets of a level": (28, b'{"table":{"scheduleMessageOffset_1":"7"}}', "no two offsets of a level"),
    "no number of bytes": (28, b'{"table":{"dispatchBehindBytes":"many"}}', "dispatchBehindBytes is many"),
    "no time of a lock": (28, b'{"table":{"pageCacheLockTimeMills":"1e400"}}', "pageCacheLockTimeMills is 1e400"),
    "delays of no unit": (26, b"messageDelayLevel=1s 5x\n", "messageDelayLevel is 1s 5x"),
    "no UTF-8": (26, b"a=\xff\n", "not UTF-8"),
    "offsets that are an array": (43, b'{"offsetTable":{"orders@g":[]}}', "[] in place of an object"),
    "an offset that is a text": (43, b'{"offsetTable":{"orders@g":{0:"x"}}}', "0 is 'x'"),
    "members that are an object": (203, b'{"connectionSet":{}}', "connectionSet is {}, which is no array"),
    "a member without an id": (203, b'{"connectionSet":[{"clientAddr":"a:1"}]}', "an object without clientId"),
}  # fmt: skip


@pytest.mark.parametrize(
    "text",
    [b"[" + b"[[[[]]]]," * (2**23 // 4) + b"[]]", b'{"a":[' + b"[[[[]]]]," * (2**23 // 4), b"1," * (2**23 + 1)],
    ids=["side by side", "without an end", "numbers"],
)
def test_an_answer_of_more_values_than_memory_bears_is_refused_before_it_is_read(
    monkeypatch: pytest.MonkeyPatch, text: bytes
) -> None:
    monkeypatch.setattr(fastjson, "json", None)
    with pytest.raises(AnswerError, match="JSON of more than 8,388,608 values"):
        read_json(text, "a node")


def _nonsense_of(reading_of: list[str], name: str, place: str) -> str:
    reading = read_cluster(reading_of, bounds=SHORT)
    (finding,) = [one for one in judge(reading) if one.where == name]
    assert (finding.kind, finding.severity) == ("answers-nonsense", Severity.CRITICAL)
    assert finding.says.startswith(f"{name} at {place} answered what no RocketMQ answers: ")
    assert len(finding.says) < 1_000
    assert [one.name for one in reading.masters()] == ["broker-a"]
    return finding.says


@pytest.mark.parametrize("name", NONSENSE)
def test_a_broker_that_answers_nonsense_is_a_finding_that_says_so(serving: ExitStack, name: str) -> None:
    answer, says = NONSENSE[name]
    place = serving.enter_context(node(answering(answer)))
    _, addresses = _with_brokers(serving, {"broker-b": place})
    assert says in _nonsense_of(addresses, "broker-b", place)


@pytest.mark.parametrize("name", BODIES)
def test_a_body_that_is_none_of_rocketmqs_is_a_finding_that_says_so(serving: ExitStack, name: str) -> None:
    code, body, says = BODIES[name]
    odd = Fake(topics={"orders": (4, 4), "%RETRY%g": (1, 1)}, online={"g"}, bodies={code: body})
    place = serving.enter_context(serve(odd))
    _, addresses = _with_brokers(serving, {"broker-b": place})
    assert says in _nonsense_of(addresses, "broker-b", place)


@pytest.mark.parametrize(
    ("code", "body", "says"),
    [
        (106, b'{"brokerAddrTable":{"b":{"brokerAddrs":{0:"nowhere"}}}}', "'nowhere' is not HOST:PORT"),
        (106, b'{"brokerAddrTable":{"b":{"brokerAddrs":{"x":"127.0.0.1:1"}}}}', "a key is 'x'"),
        (106, b'{"brokerAddrTable":{"b":{"brokerAddrs":{0:7}}}}', "0 is 7, which is no name"),
        (106, b'{"brokerAddrTable":["b"]}', "['b'] in place of an object"),
        (206, b'{"topicList":{"a":1}}', "topicList is {'a': 1}, which is no array"),
        (206, b'{"topicList":[1]}', "topicList is 1, which is no name"),
        (105, b'{"brokerDatas":[{"brokerAddrs":{}}]}', "an object without brokerName"),
        (105, b'{"queueDatas":[{"brokerName":"b","readQueueNums":-1}]}', "readQueueNums is -1"),
        (105, b"null", "None in place of an object"),
    ],
)
def test_a_name_server_that_answers_nonsense_is_a_finding_that_says_so(
    serving: ExitStack, code: int, body: bytes, says: str
) -> None:
    _, servers, addresses = cluster(serving, {"orders": (4, 4)})
    servers[1].bodies[code] = body
    findings = judge(read_cluster(addresses, bounds=SHORT))
    assert [(one.kind, one.where) for one in findings] == [("answers-nonsense", f"name server {addresses[1]}")]
    assert findings[0].says.startswith(f"{addresses[1]} answered what no RocketMQ answers: ")
    assert says in findings[0].says


def _hangs_up(connection: socket.socket, requests: BufferedIOBase) -> None:
    connection.recv(8)


def test_refusals_and_closed_connections_are_part_of_the_reading(serving: ExitStack) -> None:
    refuses = serving.enter_context(node(answering(lambda request: answer_to(request, code=99, remark="no"))))
    hangs_up = serving.enter_context(node(_hangs_up))
    _, addresses = _with_brokers(serving, {"broker-b": refuses, "broker-c": hangs_up})
    problems = {one.name: one.problem for one in read_cluster(addresses, bounds=SHORT).brokers if one.problem}
    assert problems["broker-b"] == f"broker-b at {refuses} answered request 26 with code 99: no"
    assert problems["broker-c"].startswith(f"broker-c at {hangs_up} did not answer request 26: ")


def test_a_setting_that_is_no_number_is_judged_as_its_default(serving: ExitStack) -> None:
    broker, _, addresses = cluster(serving, {"orders": (4, 4)})
    keys = (
        "inSyncReplicas",
        "flushDelayOffsetInterval",
        "commitCommitLogThoroughInterval",
        "osPageCacheBusyTimeOutMills",
    )
    broker.conf |= dict(zip(keys, ("x", "1e999", "", "9" * 5_000), strict=True))
    broker.version = "V" + "4" * 5_000 + "_6_0"
    assert judge(read_cluster(addresses)) == []


# --- what RocketMQ itself answers ---------------------------------------------------------------------------------------


def test_a_group_of_brokers_that_has_no_leader_is_a_finding(serving: ExitStack) -> None:
    _, servers, addresses = cluster(serving, {})
    place = serving.enter_context(serve(Fake()))
    for server in servers:
        server.brokers["broker-b"] = {-1: place}
    reading = read_cluster(addresses)
    assert [one.words for one in reading.brokers] == ["broker-a", "broker-b (id -1)"]
    (finding,) = judge(reading)
    assert (finding.kind, finding.severity, finding.where) == ("no-leader", Severity.CRITICAL, "broker-b")
    assert f"{place} as -1" in finding.says


def test_what_a_node_that_is_not_rocketmq_answers_names_it_to_a_load_as_well() -> None:
    with (
        node(answering(NONSENSE["a web server"][0])) as address,
        NameServer(address) as connection,
        pytest.raises(ClientError, match=f"{address} answered what no RocketMQ answers: a frame"),
    ):
        connection.cluster_brokers()


@pytest.mark.parametrize("create_queues", [None, 4])
def test_a_load_on_brokers_without_a_leader_says_that_nobody_takes_sends(
    serving: ExitStack, create_queues: int | None
) -> None:
    topics = {"orders": (4, 4)} if create_queues is None else {}
    server = serving.enter_context(serve(Fake(topics=topics, brokers={"broker-a": {-1: "127.0.0.1:10911"}})))
    with pytest.raises(ClientError, match="takes sends"):
        find_target([server], "orders", allowed=LOOPBACK, create_queues=create_queues)


def test_nothing_is_deleted_while_a_node_answers_nonsense(
    serving: ExitStack, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    broker, servers, addresses = cluster(serving, {"%RETRY%gone": (1, 1)})
    servers[1].bodies[206] = b"[]"
    arguments = [
        "audit",
        "--namesrv",
        ",".join(addresses),
        "--offline-for",
        "0",
        "--journal",
        str(tmp_path / "journal"),
    ]
    for asked in (["--apply"], ["--dry-run"]):
        assert main([*arguments, *asked]) == 4
        out, err = capsys.readouterr()
        assert f"CRITICAL answers-nonsense: name server {addresses[1]}: {addresses[1]} answered" in out
        assert f"mqlab: nothing is deleted: {addresses[1]} answered what no RocketMQ answers: []" in err
    assert not WRITES & {code for fake in (broker, *servers) for code in fake.asked}


@pytest.mark.parametrize("behave", [trickles, never_ends])
def test_a_load_on_a_name_server_whose_answer_never_ends_says_so(
    serving: ExitStack, behave: Behaviour, capsys: pytest.CaptureFixture[str]
) -> None:
    address = serving.enter_context(node(behave))
    began_s = time.monotonic()
    assert main(["load", "--namesrv", address, "--topic", "orders"]) == 4
    assert time.monotonic() - began_s < ENDS_S_MAX
    assert f"mqlab: {address} did not answer request 106 within 5 s" in capsys.readouterr().err


def test_a_name_server_without_brokers_is_told_to_have_none_where_a_topic_is_to_be_made(serving: ExitStack) -> None:
    address = serving.enter_context(serve(Fake(topics={}, brokers={})))
    with pytest.raises(ClientError, match=f"{address} lists no broker that takes sends"):
        find_target([address], "orders", allowed=LOOPBACK, create_queues=4)
    slaves = serving.enter_context(serve(Fake(topics={}, brokers={"broker-a": {1: "127.0.0.1:1"}})))
    with pytest.raises(ClientError, match="lists no broker that takes sends"):
        find_target([slaves], "orders", allowed=LOOPBACK, create_queues=4)
