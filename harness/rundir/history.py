"""A history: the records of one client process.

Java's recorder (``harness/clients/recorder``) and the worker of Python's clients write them; a test compares what the
sources of both write with what is declared here.
"""

from __future__ import annotations

from harness.rundir.records import (
    AT_NS,
    BROKER,
    CODE,
    FINISHED_NS,
    GROUP,
    MONO_NS,
    PROCESS,
    QUEUE,
    STARTED_NS,
    TOPIC,
    WALL_US,
    Field,
    Kind,
    declared,
    long,
    maybe,
    record,
    text,
)

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
        text("outcome", "ok, or failed: a body of another run, or a listener that was asked to fail"),
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
        "instance",
        "A producer or consumer begins or ends.",
        PROCESS,
        _INSTANCE,
        GROUP,
        text("event", "starting, started, stopping, stopped"),
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
    record("anchor", "The wall clock tied to the monotonic one, every 10 s.", PROCESS, MONO_NS, WALL_US),
)
