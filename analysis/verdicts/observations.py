"""What the checkers found: one value of one measure, with the unit that it belongs to and the record that shows it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from harness.model.cells import Parameters, ParameterValue


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
    way: str = ""
    """The way of injection of the trial's deployment, where its incident offers several."""
    extra: Parameters = field(default_factory=dict)
    """The part of ``params`` that the measure added to the cell's."""


def same_value(left: ParameterValue, right: ParameterValue) -> bool:
    """``450``, ``450.0`` and ``"450"`` are the same value of a parameter."""
    return canonical(left) == canonical(right)


def canonical(value: ParameterValue) -> ParameterValue:
    """A number for everything that reads as a finite number, else the text."""
    if isinstance(value, bool):
        return str(value).lower()
    try:
        number = float(value)
    except ValueError:
        return str(value)
    return number if math.isfinite(number) else str(value)


def matches(params: Parameters, where: Mapping[str, Sequence[ParameterValue]]) -> bool:
    """Whether every parameter of ``where`` is there with one of its allowed values."""
    return all(
        name in params and any(same_value(params[name], value) for value in allowed) for name, allowed in where.items()
    )
