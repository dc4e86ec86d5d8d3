"""Which checkers are run, by what is asked of which trials."""

from __future__ import annotations

import dataclasses
from types import SimpleNamespace
from typing import Any, cast

import pytest

from analysis import observe
from analysis.checkers.base import Inputs
from tests.lib.own_scenarios import SCENARIOS
from tests.lib.records import trial_record

ASKED = {"handover": ("g0", "g1"), "stall": ()}
"""Groups by incident: consumers are there in the first one alone."""


@pytest.mark.parametrize(
    ("measure", "of", "expected"),
    [
        ("lost_count", "handover", {"loss"}),
        ("lost_count", "stall", {"stored"}),
        ("refused_for_good_count", "handover", set()),
        ("refused_for_good_count", "stall", {"stored"}),
        ("duplicate_count", "handover", {"duplicates"}),
    ],
)
def test_a_checker_runs_where_a_trial_that_it_looks_at_is_asked_for_its_measures(
    measure: str, of: str, expected: set[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ran = set()

    def stub(name: str) -> Any:
        def look(_: Inputs) -> Any:
            ran.add(name)
            return SimpleNamespace(collect=list)

        return SimpleNamespace(observe=look)

    monkeypatch.setattr(observe, "CHECKERS", {name: stub(name) for name in observe.CHECKERS})
    monkeypatch.setattr(observe, "_keep", lambda *_: None)
    scenarios = [
        dataclasses.replace(SCENARIOS[0], name=name, claims=(), extra_measures=(measure,) if name == of else ())
        for name in ASKED
    ]
    trials = [trial_record(name, incident=name, groups=groups) for name, groups in ASKED.items()]
    inputs = cast(Inputs, SimpleNamespace(spark=None, run=SimpleNamespace(trials=trials)))
    observed = observe.observe(inputs, [], scenarios)
    assert observed.failed == {}
    assert ran == expected
