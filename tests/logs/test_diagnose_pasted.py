"""What people paste: an exception of an application, of a console or of a producer's terminal, with little or nothing around it."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.diagnosis.diagnosis import Diagnosis
from mqlab.logs.diagnose import report
from tests.lib.operators_logs import read

APPLICATION = [
    f"2024-05-01 09:{minute:02}:40.650  INFO 1 --- [main] c.e.Orders : order {minute} is paid" for minute in range(40)
]
STACK = "\tat org.apache.rocketmq.remoting.netty.NettyRemotingClient.invokeSync(NettyRemotingClient.java:392)"
CONNECT = "org.apache.rocketmq.remoting.exception.RemotingConnectException: connect to"
GRPC = "org.apache.rocketmq.shaded.io.grpc.StatusRuntimeException:"
SENT = "org.apache.rocketmq.client.exception.MQClientException: Send [3] times, still failed, cost [6013]ms, Topic: T"


def _told(folder: Path, name: str, *lines: str) -> Diagnosis:
    (folder / name).write_text("\n".join([*lines, ""]))
    return read(folder)


@pytest.mark.parametrize(
    ("lines", "incident", "sure", "says"),
    [
        (
            (SENT, STACK, f"Caused by: {CONNECT} 192.0.2.7:10911 failed", STACK),
            "broker-address-unreachable", "possible", "brokerIP1",
        ),
        ((f"{CONNECT} 127.0.0.1:10911 failed", STACK), "broker-address-unreachable", "likely", "address of each host itself"),
        (
            (SENT, f"Caused by: {CONNECT} <192.0.2.7 #change it:10909> failed"),
            "broker-address-unreachable", "likely", "a comment behind it",
        ),
        ((f"{CONNECT} <null> failed", STACK), "name-server-unreachable", "likely", "given no name server"),
        ((f"{CONNECT} [127.0.0.1:9876] failed", STACK), "name-server-unreachable", "likely", "address of each host itself"),
        (
            ("org.apache.rocketmq.client.exception.MQClientException: No route info of this topic: T",),
            "topic-without-route", "possible", "made with its first message",
        ),
        ((f"{GRPC} UNAVAILABLE: io exception", "Caused by: java.net.ConnectException"), "proxy-unreachable", "possible", "8081"),
        (
            (f"{GRPC} DEADLINE_EXCEEDED: deadline exceeded after 2.9s. [remote_addr=/192.0.2.4:8081]",),
            "proxy-unreachable", "possible", "namesrvAddr in rmq-proxy.json",
        ),
    ],
)  # fmt: skip
@pytest.mark.parametrize("around", ["alone", "in an application's log"])
def test_a_pasted_exception_is_told_as_far_as_it_goes(
    tmp_path: Path, around: str, lines: tuple[str, ...], incident: str, sure: str, says: str
) -> None:
    before = APPLICATION if around != "alone" else []
    found = _told(tmp_path, "app.log", *before, *lines, *before[:1])
    (one,) = found.incidents
    assert (one.found.incident, str(one.found.sure)) == (incident, sure)
    assert says in " ".join((*one.found.why, *one.found.against, one.advice))


def test_an_address_that_answered_meanwhile_is_not_told_so(tmp_path: Path) -> None:
    answered = (
        "2024-05-01 09:30:41.000  INFO 1 --- [main] r : createChannel: connect remote host[192.0.2.7:10911] success, x"
    )
    found = _told(tmp_path, "app.log", *APPLICATION, f"{CONNECT} 192.0.2.7:10911 failed", answered)
    assert not found.incidents


def test_a_brokers_own_log_that_ends_with_such_a_line_has_no_incident(tmp_path: Path) -> None:
    own = [
        f"2024-05-01 09:{minute:02}:40 INFO BrokerControllerScheduledThread1 - dispatch behind 0"
        for minute in range(40)
    ]
    found = _told(tmp_path, "broker.log", *own, f"{CONNECT} 127.0.0.1:9876 failed", STACK)
    assert not found.incidents


def test_an_exception_that_nothing_is_known_of_is_shown_though_no_level_stands_before_it(tmp_path: Path) -> None:
    found = _told(
        tmp_path,
        "app.log",
        *APPLICATION,
        "com.example.OrderException: no such order",
        "\tat com.example.Orders.get(Orders.java:1)",
    )
    assert not found.incidents
    said = "\n".join(report(found))
    assert "com.example.OrderException: no such order" in said
    assert len(said.splitlines()) < 12
