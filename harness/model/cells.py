"""A cell: an arm with its named parameters."""

import math
from collections.abc import Mapping, Sequence

ParameterValue = int | float | str

Parameters = Mapping[str, ParameterValue]


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


def cell_of(params: Parameters) -> tuple[tuple[str, object], ...]:
    """A key that is the same for the same parameters, however they are written."""
    return tuple(sorted((name, canonical(value)) for name, value in params.items()))


def matches(params: Parameters, where: Mapping[str, Sequence[ParameterValue]]) -> bool:
    """Whether every parameter of ``where`` is there with one of its allowed values."""
    return all(
        name in params and any(same_value(params[name], value) for value in allowed) for name, allowed in where.items()
    )
