"""Violations planted at random places of real histories: each is found, at its place, and nothing else.

100 of them, or ``PLANTED`` of the environment (``make campaign``: 1,000), and a fiftieth of that without any.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from harness.paths import PACKAGES
from scenarios import ordered_lock_handover
from tests.lib.planted import MEASURES, plant, recorded
from tests.lib.runs import Analysis

RECORDED = PACKAGES / "tests" / "data" / "yardstick" / "run.json.xz"
PLANTED = int(os.environ.get("PLANTED", "100"))
CLEAN = max(4, PLANTED // 50)
SEED = int(os.environ.get("PLANTED_SEED", "24"))

_PLACE = re.compile(r"group (\S+) queue ([^:\s]+:\d+):")


@pytest.mark.timeout(3600)
def test_what_is_planted_in_real_histories_is_found_and_nothing_else(
    analysed: Callable[..., Analysis], tmp_path: Path
) -> None:
    expected = plant(tmp_path / "run", recorded(RECORDED), planted=PLANTED, clean=CLEAN, seed=SEED)
    seen = analysed(tmp_path / "run", ordered_lock_handover.SCENARIO, measures=MEASURES, judging=False)
    judged = [
        (row.trial, row.measure, *_place(row.operation), row.value) for row in seen.rows if row.measure in MEASURES
    ]
    # Each trial was judged by each of the checkers, so that none is clean for want of a look.
    assert len({(trial, measure) for trial, measure, *_ in judged}) == (PLANTED + CLEAN) * len(MEASURES)
    assert {(trial, measure, group, queue) for trial, measure, group, queue, value in judged if value > 0} == expected
    assert len({trial for trial, *_ in expected}) == PLANTED


def _place(operation: str) -> tuple[str, str]:
    found = _PLACE.match(operation)
    assert found, operation
    return found[1], found[2]
