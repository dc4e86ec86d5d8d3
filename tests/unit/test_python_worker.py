from __future__ import annotations

import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest

from harness.clients.commands import SendSettings
from harness.clients.python import load as python_load
from harness.clients.python.body import read_body
from harness.clients.python.client import Answer, Answered, Client, Message, Opening
from harness.clients.python.clients import CLIENTS
from harness.clients.python.load import GIVE_UP_S, Load, Records
from harness.clients.python.schedule import Schedule
from harness.clients.python.worker import PythonWorker
from harness.errors import ClientError
from harness.model.rocketmq import STORED_UNSURE
from harness.rundir.lines import read_records
from harness.rundir.records import HISTORY, problem_of
from harness.wait import wait_until

OPERATIONS = 240


class Worker:
    """A worker's history, in memory."""

    def __init__(self, only_broker: str = "") -> None:
        self.only_broker = only_broker
        self.client = "native 0.4.4"
        self.records: list[dict[str, object]] = []

    def record(self, kind: str, values: dict[str, object]) -> None:
        assert problem_of(HISTORY, kind, {"process": "producer", **values}) == ""
        self.records.append({"type": kind, **values})


class Noting(Client):
    """Notes which thread sent what, in which order, and answers as the test wants."""

    def __init__(self, sent: dict[str, list[tuple[str, int]]], answer: Callable[[], Answer]) -> None:
        self._sent, self._answer = sent, answer

    def send(self, message: Message) -> Answer:
        self._note(message)
        return self._answer()

    def send_async(self, message: Message, answered: Answered) -> None:
        self._note(message)
        answer = self._answer()

        def speak_twice() -> None:
            answered(answer, None)
            answered(None, OSError("too late"))

        threading.Timer(0.01, speak_twice).start()

    def send_oneway(self, message: Message) -> None:
        self._note(message)

    def send_batch(self, messages: list[Message]) -> Answer:
        for message in messages:
            self._note(message)
        return self._answer()

    def shutdown(self) -> None:
        threading.Event().wait()

    def _note(self, message: Message) -> None:
        body = read_body(message.body, "run")
        assert body is not None
        self._sent[message.key].append((threading.current_thread().name, body[0]))


def _through(load: Load) -> bool:
    load.give_up()
    return load.ended == OPERATIONS


def _load(
    worker: Worker,
    client: Client,
    schedule: Schedule | None,
    operations: int,
    *,
    give_up_s: float = GIVE_UP_S,
    traced: bool = False,
    **settings: Any,
) -> Load:
    sends = SendSettings(topic="T", run="run", keys=8, **{"mode": "sync", "threads": 4, **settings})
    opening = Opening(namesrv="", group="g", instance="p", sends=sends, logs=Path(), traced=traced)
    return Load(cast(Records, worker), opening, lambda _: client, schedule, operations, give_up_s)


Run = Callable[..., tuple[Worker, dict[str, list[tuple[str, int]]]]]


@pytest.fixture
def run() -> Iterator[Run]:
    loads = []

    def start(
        worker: Worker, answer: Callable[[], Answer], **settings: Any
    ) -> tuple[Worker, dict[str, list[tuple[str, int]]]]:
        sent: dict[str, list[tuple[str, int]]] = defaultdict(list)
        schedule = Schedule(time.monotonic_ns(), 1e5)
        loads.append(_load(worker, Noting(sent, answer), schedule, OPERATIONS, **settings))
        wait_until("every operation to end", lambda: _through(loads[-1]), timeout_s=30, poll_s=0.02)
        return worker, sent

    yield start
    for load in loads:
        load.stopped = True


@pytest.mark.parametrize("distribution", ["cycle", "uniform", "zipf", "hot"])
def test_a_key_that_orders_stays_with_one_thread_and_in_order(run: Run, distribution: str) -> None:
    skew = 0.5 if distribution == "hot" else 1.0
    worker, sent = run(Worker(), Answer, route="selector", key_distribution=distribution, key_skew=skew)
    assert sorted(cast(int, record["seq"]) for record in worker.records) == list(range(OPERATIONS))
    for sends in sent.values():
        assert len({thread for thread, _ in sends}) == 1
        assert [seq for _, seq in sends] == sorted(seq for _, seq in sends)
    assert len({sends[0][0] for sends in sent.values()}) > 1


@pytest.mark.parametrize(
    ("mode", "batch", "outcome"), [("sync", 1, "ok"), ("async", 1, "ok"), ("oneway", 1, "unknown"), ("batch", 4, "ok")]
)
def test_in_every_mode_a_send_is_recorded_once_with_its_first_answer(
    run: Run, mode: str, batch: int, outcome: str
) -> None:
    worker, sent = run(Worker(), lambda: Answer(offset=7), mode=mode, batch=batch)
    assert sorted(cast(int, record["seq"]) for record in worker.records) == list(range(OPERATIONS))
    assert sum(map(len, sent.values())) == OPERATIONS
    assert {(record["outcome"], record.get("error")) for record in worker.records} == {(outcome, None)}
    offsets = {record["offset"] for record in worker.records if "offset" in record}
    assert offsets == (set() if mode == "oneway" else set(range(7, 7 + batch)))


@pytest.mark.parametrize("mode", ["sync", "async"])
def test_a_closed_loop_has_as_many_sends_on_their_way_as_are_asked(mode: str) -> None:
    under_way: list[Answered] = []
    answers = threading.Event()

    class Holding(Noting):
        def send(self, message: Message) -> Answer:
            under_way.append(lambda *_: None)
            answers.wait(30)
            return Answer()

        def send_async(self, message: Message, answered: Answered) -> None:
            under_way.append(answered)

    load = _load(Worker(), Holding({}, Answer), None, 0, mode=mode, threads=1 if mode == "async" else 5)
    try:
        load.steer(3)
        wait_until("three sends", lambda: len(under_way) == 3, timeout_s=30, poll_s=0.02)
        load.steer(4)
        wait_until("a fourth", lambda: len(under_way) == 4, timeout_s=30, poll_s=0.02)
        time.sleep(0.1)
        assert (len(under_way), load.issued, load.ended) == (4, 4, 0)
    finally:
        load.stopped = True
        answers.set()


def test_a_client_whose_shutdown_hangs_does_not_hang_its_load(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_load, "SHUTDOWN_S_MAX", 0.1)
    _load(Worker(), Noting({}, Answer), Schedule(0, 1.0), 0).shut_down()


def test_every_client_can_what_it_says() -> None:
    methods = {"sync": "send", "async": "send_async", "oneway": "send_oneway", "batch": "send_batch"}
    for client in CLIENTS.values():
        implemented = {mode for mode, name in methods.items() if getattr(client, name) is not getattr(Client, name)}
        assert set(client.can.modes) == implemented
        assert set(client.can.ordered_modes) < implemented


@pytest.mark.parametrize(("only_broker", "place"), [("broker-a", {"broker": "broker-a", "queue": 5}), ("", {})])
def test_a_queue_is_recorded_only_where_its_broker_is_known(
    run: Run, only_broker: str, place: dict[str, object]
) -> None:
    worker, _ = run(Worker(only_broker), lambda: Answer(queue=5, offset=7), route="selector")
    first = worker.records[0]
    assert {name: first[name] for name in ("broker", "queue") if name in first} == place
    assert (first["outcome"], first["offset"]) == ("ok", 7)


def test_its_history_has_the_anchor_that_every_history_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(cast(dict[str, object], CLIENTS), "none", Client)
    worker = PythonWorker(
        {"process": "producer", "client": "c", "only_broker": "", "kind": "none", "logs": str(tmp_path)}
    )
    worker.open_history(str(tmp_path / "producer.jsonl"))
    worker.close_history()
    for record in read_records(tmp_path / "producer.jsonl").records:
        values = {name: value for name, value in record.items() if name not in {"type", "n"}}
        assert problem_of(HISTORY, str(record["type"]), values) == ""


@pytest.mark.parametrize("status", STORED_UNSURE)
def test_an_answer_that_is_no_success_is_unknown_and_says_which(run: Run, status: str) -> None:
    worker, _ = run(Worker(), lambda: Answer(status=status))
    first = worker.records[0]
    assert (first["outcome"], first["error"], first["remark"], first["status"]) == ("unknown", *[status] * 3)


def test_neither_a_success_nor_what_nobody_answered_has_a_status(run: Run) -> None:
    def unanswered() -> Answer:
        raise TimeoutError("nobody answered")

    for answer, outcome in ((Answer, "ok"), (unanswered, "unknown")):
        worker, _ = run(Worker(), answer)
        assert {record["outcome"] for record in worker.records} == {outcome}
        assert not [record for record in worker.records if "status" in record]


def test_a_send_that_does_not_return_is_given_up_and_unknown(run: Run) -> None:
    hanging = threading.Event()
    calls: list[int] = []

    def answer() -> Answer:
        calls.append(1)
        if len(calls) == 1:
            hanging.wait(1.0)
        return Answer()

    worker, _ = run(Worker(), answer, timeout_ms=100, give_up_s=0.1)
    hanging.set()
    given_up = [record for record in worker.records if record["outcome"] == "unknown"]
    assert [record["remark"] for record in given_up] == ["the client did not return"]
    assert sorted(cast(int, record["seq"]) for record in worker.records) == list(range(OPERATIONS))


@pytest.mark.parametrize("traced", [True, False])
def test_a_message_has_its_number_as_its_tag_where_its_calls_are_looked_for(traced: bool) -> None:
    tags: dict[str, int] = {}

    class Tagged(Noting):
        def send(self, message: Message) -> Answer:
            body = read_body(message.body, "run")
            assert body is not None
            tags[message.tag] = body[0]
            return Answer()

    load = _load(Worker(), Tagged({}, Answer), Schedule(time.monotonic_ns(), 1e5), 5, traced=traced, first=3, step=2)
    wait_until("the sends", lambda: load.ended == 5, timeout_s=30, poll_s=0.02)
    assert tags == ({str(seq): seq for seq in (3, 5, 7, 9, 11)} if traced else {"": tags[""]})


def test_a_client_says_which_mode_it_has_not() -> None:
    class Least(Client):
        can = CLIENTS["grpc"].can

        def __init__(self, opening: Opening) -> None:
            pass

        def send(self, message: Message) -> Answer:
            raise AssertionError

        def shutdown(self) -> None:
            pass

    client = Least(None)  # type: ignore[arg-type]
    with pytest.raises(ClientError, match="has no one-way sends"):
        client.send_oneway(None)  # type: ignore[arg-type]
    with pytest.raises(ClientError, match="has no batches"):
        client.send_batch([])
