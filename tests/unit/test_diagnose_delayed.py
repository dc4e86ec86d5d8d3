"""What a diagnosis finds of delayed messages whose delivery threw: lines as the releases write them."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.lib.operators_logs import found_in

WORDS = {
    "4.6.0": "messageTimeup execute error, drop it. msgExt=MessageExt [queueId=1, storeSize=310, toString()=Message{"
    "topic='SCHEDULE_TOPIC_XXXX', properties={REAL_TOPIC=orders, KEYS=k7, REAL_QID=0}}], nextOffset=26,offsetPy=51880,sizePy=310",
    "4.9.7": "messageTimeup execute error, offset = 26",
    "5.3.3": "messageTimeUp execute error, offset = 27",
}


def _log(words: str, *, seconds: tuple[int, ...] = (1,)) -> str:
    return "".join(
        f"2026-11-21 16:46:{second:02} ERROR ScheduleMessageTimerThread - ScheduleMessageService, {words}\n"
        "java.lang.IllegalStateException: a defect\n"
        "\tat org.apache.rocketmq.broker.Some.method(Some.java:1)\n"
        for second in seconds
    )


@pytest.mark.parametrize("release", ["4.6.0", "5.3.3"])
def test_a_release_that_goes_on_with_the_next_message_has_lost_one(release: str, tmp_path: Path) -> None:
    (tmp_path / "store.log").write_text(_log(WORDS[release]))
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("delayed-message-fails-once", "sure")
    assert one.why[1].startswith("1 by a release that goes on")
    assert list(one.topics) == (["orders"] if release == "4.6.0" else [])


REGISTERED = {
    "4.9.7": "2026-11-21 16:40:01 INFO brokerOutApi_thread_1 - register broker[0]to name server 127.0.0.1:9876 OK\n",
    "5.1.0": "2026-11-21 16:40:01 INFO brokerOutApi_thread_1 - Registering current broker to name server completed. "
    "TargetHost=127.0.0.1:9876\n",
}
"""What a broker of the release says beside it."""


@pytest.mark.parametrize(
    ("beside", "sure", "says"),
    [
        (("4.9.7",), "possible", "tries the same message again"),
        (("5.1.0",), "sure", ""),
        ((), "possible", "do not say which release this is"),
        (("4.9.7", "5.1.0"), "possible", "do not say which release this is"),
    ],
    ids=["4.9.7", "5.1.0 has the words of 4.9.7", "nothing else", "before and after an upgrade"],
)
def test_what_words_of_several_releases_mean_is_said_by_the_lines_beside_them(
    beside: tuple[str, ...], sure: str, says: str, tmp_path: Path
) -> None:
    (tmp_path / "store.log").write_text(
        "".join(REGISTERED[one] for one in beside) + _log(WORDS["4.9.7"], seconds=(1, 2, 3))
    )
    (one,) = found_in(tmp_path)
    assert (one.incident, one.sure) == ("delayed-message-fails-once", sure)
    assert one.why[0] == "3 deliveries of delayed messages threw an exception"
    assert says in " ".join(one.against)
