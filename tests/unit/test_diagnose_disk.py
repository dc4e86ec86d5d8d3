"""What a diagnosis finds of a disk that counts as full: lines as the releases write them."""

from __future__ import annotations

from pathlib import Path

from tests.lib.operators_logs import found_in

NAME = "disk-ratio-counts-differently"
FULL_4_6_0 = "physic disk maybe full soon0.9134210526, so mark disk full"
FULL_4_9_7 = "physic disk of commitLog maybe full soon, used 0.92, so mark disk full"
FULL_5X = "physic disk maybe full soon 0.92, so mark disk full, storePathPhysic=/data/commitlog"
FORCED_4X = "begin to delete before 72 hours file. timeup: false spacefull: true manualDeleteFileSeveralTimes: 0 cleanAtOnce: true"
FORCED_5X = (
    "begin to delete before 72 hours file. isTimeUp: false isUsageExceedsThreshold: true manualDeleteFileSeveralTimes: 0 "
    "cleanAtOnce: true deleteFileBatchMax: 10"
)


def _log(folder: Path, *words: str) -> Path:
    lines = [
        f"2026-11-21 16:46:{10 * number:02} ERROR StoreScheduledThread1 - {said}\n" for number, said in enumerate(words)
    ]
    (folder / "store.log").write_text("".join(lines))
    return folder


def test_a_share_that_4_6_0_would_count_as_less_may_be_the_reserve(tmp_path: Path) -> None:
    for words in ((FULL_4_9_7,), (FULL_5X, FORCED_5X, FORCED_5X)):
        (one,) = found_in(_log(tmp_path, *words))
        assert (one.incident, one.sure) == (NAME, "likely")
        assert one.why[0] == "the disk counted as full, at 0.92: sends are refused"
        assert "4.6.0 would count less than 0.90" in one.why[-1]
        assert any("whether or not their messages had been consumed" in why for why in one.why) is (len(words) > 1)
        assert one.against == ()


def test_a_disk_that_is_as_full_as_it_says_is_possible_only(tmp_path: Path) -> None:
    for words in (FULL_4_6_0, FULL_4_9_7.replace("0.92", "0.97")):
        (one,) = found_in(_log(tmp_path, words))
        assert (one.incident, one.sure) == (NAME, "possible")
        assert "see df" in one.against[0]


def test_files_that_went_are_told_without_a_full_disk(tmp_path: Path) -> None:
    (one,) = found_in(_log(tmp_path, FORCED_4X))
    assert (one.sure, len(one.why)) == ("possible", 1)
    assert found_in(_log(tmp_path, FORCED_4X.replace("cleanAtOnce: true", "cleanAtOnce: false"))) == []


def test_a_path_of_windows_has_no_reserve_and_no_tune2fs(tmp_path: Path) -> None:
    folder = _log(tmp_path, FULL_5X.replace("/data/commitlog", r"D:\rocketmq\store\commitlog"))
    (one,) = found_in(folder)
    assert (one.incident, one.sure, one.advice) == (NAME, "possible", "Make room on that drive.")
    assert not [said for said in (*one.why, *one.against) if "ext4" in said or "tune2fs" in said]
