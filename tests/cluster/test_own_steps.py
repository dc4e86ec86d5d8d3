"""The examples of steps run on a real broker, and their readings are what happened."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

from harness.errors import EXIT_OK, ConfigurationError
from harness.model.faults import JavaRule
from harness.paths import PACKAGES
from harness.releases.java import Java
from harness.releases.rules import check_own_rules

OWN = PACKAGES / "docs" / "own"
RELEASE = "5.5.0"
COMMAND_S_MAX = 600
BUSY = "org.apache.rocketmq.store.DefaultMessageStore.isOSPageCacheBusy"


def _readings(folder: Path, *names: str) -> dict[str, float]:
    """Of one trial of each, by their names."""
    run = folder / "run"
    command = [
        sys.executable, "-m", "mqlab", "verify", *(str(OWN / f"{name}.py") for name in names),
        "--release", RELEASE, "--trials", "1", "--out", str(run),
    ]  # fmt: skip
    environment = {**os.environ, "PYTHONPATH": str(PACKAGES), "XDG_STATE_HOME": str(folder / "state")}
    done = subprocess.run(
        command, env=environment, capture_output=True, text=True, timeout=COMMAND_S_MAX, check=False, cwd=folder
    )
    assert done.returncode == EXIT_OK, done.stdout + done.stderr
    lines = (run / "analysis" / "findings.jsonl").read_text(encoding="utf-8").splitlines()
    figures = [figure for line in lines for figure in json.loads(line).get("figures", ())]
    return {one["params"]["reading"]: one["p50"] for one in figures if one["name"] == "read_value"}


@pytest.mark.parametrize(
    ("rule", "says"),
    [
        (JavaRule(places=(BUSY,), does="return tru("), "cannot parse 'true' and 'return tru('"),
        (JavaRule(places=(BUSY,), does="foo(3)"), "invalid method foo"),
        (
            JavaRule(places=("a.B.c", "org.apache.rocketmq.store.DefaultMessageStore.no"), does="return"),
            "has no method a.B.c or",
        ),
    ],
    ids=["no Java", "no method", "no place"],
)
def test_byteman_reads_a_rule_before_the_start(rule: JavaRule, says: str, java: Java) -> None:
    with pytest.raises(ConfigurationError, match=re.escape(says)):
        check_own_rules([rule], RELEASE, java)


def test_every_third_time_is_a_condition(java: Java) -> None:
    check_own_rules([JavaRule(places=(BUSY,), when='incrementCounter("a") % 3 == 0', does="delay(200)")], RELEASE, java)


def test_the_examples_of_steps_read_what_happened(tmp_path: Path) -> None:
    root = ("disk_full_then_restart",) if os.geteuid() == 0 else ()
    found = _readings(
        tmp_path, "broker_that_does_not_start", "classes_of_ours", "readings_of_ours", "a_rule_of_ours", *root
    )
    assert (found["with-taken-port"], found["with-free-port"]) == (0, 1)
    assert found["with-taken-port-lines"] >= 1
    assert found["up"] == 1
    assert 1000 < found["bytes"] < 2000
    assert found["topics"] == 300
    assert found["send-to-ours"] == 1
    assert (found["send-to-no-topic-lines"], found["odd-group-lines"]) == (1, 1)
    if root:  # a disk is filled by root alone
        assert found["stores"] == 1
