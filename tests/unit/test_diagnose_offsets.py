"""What a diagnosis finds of offsets that a broker has corrected: lines made by hand, in the words of 4.x and 5.x."""

from __future__ import annotations

from pathlib import Path

import pytest

from analysis.diagnosis.found import Found
from tests.lib.operators_logs import found_in


def _moved(second: int, asked: int, given: int, group: str = "billing") -> str:
    words = (
        f"PULL_OFFSET_MOVED:correction offset. topic=orders, groupId={group}, requestOffset={asked}, newOffset={given}"
    )
    return f"2026-11-21 16:46:{second:02} WARN PullMessageThread_11 - {words}, suggestBrokerId=0\n"


def _found(folder: Path, *lines: str) -> list[Found]:
    (folder / "broker.log").write_text("".join(lines))
    return [one for one in found_in(folder) if one.incident == "offset-past-the-end"]


def test_a_group_that_is_told_to_begin_at_0_consumes_all_again(tmp_path: Path) -> None:
    (found,) = _found(tmp_path, _moved(1, 30266, 0), _moved(2, 30292, 0, "stock"))
    assert (found.groups, found.topics) == (("billing", "stock"), ("orders",))
    assert found.why == (
        "billing asked for offset 30266, beyond the end of its queue: it begins at 0, and consumes all again",
    )


def test_a_group_that_is_told_to_go_on_from_the_end_is_one_as_well(tmp_path: Path) -> None:
    (found,) = _found(tmp_path, _moved(1, 240, 200))
    assert found.why == ("billing asked for offset 240, beyond the end of its queue: it goes on from 200, the end",)


def test_a_topic_that_was_deleted_is_another_matter(tmp_path: Path) -> None:
    deleted = "2026-11-21 16:46:00 INFO AdminBrokerThread_1 - delete topic config OK, topic: TopicConfig [topicName=orders, r\n"
    assert _found(tmp_path, deleted, _moved(1, 240, 200)) == []


def test_an_offset_before_the_begin_of_a_queue_is_another_matter(tmp_path: Path) -> None:
    assert _found(tmp_path, _moved(1, 156798, 172289)) == []


RESET = (
    "2026-11-21 16:46:01 INFO AdminBrokerThread_5 - [reset-offset] reset offset started by 10.0.0.7:58520. topic=orders, "
    "group=billing, timestamp=1795566324067, isForce=true\n"
)
PULLED = (
    "2026-11-21 16:46:02 INFO PullMessageThread_11 - The queue under pulling was previously reset to start from 342\n"
)
ANSWERED = "2026-11-21 16:46:03 INFO AdminBrokerThread_5 - Reset offset, topic=orders, group=billing, queues={}\n"


@pytest.mark.parametrize("told", [(RESET, PULLED, ANSWERED), (RESET,), (PULLED,), (ANSWERED,)])
def test_an_offset_that_was_set_back_is_another_matter(told: tuple[str, ...], tmp_path: Path) -> None:
    assert _found(tmp_path, *told, _moved(2, 382, 342)) == []


@pytest.mark.parametrize(
    ("told", "moved"),
    [
        (PULLED, _moved(2, 382, 341)),
        (RESET, _moved(2, 382, 342, "stock")),
        (RESET.replace("16:46", "16:40"), _moved(2, 382, 342)),
    ],
)
def test_a_reset_of_another_queue_group_or_time_excuses_nothing(told: str, moved: str, tmp_path: Path) -> None:
    assert len(_found(tmp_path, told, moved)) == 1
