"""What a record has: the declarations from which checks, Spark's schemas and docs/run-directory.md are made.

Those that the harness writes are declared in ``events.py``, those of client processes here: Java's recorder
(``harness/clients/recorder``) and the worker of Python's clients write them, and a test compares what the sources of both
write with what is declared.
"""

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
RECORDS = long("records", "how many records stand before it")
STARTED_NS = long("started_ns", "when it began")
FINISHED_NS = long("finished_ns", "when it ended")

_INSTANCE = text("instance", "the producer or consumer within the process")
_KEY = text("key", "the message's key, where it has one")
_SEQ = long("seq", "the message's number within the run, from its body")
_INTENDED_NS = long("intended_ns", "when the message was due to be sent, from its body")
_OFFSET = long("offset", "the message's offset in its queue")
_ERROR = text("error", "the class of what was thrown, or the send status, or why a body was refused")
_REMARK = text("remark", "the broker's remark, or the message of what was thrown, whole")
_ADDRESS = text("address", "the broker's address")

HISTORY = declared(
    record(
        "send",
        "One message that was sent. An outcome that nobody knows (a timeout, a one-way send) is unknown.",
        PROCESS,
        _INSTANCE,
        text("client", "library and release"),
        TOPIC,
        maybe(_KEY),
        _SEQ,
        long("intended_ns", "when it was due"),
        STARTED_NS,
        FINISHED_NS,
        text("outcome", "ok, failed or unknown"),
        maybe(text("status", "the send status where it is not SEND_OK: the message is stored, but may be lost")),
        maybe(BROKER),
        maybe(QUEUE),
        maybe(_OFFSET),
        maybe(text("msg_id", "the id that the client gave it")),
        maybe(_ERROR),
        maybe(CODE),
        maybe(_REMARK),
    ),
    record(
        "consume",
        "One message that a listener was given, from its call to its return.",
        PROCESS,
        _INSTANCE,
        GROUP,
        TOPIC,
        BROKER,
        QUEUE,
        _OFFSET,
        maybe(_KEY),
        maybe(_SEQ),
        maybe(_INTENDED_NS),
        text(
            "outcome",
            "ok; failed: a changed body, or a listener that was asked to fail or to be late; foreign: not of this run",
        ),
        maybe(_ERROR),
        long("stored_ms", "the broker's store time, in milliseconds since 1970"),
        long("reconsume", "how often it was consumed before"),
        STARTED_NS,
        FINISHED_NS,
    ),
    record(
        "rpc",
        "A request to lock (code 41) or unlock (42) queues, or the first pull (11) of a queue after it was locked.",
        PROCESS,
        _INSTANCE,
        GROUP,
        Field(name="code", kind=Kind.INT, says="RocketMQ's request code"),
        text("thread", "the client's thread that asked"),
        _ADDRESS,
        TOPIC,
        Field(name="asked", kind=Kind.TEXTS, says="the queues that it names, as broker-a:3"),
        STARTED_NS,
        maybe(Field(name="response", kind=Kind.INT, says="RocketMQ's response code; none for a one-way request")),
        maybe(Field(name="granted", kind=Kind.TEXTS, says="the queues that the broker granted")),
        maybe(FINISHED_NS),
    ),
    record(
        "heartbeat", "A consumer's client tells a broker of itself.", PROCESS, _INSTANCE, GROUP, _ADDRESS, STARTED_NS
    ),
    record(
        "instance",
        "A producer or consumer begins or ends.",
        PROCESS,
        _INSTANCE,
        GROUP,
        text("event", "starting, started, told to stop, stopping, stopped"),
        text("client_id", "as the brokers know it; empty while it is not known"),
        AT_NS,
    ),
    record(
        "queue",
        "What a look ten times a second saw of a consumer's process queue.",
        PROCESS,
        _INSTANCE,
        GROUP,
        text("event", "assigned, locked, unlocked, dropped"),
        BROKER,
        QUEUE,
        AT_NS,
    ),
    record(
        "threads",
        "The process's consuming threads, once a second.",
        PROCESS,
        long("parked", "threads that wait for a task"),
        long("busy", "threads that do not"),
        AT_NS,
    ),
    record("attempt", "One request that sends a message; a send may take several.", PROCESS, _SEQ, _ADDRESS, AT_NS),
    record(
        "answer",
        "The broker's answer to an attempt.",
        PROCESS,
        _SEQ,
        _ADDRESS,
        AT_NS,
        CODE,
        maybe(_REMARK),
    ),
    record(
        "call",
        "A message that a producer handed to its network client, whether or not a broker could be asked.",
        PROCESS,
        _SEQ,
        BROKER,
        AT_NS,
        maybe(text("error", "the class of what the call threw")),
    ),
    record(
        "check",
        "A broker asks the producer of a transaction how it ended.",
        PROCESS,
        _SEQ,
        maybe(_KEY),
        AT_NS,
    ),
    record("anchor", "The wall clock tied to the monotonic one, every 10 s.", PROCESS, MONO_NS, WALL_US),
    record(
        "end",
        "The file's end mark: its process has written all that it had to. A killed one leaves none.",
        PROCESS,
        RECORDS,
    ),
)
"""The records of a client process's history."""
