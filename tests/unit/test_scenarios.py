from __future__ import annotations

import dataclasses
import re

import pytest

import scenarios
from harness.errors import UsageError
from harness.model.incident import Incident
from harness.model.rules import PLACEHOLDER, Claim
from harness.model.scenario import Scenario
from harness.paths import PACKAGES
from harness.releases.jars import recorded_releases
from scenarios.own_load import OWN_LOAD
from scenarios.releases import RELEASES

CLAIMS = [(scenario, claim) for scenario in scenarios.ALL for claim in scenario.claims]
EVERY_CLAIM = pytest.mark.parametrize(("scenario", "claim"), CLAIMS, ids=lambda value: getattr(value, "id", ""))


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_every_scenario_has_a_control_an_incident_and_a_fix(scenario: Scenario) -> None:
    roles = [arm.role for arm in scenario.arms]
    assert {"baseline", "incident", "fix"} <= set(roles)
    assert len({arm.name for arm in scenario.arms}) == len(scenario.arms)


def test_an_incident_is_found_by_the_name_of_its_file() -> None:
    files = sorted((PACKAGES / "scenarios").glob("*.py"), key=lambda path: path.stem)
    replayed, told = (
        [path.stem for path in files if f"\n{value}" in path.read_text("utf-8")]
        for value in ("SCENARIO", "INCIDENT = ")
    )
    assert [one.name.replace("-", "_") for one in scenarios.ALL] == replayed
    assert [one.name.replace("-", "_") for one in scenarios.INCIDENTS] == sorted([*replayed, *told])
    assert OWN_LOAD not in scenarios.INCIDENTS


def test_a_claim_belongs_to_one_incident() -> None:
    ids = [claim.id for _, claim in CLAIMS]
    assert len(set(ids)) == len(ids)


@EVERY_CLAIM
def test_a_rule_speaks_of_arms_and_cells_that_are_run(scenario: Scenario, claim: Claim) -> None:
    for part in claim.parts:
        for quantity in part.quantities():
            cells = scenario.arm(quantity.arm).cells
            for name in cells[0]:
                wanted = quantity.where.get(name)
                if wanted is not None:
                    run = {cell[name] for cell in cells}
                    assert set(wanted) <= run, f"{claim.id} {part.name}: {set(wanted) - run} is never run"


@EVERY_CLAIM
def test_every_release_has_an_expectation_with_its_source(scenario: Scenario, claim: Claim) -> None:
    # A release that is known and not among these has none yet, which each finding says.
    assert set(RELEASES) <= set(recorded_releases())
    assert set(claim.expected) == {release for release in RELEASES if scenario.asks(claim, release)}
    for expectation in claim.expected.values():
        assert expectation.because
        assert re.search(r"org\.apache\.rocketmq|logback|rocketmq-client-cpp", expectation.source)


@EVERY_CLAIM
def test_every_number_of_a_rule_has_a_reason(scenario: Scenario, claim: Claim) -> None:
    assert claim.parts
    assert len({part.name for part in claim.parts}) == len(claim.parts)
    for part in claim.parts:
        assert len(part.because) > 10
        assert min(part.if_true, part.if_false) <= part.bound <= max(part.if_true, part.if_false)
        assert part.if_true != part.if_false


# --- what users reported ----------------------------------------------------------------------------------------------


def test_an_incident_is_of_the_articles_or_has_the_threads_that_reported_it() -> None:
    assert all(bool(scenario.article) != bool(scenario.threads) for scenario in scenarios.ALL)
    for scenario in scenarios.ALL:
        # An article's incident may have a claim that no article makes; a reported one has no other.
        assert scenario.article or not any(claim.article for claim in scenario.claims)


@pytest.mark.parametrize("incident", [one for one in scenarios.ALL if one.threads], ids=lambda one: one.name)
def test_a_reported_incident_says_by_which_claims_it_happens_and_is_cured(incident: Scenario) -> None:
    claims, faces = [claim.id for claim in incident.claims], incident.faces
    assert claims == [f"X-{incident.name}-{number:02}" for number in range(1, len(claims) + 1)]
    assert {*faces.values(), *incident.cures} <= {*claims}
    assert faces
    assert not {*faces.values()} & {*incident.cures}
    assert len(faces) == 1 or "" not in faces, "each of several faces needs its phrase"


@pytest.mark.parametrize("incident", scenarios.INCIDENTS, ids=lambda one: one.name)
def test_threads_are_of_the_repository_and_cures_are_claims_of_the_lab(incident: Incident) -> None:
    assert all(re.fullmatch(r"(issues|pull)/\d+", thread) for thread in incident.threads)
    assert {*incident.cures} <= {claim.id for _, claim in CLAIMS}


def test_what_nothing_replays_cannot_be_found_to_be_run() -> None:
    with pytest.raises(UsageError) as caught:
        scenarios.find("remote-configuration")
    assert str(caught.value) == "nothing replays remote-configuration"
    assert caught.value.advice == "What to do about it: mqlab explain remote-configuration"


@EVERY_CLAIM
def test_the_sentence_of_truth_names_parts_that_exist(scenario: Scenario, claim: Claim) -> None:
    assert {name for _, name in PLACEHOLDER.findall(claim.summary)} <= {
        part.name for part in (*claim.parts, *claim.beside)
    }


def test_the_hash_of_a_rule_changes_with_its_bound() -> None:
    _, claim = CLAIMS[0]
    stricter = dataclasses.replace(claim.parts[0], bound=claim.parts[0].bound + 1)
    assert dataclasses.replace(claim, parts=(stricter, *claim.parts[1:])).rule_hash() != claim.rule_hash()
    assert dataclasses.replace(claim, says="in other words").rule_hash() == claim.rule_hash()


def test_an_unknown_incident_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        scenarios.find("append-stal")
    assert "append-stall" in caught.value.advice
