# ruff: noqa: E501 - lines of logs
"""Signs of what people report, in the words of other clients and releases than those that the reported logs are of."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.diagnosis.found import Found
from mqlab.main import main
from tests.lib.operators_logs import found_in

Q = "topic=T, brokerName=b, queueId=0"
JAVA = f"PullRequest [consumerGroup=g, messageQueue=MessageQueue [{Q}], nextOffset={{offset}}]"
GO = "[ConsumerGroup: g, Topic: T, MessageQueue: brokerName=b, queueId=0, nextOffset={offset}]"
TIMES = ("10:20:00", "10:20:20", "10:20:40", "10:21:00", "10:21:20", "10:21:40")


def _found(folder: Path, lines: str, times: tuple[str, ...] = TIMES, name: str = "client.log") -> list[Found]:
    """What these lines show when they are written at each of these times."""
    text = "".join(
        lines.replace("TIME", f"2026-03-05 {at}").replace("NUMBER", str(number)) for number, at in enumerate(times)
    )
    (folder / "n1").mkdir(exist_ok=True)
    (folder / "n1" / name).write_text(text)
    return found_in(folder)


SHOWN = {
    "go, cached": (
        'time="TIME" level=warning msg="the cached message count exceeds the threshold, so do flow control" PullRequest="'
        + GO.format(offset=7) + '" PullThresholdForQueue=1024 count=1025 flowControlTimes=NUMBER maxOffset=2NUMBER minOffset=1NUMBER\n',
        "consumer-too-slow",
    ),
    "go, span": (
        'time="TIME" level=warning msg="the queue\'s messages span too long, so do flow control" ConsumeConcurrentlyMaxSpan=2000 '
        'PullRequest="' + GO.format(offset=7) + '" flowControlTimes=NUMBER maxOffset=9NUMBER maxSpan=2001 minOffset=17\n',
        "one-message-holds-offset",
    ),
    "go, zap, offset": (
        '{"level":"warn","ts":"TIME","msg":"the pull request offset illegal","PullRequest":"' + GO.format(offset=0) + '","result":""}\n',
        "illegal-offset-again",
    ),
    "lite pull, size": (
        "TIME,000 WARN PullMsgThread-g_0 - The cached message size exceeds the threshold 100 MiB, so do flow control, minOffset=NUMBER, "
        "maxOffset=2NUMBER, count=900, size=101 MiB, flowControlTimes=NUMBER\n",
        "consumer-too-slow",
    ),
    "grpc, cached": (
        "TIME,000 WARN RocketmqClient - Process queue total cached messages quantity exceeds the threshold, threshold=1024, actual=1024, "
        "mq=T.b.0, clientId=c\n",
        "consumer-too-slow",
    ),
    "4.2, route": (
        "TIME ERROR main - send\norg.apache.rocketmq.client.exception.MQClientException: No route info of this topic, T\n",
        "topic-without-route",
    ),
    "go, route": ('time="TIME" level=error msg="send failed" error="the topic=T route info not found"\n', "topic-without-route"),
    "consumer, route": (
        "TIME WARN x - updateTopicRouteInfoFromNameServer Exception\norg.apache.rocketmq.client.exception.MQClientException: CODE: 17  "
        "DESC: No topic route info in name server for the topic: T\n",
        "topic-without-route",
    ),
    "go, address": (
        'time="TIME" level=error msg="send error" error="dial tcp 172.18.0.4:10911: i/o timeout"\n',
        "broker-address-unreachable",
    ),
    "loopback": (
        "TIME WARN x - send\norg.apache.rocketmq.remoting.exception.RemotingConnectException: connect to <127.0.0.1:10911> failed\n",
        "broker-address-unreachable",
    ),
    "5.x, authentication": (
        "TIME ERROR x - failed\norg.apache.rocketmq.client.exception.MQBrokerException: CODE: 16  DESC: check signature failed. BROKER: b:1\n",
        "requests-not-authorised",
    ),
    "4.4, permission": (
        "TIME ERROR x - process request exception\norg.apache.rocketmq.acl.common.AclException: No default permission for T\n",
        "requests-not-authorised",
    ),
    "c++, pull": (
        f"[TIME.1](info):Drop mq:MessageQueue [{Q}] according Pull timeout.[updateRequestTableInRebalance:501]\n",
        "nothing-pulled",
    ),
    "5.x, pull": (
        f"TIME ERROR RebalanceService - [BUG]doRebalance, g, try remove unnecessary mq, MessageQueue [{Q}], because pull is pause, so "
        "try to fixed it\n",
        "nothing-pulled",
    ),
    "go, expired": ('time="TIME" level=info msg="send expire msg back. " msgId=1 queueId=0 queueOffset=1 topic=T\n', "consume-timeout"),
    "4.9.7, too long": (
        "TIME ERROR x - send\norg.apache.rocketmq.client.exception.MQBrokerException: CODE: 13  DESC: the message is illegal, maybe msg "
        "body or properties length not matched. msg body length limit 4194304B, msg properties length limit 32KB. BROKER: 10.0.0.1:10911\n",
        "message-too-long",
    ),
    "client, too long": (
        "TIME ERROR x - send\norg.apache.rocketmq.client.exception.MQClientException: CODE: 13  DESC: the message body size over max "
        "value, MAX: 4194304\n",
        "message-too-long",
    ),
    "broker, too long": (
        "TIME WARN SendMessageThread_1 - message size exceeded, msg total size: 5000000, msg body size: 4999000, maxMessageSize: 4194304\n",
        "message-too-long",
    ),
    "4.6.0, CODE 14": (
        "TIME ERROR x - send\norg.apache.rocketmq.client.exception.MQBrokerException: CODE: 14  DESC: service not available now, maybe disk "
        "full, CL:  0.41 CQ:  0.41 INDEX:  0.41, maybe your broker machine memory too small.\n",
        "store-not-writable",
    ),
    "direct memory": (
        "TIME WARN x - exceptionCaught\nio.netty.util.internal.OutOfDirectMemoryError: failed to allocate 16777216 byte(s) of direct memory "
        "(used: 1, max: 2)\n",
        "direct-memory-full",
    ),
    "threads": ("TIME ERROR x - y\njava.lang.OutOfMemoryError: unable to create native thread: possibly out of memory\n", "no-more-threads"),
    "5.5.0, lock": ("java.lang.RuntimeException: Lock failed, MQ already started, lock status: null\n", "store-locked"),
    "5.x, slave": (
        "TIME ERROR AutoSwitchHAClient - master pushed offset not equal the max phy offset in slave, SLAVE: 10 MASTER: 20\n",
        "slave-diverged",
    ),
    "5.x, delay": (
        "TIME WARN ScheduleMessageTimerThread_3 - Offset not matched. Request offset: 20, firstOffset: 0, lastOffset: 6, mappedFileSize: "
        "6, mappedFiles count: 1\n",
        "delayed-messages-stuck",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", SHOWN)
def test_the_words_of_other_clients_and_releases_are_known(case: str, tmp_path: Path) -> None:
    lines, incident = SHOWN[case]
    assert {one.incident for one in _found(tmp_path, lines)} == {incident}
    assert {one.sure for one in found_in(tmp_path)} <= {"likely", "possible"}


ORDINARY = {
    "a pull that is put off once": (
        "TIME,000 WARN x - the cached message count exceeds the threshold 1000, so do flow control, minOffset=1, maxOffset=1002, count=1001, "
        f"size=1 MiB, pullRequest={JAVA.format(offset=7)}, flowControlTimes=1\n", TIMES[:1],
    ),
    "offsets that are corrected": (f"TIME WARN x - the pull request offset illegal, {JAVA.format(offset='NUMBER')} PullResult []\n", TIMES),
    "a retry topic that nobody needed yet": (
        "TIME WARN x - y\norg.apache.rocketmq.client.exception.MQClientException: CODE: 17  DESC: No topic route info in name server for "
        "the topic: %RETRY%g\n", TIMES,
    ),
    "a topic that is made with its first message": (
        "TIME WARN x - y\norg.apache.rocketmq.client.exception.MQClientException: No route info of this topic: T\n"
        "TIME INFO x - Create new topic by default topic:[TBW102] config:[TopicConfig [topicName=T, readQueueNums=4, writeQueueNums=4]] "
        "producer:[/127.0.0.1:1]\n", TIMES[:2],
    ),
    "another program's database": ('time="TIME" level=error msg="dial tcp 10.0.0.9:3306: connect: connection refused"\n', TIMES),
    "two outages far apart": (
        "TIME WARN x - send\norg.apache.rocketmq.remoting.exception.RemotingConnectException: connect to 172.17.0.3:10911 failed\n",
        ("10:20:00", "10:20:01", "12:20:00", "12:20:01"),
    ),
    "a queue that is flushed where its file begins": (
        "TIME WARN FlushConsumeQueueService - Offset not matched. Request offset: 6, firstOffset: 0, lastOffset: 6, mappedFileSize: 6, "
        "mappedFiles count: 1\n", TIMES,
    ),
    "a new broker's directories": (
        "TIME INFO StoreScheduledThread1 - logics disk maybe full soon, so reclaim space, -1.0\n", TIMES,
    ),
    "a restart and its heartbeats": ("TIME WARN PullMessageThread_1 - the consumer's group info not exist, group: g\n", TIMES),
    "a queue that is given up once": (
        f"TIME ERROR RebalanceService - [BUG]doRebalance, g, remove unnecessary mq, MessageQueue [{Q}], because pull is pause, so try to "
        "fixed it\n", TIMES[:1],
    ),
    "another class's load exception": ("TIME ERROR main - the load exception handler is set\n", TIMES),
}  # fmt: skip


@pytest.mark.parametrize("case", ORDINARY)
def test_what_is_ordinary_shows_nothing(case: str, tmp_path: Path) -> None:
    lines, times = ORDINARY[case]
    assert _found(tmp_path, lines, times) == []


def test_a_route_that_is_missing_while_a_broker_is_gone_is_no_more_than_possible(tmp_path: Path) -> None:
    (tmp_path / "ns").mkdir()
    (tmp_path / "ns" / "namesrv.log").write_text(
        "2026-03-05 10:19:30 INFO x - the broker's channel destroyed, 10.0.0.1:10911, clean it's data structure at once\n"
    )
    (one,) = _found(tmp_path, SHOWN["go, route"][0], name="stock.log")
    assert one.sure == "possible"
    assert "a broker left the routes at 2026-03-05" in one.against[0]


def test_code_14_beside_a_disk_that_is_full_is_of_that_disk(tmp_path: Path) -> None:
    (tmp_path / "b").mkdir()
    (tmp_path / "b" / "store.log").write_text(
        "2026-03-05 10:20:30 ERROR x - physic disk maybe full soon 0.92, so mark disk full, storePathPhysic=/data\n"
    )
    found = {one.incident for one in _found(tmp_path, SHOWN["4.6.0, CODE 14"][0])}
    assert found == {"disk-is-full", "disk-ratio-counts-differently"}


def test_what_no_incident_explains_is_told_below_what_was_found(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "b1" / "broker.log"
    log.parent.mkdir()
    log.write_text(
        "2026-03-05 18:20:00 WARN SendMessageThread_1 - message store is not writeable, so putMessage is forbidden 16\n"
        + "".join(
            f"2026-03-05 18:20:0{n} ERROR Pool_{n} - the licence of the proxy ran out, {n} left\n" for n in range(9)
        )
    )
    assert main(["diagnose", str(tmp_path), "--out", str(tmp_path / "page.html")]) == 0
    shown = capsys.readouterr().out
    assert "store-not-writable (likely)" in shown
    _, others = shown.split("the commonest warnings and errors that are no sign of these incidents:")
    assert "9 x ERROR" in others
    assert "the licence of the proxy ran out" in others
    assert "putMessage" not in others
    page = (tmp_path / "page.html").read_text("utf-8")
    assert "the licence of the proxy" in page.split("no sign of these incidents")[1]


def test_sends_without_a_file_are_possible_alone_and_proof_of_a_file_that_was_not_mapped(tmp_path: Path) -> None:
    client = tmp_path / "app" / "application.log"
    client.parent.mkdir()
    client.write_text(
        "2026-03-05 18:20:00 WARN main - send\norg.apache.rocketmq.client.exception.MQBrokerException: CODE: 1  DESC: create mapped "
        "file failed, server is busy or broken. BROKER: 10.0.0.9:10911\n"
    )
    assert [(one.incident, one.sure) for one in found_in(tmp_path)] == [("page-cache-stress", "possible")]
    broker = tmp_path / "b1" / "storeerror.log"
    broker.parent.mkdir()
    broker.write_text("2026-03-05 18:20:00 ERROR AllocateMappedFileService - x\njava.io.IOException: Map failed\n")
    assert [(one.incident, one.sure) for one in found_in(tmp_path)] == [("map-failed", "sure")]
