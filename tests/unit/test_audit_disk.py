"""What an audit says of a broker's disk, from the share that the broker itself writes."""

from __future__ import annotations

import pytest

from harness.audit.disk import disk_fills
from harness.audit.finding import AuditFinding, Severity
from harness.audit.reading import BrokerReading


def _found(share: str, **conf: str) -> list[AuditFinding]:
    return list(disk_fills(BrokerReading(name="broker-a", broker_id=0, address="", conf=conf, disk_share=share)))


@pytest.mark.parametrize(
    ("share", "does"), [("0.92", "it refuses sends"), ("0.86", "deletes files"), ("0.9134210526", "it refuses sends")]
)
def test_a_disk_above_a_limit_is_critical(share: str, does: str) -> None:
    (one,) = _found(share)
    assert (one.kind, one.severity, one.where) == ("disk-full", Severity.CRITICAL, "broker-a")
    assert does in one.says


@pytest.mark.parametrize("share", ["0.85", "0.37", "-1.0", "", "NaN", "Infinity", "much"])
def test_a_disk_with_room_and_a_share_that_is_none_are_no_findings(share: str) -> None:
    assert _found(share) == []


def test_a_share_without_the_reserve_is_told_before_an_upgrade() -> None:
    (one,) = _found("0.8199304")
    assert (one.kind, one.severity) == ("disk-full-after-upgrade", Severity.WARNING)
    assert "4.9.2 and newer count 0.87" in one.says
    assert _found("0.82") == []
    assert _found("0.8012345") == []


def test_a_raised_ratio_keeps_files_and_takes_no_sends() -> None:
    assert _found("0.87", diskMaxUsedSpaceRatio="95") == []
    assert _found("0.87", diskMaxUsedSpaceRatio="many")[0].kind == "disk-full"
    assert "refuses sends" in _found("0.93", diskMaxUsedSpaceRatio="95")[0].says


def test_a_path_of_windows_gets_no_advice_for_ext4() -> None:
    assert "tune2fs -m 0" in _found("0.92", storePathCommitLog="/data/commitlog")[0].advice
    for conf in ({"storePathCommitLog": "D:\\rocketmq\\store"}, {"storePathRootDir": "d:/store"}):
        assert _found("0.92", **conf)[0].advice == "Make room."
        assert _found("0.8199304", **conf) == []
