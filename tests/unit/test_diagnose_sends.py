"""What a diagnosis finds of sends that were tried again or refused: lines as clients write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lib.operators_logs import REFUSED, SLOW, found_in, read


def _again(second: int, *, times: int = 1, topic: str = "orders") -> str:
    """As 4.6.0 writes it: at INFO, and without the reason."""
    return (
        f"2026-11-21 16:46:{second:02},054 INFO RocketmqClient - async send msg by retry {times} times. topic={topic}, "
        "brokerAddr=10.0.0.2:10911, brokerName=broker-a\n"
    )


NEWER = (
    "2026-11-21 16:46:01,588 WARN [NettyClientPublicExecutor_1] org.apache.rocketmq.client.impl.MQClientAPIImpl - async send msg "
    "by retry 1 times. topic=orders, brokerAddr=10.0.0.2:10911, brokerName=broker-b\n"
    "org.apache.rocketmq.client.exception.MQClientException: send request failed\n"
)


def test_what_a_client_of_4_6_0_sent_again_may_be_stored_twice(tmp_path: Path) -> None:
    lines = [_again(1), _again(2, times=2), _again(3, topic="bills")]
    (tmp_path / "rocketmq_client.log").write_text("".join(lines))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("async-timeout-stored-twice", "possible")
    assert list(one.topics) == ["bills", "orders"]
    assert one.why == ("asynchronous sends were tried again 3 times after no answer",)
    assert "compare keys" in one.against[0]


def test_two_standstills_are_told_apart(tmp_path: Path) -> None:
    later = _again(1).replace("16:46", "18:20")
    (tmp_path / "rocketmq_client.log").write_text(_again(1) + later)
    assert len(found_in(tmp_path)) == 2


def test_a_newer_client_tries_again_where_nothing_was_stored(tmp_path: Path) -> None:
    (tmp_path / "rocketmq_client.log").write_text(NEWER)
    assert found_in(tmp_path) == []


def _no_time(second: int, address: str = "10.0.0.3:10911", *, is_4x: bool = False) -> str:
    """An attempt with its reason: 4.x has asked in vain, and 5.x does not ask."""
    reason = (
        f"wait response on the channel <{address}> timeout, 0(ms)"
        if is_4x
        else f"invokeSync call the addr[{address}] timeout"
    )
    return (
        f"2026-11-26 02:44:{second:02},144 WARN [mqlab-load-43] org.apache.rocketmq.client.impl.producer.DefaultMQProducerImpl - "
        "sendKernelImpl exception, resend at once, InvokeID: 5312, RT: 0ms, Broker: MessageQueue [topic=orders, "
        "brokerName=broker-b, queueId=1]\n"
        f"org.apache.rocketmq.remoting.exception.RemotingTimeoutException: {reason}\n"
    )


@pytest.mark.parametrize("is_4x", [True, False], ids=["4.x", "5.x"])
def test_attempts_without_time_name_the_broker_that_is_well(is_4x: bool, tmp_path: Path) -> None:
    (tmp_path / "rocketmq_client.log").write_text("".join(_no_time(second, is_4x=is_4x) for second in range(6)))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("avoidance-mended", "possible")
    assert one.brokers == ("broker-b",)
    assert one.why == ("6 attempts failed at broker-b for want of time, which others had used up",)


def test_a_single_one_or_those_without_an_address_are_a_busy_client(tmp_path: Path) -> None:
    unknown = "".join(_no_time(second, "null") for second in range(20, 30))
    (tmp_path / "rocketmq_client.log").write_text(_no_time(1) + unknown)
    assert found_in(tmp_path) == []


def test_a_refusal_is_told_once_with_the_append_that_was_going_on(tmp_path: Path) -> None:
    (tmp_path / "b1").mkdir()
    (tmp_path / "app").mkdir()
    lines = [("02:15:00", 640), ("02:15:13", 1480), ("02:15:26", 720)]
    (tmp_path / "b1" / "store.log").write_text(
        "".join(f"2026-11-28 {at} WARN SendMessageThread_1 - {SLOW.format(ms=ms)}" for at, ms in lines)
    )
    (tmp_path / "app" / "app.log").write_text("".join(f"2026-11-28 {at},100 ERROR x - y\n{REFUSED}" for at, _ in lines))
    told = {one.found.incident: one.found.related for one in read(tmp_path, offset_s=0.0).incidents}
    assert [words[-25:] for words in told["append-stall"]] == ["with the append of 640 ms", "with the append of 720 ms"]
    assert ["02:15:00.100Z" in told["append-stall"][0], "02:15:26.100Z" in told["append-stall"][1]] == [True, True]
    (long,) = told["append-lock-over-1s"]
    assert "02:15:13.100Z" in long
    assert long.endswith("with the append of 1480 ms")
