"""The tables of the analysis, written out. Nothing is ever inferred.

``HISTORY`` is the union of a client process's records, ``EVENTS`` of a trial's; ``type`` tells which fields a record
has, the others are null. Both are made from the declarations in ``harness.rundir``, which give each field's meaning.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from harness.rundir import events, records
from harness.rundir.records import Declared, Kind

_STRING, _LONG, _INT, _DOUBLE, _BOOLEAN = StringType(), LongType(), IntegerType(), DoubleType(), BooleanType()

DAMAGED = "damaged"
"""The ``type`` of a line that is no whole record: what a kill leaves at the end of a file."""

CORRUPT_COLUMN = "damaged_text"

WHOLE_BELOW = 2**62
"""No clock, offset or count of a record comes so far, and the difference of two whole numbers below fits 64 bits."""

BITS = 64
"""Offsets of a chunk, kept as the bits of a number."""

SAFEPOINT = "safepoint"
"""What stopped a JVM, where it was no collection."""


def table(**columns: DataType) -> StructType:
    """A schema, all of whose columns may be null."""
    return StructType([StructField(name, kind, nullable=True) for name, kind in columns.items()])


_LEFT_IN_FILES = frozenset({"client", "msg_id", "stored_ms", "response"})
"""Fields that nothing is decided by: each column costs, two million times."""

_TYPES: Mapping[Kind, DataType] = {
    Kind.TEXT: _STRING,
    Kind.LONG: _LONG,
    Kind.INT: _INT,
    Kind.NUMBER: _DOUBLE,
    Kind.FLAG: _BOOLEAN,
    Kind.TEXTS: ArrayType(_STRING),
}


def _union_of(records: Declared) -> StructType:
    """All fields of all types. One that types differ about is text: the queue of a lock probe is broker-a:3."""
    columns: dict[str, DataType] = {"type": _STRING, "n": _LONG}
    for field in (field for kind in records.values() for field in kind.fields if field.name not in _LEFT_IN_FILES):
        is_other = columns.get(field.name, _TYPES[field.kind]) != _TYPES[field.kind]
        columns[field.name] = _STRING if is_other else _TYPES[field.kind]
    return table(**columns, **{CORRUPT_COLUMN: _STRING})


HISTORY = _union_of(records.HISTORY)

EVENTS = _union_of(events.EVENTS)

STRIDES = table(
    trial=_STRING,
    group=_STRING,
    broker=_STRING,
    queue=_INT,
    file=_STRING,
    instance=_STRING,
    run=_LONG,
    chunk=_LONG,
    offsets=_LONG,
    consumptions=_LONG,
    steps_ahead=_LONG,
    offset_max=_LONG,
    first_ns=_LONG,
    first_line=_LONG,
    last_ns=_LONG,
    last_line=_LONG,
    finished_ns=_LONG,
    intended_ns=_LONG,
    over_1s=_LONG,
    delay_ns_max=_LONG,
    delay_max_line=_LONG,
)
"""One row for each stride (``analysis/evidence/strides.py``). ``offsets`` has a bit for each offset of the ``chunk`` that the group
consumed, in its first stride alone. ``steps_ahead`` are all of the ``consumptions`` or none. ``finished_ns`` is when the last of
them ended, ``intended_ns`` when the first message was due; ``over_1s`` counts delays above a second."""

PLACE = table(file=_STRING, line=_LONG)

QUEUES = table(
    trial=_STRING,
    group=_STRING,
    topic=_STRING,
    broker=_STRING,
    queue=_INT,
    consumptions=_LONG,
    steps_ahead=_LONG,
    different_offsets=_LONG,
    offset_max=_LONG,
    last_at=PLACE,
    not_ahead_at=PLACE,
    taken_ns=_LONG,
    taken_at=PLACE,
    owned_ns=_LONG,
    owned_at=PLACE,
    timed=_LONG,
    over_1s=_LONG,
    late_in_10s=_LONG,
    delay_ns_max=_LONG,
    delay_max_at=PLACE,
)
"""One row for each group and queue. ``not_ahead_at`` is the earliest consumption that was no step ahead. The successor has
``taken`` the queue with its first one after the fault, the owner ``owned`` it to its last one before. What follows, from ``timed``
on, is of steps ahead whose messages were due from 5 s before the fault to the end of the hold."""

SENT = table(
    trial=_STRING,
    topic=_STRING,
    broker=_STRING,
    queue=_INT,
    chunk=_LONG,
    sends=_LONG,
    offsets=_LONG,
    offset_max=_LONG,
)
"""Acknowledged sends whose place is known, by chunk; ``offsets`` has a bit for each of its offsets."""

UNSEEN = table(
    trial=_STRING,
    group=_STRING,
    topic=_STRING,
    broker=_STRING,
    queue=_INT,
    offset=_LONG,
    file=_STRING,
    n=_LONG,
)
"""Acknowledged sends of drained trials that a group of the trial did not consume, a row for each such group."""

TRIALS = table(
    trial=_STRING,
    incident=_STRING,
    arm=_STRING,
    release=_STRING,
    deployment=_STRING,
    topic=_STRING,
    grouped=_BOOLEAN,
    load=_STRING,
    fault=_STRING,
    fault_ns=_LONG,
    fault_line=_LONG,
    fault_target=_STRING,
    injected_ns=_LONG,
    healed_ns=_LONG,
    hold_from_ns=_LONG,
    hold_to_ns=_LONG,
    end_ns=_LONG,
    append_node=_STRING,
    append_entry_ns=_LONG,
    append_exit_ns=_LONG,
    append_line=_LONG,
    drained=_BOOLEAN,
    drain_line=_LONG,
    wall_minus_mono_us=_LONG,
    wait_limit_ms=_DOUBLE,
    lock_life_ms=_DOUBLE,
    sends=_LONG,
)
"""One row a trial: what it was and its windows. ``load`` is the class of its load, as its incident says; ``fault_ns`` is where the
fault began, or would have begun."""

FREEZES = table(trial_name=_STRING, deployment=_STRING, node=_STRING, from_us=_LONG, to_us=_LONG)
"""The time in which a trial's file system was frozen, on the wall clock."""

DRAWN = table(trial=_STRING, from_ns=_LONG, bin_ms=_LONG, before_s=_DOUBLE, after_s=_DOUBLE, of_sends=_BOOLEAN)
"""What of a trial is drawn over time: bins from a moment on, and whose delays."""

OBSERVATIONS = table(
    measure=_STRING,
    trial=_STRING,
    deployment=_STRING,
    unit=_STRING,
    params=_STRING,
    value=_DOUBLE,
    censored=_BOOLEAN,
    file=_STRING,
    line=_LONG,
    operation=_STRING,
)
"""What a checker gives: one value a row. ``params`` is a JSON object of the measure's own parameters; ``trial`` is null
for what is true of a whole deployment. ``file`` (relative to the run directory), ``line`` and ``operation`` say where
the value can be looked up."""

LOG_FILES = table(
    file=_STRING,
    deployment=_STRING,
    node=_STRING,
    trial=_STRING,
    name=_STRING,
    kind=_STRING,
    zone=_STRING,
    since_us=_LONG,
)
"""Log files of a run. ``name`` is without the rotation's number, ``kind`` tells the parser; ``since_us`` is when the log is whole
from on (``analysis/logs/files.py``)."""


def frame_of(spark: SparkSession, rows: Sequence[Mapping[str, object]], schema: StructType) -> DataFrame:
    """A small table from the driver, written as SQL's VALUES.

    That makes it a constant of the plan: no Python worker, no job to make it and none to broadcast it.
    """
    casts = [f"CAST(`{field.name}` AS {field.dataType.simpleString()}) AS `{field.name}`" for field in schema.fields]
    names = ", ".join(f"`{name}`" for name in schema.names)
    listed = [f"({', '.join(_literal(row.get(name)) for name in schema.names)})" for row in rows]
    values = ", ".join(listed) or f"({', '.join('NULL' for _ in schema.names)})"
    # Every part is either a name of a schema of this file or an escaped literal.
    query = f"SELECT {', '.join(casts)} FROM VALUES {values} AS given({names})"
    return spark.sql(query if rows else query + " WHERE false")


def _literal(value: object) -> str:
    match value:
        case None:
            return "NULL"
        case bool():
            return str(value).lower()
        case int():
            return f"{value}L"
        case float():
            return f"{value!r}D"
        case _:
            # A Unicode escape for all but plain letters, so that no quoting rule of the parser's settings matters.
            text = "".join(
                c if c.isalnum() and c.isascii() else f"\\u{ord(c):04X}" if ord(c) < 0x10000 else "?"
                for c in str(value)
            )
            return f"'{text}'"
