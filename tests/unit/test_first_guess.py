from __future__ import annotations

import dataclasses
import json

from harness.plan.cost import FIRST_GUESS
from harness.rundir.manifest import TrialRecord
from tests.lib.records import trial_record
from tools.first_guess import rows_of, with_rows

TOOK = {"seconds": 40.0, "boot_s": 5.0, "cpu_s": 20.0, "clients_mb": 100.0, "nodes_mb": 300.0}


def _trial(arm: str, release: str, **took: float) -> TrialRecord:
    name = f"new-{release}-{arm}-r1"
    return trial_record(name, incident="new", arm=arm, release=release, took={**TOOK, **took})


def test_a_row_has_the_shortest_times_and_tells_releases_of_4_and_5_apart() -> None:
    trials = [_trial("incident", "4.6.0", seconds=s) for s in (40, 44, 90)] + [_trial("incident", "5.5.0", cpu_s=40.0)]
    rows = rows_of(trials)
    assert list(rows) == ["new"]
    assert rows["new"]["seconds"] == {"4": 40, "5": 40}
    # 20 s of a core, over the shortest.
    assert rows["new"]["cores"] == {"4": 0.5, "5": 1.0}


def test_an_arm_that_is_far_from_its_incident_has_a_row_of_its_own() -> None:
    usual = [_trial("incident", "4.6.0")] * 3
    assert list(rows_of([*usual, _trial("fix", "4.6.0", seconds=59.0, cpu_s=29.0)])) == ["new"]
    assert list(rows_of([*usual, _trial("fix", "4.6.0", seconds=61.0)])) == ["new", "new/fix"]


def test_trials_that_did_not_end_say_nothing() -> None:
    assert rows_of([dataclasses.replace(_trial("incident", "4.6.0"), status="failed")]) == {}


def test_what_has_a_row_keeps_it() -> None:
    text = FIRST_GUESS.read_text("utf-8")
    known = json.loads(text)
    row = {"seconds": {"4": 1.0}}
    after = with_rows(text, {"append-stall": row, "new": row, "new/fix": row})
    assert json.loads(after) == {**known, "new": row, "new/fix": row}
    assert after.startswith(text.removesuffix("\n}\n"))
    assert with_rows(text, {}) == text
