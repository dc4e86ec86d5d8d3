"""What the checkers found: one value of one measure, with the unit that it belongs to and the record that shows it."""

from __future__ import annotations

from dataclasses import dataclass, field

from harness.model.cells import Parameters


@dataclass(frozen=True, kw_only=True)
class Source:
    """Where a value can be looked up: ``file`` relative to the run directory, ``line`` from 1, and the operation."""

    file: str
    line: int
    operation: str = ""


@dataclass(frozen=True, kw_only=True)
class Observation:
    """One value.

    ``unit`` is what is independent of all others (an owner, a stall), ``block`` the deployment that holds it. A
    censored value means "at least this". ``params`` are the cell's and the measure's own.
    """

    measure: str
    incident: str
    arm: str
    release: str
    trial: str
    params: Parameters
    unit: str
    block: str
    value: float
    censored: bool = False
    source: Source | None = None
    injection: str = ""
    """The injection of the trial's deployment, where its incident offers several."""
    extra: Parameters = field(default_factory=dict)
    """The part of ``params`` that the measure added to the cell's."""
