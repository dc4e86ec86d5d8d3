"""The one order in which the report lists things, so that two reports of the same data are the same bytes."""

from __future__ import annotations

import re

from harness.model.scenario import ArmRole

ROLE_ORDER = {ArmRole.INCIDENT: 0, ArmRole.FIX: 1, ArmRole.BETTER: 2, ArmRole.BASELINE: 3}
"""The incident first and what helps against it beside it; the baseline closes."""


def natural_key(text: str) -> tuple[tuple[int, int, str], ...]:
    """Sorts numbers inside names by value: BUSY-9 before BUSY-10, 4.9.7 before 4.10.0."""
    return tuple(
        (1, int(part), "") if part.isdigit() else (0, 0, part) for part in re.split(r"(\d+)", text, flags=re.ASCII)
    )


def is_between(release: str, since: str, until: str) -> bool:
    """Whether a release is neither older than ``since`` nor newer than ``until``; an empty one bounds nothing."""
    key = natural_key(release)
    return not (since and key < natural_key(since)) and not (until and key > natural_key(until))


def arm_role(arm: str) -> ArmRole | None:
    """The role that an arm's name starts with, or None for a name that follows no convention."""
    try:
        return ArmRole(arm.split("-", 1)[0])
    except ValueError:
        return None


def arm_key(arm: str) -> tuple[int, str]:
    """Sorts arms by what they are for: incident, fix, better, baseline."""
    role = arm_role(arm)
    return (ROLE_ORDER[role] if role is not None else len(ROLE_ORDER), arm)
