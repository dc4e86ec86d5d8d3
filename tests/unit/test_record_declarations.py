"""The records that are written are the records that are declared: by the harness, by Java's recorder, for Spark."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from pyspark.sql.types import ArrayType, BooleanType, DoubleType, IntegerType, LongType, StringType

from analysis.evidence import tables
from harness.releases.compile import RECORDER_SOURCES
from harness.rundir.describe import DOCUMENT, declared, run_directory_document
from harness.rundir.events import EVENTS, EventLog
from harness.rundir.files import JsonValue
from harness.rundir.records import HISTORY, problem_of

# --- the harness ------------------------------------------------------------------------------------------------------

DRAIN: dict[str, JsonValue] = {"at_ns": 1, "complete": True, "remaining": 0}


@pytest.mark.parametrize(
    ("kind", "values", "words"),
    [
        ("drained", DRAIN, "no record has the type drained"),
        ("drain", {**DRAIN, "left": 0}, "no field left"),
        ("drain", {"at_ns": 1}, "lacks complete, remaining"),
        ("drain", {**DRAIN, "remaining": None}, "remaining of a record drain is None"),
        ("drain", {**DRAIN, "remaining": True}, "remaining of a record drain is True"),
        ("drain", {**DRAIN, "remaining": 1.5}, "not of kind 64-bit integer"),
        ("drain", {**DRAIN, "complete": 1}, "not of kind true or false"),
        ("hiccup", {"from_ns": 1, "at_ns": 2, "late_ms_max": "1", "samples": 1}, "not of kind number"),
    ],
)
def test_an_event_that_is_not_declared_is_refused(
    tmp_path: Path, kind: str, values: dict[str, JsonValue], words: str
) -> None:
    with EventLog(tmp_path / "events.jsonl") as events:
        with pytest.raises(ValueError, match=words):
            events.write(kind, values)
        assert events.count == 0


def test_what_may_be_absent_may_be_null_and_a_whole_number_is_a_number(tmp_path: Path) -> None:
    with EventLog(tmp_path / "events.jsonl") as events:
        events.fault("append-stall", "asked", asked_ms=450)
        events.fault("append-stall", "injected")
        assert events.count == 2


def test_lists_are_known_from_texts() -> None:
    lock = {"process": "p", "instance": "i", "group": "g", "code": 41, "thread": "t", "address": "a", "topic": "T"}
    assert problem_of(HISTORY, "rpc", {**lock, "asked": ["broker-a:0"], "started_ns": 1}) == ""
    assert "not of kind list of texts" in problem_of(HISTORY, "rpc", {**lock, "asked": "broker-a:0", "started_ns": 1})


# --- Java's recorder --------------------------------------------------------------------------------------------------

_TYPE = re.compile(r'(?:prefix|write)\("(\w+)"')
_FIELD = re.compile(r'(?:\.text|\.number|\bfield|\bqueues)\((?:record, )?"(\w+)"')
_LITERAL = re.compile(r'[{,]\\"(\w+)\\":')
_EACH = frozenset({"type", "n"})
_WRITERS = ("Attempts", "Calls", "History", "Listener", "LockHook", "QueueWatch", "Sends", "Transactions")


def _source(name: str) -> str:
    return (RECORDER_SOURCES / f"{name}.java").read_text("utf-8")


@pytest.mark.parametrize("name", _WRITERS)
def test_the_recorder_writes_the_fields_that_are_declared(name: str) -> None:
    source = _source(name)
    types = set(_TYPE.findall(source))
    assert types
    written = {*_FIELD.findall(source), *_LITERAL.findall(source)} - _EACH
    expected = {field.name for kind in types for field in HISTORY[kind].fields}
    # Every record gets its process from the prefix that History makes.
    assert written | {"process"} == expected


def test_the_recorder_writes_every_type_that_is_declared_and_no_other_source_of_it_writes() -> None:
    types = [kind for name in _WRITERS for kind in _TYPE.findall(_source(name))]
    assert set(types) == set(HISTORY)
    others = [path for path in RECORDER_SOURCES.glob("*.java") if path.stem not in _WRITERS]
    assert not [path.name for path in others if "History.begin" in path.read_text("utf-8")]


# --- Spark ------------------------------------------------------------------------------------------------------------


def test_spark_reads_what_is_declared_but_what_nothing_is_decided_by() -> None:
    left = {"client", "msg_id", "stored_ms", "response"}
    for schema, records, left_out in ((tables.HISTORY, HISTORY, left), (tables.EVENTS, EVENTS, set())):
        names = {field.name for kind in records.values() for field in kind.fields}
        assert set(schema.names) == {*names, "type", "n", tables.CORRUPT_COLUMN} - left_out
        assert left_out < names or not left_out


def test_a_column_has_the_type_of_its_field() -> None:
    history = {name: tables.HISTORY[name].dataType for name in ("seq", "code", "queue", "granted", "remark")}
    assert history == {
        "seq": LongType(),
        "code": IntegerType(),
        "queue": IntegerType(),
        "granted": ArrayType(StringType()),
        "remark": StringType(),
    }
    events = {name: tables.EVENTS[name].dataType for name in ("achieved_ms", "granted", "queue", "value")}
    # The queue of a lock probe is text such as broker-a:3, that of store_max a number.
    assert events == {
        "achieved_ms": DoubleType(),
        "granted": BooleanType(),
        "queue": StringType(),
        "value": DoubleType(),
    }


# --- the document -----------------------------------------------------------------------------------------------------


def test_the_document_of_the_run_directory_is_the_one_that_the_declarations_make() -> None:
    committed = DOCUMENT.read_text("utf-8")
    assert committed == run_directory_document(committed), "python -m harness.rundir.describe"


def test_the_document_has_every_field_with_its_meaning() -> None:
    text = declared()
    assert "| `rules` | object of text | the hash of each claim's rule by the claim's id |" in text
    assert "| `groups` | list of text, optional | its consumer groups |" in text
    assert "| `asked` | list of texts | the queues that it names, as broker-a:3 |" in text
    assert "|  |" not in text


def test_a_field_of_two_events_is_of_one_kind() -> None:
    """A column is of one type: of two kinds the numbers of one event became texts."""
    kinds: dict[str, set[str]] = {}
    for one in EVENTS.values():
        for field in one.fields:
            kinds.setdefault(field.name, set()).add(str(field.kind))
    assert {name for name, of in kinds.items() if len(of) > 1} == {"queue"}, "which is read as a text everywhere"
