"""What a diagnosis finds of members that wait for their locks, a restarted broker or a dead master: lines made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.diagnosis.found import Found
from tests.lib.operators_logs import found_in

JOIN, FORGETS, SLAVE = "orderly-start-waits", "restarted-broker-forgets-consumers", "slave-serves-no-reads"
CLIENT = "org.apache.rocketmq.client.impl.consumer"
LAYOUTS = {
    "4.x": "2026-11-21 16:{at},054 {level} RocketmqClient - {words}\n",
    "5.x": "2026-11-21 16:{at},054 {level} [PullMessageService] {by} - {words}\n",
}
"""How clients of 4.x and 5.x write, each by its own logging."""
QUEUE = "MessageQueue [topic=orders, brokerName=broker-a, queueId={queue}]"


def _client(family: str, at: str, level: str, by: str, words: str) -> str:
    return LAYOUTS[family].format(at=at, level=level, by=f"{CLIENT}.{by}", words=words)


def _assigned(family: str, at: str, queue: int = 0) -> str:
    words = f"doRebalance, billing, add a new mq, {QUEUE.format(queue=queue)}"
    return _client(family, at, "INFO", "RebalanceImpl", words)


def _put_off(family: str, at: str, queue: int = 0) -> str:
    request = f"PullRequest [consumerGroup=billing, messageQueue={QUEUE.format(queue=queue)}, nextOffset=7]"
    words = f"pull message later because not locked in broker, {request}"
    return _client(family, at, "INFO", "DefaultMQPushConsumerImpl", words)


def _in_client_log(folder: Path, *lines: str) -> list[Found]:
    (folder / "rocketmq_client.log").write_text("".join(lines))
    return found_in(folder)


# --- a member that joins an ordered group ---------------------------------------------------------------------------------


@pytest.mark.parametrize("family", LAYOUTS)
def test_a_member_that_puts_off_the_pulls_of_queues_that_it_was_assigned_waits_for_its_own_locks(
    family: str, tmp_path: Path
) -> None:
    waits = [_put_off(family, f"46:{second:02}", queue) for second in range(1, 19) for queue in (0, 1)]
    (one,) = _in_client_log(tmp_path, _assigned(family, "46:01"), _assigned(family, "46:01", 1), *waits)
    assert (one.incident, one.sure, one.groups, one.brokers) == (JOIN, "sure", ("billing",), ("broker-a",))
    assert one.queues == ("orders@broker-a:0", "orders@broker-a:1")
    assert one.why == (
        "2 queues were assigned with their locks, and their pulls were put off as not locked for up to 17 s",
    )


def test_a_pull_that_is_put_off_once_is_nothing(tmp_path: Path) -> None:
    assert _in_client_log(tmp_path, _assigned("4.x", "46:01"), _put_off("4.x", "46:01")) == []


def test_a_lock_that_is_lost_later_is_no_join(tmp_path: Path) -> None:
    waits = [_put_off("4.x", f"46:{second:02}") for second in range(21, 40)]
    assert _in_client_log(tmp_path, _assigned("4.x", "46:01"), *waits) == []
    assert _in_client_log(tmp_path, *waits) == []


def test_a_queue_that_another_client_has_locked_is_no_join(tmp_path: Path) -> None:
    failed = f"doRebalance, billing, add a new mq failed, {QUEUE.format(queue=0)}, because lock failed"
    lines = [_client("4.x", f"46:{second:02}", "WARN", "RebalanceImpl", failed) for second in (1, 21, 41)]
    assert [one.incident for one in _in_client_log(tmp_path, *lines)] == ["ordered-lock-handover"]


def test_longer_than_the_lock_timer_it_may_be_another_client(tmp_path: Path) -> None:
    waits = [_put_off("4.x", f"46:{second:02}") for second in range(1, 41)]
    (one,) = _in_client_log(tmp_path, _assigned("4.x", "46:01"), *waits)
    assert (one.incident, one.sure) == (JOIN, "possible")
    assert "another client has the locks" in one.against[0]


# --- a broker that has restarted ------------------------------------------------------------------------------------------


def _broker(at: str, level: str, words: str) -> str:
    return f"2026-11-21 16:{at} {level} x_1 - {words}\n"


def _started(at: str) -> str:
    return _broker(at, "INFO", "The broker[broker-a, 10.0.0.9:10911] boot success. serializeType=JSON")


def _came(at: str, group: str = "billing") -> str:
    channel = (
        "ClientChannelInfo [channel=[id: 0xa1, L:/10.0.0.1:1 - R:/10.0.0.9:2], clientId=10.0.0.9@1, language=JAVA]"
    )
    return _broker(
        at, "INFO", f"new consumer connected, group: {group} CONSUME_PASSIVELY CLUSTERING channel: {channel}"
    )


def _unknown(from_: int, to: int, group: str = "billing", minute: int = 50) -> list[str]:
    words = f"the consumer's group info not exist, group: {group}"
    return [_broker(f"{minute}:{second:02}", "WARN", words) for second in range(from_, to)]


def _in_broker_log(folder: Path, *lines: str) -> list[tuple[str, str, tuple[str, ...]]]:
    (folder / "broker.log").write_text("".join(lines))
    return [(one.incident, one.sure, one.groups) for one in found_in(folder)]


def test_a_group_that_the_broker_knew_is_unknown_after_its_restart(tmp_path: Path) -> None:
    lines = [_came("40:00"), _started("50:04"), *_unknown(6, 31), _came("50:31")]
    assert _in_broker_log(tmp_path, *lines) == [(FORGETS, "sure", ("billing",))]
    (one,) = found_in(tmp_path)
    assert one.brokers == ("broker-a",)
    assert one.why == ("the broker started, and refused pulls of 1 group as unknown for up to 24 s",)
    assert one.related == ("2026-11-21 08:50:31Z a member of billing told the broker of itself",)


def test_without_the_lines_of_before_it_is_less_sure(tmp_path: Path) -> None:
    lines = [_started("50:04"), *_unknown(6, 31)]
    assert _in_broker_log(tmp_path, *lines) == [(FORGETS, "possible", ("billing",))]
    assert found_in(tmp_path)[0].against == ("no line here says that this broker had run before",)
    (tmp_path / "store.log").write_text(_broker("50:02", "INFO", "last shutdown abnormally"))
    assert _in_broker_log(tmp_path, *lines) == [("broker-gone", "likely", ()), (FORGETS, "likely", ("billing",))]


def test_a_group_that_begins_at_a_broker_that_may_be_new_waits_longer_on_a_busy_host(tmp_path: Path) -> None:
    assert _in_broker_log(tmp_path, _started("50:04"), *_unknown(26, 31), _came("50:31")) == []
    assert _in_broker_log(tmp_path, _came("40:00"), _started("50:04"), *_unknown(26, 31)) == [
        (FORGETS, "sure", ("billing",))
    ]


def test_groups_that_begin_or_end_without_a_restart_are_none(tmp_path: Path) -> None:
    assert _in_broker_log(tmp_path, _started("40:00"), *_unknown(6, 31), _came("50:31")) == []
    assert _in_broker_log(tmp_path, *_unknown(6, 31)) == []


def test_one_refused_pull_after_a_start_is_a_member_that_begins(tmp_path: Path) -> None:
    assert _in_broker_log(tmp_path, _came("40:00"), _started("50:04"), *_unknown(6, 7), *_unknown(6, 7, "b")) == []


def test_a_group_of_which_no_client_ever_tells_is_none_that_comes_late(tmp_path: Path) -> None:
    lines = [line for minute in (50, 51, 52) for line in _unknown(6 if minute == 50 else 0, 60, minute=minute)]
    assert _in_broker_log(tmp_path, _started("40:00"), _started("50:04"), *lines) == []


def test_a_start_of_another_broker_or_of_a_name_server_says_nothing(tmp_path: Path) -> None:
    for node in ("a", "b"):
        (tmp_path / node).mkdir()
    (tmp_path / "a" / "broker.log").write_text("".join([_came("40:00"), *_unknown(6, 31)]))
    (tmp_path / "b" / "broker.log").write_text(_started("50:04"))
    (tmp_path / "a" / "namesrv.log").write_text(
        _broker("50:04", "INFO", "The Name Server boot success. serializeType=JSON")
    )
    assert found_in(tmp_path) == []


# --- a slave that serves no reads -----------------------------------------------------------------------------------------

PULL_FAILED = {
    "4.x": "execute the pull request exception",
    "5.x": f"execute the pull request exception, group=billing, messageQueue={QUEUE.format(queue=0)}",
}
BUSY = "[REJECTREQUEST]system busy, start flow control for a while"


def _answered(family: str, at: str, answer: str, broker: str = " BROKER: 10.0.0.8:10911") -> str:
    head = _client(family, at, "WARN", "DefaultMQPushConsumerImpl", PULL_FAILED[family])
    url = "For more information, please visit the url, http://rocketmq.apache.org/docs/faq/"
    error = f"org.apache.rocketmq.client.exception.MQBrokerException: CODE: 2  DESC: {answer}{broker}"
    return f"{head}{error}\n{url}\n\tat x.y(Z.java:1)\n"


def test_pulls_that_a_slave_refused_are_no_sends_of_a_busy_broker(tmp_path: Path) -> None:
    (one,) = _in_client_log(tmp_path, *(_answered("5.x", f"46:{second:02}", BUSY) for second in range(1, 40)))
    assert (one.incident, one.sure, one.groups) == (SLAVE, "sure", ("billing",))
    assert (one.brokers, one.topics, one.queues) == (("broker-a",), ("orders",), ("orders@broker-a:0",))
    assert one.why == ("39 pulls were refused by [REJECTREQUEST], as by slaves alone",)
    assert "MQBrokerException: CODE: 2" in one.lines[0].text


def test_an_older_client_of_a_slave_of_5x_says_where_it_asked_at_most(tmp_path: Path) -> None:
    (one,) = _in_client_log(tmp_path, *(_answered("4.x", f"46:{second:02}", BUSY) for second in range(1, 40)))
    assert (one.incident, one.groups, one.brokers) == (SLAVE, (), ("10.0.0.8:10911",))
    (one,) = _in_client_log(tmp_path, *(_answered("4.x", f"46:{second:02}", BUSY, "") for second in range(1, 40)))
    assert (one.incident, one.groups, one.brokers) == (SLAVE, (), ())


def test_pulls_that_fail_for_other_reasons_are_none(tmp_path: Path) -> None:
    aged = "[TIMEOUT_CLEAN_QUEUE]broker busy, start flow control for a while, period in queue: 5006ms, size of queue: 8"
    unknown = "the consumer's group info not exist"
    for answer in (aged, unknown):
        lines = [_answered("5.x", f"46:{second:02}", answer) for second in range(1, 40)]
        assert _in_client_log(tmp_path, *lines) == []


def test_sends_that_are_refused_beside_them_are_still_a_busy_broker(tmp_path: Path) -> None:
    send = _client("5.x", "46:30", "WARN", "x", "send failed") + (
        f"org.apache.rocketmq.client.exception.MQBrokerException: CODE: 2  DESC: {BUSY} BROKER: 10.0.0.9:10911\n"
    )
    pulls = [_answered("5.x", f"46:{second:02}", BUSY) for second in range(1, 30)]
    assert {one.incident for one in _in_client_log(tmp_path, *pulls, send)} == {SLAVE, "append-lock-over-1s"}
