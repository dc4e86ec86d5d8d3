"""JSON as RocketMQ's nodes write it, by fastjson, and values of it that are what they have to be.

Keys that are numbers have no quotes there (``{0:"127.0.0.1:10911",-1:"127.0.0.1:10921"}``), which is no JSON.
"""

from __future__ import annotations

import json
import re
import reprlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from harness.bounded import VALUES_MAX, values_of
from harness.errors import AnswerError
from harness.printable import excerpt

TEXT_CHARS_MAX = 1_000
"""Of a name or an address. RocketMQ's topics have 127 characters at most, 255 with a group's prefix (``TopicValidator``)."""
INTEGER_MAX = 2**63 - 1
"""A long of Java."""

_WHOLE = re.compile(r"-?[0-9]{1,19}")
# A string counts as a whole, also one that does not end, so that each character is looked at once.
_STRING_OR_KEY = re.compile(r'"(?:[^"\\]++|\\.)*+"?+|([{,]\s*+)(-?[0-9]++)(?=\s*+:)', re.DOTALL)


def read_json(text: bytes, by: str) -> object:
    """The value that a node wrote. Raises AnswerError, which names it, where it is none, or takes too much memory."""
    if len(text) > VALUES_MAX and values_of(text) > VALUES_MAX:
        raise AnswerError.nonsense(by, f"JSON of more than {VALUES_MAX:,} values")
    try:
        written = text.decode()
        try:
            return json.loads(written)
        except ValueError:
            return json.loads(_STRING_OR_KEY.sub(_quoted, written))
    except RecursionError:
        raise AnswerError.nonsense(by, "JSON that is nested too deeply") from None
    except ValueError as error:
        raise AnswerError.nonsense(by, f"text that is not JSON ({excerpt(str(error))})") from error


def _quoted(match: re.Match[str]) -> str:
    return match[0] if match[2] is None else f'{match[1]}"{match[2]}"'


def whole_number(value: object) -> int | None:
    """A whole number that fits into a long, written as one or as a text; None where it is none."""
    number = int(value) if isinstance(value, str) and _WHOLE.fullmatch(value) else value
    if isinstance(number, int) and not isinstance(number, bool) and -INTEGER_MAX - 1 <= number <= INTEGER_MAX:
        return number
    return None


@dataclass(frozen=True, kw_only=True, slots=True)
class JsonObject:
    """An object that the node ``by`` wrote. Whatever is asked of it has to be there and of that kind, else AnswerError is raised.

    Arrays and objects may be missing or null: fastjson leaves out what is null.
    """

    by: str
    values: Mapping[str, object]

    @classmethod
    def of(cls, value: object, by: str) -> JsonObject:
        """The value, which has to be an object."""
        if not isinstance(value, dict):
            raise AnswerError.nonsense(by, f"{reprlib.repr(value)} in place of an object")
        return cls(by=by, values=value)

    def text(self, name: str, chars_max: int = TEXT_CHARS_MAX) -> str:
        """A name, an address, or another text of bounded length."""
        return self._text(self._value(name), name, chars_max)

    def number(
        self, name: str, least: int = -INTEGER_MAX - 1, most: int = INTEGER_MAX, *, default: int | None = None
    ) -> int:
        """A whole number within bounds, which belong to it. With a default it may be missing or null."""
        if default is not None and self.values.get(name) is None:
            return default
        return self._number(self._value(name), name, least, most)

    def child(self, name: str) -> JsonObject:
        """An object in this one."""
        return JsonObject.of({} if (value := self.values.get(name)) is None else value, self.by)

    def children(self, name: str) -> Iterator[JsonObject]:
        """The objects of an array."""
        return (JsonObject.of(value, self.by) for value in self._array(name))

    def texts(self, name: str) -> Iterator[str]:
        """The names of an array."""
        return (self._text(value, name) for value in self._array(name))

    def by_name(self) -> Iterator[tuple[str, JsonObject]]:
        """Its values, which are objects, with their keys."""
        return ((self._text(key, "a key"), JsonObject.of(value, self.by)) for key, value in self.values.items())

    def numbers_by_number(self) -> dict[int, int]:
        """Its values, which are whole numbers as their keys are."""
        return {self._number(key, "a key"): self._number(value, key) for key, value in self.values.items()}

    def texts_by_number(self) -> dict[int, str]:
        """Its values, which are names or addresses, by keys that are whole numbers."""
        return {self._number(key, "a key"): self._text(value, key) for key, value in self.values.items()}

    def words(self) -> dict[str, str]:
        """Its values, which are texts of any length or numbers, as texts."""
        for name, value in self.values.items():
            if not isinstance(value, str | int | float):
                raise AnswerError.nonsense(self.by, f"{excerpt(name)} is {reprlib.repr(value)}, which is no text")
        return {name: str(value) for name, value in self.values.items()}

    def _value(self, name: str) -> object:
        if name not in self.values:
            raise AnswerError.nonsense(self.by, f"an object without {name}")
        return self.values[name]

    def _array(self, name: str) -> list[object]:
        value = self.values.get(name)
        if not isinstance(value, list | None):
            raise AnswerError.nonsense(self.by, f"{name} is {reprlib.repr(value)}, which is no array")
        return value or []

    def _text(self, value: object, name: str, chars_max: int = TEXT_CHARS_MAX) -> str:
        if not isinstance(value, str) or len(value) > chars_max or not _is_utf8(value):
            raise AnswerError.nonsense(self.by, f"{excerpt(name)} is {reprlib.repr(value)}, which is no name")
        return value

    def _number(self, value: object, name: str, least: int = -INTEGER_MAX - 1, most: int = INTEGER_MAX) -> int:
        number = whole_number(value)
        if number is None or not least <= number <= most:
            bounds = "" if most == INTEGER_MAX else f" from {least:,} to {most:,}"
            raise AnswerError.nonsense(
                self.by, f"{excerpt(name)} is {reprlib.repr(value)}, which is no whole number{bounds}"
            )
        return number


def _is_utf8(text: str) -> bool:
    """Whether it has no half of a pair, which JSON can name and no file or terminal takes."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True
