"""From parsed JSON to frozen dataclasses, with the place of a mistake in words.

A dataclass is the schema. A key that it does not know is ignored, since a later writer may add one. A key that it needs
and that is absent, or a value of another kind, is an error that names where in the document it stands.
"""

import dataclasses
import json
import math
from collections.abc import Callable, Mapping, Sequence
from enum import StrEnum
from pathlib import Path
from types import NoneType
from typing import Any, Literal, TypeVar, get_args, get_origin

from cattrs import BaseValidationError, Converter
from cattrs.cols import homogenous_tuple_structure_factory, is_mapping, mapping_structure_factory
from cattrs.errors import ClassValidationError, IterableValidationError
from cattrs.gen import make_dict_structure_fn

from harness.bounded import parsed, read_whole
from harness.errors import RunDirectoryError
from harness.rundir.documents import damage_of_document
from harness.rundir.layout import RUN_SCHEMA, RUN_SCHEMAS

T = TypeVar("T")

Hook = Callable[[Any, Any], Any]


BRING_AGAIN = "Copy the run again from where it was made: nothing is decided by a document that is cut or changed."


BITS_MAX = 64
"""Of a whole number: a table's column holds no more, nor does arithmetic with fractions take any."""


class DecodeError(ValueError):
    """A value is not what the schema says; the message names its place, such as ``findings[3].verdict``."""


def decode(kind: type[T], value: object, where: str = "") -> T:
    """``value`` (what ``json.load`` gives) as a ``kind``; raises :class:`DecodeError`."""
    try:
        return _CONVERTER.structure(value, kind)
    except (BaseValidationError, DecodeError) as error:
        raise DecodeError(_words(error, where)) from error


def read_document(kind: type[T], path: Path) -> T:
    """A JSON object of a file, no link, with this schema's number. Raises RunDirectoryError with one sentence."""
    try:
        text = read_whole(path, follow=False).decode()
        document = _parsed(text, by_harness=path.name in _OF_THE_HARNESS)
    except OSError as error:
        raise RunDirectoryError(f"{path} cannot be read: {error.strerror or error}", advice=BRING_AGAIN) from error
    except json.JSONDecodeError as error:
        why = _why_not_whole(error)
        raise RunDirectoryError(f"{path} cannot be read: it {why}", advice=BRING_AGAIN) from error
    except UnicodeDecodeError as error:
        why = f"it is no text, byte {error.start + 1:,} is no UTF-8"
        raise RunDirectoryError(f"{path} cannot be read: {why}", advice=BRING_AGAIN) from error
    except ValueError as error:
        raise RunDirectoryError(f"{path} cannot be read: {error}", advice=BRING_AGAIN) from error
    if not isinstance(document, dict):
        raise RunDirectoryError(f"{path} holds no JSON object")
    schema = document.get("schema")
    if type(schema) is not int or schema not in RUN_SCHEMAS:
        raise RunDirectoryError(
            f"{path} has schema {_shown(schema)}, and this version reads up to {RUN_SCHEMA}",
            advice="Read it with the version of the lab that wrote it; the manifest names the commit.",
        )
    if damage := damage_of_document(text, document):
        raise RunDirectoryError(f"{path} {damage}", advice=BRING_AGAIN)
    try:
        return decode(kind, document)
    except DecodeError as error:
        raise RunDirectoryError(f"{path} is not a whole {kind.__name__}: {error}") from error


def _why_not_whole(error: json.JSONDecodeError) -> str:
    """What is wrong with a document, in an operator's words."""
    if not error.doc.strip("\0"):
        return "holds nothing but NUL bytes" if error.doc else "is empty"
    # A string that a cut leaves open is told of at its beginning.
    if error.pos >= len(error.doc.rstrip()) or error.msg.startswith("Unterminated string"):
        return f"is cut, and ends amid line {error.lineno}"
    return f"is no JSON document, and breaks at line {error.lineno}, column {error.colno}"


_OF_THE_HARNESS = ("manifest.json", "trial.json", "deployment.json")
"""The harness writes no NaN into them and no half of a character. An analysis's own documents have intervals without an end, and
whatever a broker's remark has."""


def _parsed(text: str, *, by_harness: bool) -> object:
    """Raises ValueError, also for what Python alone takes for JSON, where the harness wrote it."""
    if not by_harness:
        return parsed(text)
    document: object = parsed(text, parse_constant=_finite, parse_float=_finite)
    if "\\ud" in text.casefold():
        json.dumps(document, ensure_ascii=False).encode()
    return document


def _finite(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(f"{text[:20]} is no number of JSON")
    return number


def _words(error: Exception, place: str) -> str:
    """The first mistake that cattrs found, in words."""
    if isinstance(error, ClassValidationError):
        noted, other = error.group_exceptions()
        if not noted:
            return _words(other[0], place)
        inner, note = noted[0]
        if isinstance(inner, KeyError):
            return f"{place or 'it'} lacks {note.name}"
        return _words(inner, f"{place}.{note.name}".lstrip("."))
    if isinstance(error, IterableValidationError):
        inner, item = error.group_exceptions()[0][0]
        return _words(inner, f"{place}[{item.index}]" if isinstance(item.index, int) else f"{place}.{item.index}")
    return f"{place} {error}".lstrip()


def _is_not(value: object, wanted: str) -> DecodeError:
    return DecodeError(f"is {_shown(value)}, not {wanted}")


def _shown(value: object) -> str:
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


_SCALARS: Mapping[type, str] = {
    str: "a string",
    bool: "true or false",
    int: "a whole number",
    float: "a number",
    NoneType: "null",
}


def _scalar(value: object, kind: type) -> object:
    # JSON has one kind of number: a whole one is a fine float. True and false are not numbers.
    if type(value) is int and kind in (int, float):
        return kind(_bounded(value))
    if type(value) is kind:
        return value
    raise _is_not(value, _SCALARS[kind])


def _bounded(value: int) -> int:
    if value.bit_length() > BITS_MAX:
        raise DecodeError(f"is a number of more than {BITS_MAX} bits")
    return value


def _member(value: Any, kind: type[StrEnum]) -> StrEnum:
    return kind(_one_of(value, [str(member) for member in kind]))


def _literal(value: object, kind: object) -> object:
    return _one_of(value, get_args(kind))


def _one_of(value: T, allowed: Sequence[object]) -> T:
    if value not in allowed:
        raise _is_not(value, f"one of {', '.join(map(str, allowed))}")
    return value


def _is_scalars(kind: Any) -> bool:
    """Whether it is a union of scalars such as a parameter's value."""
    members = get_args(kind)
    return get_origin(kind) not in (tuple, Literal) and len(members) > 1 and all(one in _SCALARS for one in members)


def _one_of_scalars(value: object, kind: Any) -> object:
    members = get_args(kind)
    if type(value) is int and {int, float} & {*members}:
        return _bounded(value) if int in members else float(_bounded(value))
    if type(value) in members:
        return value
    raise _is_not(value, " or ".join(_SCALARS[one] for one in members))


def _from(json_kind: type, wanted: str, hook: Hook) -> Hook:
    """A hook that is not asked about a value of another kind of JSON."""

    def checked(value: object, kind: Any) -> object:
        if not isinstance(value, json_kind):
            raise _is_not(value, wanted)
        return hook(value, kind)

    return checked


def _is_a(origin: object) -> Callable[[Any], bool]:
    return lambda kind: get_origin(kind) is origin


def _mapping(kind: Any, converter: Converter) -> Hook:
    return _from(dict, "an object", mapping_structure_factory(kind, converter))


def _dataclass(kind: Any, converter: Converter) -> Hook:
    return _from(dict, "an object", make_dict_structure_fn(kind, converter))


def _tuple(kind: Any, converter: Converter) -> Hook:
    members = get_args(kind)
    if members[-1] is Ellipsis:
        return _from(list, "a list", homogenous_tuple_structure_factory(kind, converter))

    def fixed(value: list[object], _: object) -> tuple[object, ...]:
        if len(value) != len(members):
            raise DecodeError(f"has {len(value)} values, but must have {len(members)}")
        return tuple(converter.structure(item, member) for item, member in zip(value, members, strict=True))

    return _from(list, "a list", fixed)


def _converter() -> Converter:
    made = Converter()
    for kind in _SCALARS:
        made.register_structure_hook(kind, _scalar)
    made.register_structure_hook(StrEnum, _member)
    made.register_structure_hook_func(_is_a(Literal), _literal)
    made.register_structure_hook_func(lambda kind: kind is object, lambda value, _: value)
    made.register_structure_hook_func(_is_scalars, _one_of_scalars)
    made.register_structure_hook_factory(_is_a(tuple), _tuple)
    made.register_structure_hook_factory(is_mapping, _mapping)
    made.register_structure_hook_factory(dataclasses.is_dataclass, _dataclass)
    return made


_CONVERTER = _converter()
