"""What is carried over to a release that is not recorded: tried by hiding each recorded one, whose verdicts were measured."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from analysis.ledger.lines import CarriedLine
from harness.model.verdicts import VerdictKind
from harness.releases.compare import compare, rests_on
from harness.releases.jars import recorded_releases
from mqlab import carried
from mqlab.recorded import committed_ledger

CLIENT = "org.apache.rocketmq.client"
ALL = recorded_releases()
OTHERWISE = {
    ("4.6.0", "X-orderly-start-waits-03", "none"),
    ("4.9.7", "X-orderly-start-waits-03", "none"),
    ("5.3.3", "BUSY-20", "freeze"),
    ("5.5.0", "BUSY-20", "freeze"),
}
"""By release, claim and injection what the same code was measured to do otherwise: it is called by other code there."""


@pytest.fixture(params=ALL)
def hidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """One of the recorded releases, which the command takes for one that is not."""
    monkeypatch.setattr(carried, "recorded_releases", lambda: tuple(one for one in ALL if one != request.param))
    carried.carried.cache_clear()
    yield request.param
    carried.carried.cache_clear()


def test_what_is_carried_over_is_what_was_measured(hidden: str) -> None:
    measured = {
        (line.claim, line.injection): line.verdict
        for line in committed_ledger()
        if (line.release, line.backend) == (hidden, carried.LOCAL) and line.verdict is not VerdictKind.UNDECIDED
    }
    found = [
        line
        for line in carried.carried(hidden).lines
        if line.verdict is not VerdictKind.UNDECIDED and (line.claim, line.injection) in measured
    ]
    assert len(found) >= 50
    otherwise = {
        (hidden, line.claim, line.injection)
        for line in found
        if line.verdict is not measured[line.claim, line.injection]
    }
    assert otherwise == {one for one in OTHERWISE if one[0] == hidden}


def test_each_claim_is_carried_over_or_it_is_said_why_not(hidden: str) -> None:
    found = carried.carried(hidden)
    assert found.donors.keys().isdisjoint(found.unknown)
    assert all(found.unknown.values())
    assert {*found.donors.values()} <= {*carried.beside(hidden)}
    assert {line.claim for line in found.lines} == found.donors.keys()


def test_a_line_that_is_carried_over_says_so_wherever_it_is_told(hidden: str) -> None:
    lines = [line for line in carried.ledger_on(hidden) if isinstance(line, CarriedLine)]
    assert lines
    assert {line.release for line in lines} == {hidden}
    for line in lines:
        assert line.provenance == f"carried over from {line.carried_from}, not measured on {hidden}"
        assert line.provenance in line.status
        assert line.carried_from != hidden


def test_a_recorded_release_is_beside_itself() -> None:
    assert carried.beside("5.3.3") == ("5.3.3",)
    assert carried.beside("4.9.4") == ("4.6.0", "4.9.7")
    assert carried.beside("5.1.4") == ("4.9.7", "5.3.3")
    assert carried.beside("4.4.0") == ("4.6.0",)
    assert carried.beside("5.9.0") == ("5.5.0",)
    assert carried.ledger_on("5.3.3") == committed_ledger()


@pytest.mark.parametrize(
    ("name", "before", "after", "same"),
    [
        (f"{CLIENT}.producer.selector.SelectMessageQueueByHash.select", "4.9.7", "5.3.3", True),
        (f"{CLIENT}.producer.selector.SelectMessageQueueByHash.select", "4.6.0", "4.9.7", False),
        # Its own code is the same; what it calls is not.
        (f"{CLIENT}.impl.consumer.ConsumeMessageConcurrentlyService.processConsumeResult", "4.6.0", "4.9.7", False),
    ],
)
def test_code_is_the_same_with_what_it_calls(name: str, before: str, after: str, same: bool) -> None:
    assert not compare(name, before, after).concerned or name.endswith("select")
    assert (rests_on(name, before) == rests_on(name, after)) is same
