"""Parameters of faults as a user writes them: numbers with units, nodes, releases, and what has several values.

A parameter is a field of a fault, or of what is a cell's parameter in an incident; its unit is the last word of its name.
"""

import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, get_args, get_origin

from harness.errors import UsageError, shown

UNITS: Mapping[str, str] = {"ms": "ms", "s": "s", "max": "s", "mb": "MiB"}
"""By the last word of a name."""

TIME_S_MAX = 86_400.0
_SCALES: Mapping[str, Mapping[str, float]] = {
    "ms": {"ms": 1, "s": 1000, "": 1},
    "s": {"ms": 0.001, "s": 1, "min": 60, "": 1},
    "MiB": {"mb": 1, "mib": 1, "gib": 1024, "": 1},
    "": {"": 1},
    "bytes": {"kib": 2**10, "mib": 2**20, "b": 1, "": 1},
}
WRITTEN: Mapping[str, str] = {"bytes": "B"}
"""How a unit stands behind a number, where that is not its name."""

_QUANTITY = re.compile(r"(\d{1,12}(?:\.\d{1,6})?)([a-zA-Z]*)", re.ASCII)


@dataclass(frozen=True, kw_only=True)
class Parameter:
    """One parameter of a fault of the library. ``unit`` is empty for what is no quantity."""

    name: str
    unit: str
    default: object
    read: Callable[[str], object]

    def __str__(self) -> str:
        unit = "" if self.default in (None, math.inf) else WRITTEN.get(self.unit, self.unit)
        return f"{self.name}={_said(self.default)}{unit}"


def parameter(name: str, hint: Any, default: object) -> Parameter:
    """The parameter of a field, by its name and its type."""
    unit = "bytes" if "bytes" in name else UNITS.get(name.rpartition("_")[2], "")
    read: Callable[[str], object]
    if get_origin(hint) is Literal:
        read = choice(*get_args(hint))
    elif hint is bool:
        read = lambda text: choice("true", "false")(text) == "true"  # noqa: E731
    elif name in ("steps", "mended"):
        read = _steps if name == "steps" else lambda text: _numbers(text, 2)
    elif get_origin(hint) is tuple:
        item = get_args(hint)[0]
        one = choice(*get_args(item)) if get_origin(item) is Literal else _node
        read = lambda text: tuple(map(one, text.split("+")))  # noqa: E731
    elif name == "to":
        read = _release
    elif hint is str:
        read = _node
    elif unit:
        number = read_quantity(unit)
        read = (lambda text: int(number(text))) if hint is int else number
    else:
        read = whole if hint is int else read_quantity("")
    return Parameter(name=name, unit=unit, default=default, read=read)


def choice(*words: str) -> Callable[[str], str]:
    """A reader of one of these words, which raises ValueError on any other, as all readers here do."""

    def read(text: str) -> str:
        if text not in words:
            raise ValueError(text)
        return text

    return read


def _node(text: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9-]{0,60}", text, re.ASCII):
        raise ValueError(text)
    return text


def _release(text: str) -> str:
    if not re.fullmatch(r"\d{1,3}(\.\d{1,3}){2}", text, re.ASCII):
        raise ValueError(text)
    return text


def whole(text: str) -> int:
    """A whole number of at most nine digits. Raises ValueError."""
    if not re.fullmatch(r"\d{1,9}", text, re.ASCII):
        raise ValueError(text)
    return int(text)


def _numbers(text: str, count: int) -> tuple[int, ...]:
    numbers = tuple(map(whole, text.split("/")))
    if len(numbers) != count or not all(numbers):
        raise ValueError(text)
    return numbers


def _steps(text: str) -> tuple[tuple[int, int, float], ...]:
    """``WRITE/READ/SECONDS``, joined by +."""
    steps = []
    for step in text.split("+"):
        *numbers, stay = step.rpartition("/")
        writes, reads = _numbers(numbers[0], 2)
        steps.append((writes, reads, read_quantity("s")(stay)))
    return tuple(steps)


def quantity(unit: str, text: str, what: str) -> float:
    """A time of a day at most; ``what`` is said in front of why it is none. Raises UsageError."""
    try:
        value = read_quantity(unit)(text)
    except ValueError:
        raise UsageError(f"{what}: {shown(text)} is no time", advice="For example 30s, 1.5min or 500ms.") from None
    if value > TIME_S_MAX:
        raise UsageError(f"{what}: {shown(text)} is more than a day")
    return value


def read_quantity(unit: str) -> Callable[[str], float]:
    """A reader of a number, with its unit or another one of the same kind, as a number of that unit."""

    def read(text: str) -> float:
        match = _QUANTITY.fullmatch(text)
        if match is None or match[2].lower() not in _SCALES[unit]:
            raise ValueError(text)
        return float(match[1]) * _SCALES[unit][match[2].lower()]

    return read


def _said(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if value is None or value == math.inf:
        return "(any)" if value is None else "(the load's end)"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, tuple):
        inner = [("/".join(f"{one:g}" for one in item) if isinstance(item, tuple) else str(item)) for item in value]
        return ("+" if value and not isinstance(value[0], int) else "/").join(inner)
    return str(value)
