"""What a diagnosis finds of a disk that counts as full: lines as the releases write them."""

from __future__ import annotations

from pathlib import Path

from tests.lib.operators_logs import found_in, read

FULL, NEAR = "disk-is-full", "disk-ratio-counts-differently"
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


def test_near_the_limit_the_reserve_may_be_what_makes_the_disk_full(tmp_path: Path) -> None:
    for words in ((FULL_4_9_7,), (FULL_5X, FORCED_5X, FORCED_5X)):
        full, near = found_in(_log(tmp_path, *words))
        assert (full.incident, full.sure) == (FULL, "sure")
        assert full.why[0] == "the broker counted its disk as full, at 0.92: it refuses sends"
        assert (near.incident, near.sure) == (NEAR, "possible")
        assert "4.6.0 would count less than 0.90" in near.why[-1]
        for one in (full, near):
            assert any("whether or not their messages had been consumed" in why for why in one.why) is (len(words) > 1)
        assert "see df" in near.against[0]


def test_a_disk_that_is_as_full_as_it_says_is_full_and_nothing_else(tmp_path: Path) -> None:
    for words in (FULL_4_6_0, FULL_4_9_7.replace("0.92", "0.97"), FULL_5X.replace("0.92", "0.98")):
        (one,) = found_in(_log(tmp_path, words))
        assert (one.incident, one.sure, one.against) == (FULL, "sure", ())
    assert one.why[1:] == ("the full disk is that of /data/commitlog",)


def test_files_that_went_are_told_without_a_full_disk(tmp_path: Path) -> None:
    full, near = found_in(_log(tmp_path, FORCED_4X))
    assert (full.incident, full.sure, len(full.why)) == (FULL, "likely", 1)
    assert (near.incident, near.sure, len(near.why)) == (NEAR, "possible", 1)
    assert found_in(_log(tmp_path, FORCED_4X.replace("cleanAtOnce: true", "cleanAtOnce: false"))) == []


def test_a_path_of_windows_has_no_reserve_and_no_tune2fs(tmp_path: Path) -> None:
    folder = _log(tmp_path, FULL_5X.replace("/data/commitlog", r"D:\rocketmq\store\commitlog"))
    found = found_in(folder)
    assert [(one.incident, one.sure) for one in found] == [(FULL, "sure"), (NEAR, "possible")]
    assert {one.advice for one in found} == {"Make room on that drive."}
    assert not [said for one in found for said in (*one.why, *one.against) if "ext4" in said or "tune2fs" in said]


REFUSED = (
    "2026-11-21 16:46:30,500 ERROR main - send failed\norg.apache.rocketmq.client.exception.MQBrokerException: CODE: 14  DESC: "
    "service not available now. It may be caused by one of the following reasons: the broker's disk is full [CL:  {cl} CQ:  {cq} "
    "INDEX:  {cl}], messages are put to the slave, message store has been shut down, etc. BROKER: 10.0.0.9:10911\n"
)
STORE_REFUSES = (
    "the message store is not writable. It may be caused by one of the following reasons: the broker's disk is full"
)
OK = "physic disk space OK 0.7, so mark disk ok, storePathPhysic=/data/commitlog"


def _client(folder: Path, cl: str, cq: str) -> None:
    (folder / "app").mkdir(exist_ok=True)
    (folder / "app" / "app.log").write_text(REFUSED.format(cl=cl, cq=cq) * 4)


def test_refused_sends_and_what_could_not_be_deleted_are_evidence_of_a_full_disk(tmp_path: Path) -> None:
    (tmp_path / "b1").mkdir()
    full = FULL_5X.replace("0.92", "0.98")
    _log(tmp_path / "b1", full, "disk space will be full soon, but delete file failed.", STORE_REFUSES, full, OK)
    _client(tmp_path, "0.98", "0.98")
    found = read(tmp_path, offset_s=0.0)
    (one,) = found.incidents
    assert (one.found.incident, one.is_replayed, found.warned) == (FULL, False, ())
    assert one.found.related == (
        "4 sends were refused, since the store was not writable (CODE 14)",
        "it looked for old files, and found none to delete (1 time)",
        "2026-11-21 16:46:40Z the broker counted it as full no more",
    )
    assert "the broker's host" in one.advice
    assert (
        one.advice.index("df -h") < one.advice.index("deleteExpiredCommitLog") < one.advice.index("-k fileReservedTime")
    )


def test_what_a_broker_answered_tells_of_a_full_disk_without_its_own_log(tmp_path: Path) -> None:
    for cl, cq, incident in (("0.98", "0.98", FULL), ("0.40", "0.95", FULL), ("0.89", "0.41", "store-not-writable")):
        _client(tmp_path, cl, cq)
        (one,) = found_in(tmp_path)
        assert one.incident == incident
        assert one.brokers == ("10.0.0.9:10911",)
        assert any(f"the disk was at {max(cl, cq)}" in why for why in one.why)
