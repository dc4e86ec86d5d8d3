"""What a diagnosis finds of topics that were deleted and made again: lines as the releases write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lib.operators_logs import found_in

CONFIG = (
    "TopicConfig [topicName={topic}, readQueueNums=2, writeQueueNums=2, perm=RW-, topicFilterType=SINGLE_TAG, topicSysFlag=0, "
    "order=false]"
)
DELETED = "INFO AdminBrokerThread_2 - delete topic config OK, topic: " + CONFIG
MADE = "INFO AdminBrokerThread_3 - create new topic [" + CONFIG + "]"
MOVED = (
    "WARN PullMessageThread_7 - PULL_OFFSET_MOVED:correction offset. topic={topic}, groupId=billing, requestOffset={asked}, "
    "newOffset={new}, suggestBrokerId=0"
)


def _log(folder: Path, *lines: str, topic: str = "orders", asked: int = 100, new: int = 20) -> None:
    said = [line.format(topic=topic, asked=asked, new=new) for line in lines]
    text = "".join(f"2026-11-21 16:46:{second:02} {line}\n" for second, line in enumerate(said))
    (folder / "broker.log").write_text(text)


def test_a_topic_that_is_made_again_may_keep_offsets(tmp_path: Path) -> None:
    _log(tmp_path, MADE, DELETED, MADE)
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure, tuple(one.topics)) == ("recreated-topic-keeps-offsets", "possible", ("orders",))
    assert "5.x deletes" in one.against[0]


def test_a_group_that_asks_beyond_the_new_end_has_kept_them(tmp_path: Path) -> None:
    _log(tmp_path, DELETED, MADE, MOVED)
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure, tuple(one.groups)) == ("recreated-topic-keeps-offsets", "sure", ("billing",))
    assert one.against == ()


def test_what_a_slave_does_because_its_master_has_no_such_topic_is_none(tmp_path: Path) -> None:
    _log(tmp_path, MADE, DELETED.replace("AdminBrokerThread_2", "BrokerControllerScheduledThread1"), MADE)
    assert found_in(tmp_path) == []
    written = DELETED.replace("AdminBrokerThread_2 -", "[BrokerControllerScheduledThread1] RocketmqBroker -")
    _log(tmp_path, MADE, written, MADE)
    assert found_in(tmp_path) == []


@pytest.mark.parametrize("lines", [(MADE,), (DELETED,), (MADE, DELETED), (MOVED,)])
def test_a_topic_that_is_made_or_deleted_once_is_none(lines: tuple[str, ...], tmp_path: Path) -> None:
    _log(tmp_path, *lines)
    assert [one for one in found_in(tmp_path) if one.incident == "recreated-topic-keeps-offsets"] == []


def test_an_offset_whose_messages_were_deleted_is_no_sign(tmp_path: Path) -> None:
    _log(tmp_path, DELETED, MADE, MOVED, asked=20, new=100)
    (one,) = found_in(tmp_path)
    assert one.sure == "possible"


def test_a_retry_topic_comes_back_by_itself(tmp_path: Path) -> None:
    _log(tmp_path, DELETED, MADE, topic="%RETRY%billing")
    assert found_in(tmp_path) == []
