"""What a diagnosis finds of transactions in a broker's logs: lines as 4.6.0 writes them."""

from __future__ import annotations

from pathlib import Path

from tests.lib.operators_logs import found_in


def _store_log(*topics: str) -> str:
    return "".join(
        f"2026-11-21 16:46:01 INFO AdminBrokerThread_8 - cleanUnusedTopic: {topic} 0 ConsumeQueue cleaned\n"
        f"2026-11-21 16:46:01 INFO AdminBrokerThread_8 - cleanUnusedTopic: {topic},topic destroyed\n"
        for topic in topics
    )


def test_a_deletion_that_took_the_brokers_own_queue_with_it_is_sure(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text(_store_log("orders", "RMQ_SYS_TRANS_OP_HALF_TOPIC"))
    (tmp_path / "broker.log").write_text(
        "2026-11-21 16:46:01 INFO AdminBrokerThread_8 - delete topic config OK, topic: TopicConfig [topicName=orders, "
        "readQueueNums=1, writeQueueNums=1, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false]\n"
        "2026-11-21 15:00:00 INFO AdminBrokerThread_2 - delete topic config OK, topic: TopicConfig [topicName=old, "
        "readQueueNums=1, writeQueueNums=1, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, order=false]\n"
    )
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("delete-topic-rechecks-transactions", "sure")
    assert one.topics == ("orders",)
    assert len(one.lines) == 2


def test_a_deletion_that_took_its_own_queues_alone_is_none(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text(_store_log("orders", "payments"))
    assert found_in(tmp_path) == []


def _invalid(thread: str, second: int) -> str:
    return (
        f"2026-11-21 16:46:{second:02} WARN {thread} - selectMappedBuffer request pos invalid, request pos: 6110, size: 4, "
        "fileFromOffset: 0\n"
    )


def test_transactions_that_find_no_half_message_are_one_finding(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text("".join(_invalid(f"EndTransactionThread_{n}", n) for n in (1, 2, 7)))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("pool-loses-transaction-commits", "sure")
    assert one.why[0].startswith("3 transactions were to end")


def test_what_another_thread_cannot_read_is_no_transaction(tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text(_invalid("QueryMessageThread_1", 1))
    assert found_in(tmp_path) == []
