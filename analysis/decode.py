"""From parsed JSON to frozen dataclasses, with the place of a mistake in words.

A dataclass is the schema: a key that it does not know is ignored (a later writer may add one), a key that it needs and
that is absent, or a value of another kind, is an error that names where in the document it stands. The idea is that of
cattrs, cut down to the kinds of values that the run directory has.
"""

from __future__ import annotations

import dataclasses
import types
from collections.abc import Mapping
from enum import StrEnum
from functools import cache
from typing import Any, Literal, TypeVar, Union, get_args, get_origin, get_type_hints

T = TypeVar("T")


class DecodeError(ValueError):
    """A value is not what the schema says; the message names its place, such as ``findings[3].verdict``."""


def decode(kind: type[T], value: object, where: str = "document") -> T:
    """``value`` (what ``json.load`` gives) as a ``kind``; raises :class:`DecodeError`."""
    result: T = _decode(kind, value, where)
    return result


def _decode(kind: Any, value: object, where: str) -> Any:
    origin = get_origin(kind)
    if origin is Union or origin is types.UnionType:
        return _decode_union(get_args(kind), value, where)
    if origin is Literal:
        if value not in get_args(kind):
            raise DecodeError(f"{where} is {_shown(value)}, but must be one of {', '.join(map(str, get_args(kind)))}")
        return value
    if origin is tuple:
        return _decode_tuple(get_args(kind), value, where)
    if origin is not None and issubclass(origin, Mapping):
        return _decode_mapping(get_args(kind)[1], value, where)
    if dataclasses.is_dataclass(kind):
        return _decode_dataclass(kind, value, where)
    return _decode_scalar(kind, value, where)


def _decode_union(kinds: tuple[Any, ...], value: object, where: str) -> Any:
    problems = []
    for kind in kinds:
        try:
            return _decode(kind, value, where)
        except DecodeError as error:
            problems.append(str(error))
    raise DecodeError(problems[0])


def _decode_tuple(kinds: tuple[Any, ...], value: object, where: str) -> tuple[Any, ...]:
    if not isinstance(value, list):
        raise DecodeError(f"{where} is {_shown(value)}, but must be a list")
    if len(kinds) == 2 and kinds[1] is Ellipsis:
        return tuple(_decode(kinds[0], item, f"{where}[{index}]") for index, item in enumerate(value))
    if len(value) != len(kinds):
        raise DecodeError(f"{where} has {len(value)} values, but must have {len(kinds)}")
    return tuple(_decode(kind, item, f"{where}[{i}]") for i, (kind, item) in enumerate(zip(kinds, value, strict=True)))


def _decode_mapping(kind: Any, value: object, where: str) -> dict[str, Any]:
    if not isinstance(value, dict):
        raise DecodeError(f"{where} is {_shown(value)}, but must be an object")
    return {str(key): _decode(kind, item, f"{where}.{key}") for key, item in value.items()}


def _decode_dataclass(kind: Any, value: object, where: str) -> Any:
    if not isinstance(value, dict):
        raise DecodeError(f"{where} is {_shown(value)}, but must be an object")
    hints = _hints(kind)
    arguments = {}
    for field in dataclasses.fields(kind):
        if field.name in value:
            arguments[field.name] = _decode(hints[field.name], value[field.name], f"{where}.{field.name}")
        elif field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING:
            raise DecodeError(f"{where} lacks {field.name}")
    return kind(**arguments)


@cache
def _hints(kind: Any) -> dict[str, Any]:
    return get_type_hints(kind)


def _decode_scalar(kind: Any, value: object, where: str) -> Any:
    if kind is object:
        return value
    if kind is None or kind is type(None):
        if value is None:
            return None
    elif kind is float:
        # JSON has one kind of number: a whole one is a fine float, true and false are not numbers.
        if isinstance(value, int | float) and not isinstance(value, bool):
            return float(value)
    elif kind is int:
        if isinstance(value, int) and not isinstance(value, bool):
            return value
    elif issubclass(kind, StrEnum):
        if isinstance(value, str) and value in {str(member) for member in kind}:
            return kind(value)
        raise DecodeError(f"{where} is {_shown(value)}, but must be one of {', '.join(str(m) for m in kind)}")
    elif isinstance(value, kind):
        return value
    name = "null" if kind in (None, type(None)) else kind.__name__
    raise DecodeError(f"{where} is {_shown(value)}, but must be of kind {name}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."
