"""What a claim's rule was at an earlier commit, which the code of that commit says."""

from __future__ import annotations

import io
import json
import subprocess
import sys
import tarfile
from dataclasses import dataclass

from harness.paths import PACKAGES
from harness.scratch import scratch_folder

_SAY = """
import dataclasses, hashlib, json, sys
import scenarios

(claim,) = [claim for scenario in scenarios.ALL for claim in scenario.claims if claim.id == sys.argv[1]]
parts = [{**dataclasses.asdict(part), "name": "", "because": "", "noun": "", "scope": ""} for part in claim.parts]
hashes = [hashlib.sha256(json.dumps(part, sort_keys=True).encode()).hexdigest() for part in parts]
print(json.dumps({"rule": claim.rule_hash(), "parts": hashes}))
"""
"""For code of any age: it takes nothing that is younger than rules with hashes."""


@dataclass(frozen=True, kw_only=True)
class RuleThen:
    """The hash of a rule, and those of its parts without their scopes, which are words for what the arm is."""

    rule: str
    parts: tuple[str, ...]


def rule_at(commit: str, claim: str) -> RuleThen | None:
    """None where the commit, or the claim at it, is not known here."""
    code = ("harness", "scenarios", ":(exclude)scenarios/record")
    try:
        packed = subprocess.run(
            ["git", "-C", PACKAGES, "archive", commit, *code], capture_output=True, check=True, timeout=60
        )
        with scratch_folder() as folder:
            with tarfile.open(fileobj=io.BytesIO(packed.stdout)) as tar:
                tar.extractall(folder, filter="data")
            said = subprocess.run(
                [sys.executable, "-c", _SAY, claim], cwd=folder, capture_output=True, check=True, timeout=60
            )
    except (OSError, subprocess.SubprocessError):
        return None
    then = json.loads(said.stdout)
    return RuleThen(rule=then["rule"], parts=tuple(then["parts"]))
