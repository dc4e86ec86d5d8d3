from __future__ import annotations

import pytest

import scenarios
from harness.errors import ReleaseError
from harness.model.rules import Claim
from harness.model.scenario import Scenario
from harness.releases.class_file import class_of, methods
from harness.releases.compare import check_is_there, compare, names_in, parts_of
from harness.releases.jars import recorded_releases
from scenarios.releases import READ
from tools import code_changes
from tools.code_changes import lines, unread

CLIENT = "org.apache.rocketmq.client"
STORE = "org.apache.rocketmq.store"

CLAIMS = [(scenario, claim) for scenario in scenarios.ALL for claim in scenario.claims]


@pytest.mark.parametrize(
    ("name", "before", "after", "concerned"),
    [
        (f"{CLIENT}.producer.selector.SelectMessageQueueByHash.select", "4.6.0", "4.9.7", True),
        (f"{CLIENT}.producer.selector.SelectMessageQueueByHash.select", "4.9.7", "5.3.3", False),
        (f"{CLIENT}.impl.consumer.RebalanceService.run", "4.6.0", "4.9.7", False),
        (f"{CLIENT}.impl.consumer.RebalanceService.run", "4.9.7", "5.3.3", True),
        (f"{STORE}.TransientStorePool", "4.6.0", "4.9.7", False),
        (f"{STORE}.TransientStorePool.availableBufferNums", "4.9.7", "5.3.3", True),
        # A field is set by the class's initializer, in which 5.3.3 makes another logger.
        (f"{STORE}.TransientStorePool.log", "4.9.7", "5.3.3", True),
    ],
)
def test_what_a_newer_release_changed_is_told_by_its_class_files(
    name: str, before: str, after: str, concerned: bool
) -> None:
    change = compare(name, before, after)
    assert change.concerned is concerned
    assert bool(change.changed) is concerned


def test_a_change_elsewhere_in_the_class_is_told_and_does_not_concern() -> None:
    change = compare(f"{CLIENT}.impl.consumer.ProcessQueue.isLockExpired", "4.9.7", "5.3.3")
    assert not change.concerned
    assert "cleanExpiredMsg" in change.changed


def test_a_release_differs_from_itself_in_nothing() -> None:
    for found in methods(class_of("5.3.3", f"{STORE}.CommitLog")):
        assert not compare(f"{STORE}.CommitLog.{found.name}", "5.3.3", "5.3.3").changed


def test_a_class_that_a_release_lacks_is_said() -> None:
    with pytest.raises(ReleaseError, match=r"no jar of 5\.3\.3 has org\.apache\.rocketmq\.store\.MappedFile$"):
        compare(f"{STORE}.MappedFile.appendMessagesInner", "4.9.7", "5.3.3")


def test_names_are_read_from_what_an_expectation_cites() -> None:
    source = f"{STORE}.CommitLog.CommitRealTimeService and {STORE}.DefaultMessageStore.isOSPageCacheBusy, twice"
    assert names_in(source) == (
        f"{STORE}.CommitLog.CommitRealTimeService",
        f"{STORE}.DefaultMessageStore.isOSPageCacheBusy",
    )
    assert parts_of(f"{STORE}.CommitLog.CommitRealTimeService.run") == (
        f"{STORE}.CommitLog$CommitRealTimeService",
        "run",
    )
    assert parts_of(f"{STORE}.Locks.MAX_TIME") == (f"{STORE}.Locks", "MAX_TIME")
    with pytest.raises(ReleaseError, match="names no class"):
        parts_of(STORE)


def test_a_member_that_a_release_lacks_is_said() -> None:
    with pytest.raises(ReleaseError, match=r"CommitLog of 5\.3\.3 has no putMessage$"):
        compare(f"{STORE}.CommitLog.putMessage", "4.6.0", "5.3.3")


@pytest.mark.parametrize(("scenario", "claim"), CLAIMS, ids=lambda value: getattr(value, "id", ""))
def test_what_an_expectation_cites_is_there_in_its_release(scenario: Scenario, claim: Claim) -> None:
    for release, expected in claim.expected.items():
        for name in names_in(expected.source):
            check_is_there(name, release)


@pytest.mark.parametrize("after", READ)
def test_an_expectation_for_two_releases_cites_code_that_is_the_same_or_was_read(after: str) -> None:
    before = recorded_releases()[recorded_releases().index(after) - 1]
    assert list(unread(before, after)) == []


@pytest.mark.parametrize("after", READ)
def test_what_was_read_is_cited_and_did_change(after: str) -> None:
    before = recorded_releases()[recorded_releases().index(after) - 1]
    told = list(lines(before, after))
    for name, difference in READ[after].items():
        assert any(f" {name} changed, and was read: {difference}" in line for line in told), name


def test_code_that_changed_and_was_not_read_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    name = f"{STORE}.CommitLog.FlushRealTimeService"
    assert f"POOL-07: {name}" not in list(unread("5.3.3", "5.5.0"))
    kept = {read: difference for read, difference in READ["5.5.0"].items() if read != name}
    monkeypatch.setattr(code_changes, "READ", {"5.5.0": kept})
    assert f"POOL-07: {name}" in list(unread("5.3.3", "5.5.0"))


def test_every_claim_that_cites_code_has_a_line() -> None:
    told = list(lines("4.6.0", "4.9.7"))
    assert len(told) > 60
    assert not [line for line in told if "no jar" in line]
    assert any(line.startswith("QUEUES-03: ") and " changed " in line for line in told)
