"""Whether each field of an incident holds what it is declared to hold: an incident's file is Python, which does not ask."""

from __future__ import annotations

import dataclasses
import math
import typing
from collections.abc import Iterator, Mapping
from enum import Enum
from functools import cache
from types import FunctionType, NoneType
from typing import Any

from typeguard import CollectionCheckStrategy, ForwardRefPolicy, TypeCheckError, check_type

from harness.errors import shown
from harness.model.scenario import Phases, TrialBudget
from harness.printable import printable

PLAIN = (bool, int, float, str, NoneType)
TRIALS_MAX = 1_000
SECONDS_MAX = 86_400.0
DEPTH_MAX = 12
"""Of values in values: an incident's go down to a claim's quantity and its cell, six deep."""


@dataclasses.dataclass(frozen=True, kw_only=True)
class WrongField:
    """A field of a value, and what it has to be."""

    of: str
    name: str
    says: str


def wrong_fields(value: object, depth: int = 0) -> Iterator[WrongField]:
    """Of a dataclass and of all that it holds. What is wrong in itself hides what it holds."""
    kind: Any = type(value)
    hints = _hints(kind)
    for field in dataclasses.fields(value):  # type: ignore[arg-type]
        held = vars(value).get(field.name, dataclasses.MISSING)
        said = _what_is_wrong(kind, field.name, held, hints.get(field.name))
        if said:
            yield WrongField(of=kind.__name__, name=field.name, says=said)
        else:
            for one in _dataclasses_in(held):
                if depth < DEPTH_MAX:
                    yield from wrong_fields(one, depth + 1)


def _what_is_wrong(of: type, name: str, held: object, hint: object) -> str:
    """Empty where nothing is."""
    if held is dataclasses.MISSING:
        return "is not there"
    odd = next(_not_plain(held), None)
    if odd is not None:
        return f"holds {odd}"
    if hint is not None:
        try:
            check_type(
                held, hint, forward_ref_policy=ForwardRefPolicy.IGNORE,
                collection_check_strategy=CollectionCheckStrategy.ALL_ITEMS,
            )  # fmt: skip
        except TypeCheckError:
            return f"is {_called(held)} and has to be {_wanted(hint)}"
    if isinstance(held, bool) and hint in (int, float):
        return f"is {held} and has to be a number"
    return _out_of_bounds(of, name, held)


def _out_of_bounds(of: type, name: str, held: object) -> str:
    if isinstance(held, bool) or not isinstance(held, int | float):
        return ""
    if (name.endswith(("_s", "_s_max", "_s_min")) and "_per_" not in name) or of is Phases:
        return (
            "" if 0 <= held <= SECONDS_MAX else f"is {held:g} and has to be a time from 0 to {SECONDS_MAX:,.0f} seconds"
        )
    if name == "trials" or of is TrialBudget:
        return "" if 0 <= held <= TRIALS_MAX else f"is {held:g} and has to be a number up to {TRIALS_MAX:,}"
    return ""


def _not_plain(held: object, depth: int = 0) -> Iterator[str]:
    """What is neither of Python's own kinds of values nor of the lab's: it could answer otherwise each time."""
    kind = type(held)
    if kind is float and not math.isfinite(typing.cast(float, held)):
        yield f"{held}, which is no number"
    elif depth > DEPTH_MAX:
        yield "values nested too deeply"
    elif kind in (tuple, list, set, frozenset):
        for one in typing.cast("tuple[object, ...]", held):
            yield from _not_plain(one, depth + 1)
    elif isinstance(held, Mapping):
        for key, of in dict(held).items():
            yield from _not_plain(key, depth + 1)
            yield from _not_plain(of, depth + 1)
    elif kind not in PLAIN and not (
        isinstance(held, Enum | type | FunctionType) or dataclasses.is_dataclass(held) or callable(held)
    ):
        yield f"a {printable(kind.__name__)}"


def _dataclasses_in(held: object) -> Iterator[object]:
    if dataclasses.is_dataclass(held) and not isinstance(held, type):
        yield held
    elif isinstance(held, Mapping):
        for one in held.values():
            yield from _dataclasses_in(one)
    elif type(held) in (tuple, list):
        for one in typing.cast("tuple[object, ...]", held):
            yield from _dataclasses_in(one)


def _called(held: object) -> str:
    """A value as a message has it: a short one itself, else its kind."""
    kind = type(held)
    return shown(str(held)) if kind in PLAIN else f"a {printable(kind.__name__)}"


def _wanted(hint: object) -> str:
    if isinstance(hint, type) and not typing.get_args(hint):
        return {int: "a whole number", float: "a number", str: "a text", bool: "True or False"}.get(
            hint, f"a {hint.__name__}"
        )
    return str(hint).replace("typing.", "").replace("collections.abc.", "")


@cache
def _hints(kind: type) -> Mapping[str, object]:
    """The declared kinds of a class's fields; none of one that names what only a type checker knows."""
    try:
        return typing.get_type_hints(kind)
    except NameError:
        return {}
