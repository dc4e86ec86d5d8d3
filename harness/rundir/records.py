"""What a record has: the declarations from which checks, Spark's schemas and docs/run-directory.md are made.

``events.py`` declares the records that the harness writes, ``history.py`` those of client processes.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum


class Kind(StrEnum):
    """A field's type."""

    TEXT = "text"
    LONG = "64-bit integer"
    INT = "32-bit integer"
    NUMBER = "number"
    FLAG = "true or false"
    TEXTS = "list of texts"

    def has(self, value: object) -> bool:
        """Whether that is a value of this kind. True and false are no numbers."""
        if isinstance(value, bool):
            return self is Kind.FLAG
        return isinstance(value, _PYTHON[self])


_PYTHON: Mapping[Kind, tuple[type, ...]] = {
    Kind.TEXT: (str,),
    Kind.LONG: (int,),
    Kind.INT: (int,),
    Kind.NUMBER: (int, float),
    Kind.FLAG: (bool,),
    Kind.TEXTS: (list, tuple),
}


@dataclass(frozen=True, kw_only=True)
class Field:
    """One field of a record. ``says`` is its unit or meaning; an optional one is absent or null where it is not known."""

    name: str
    kind: Kind
    says: str
    optional: bool = False


@dataclass(frozen=True, kw_only=True)
class RecordType:
    """One type of record. Each has ``type`` and ``n`` beside its fields."""

    name: str
    says: str
    fields: tuple[Field, ...]

    def problem(self, values: Mapping[str, object]) -> str:
        """What is wrong with a record's values, in words; empty where nothing is."""
        declared = {field.name: field for field in self.fields}
        for name, value in values.items():
            if name not in declared:
                return f"a record {self.name} has no field {name}"
            if value is None and declared[name].optional:
                continue
            if not declared[name].kind.has(value):
                return f"{name} of a record {self.name} is {value!r}, not of kind {declared[name].kind}"
        missing = [field.name for field in self.fields if not field.optional and field.name not in values]
        return f"a record {self.name} lacks {', '.join(missing)}" if missing else ""


Declared = Mapping[str, RecordType]
"""The records of a file by their type."""


def declared(*types: RecordType) -> Declared:
    """The types by their names."""
    return {item.name: item for item in types}


def problem_of(known: Declared, kind: str, values: Mapping[str, object]) -> str:
    """As ``RecordType.problem``, for a record of a type that may be unknown, too."""
    return known[kind].problem(values) if kind in known else f"no record has the type {kind}"


def record(name: str, says: str, *fields: Field) -> RecordType:
    """Declare a type."""
    return RecordType(name=name, says=says, fields=fields)


def text(name: str, says: str) -> Field:
    """Declare a field of text."""
    return Field(name=name, kind=Kind.TEXT, says=says)


def long(name: str, says: str) -> Field:
    """Declare a whole number of 64 bits."""
    return Field(name=name, kind=Kind.LONG, says=says)


def maybe(field: Field) -> Field:
    """The same field where it may be absent or null."""
    return replace(field, optional=True)


AT_NS = long("at_ns", "when")
MONO_NS = long("mono_ns", "the monotonic clock")
WALL_US = long("wall_us", "the wall clock at that moment, in microseconds since 1970")
PROCESS = text("process", "the process that wrote it")
GROUP = text("group", "the consumer group")
TOPIC = text("topic", "the topic")
BROKER = text("broker", "the broker's name")
QUEUE = Field(name="queue", kind=Kind.INT, says="the queue's number on its broker")
CODE = Field(name="code", kind=Kind.INT, says="RocketMQ's response code")
STARTED_NS = long("started_ns", "when it began")
FINISHED_NS = long("finished_ns", "when it ended")
