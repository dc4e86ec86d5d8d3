"""Which arms there are on a release that is not recorded: asked of jars that are there, by hiding a recorded release."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import scenarios
from harness.faults.injections import INJECTIONS
from harness.model.faults import JavaRule
from harness.model.log_events import Logged
from harness.releases.compile import RULE_SOURCES
from harness.releases.jars import recorded_releases
from harness.releases.rules import rules_of, unmet_rules
from mqlab.ask import carried
from mqlab.run import on_release
from mqlab.run.on_release import BYTEMAN, RULES, not_there, on_releases, why_not_on

ALL = recorded_releases()
CURES = {
    "avoidance-mended",
    "busy-flag-stuck",
    "delayed-message-fails-once",
    "disk-ratio-counts-differently",
    "idle-broker-burns-cpu",
    "ordered-lock-handover",
}


@pytest.fixture(params=ALL)
def hidden(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """One of the recorded releases, which is taken for one that is not."""
    others = tuple(one for one in ALL if one != request.param)
    for module in (carried, on_release):
        monkeypatch.setattr(module, "recorded_releases", lambda: others)
    return str(request.param)


def test_an_arm_that_a_release_has_no_failure_for_is_of_incidents_that_its_neighbours_have(hidden: str) -> None:
    fitting = {
        scenario.name
        for scenario in scenarios.ALL
        for arm in scenario.arms
        if arm.releases and hidden not in arm.releases and not why_not_on(arm, hidden)
    }
    # What cures a failure, and can be run where that is not there: no setting and no class tells.
    assert fitting <= CURES


def test_most_arms_that_a_release_has_are_found_to_be_its_own(hidden: str) -> None:
    of_it = [arm for one in scenarios.ALL for arm in one.arms if not arm.releases or hidden in arm.releases]
    found = [arm for arm in of_it if not why_not_on(arm, hidden)]
    assert len(found) >= 0.85 * len(of_it)


def test_an_arm_that_is_not_there_is_named_and_not_run(hidden: str) -> None:
    said = list(not_there(scenarios.ALL, [hidden]))
    on = {one.name: one for one in on_releases(scenarios.ALL, [hidden])}
    assert said
    for sentence in said:
        incident, arm = re.findall(r"^(\S+): (\S+) is not applicable on ", sentence)[0]
        (left,) = [one for one in on[incident].arms if one.name == arm]
        assert left.releases
        assert hidden not in left.releases or hidden in scenarios.find(incident).arm(arm).releases


def test_an_event_that_a_release_alone_is_silent_of_is_named(hidden: str, monkeypatch: pytest.MonkeyPatch) -> None:
    silent = {one: ((Logged.BOOTED, "a.Class"),) if one == hidden else () for one in ALL}
    monkeypatch.setattr(on_release, "unwritten", silent.__getitem__)
    assert [said for said in not_there((), [hidden]) if '"broker started"' in said and "a.Class" in said]
    monkeypatch.setattr(on_release, "unwritten", lambda release: silent[hidden])
    assert list(not_there((), [hidden])) == []


def test_recorded_releases_are_left_as_they_are() -> None:
    assert on_releases(scenarios.ALL, ALL) == list(scenarios.ALL)
    assert list(not_there(scenarios.ALL, ALL)) == []


def test_each_fault_that_byteman_makes_has_its_rules() -> None:
    made = {fault for fault, ways in INJECTIONS.items() if BYTEMAN in [way.name for way in ways]}
    assert made - {JavaRule} == {*RULES}, "an incident's own rule stands in its own file"
    assert {*RULES.values()} <= {file.stem for file in RULE_SOURCES.rglob("*.btm")}


@pytest.mark.parametrize("release", ALL)
@pytest.mark.parametrize("file", sorted(RULE_SOURCES.rglob("*.btm")), ids=lambda file: file.stem)
def test_a_byteman_rule_meets_a_method_of_every_release(release: str, file: Path) -> None:
    assert len(rules_of(file)) == file.read_text("utf-8").count("\nRULE ")
    assert unmet_rules(release, file.stem) == ()


def test_a_rule_that_meets_nothing_is_named_with_where_it_was_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "lost.btm").write_text("\nRULE a thing\nCLASS org.apache.rocketmq.store.MappedFile\nMETHOD nowhere\n")
    monkeypatch.setattr("harness.releases.rules.RULE_SOURCES", tmp_path)
    unmet_rules.cache_clear()
    assert unmet_rules("4.9.7", "lost") == ("a thing, in org.apache.rocketmq.store.MappedFile.nowhere",)
    unmet_rules.cache_clear()
