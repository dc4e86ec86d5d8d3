"""What a diagnosis finds of members that wait for their locks, a restarted broker or a dead master: lines made by hand."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.diagnosis.found import Found
from tests.lib.operators_logs import found_in

JOIN = "orderly-start-waits"
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
    assert _in_client_log(tmp_path, *lines) == []


def test_longer_than_the_lock_timer_it_may_be_another_client(tmp_path: Path) -> None:
    waits = [_put_off("4.x", f"46:{second:02}") for second in range(1, 41)]
    (one,) = _in_client_log(tmp_path, _assigned("4.x", "46:01"), *waits)
    assert (one.incident, one.sure) == (JOIN, "possible")
    assert "another client has the locks" in one.against[0]
