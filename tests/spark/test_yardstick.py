"""A recorded run of seven incidents is judged as it was on the commit that recorded it.

``tests/data/yardstick/run.json.xz`` holds two trials a cell (fewer groups, chatty logs without the lines that nothing asks
for) of runs of commit 1a6e474 on 4.6.0 and 5.3.3; ``findings.json`` is what that commit's analysis made of them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

import scenarios
from harness.model import rules
from harness.paths import PACKAGES
from tests.lib.packed_run import unpack_run

DATA = PACKAGES / "tests" / "data" / "yardstick"

NAMES: Mapping[str, str] = {}
"""Parts that have another name today, by the old one. No part may be left out."""

JUDGED_ANEW = frozenset(claim.id for one in scenarios.ALL for claim in one.claims if isinstance(claim, rules.Claim))
"""Their rules were written anew, by kinds, and are held to hand-made tries (tests/unit/rules): the copy's two trials a cell have
too few deployments for them. That they are found at all is asked for still."""

Key = tuple[str, str, str]


def _key(finding: Mapping[str, str]) -> Key:
    return finding["claim"], finding["release"], finding["injection"]


@pytest.mark.timeout(1800)
def test_the_copy_is_judged_as_it_was(tmp_path: Path) -> None:
    run = tmp_path / "run"
    unpack_run(DATA / "run.json.xz", run)
    subprocess.run(
        [sys.executable, "-m", "mqlab", "analyze", str(run)],
        cwd=PACKAGES,
        capture_output=True,
        check=True,
        timeout=1700,
    )
    before = {_key(finding): finding for finding in json.loads((DATA / "findings.json").read_text())}
    now = {
        _key(finding): finding for finding in json.loads((run / "analysis" / "findings.json").read_text())["findings"]
    }
    assert set(now) == set(before)
    for key, old in before.items():
        if key[0] in JUDGED_ANEW:
            continue
        new = now[key]
        assert (key, new["verdict"], new["reason"], new["trials"]) == (
            key,
            old["verdict"],
            old["reason"],
            old["trials"],
        )
        parts = {part["name"]: part for part in new["parts"]}
        for old_part in old["parts"]:
            part = parts.pop(NAMES.get(old_part["name"], old_part["name"]))
            assert (key, part["verdict"], part["units"]) == (key, old_part["verdict"], old_part["units"])
            for end in ("estimate", "low", "high"):
                assert part[end] == pytest.approx(old_part[end], rel=1e-9), (key, old_part["name"], end)
        assert not parts, (key, "parts that were not there")
