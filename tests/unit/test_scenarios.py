from __future__ import annotations

import re

import pytest

import scenarios
from harness.errors import UsageError
from harness.model.claims import Claim, Statistic
from harness.model.scenario import Scenario
from harness.releases.jars import known_releases

CLAIMS = [(scenario, claim) for scenario in scenarios.ALL for claim in scenario.claims]
EVERY_CLAIM = pytest.mark.parametrize(("scenario", "claim"), CLAIMS, ids=lambda value: getattr(value, "id", ""))


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_every_scenario_has_a_control_an_incident_and_a_fix(scenario: Scenario) -> None:
    roles = [arm.role for arm in scenario.arms]
    assert {"baseline", "incident", "fix"} <= set(roles)
    assert len({arm.name for arm in scenario.arms}) == len(scenario.arms)


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
    assert set(claim.expected) == set(known_releases())
    for expectation in claim.expected.values():
        assert expectation.because
        assert re.search(r"org\.apache\.rocketmq|logback", expectation.source)


@EVERY_CLAIM
def test_every_number_of_a_rule_has_a_reason(scenario: Scenario, claim: Claim) -> None:
    assert claim.parts
    assert len({part.name for part in claim.parts}) == len(claim.parts)
    for part in claim.parts:
        assert len(part.why) > 20
        if part.quantity.statistic is Statistic.SHARE:
            assert part.quantity.within != (None, None)
        if part.quantity.statistic is Statistic.SLOPE:
            assert part.quantity.slope_on


@EVERY_CLAIM
def test_the_sentence_of_truth_names_parts_that_exist(scenario: Scenario, claim: Claim) -> None:
    named = set(re.findall(r"{([^}]*)}", claim.summary))
    assert named <= {part.name for part in claim.parts}


def test_the_hash_of_a_rule_changes_with_its_bound() -> None:
    import dataclasses

    claim = CLAIMS[0][1]
    stricter = dataclasses.replace(claim.parts[0], bound=claim.parts[0].bound + 1)
    assert dataclasses.replace(claim, parts=(stricter, *claim.parts[1:])).rule_hash() != claim.rule_hash()
    assert dataclasses.replace(claim, says="in other words").rule_hash() == claim.rule_hash()


def test_an_unknown_incident_names_the_nearest() -> None:
    with pytest.raises(UsageError) as caught:
        scenarios.find("append-stal")
    assert "append-stall" in caught.value.advice
