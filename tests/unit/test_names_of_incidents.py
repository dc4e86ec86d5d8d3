"""No incident is known by its name where things are made to happen, or judged: what it needs, it says itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import scenarios
from harness.model.faults import FAULTS
from harness.model.scenario import ArmRole
from harness.paths import PACKAGES

WORDS = {*ArmRole} | {"append-stall", "rolling-upgrade"}
"""Words of their own: the roles of arms, and faults that are called as the incident that they are the whole of."""
NAMES = (
    {one.name for one in scenarios.INCIDENTS}
    | {arm.name for one in scenarios.ALL for arm in one.arms}
    | {claim.id for one in scenarios.ALL for claim in one.claims}
) - WORDS


def _named(text: str) -> Iterator[tuple[int, str]]:
    """Names that stand in a file as a text or as a part of an f-string, with their lines."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value in NAMES:
            yield node.lineno, node.value


def _files() -> Iterator[Path]:
    for package in ("harness", "analysis"):
        yield from sorted((PACKAGES / package).rglob("*.py"))


def test_no_incident_arm_or_claim_is_named_in_the_harness_or_the_analysis() -> None:
    found = {str(path.relative_to(PACKAGES)): [*_named(path.read_text("utf-8"))] for path in _files()}
    assert {name: names for name, names in found.items() if names} == {}


def test_a_name_is_seen_wherever_it_stands() -> None:
    text = 'IF = {"busy-flag-stuck": 1}\nCLAIM = f"BUSY-14"\nWHY = "as busy-flag-stuck"\nROLE = "baseline"\n'
    assert [*_named(text)] == [(1, "busy-flag-stuck"), (2, "BUSY-14")]


def test_a_word_of_its_own_is_a_role_or_a_fault() -> None:
    assert {*WORDS} - {*ArmRole} <= {fault.kind for fault in FAULTS}
