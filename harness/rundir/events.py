"""A trial's events.jsonl: what the harness itself writes."""

import contextlib
import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Literal, get_args

from harness.clock import Anchor, mono_ns, take_anchor
from harness.model.cells import ParameterValue
from harness.rundir.files import JsonValue
from harness.rundir.lines import RecordLog
from harness.rundir.records import (
    AT_NS,
    BROKER,
    CODE,
    FINISHED_NS,
    GROUP,
    MONO_NS,
    PROCESS,
    RECORDS,
    STARTED_NS,
    TOPIC,
    WALL_US,
    Field,
    Kind,
    declared,
    long,
    maybe,
    problem_of,
    record,
    text,
)

Phase = Literal["up", "steady", "inject", "hold", "heal", "recover", "drain", "collect", "down"]

FaultState = Literal["asked", "injecting", "injected", "healing", "healed"]

StepState = Literal["begun", "done", "failed"]

Moment = Literal["begin", "held", "end"]
"""When the brokers were read: before what was done is undone, or after everything."""

_NODE = text("node", "the broker or name server")
_TARGET = text("target", "the node or process that it was done to")
_DETAIL = text("detail", "what else is to be said, in words")
_PARAMS = text("params", "the measure's own parameters, a JSON object as text")
_MOMENT = text("moment", "begin, held (before what was done is undone) or end")


def _number(name: str, says: str) -> Field:
    return Field(name=name, kind=Kind.NUMBER, says=says)


def _flag(name: str, says: str) -> Field:
    return Field(name=name, kind=Kind.FLAG, says=says)


EVENTS = declared(
    record(
        "phase",
        "A phase of the trial begins or ends.",
        text("phase", ", ".join(get_args(Phase))),
        text("event", "begin or end"),
        AT_NS,
    ),
    record(
        "fault",
        "A state of the trial's fault.",
        text("fault", "the fault's kind"),
        text("state", ", ".join(get_args(FaultState))),
        AT_NS,
        _TARGET,
        maybe(_number("asked_ms", "the length that was asked for")),
        maybe(_number("achieved_ms", "the length that was measured")),
        _DETAIL,
        maybe(_flag("exercised", "false: the fault did not take effect, for the reason in detail")),
        maybe(long("number", "which of the faults of a load, or of the steps of an arm, it is, from 1")),
    ),
    record(
        "step",
        "A step of the arm begins, is done, or failed, for the reason in detail.",
        AT_NS,
        long("number", "which of the arm's steps it is, from 1"),
        text("taken", "what it is, in words"),
        text("state", ", ".join(get_args(StepState))),
        _DETAIL,
    ),
    record(
        "member",
        "A member of a group that the load starts, where members of one group differ.",
        GROUP,
        text("instance", "the consumer within its process"),
        TOPIC,
        text("tags", "the expression that it subscribes with"),
    ),
    record(
        "append",
        "One stalled append, stamped in the broker.",
        _NODE,
        long("entry_ns", "when it entered the lock"),
        long("delay_end_ns", "when the stall ended"),
        long("exit_ns", "when it left the lock"),
    ),
    record(
        "hiccup",
        "The noise probe's window: how late a thread that sleeps is woken.",
        long("from_ns", "when the window began"),
        long("at_ns", "when it ended"),
        _number("late_ms_max", "the worst oversleep"),
        long("samples", "how often it slept"),
    ),
    record(
        "lock_probe",
        "A lock request of ours for a queue of a group's owner.",
        AT_NS,
        GROUP,
        text("as_group", "the group in whose name it asked"),
        text("queue", "broker and number, as broker-a:3"),
        text("asked_broker", "the broker that was asked"),
        _flag("granted", "whether it got the lock"),
    ),
    record(
        "probe",
        "Something that was asked of the cluster and answered with a number.",
        AT_NS,
        text("measure", "the measure's name"),
        _number("value", "the answer, in the measure's unit"),
        text("of", "what was asked about"),
        _PARAMS,
        _DETAIL,
    ),
    record(
        "route",
        "What a name server lists, written when it differs from before.",
        AT_NS,
        _NODE,
        TOPIC,
        text("registered", "the brokers that it lists, as broker-a:0,broker-a:1"),
        text("routed", "those of them that have queues of the topic"),
    ),
    record(
        "drain",
        "How the wait for the last messages ended.",
        AT_NS,
        _flag("complete", "whether everything was consumed"),
        long("remaining", "messages that were not"),
    ),
    record(
        "store_max",
        "The broker's own offsets of one queue, and of one group in it.",
        TOPIC,
        BROKER,
        long("queue", "the queue's number on its broker"),
        long("min_offset", "the oldest message's offset"),
        long("max_offset", "the next message's offset"),
        maybe(GROUP),
        maybe(long("consumer_offset", "the group's offset")),
        _MOMENT,
    ),
    record(
        "log_end",
        "The end of one queue by the messages in a broker's commit log, as its disk has it after a power loss.",
        TOPIC,
        BROKER,
        long("queue", "the queue's number on its broker"),
        long("max_offset", "the next message's offset"),
    ),
    record(
        "topic_shape",
        "A topic's queues on one broker.",
        TOPIC,
        BROKER,
        long("folders", "queues that have a folder in the store"),
        _MOMENT,
        long("write_queues", "as the broker has it"),
        long("read_queues", "as the broker has it"),
    ),
    record(
        "reading",
        "A number that was read off a node, or off its release's code.",
        AT_NS,
        text("name", "what was read; see harness/load/readings.py"),
        _number("value", "the number"),
        _TARGET,
        text("moment", "before or after the fault"),
        _DETAIL,
    ),
    record(
        "request",
        "A request of another kind beside the load.",
        text("kind", "what it asks for"),
        STARTED_NS,
        FINISHED_NS,
        replace(CODE, says="the answer's code; -1 when there was none"),
    ),
    record(
        "restart",
        "A node was told to end and started again on its store, or clients were followed by others, of a release.",
        AT_NS,
        _NODE,
        text("role", "namesrv, slave or master; consumer or producer: all of the load's"),
        long("step", "which of the trial's restarts it is, from 1"),
        text("from_release", "RocketMQ's release until then"),
        text("to_release", "its release from then on"),
        _flag("orderly", "whether it ended by itself within the time that it had"),
        long("stopping_ns", "when it was told to end"),
        long("stopped_ns", "when its process was gone; of clients, that began"),
        long("ready_ns", "when it could be used again, and a slave had what its master has"),
    ),
    record("anchor", "The wall clock tied to the monotonic one.", PROCESS, MONO_NS, WALL_US),
    record("end", "The file's end mark: all that the harness had to write is there.", RECORDS),
)
"""The records of events.jsonl; hiccups.jsonl has the ``hiccup`` and ``anchor`` records of the whole run."""


class EventLog(RecordLog):
    """A trial's events.jsonl. ``at_ns`` is now when it is not given."""

    def write(self, kind: str, values: Mapping[str, JsonValue]) -> int:
        """As ``RecordLog.write``. Raises ValueError for a record that is not declared."""
        if problem := problem_of(EVENTS, kind, values):
            raise ValueError(problem)
        return super().write(kind, values)

    def record(self, kind: str, /, **values: JsonValue) -> None:
        """Write a record of a type that is declared above. Raises ValueError as ``write``."""
        if kind in EVENTS and AT_NS in EVENTS[kind].fields and values.get("at_ns") is None:
            values["at_ns"] = mono_ns()
        self.write(kind, values)

    @contextlib.contextmanager
    def phase(self, phase: Phase) -> Iterator[None]:
        """Stamp a phase's begin and, however it ends, its end."""
        self.record("phase", phase=phase, event="begin")
        try:
            yield
        finally:
            self.record("phase", phase=phase, event="end")

    def fault(
        self,
        fault: str,
        state: FaultState,
        *,
        target: str = "",
        asked_ms: float | None = None,
        achieved_ms: float | None = None,
        detail: str = "",
        exercised: bool | None = None,
        at_ns: int | None = None,
        number: int | None = None,
    ) -> None:
        """Stamp a state of a fault: what was asked, and once it is known what was achieved.

        ``exercised`` is False when it turned out that the fault did not take effect, for the reason in ``detail``.
        ``number`` tells the faults of a load apart, of which there may be several at once.
        """
        lengths = {"asked_ms": asked_ms, "achieved_ms": achieved_ms}
        names = {"fault": fault, "state": state, "target": target, "detail": detail}
        self.record("fault", at_ns=at_ns, **names, **lengths, exercised=exercised, number=number)

    def probe(
        self,
        measure: str,
        value: float,
        *,
        of: str,
        params: Mapping[str, ParameterValue] | None = None,
        detail: str = "",
    ) -> None:
        """Something that was asked of the cluster and answered with a number; ``of`` names what was asked about."""
        given = json.dumps({name: str(one) for name, one in (params or {}).items()}, sort_keys=True)
        self.record("probe", measure=measure, value=float(value), of=of, params=given, detail=detail)

    def reading(
        self, name: str, value: float, *, target: str, moment: Literal["before", "after"] = "after", detail: str = ""
    ) -> None:
        """A number that was read off a node, or off its release's code, before the fault or after it."""
        self.record("reading", name=name, value=value, target=target, moment=moment, detail=detail)

    def anchor(self, anchor: Anchor | None = None, *, process: str = "harness") -> None:
        """Tie the wall clock to the monotonic one, now."""
        taken = anchor or take_anchor()
        self.record("anchor", process=process, mono_ns=taken.mono_ns, wall_us=taken.wall_us)
