"""The hash of an experiment: what changes it, and what does not."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import scenarios
from harness.model import experiment
from harness.model.cluster import BrokerSettings
from harness.model.experiment import experiment_hash
from harness.model.loads import OpenLoopSends
from harness.model.measures import CHECKER_VERSIONS, MEASURES
from harness.model.scenario import Arm, Scenario
from harness.releases.jars import jars_sha256, recorded_releases

SCENARIO = scenarios.find("append-stall")
ARM = SCENARIO.arm("incident")
PARAMS = ARM.cells[0]


def hashed(scenario: Scenario = SCENARIO, arm: Arm = ARM, **changed: Any) -> str:
    made: dict[str, Any] = {
        "params": PARAMS, "release": "5.3.3", "jars": "abc", "client": "java 5.3.3", "backend": "local",
        "injection": "byteman",
    }  # fmt: skip
    made.update(changed)
    return experiment_hash(scenario, arm, made.pop("params"), **made)


def test_a_new_field_with_its_default_changes_no_hash() -> None:
    wider = dataclasses.make_dataclass(
        "OpenLoopSends", [("new", int, dataclasses.field(default=3))], bases=(OpenLoopSends,), frozen=True, kw_only=True
    )
    told = {field.name: getattr(ARM.load, field.name) for field in dataclasses.fields(ARM.load)}
    assert isinstance(ARM.load, OpenLoopSends)
    assert hashed(arm=dataclasses.replace(ARM, load=wider(**told))) == hashed()
    assert hashed(arm=dataclasses.replace(ARM, load=wider(**told, new=4))) != hashed()


@pytest.mark.parametrize(
    "changed",
    [
        {"params": {**PARAMS, "stall_ms": 451}},
        {"release": "4.6.0"},
        {"jars": "abd"},
        {"client": "java 4.6.0"},
        {"backend": "compose"},
        {"injection": "freeze"},
        {"chosen_injection": "freeze"},
        {"scenario": dataclasses.replace(SCENARIO, experiment_version=2)},
        {"scenario": dataclasses.replace(SCENARIO, phases=dataclasses.replace(SCENARIO.phases, steady_s=99.0))},
        {"scenario": dataclasses.replace(SCENARIO, topology=dataclasses.replace(SCENARIO.topology, masters=2))},
        {"arm": dataclasses.replace(ARM, name="incident-other")},
        {"arm": dataclasses.replace(ARM, live_conf={"waitTimeMillsInSendQueue": "300"})},
        {"arm": dataclasses.replace(ARM, client={"sendMsgTimeout": "1000"})},
        {"arm": dataclasses.replace(ARM, broker=BrokerSettings(conf={"sendMessageThreadPoolNums": "2"}))},
        {"arm": dataclasses.replace(ARM, fault=scenarios.find("ordered-lock-handover").arm("incident").fault)},
    ],
    ids=lambda changed: next(iter(changed)),
)
def test_what_decides_what_happens_changes_the_hash(changed: dict[str, Any]) -> None:
    assert hashed(**changed) != hashed()


def test_texts_budgets_and_other_cells_change_no_hash() -> None:
    assert hashed(arm=dataclasses.replace(ARM, what="Other words.", trials=99, cells=(PARAMS,))) == hashed()
    other = dataclasses.replace(SCENARIO, title="x", summary="y", budget=SCENARIO.quick_budget, hiccup_ms_max=1.0)
    assert hashed(scenario=other) == hashed()
    assert hashed(params={name: float(value) for name, value in PARAMS.items()}) == hashed()


def test_a_raised_version_of_a_checker_changes_the_hashes_of_the_arms_that_need_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    before = hashed()
    monkeypatch.setattr(experiment, "CHECKER_VERSIONS", {"queue_numbers": 2})
    assert hashed() == before
    monkeypatch.setattr(experiment, "CHECKER_VERSIONS", {"busy": 2})
    assert hashed() != before


def test_no_two_cells_of_the_incidents_share_a_hash() -> None:
    cells = [(one, arm, cell) for one in scenarios.ALL for arm in one.arms for cell in arm.cells]
    assert len({hashed(one, arm, params=cell) for one, arm, cell in cells}) == len(cells)


def test_every_release_has_jars_of_its_own() -> None:
    assert len({jars_sha256(release) for release in recorded_releases()}) == len(recorded_releases())


def test_only_versions_of_checkers_that_exist_are_raised() -> None:
    assert CHECKER_VERSIONS.keys() <= {checker for measure in MEASURES.values() for checker in measure.checkers}
    assert all(version > 1 for version in CHECKER_VERSIONS.values())
