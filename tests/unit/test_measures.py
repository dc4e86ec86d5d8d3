"""The catalogue of measures against what checkers give, what the harness writes down and what claims ask for."""

from __future__ import annotations

import ast
import inspect
from collections import Counter
from pathlib import Path
from types import ModuleType

import pytest

import analysis
import harness
import scenarios
from analysis.observe import CHECKERS
from harness.load.own import OwnLoad
from harness.model import measures
from harness.model.faults import FAULTS
from harness.model.measures import MEASURES, Better, Measure, measures_of
from harness.model.scenario import Scenario
from tests.lib.kinds_of_load import kinds_of_load

WRITTEN_BY_HARNESS = ("answers", "own_readings", "readings")
"""They pass on what was asked while the run lasted, by the names that the harness gave it."""


def texts(path: Path) -> set[str]:
    """All string constants of a module that may be names."""
    nodes = ast.walk(ast.parse(path.read_text()))
    return {node.value for node in nodes if isinstance(node, ast.Constant) and isinstance(node.value, str)}


NAME_FIRST = {"Value", "value", "_value", "of_queues"}
"""What makes a value of a measure, whose name is its first argument."""


def named(module: ModuleType) -> set[str]:
    """The measures that a checker's source names as values."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        given: list[ast.expr | None] = []
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in NAME_FIRST:
            given += node.args[:1]
        if isinstance(node, ast.Dict):
            given += [key for key in node.keys if isinstance(key, ast.Constant) and key.value in MEASURES]
        found |= {item.value for item in given if isinstance(item, ast.Constant) and isinstance(item.value, str)}
    return found


@pytest.mark.parametrize("checker", [name for name in CHECKERS if name not in WRITTEN_BY_HARNESS])
def test_a_checker_gives_the_measures_that_the_catalogue_has_of_it_and_no_others(checker: str) -> None:
    module = CHECKERS[checker]
    assert isinstance(module, ModuleType)
    assert named(module) == set(measures_of(checker))


@pytest.mark.parametrize("checker", WRITTEN_BY_HARNESS)
def test_what_is_passed_on_is_written_by_the_harness(checker: str) -> None:
    written = set()
    for path in Path(str(harness.__file__)).parent.rglob("*.py"):
        if path != Path(str(measures.__file__)):
            written |= texts(path)
    made_of_others = {"faults_per_append", "append_faults"}
    assert set(measures_of(checker)) - made_of_others <= written


def test_the_catalogue_names_checkers_that_there_are() -> None:
    assert {checker for measure in MEASURES.values() for checker in measure.checkers} == set(CHECKERS)


def test_a_measure_comes_from_one_checker() -> None:
    """Two would count each trial twice, and give intervals that are too narrow."""
    times = Counter(name for checker in CHECKERS for name in measures_of(checker))
    # Of the two for loss one judges groups of consumers, the other loads that have none.
    assert {name for name, count in times.items() if count > 1} == {"lost_count"}
    assert set(times) == set(MEASURES)


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_every_measure_that_a_scenario_asks_for_is_in_the_catalogue(scenario: Scenario) -> None:
    assert scenario.measures() <= set(MEASURES)


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_what_a_claim_asks_of_an_arm_is_a_measure_of_its_load_and_fault(scenario: Scenario) -> None:
    for asked in (quantity for claim in scenario.claims for quantity in claim.quantities()):
        measure, arm = MEASURES[asked.measure], scenario.arm(asked.arm)
        assert measure.is_of(arm.load), (asked.measure, asked.arm)
        assert not measure.faults or isinstance(arm.fault, measure.faults), (asked.measure, asked.arm)


def test_no_checker_asks_for_an_incident_or_an_arm_by_its_name() -> None:
    """One of a user's own has other names, and would have no value and no word."""
    names = {scenario.name for scenario in scenarios.ALL} | {arm.name for one in scenarios.ALL for arm in one.arms}
    faults = {fault.kind for fault in FAULTS}
    folders = [Path(str(analysis.__file__)).parent / name for name in ("checkers", "evidence")]
    asked = {(path.name, text) for folder in folders for path in folder.rglob("*.py") for text in texts(path) & names}
    # Some incidents are called as the fault that they are about.
    assert {(path, text) for path, text in asked if text not in faults} == set()


def test_every_load_has_measures_of_its_own_kind() -> None:
    named = {load for measure in MEASURES.values() for load in measure.loads}
    # That of ``mqlab load`` is no incident's.
    assert named == kinds_of_load() - {OwnLoad}


def test_the_goals_of_a_sweep_have_an_order_and_are_what_one_wants_little_of() -> None:
    goals = [measure for measure in MEASURES.values() if measure.goal]
    assert sorted(measure.goal for measure in goals) == list(range(1, len(goals) + 1))
    harms = [measure for measure in MEASURES.values() if measure.harm]
    assert {measure.better for measure in (*goals, *harms)} == {Better.LESS}


@pytest.mark.parametrize("measure", MEASURES.values(), ids=lambda measure: measure.name)
def test_a_measure_carries_its_unit_in_its_name_and_is_explained_in_a_sentence(measure: Measure) -> None:
    last = measure.name.removesuffix("_max").rsplit("_", 1)[-1]
    by_name = "1/s" if measure.name.endswith("_per_s") else last if last in {"s", "ms", "share"} else ""
    assert measure.unit == by_name
    assert measure.says.endswith(".")
    assert measure.says[0].isupper() or measure.says[0].isdigit()
    assert measure.independent.key[0] == "deployment"
