"""Thousands of mutated answers of real nodes: each ends in a value or in an error that names the node, and no audit ends by one."""

from __future__ import annotations

import os
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from io import BufferedIOBase
from typing import Any

import pytest

from harness.audit.asking import Bounds, read_cluster
from harness.audit.findings import judge
from harness.errors import AccessDeniedError, AnswerError, ClientError, TargetNotAllowedError
from harness.model.rocketmq import FRAME_BYTES_MAX
from harness.protocol.broker import Broker, delay_offsets
from harness.protocol.name_server import NameServer
from mqlab.ask.audit_prometheus import exposition
from mqlab.ask.audit_told import as_json
from tests.lib.bad_nodes import node, read_request
from tests.lib.recorded_answers import Recorded, mutated, recorded_answers

SEED = int(os.environ.get("MUTATIONS_SEED", "1"))
ANSWERS = int(os.environ.get("MUTATIONS", "5000"))
AUDITS = ANSWERS // 20

ASKED: dict[tuple[str, int], Callable[[Any], object]] = {
    ("Broker", 21): lambda broker: broker.topic_table(),
    ("Broker", 26): lambda broker: broker.broker_config(),
    ("Broker", 28): lambda broker: delay_offsets(broker.runtime_info(), broker.words),
    ("Broker", 30): lambda broker: broker.max_offset("T", 0),
    ("Broker", 31): lambda broker: broker.min_offset("T", 0),
    ("Broker", 43): lambda broker: broker.consumer_offsets(),
    ("Broker", 307): lambda broker: list(broker.subscriptions("g", ["client"])),
    ("Broker", 203): lambda broker: list(broker.members(["g"])),
    ("NameServer", 105): lambda server: server.route("orders"),
    ("NameServer", 106): lambda server: server.cluster_brokers(),
    ("NameServer", 206): lambda server: server.listed_topics(),
}
"""How each recorded request is asked."""
BOUNDS = Bounds(answer_s=10.0, node_s=20.0, all_s=60.0)
"""Longer than anything here takes: a node hangs up after what was mutated."""


@contextmanager
def _hangs_up_after(frames: Callable[[int], bytes]) -> Iterator[str]:
    """One node in one thread, which is quicker than a thread each: it answers one request a connection."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.settimeout(30.0)

        def serve() -> None:
            while True:
                connection, _ = server.accept()
                with connection, connection.makefile("rb") as requests:
                    if (request := read_request(requests)) is None:
                        return
                    connection.sendall(frames(int(str(request["opaque"]))))
                    connection.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        with socket.create_connection(server.getsockname()):
            pass
        thread.join(30.0)


def test_each_answer_is_read_as_it_was_recorded() -> None:
    drawn: list[Recorded] = []
    with _hangs_up_after(lambda opaque: drawn[-1].frame(opaque)) as address:
        for answer in recorded_answers():
            drawn.append(answer)
            kind: type[Broker | NameServer] = Broker if answer.kind == "Broker" else NameServer
            with kind(address) as connection:
                assert _outcome(connection, ASKED[answer.kind, answer.code]) == ("value", "")
                assert ".".join(map(str, connection.version)) == answer.release


def test_a_mutated_answer_ends_in_a_value_or_in_an_error_that_names_the_node() -> None:
    chance = random.Random(SEED)
    answers = recorded_answers()
    assert {(answer.kind, answer.code) for answer in answers} == set(ASKED)
    assert {answer.serialisation for answer in answers} == {0, 1}
    drawn: list[Recorded] = []
    outcomes: Counter[str] = Counter()
    with _hangs_up_after(lambda opaque: mutated(drawn[-1].frame(opaque), chance)) as address:
        for number in range(ANSWERS):
            drawn.append(chance.choice(answers))
            kind: type[Broker | NameServer] = Broker if drawn[-1].kind == "Broker" else NameServer
            with kind(address, name=f"node {number}", timeout_s=10.0) as connection:
                outcome, text = _outcome(connection, ASKED[drawn[-1].kind, drawn[-1].code])
            assert text.isprintable()
            assert len(text) < 2_000
            assert outcome == "value" or f"node {number} at {address} " in text
            outcomes[outcome] += 1
    assert outcomes["nonsense"] > ANSWERS // 3
    assert outcomes["value"] > ANSWERS // 20
    assert outcomes["no answer"] > ANSWERS // 50


def _outcome(connection: Broker | NameServer, ask: Callable[[Any], object]) -> tuple[str, str]:
    """What a request came to, and what is said of it."""
    try:
        ask(connection)
    except AnswerError as error:
        return "nonsense" if error.is_nonsense else "no answer", str(error)
    except (ClientError, AccessDeniedError) as error:
        return "refusal", str(error)
    return "value", ""


@pytest.mark.parametrize("serialisation", [0, 1])
def test_an_audit_with_mutated_answers_of_a_broker_and_a_name_server_is_told_to_its_end(
    serialisation: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("harness.audit.asking.SETTLE_S", 0.0)
    chance = random.Random(SEED + serialisation)
    # Where a request has only the other kind of header, its answer has that one.
    answers = {
        (answer.kind, answer.code): answer
        for answer in sorted(recorded_answers(), key=lambda answer: answer.serialisation == serialisation)
    }
    share = [1.0]

    def behaves(kind: str) -> Callable[[socket.socket, BufferedIOBase], None]:
        def behave(connection: socket.socket, requests: BufferedIOBase) -> None:
            while (request := read_request(requests)) is not None:
                code, opaque = int(str(request["code"])), int(str(request["opaque"]))
                frame = _refusal(opaque)
                if (kind, code) in answers:
                    frame = _at(answers[kind, code].frame(opaque), places)
                if chance.random() < share[0]:
                    connection.sendall(mutated(frame, chance))
                    return
                connection.sendall(frame)

        return behave

    places: dict[bytes, bytes] = {}
    ended: Counter[str] = Counter()
    with node(behaves("NameServer")) as server, node(behaves("Broker")) as broker:
        places |= {b"127.0.0.1:10911": broker.encode()}
        for _ in range(AUDITS):
            share[0] = chance.choice((0.05, 0.1, 0.3))
            try:
                reading = read_cluster([server], further_brokers=[("broker-a", 0, broker)], bounds=BOUNDS)
            except (TargetNotAllowedError, AccessDeniedError) as error:
                ended[type(error).__name__] += 1
                continue
            findings = judge(reading)
            as_json(reading, findings, None, FRAME_BYTES_MAX)
            exposition(reading, findings, None, FRAME_BYTES_MAX).encode()
            ended.update({finding.kind for finding in findings} or {"sound"})
    assert ended["answers-nonsense"] > AUDITS // 10
    assert ended["TargetNotAllowedError"] < AUDITS // 10


def _refusal(opaque: int) -> bytes:
    text = b'{"code":3,"flag":1,"language":"JAVA","opaque":%d,"remark":"no","version":513}' % opaque
    return struct.pack(">II", 4 + len(text), len(text)) + text


def _at(frame: bytes, places: dict[bytes, bytes]) -> bytes:
    """The frame with the brokers where they are in this test."""
    (word,) = struct.unpack(">I", frame[4:8])
    body = frame[8 + (word & 0xFFFFFF) :]
    for recorded, place in places.items():
        body = body.replace(recorded, place)
    rest = frame[4 : 8 + (word & 0xFFFFFF)] + body
    return struct.pack(">I", len(rest)) + rest
