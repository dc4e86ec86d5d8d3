"""A recorded run of seven incidents has a finding for each claim that it had on the commit that recorded it.

``tests/data/yardstick/run.json.xz`` holds two trials a cell (fewer groups, chatty logs without the lines that nothing asks
for) of runs of commit 1a6e474 on 4.6.0 and 5.3.3; ``findings.json`` is what that commit's analysis made of them by earlier
rules. Those of today are held to hand-made tries (tests/unit/rules): two trials a cell are too few deployments for them.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from harness.paths import PACKAGES
from tests.lib.packed_run import unpack_run

DATA = PACKAGES / "tests" / "data" / "yardstick"

Key = tuple[str, str, str]


def _key(finding: Mapping[str, str]) -> Key:
    return finding["claim"], finding["release"], finding["injection"]


@pytest.mark.timeout(1800)
def test_each_claim_of_the_copy_is_found_in_each_release(tmp_path: Path) -> None:
    run = tmp_path / "run"
    unpack_run(DATA / "run.json.xz", run)
    subprocess.run(
        [sys.executable, "-m", "mqlab", "analyze", str(run)],
        cwd=PACKAGES,
        capture_output=True,
        check=True,
        timeout=1700,
    )
    before = {_key(finding) for finding in json.loads((DATA / "findings.json").read_text())}
    now = {_key(finding) for finding in json.loads((run / "analysis" / "findings.json").read_text())["findings"]}
    assert before <= now
