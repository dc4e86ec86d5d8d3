"""A fault that changed nothing says so: on a cluster, a client or a kernel of values that stays as it was."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import SimpleNamespace
from typing import Any

import pytest

from harness.backends.cluster import Node
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults import (
    java_rule,
    owners,
    pause_proof,
    read_only,
    rules,
    server_views,
    slow_sends,
    topic_moments,
)
from harness.model.faults import (
    AppendThrows,
    DeliveryThrows,
    DispatchThrows,
    Fault,
    ForgottenTopic,
    JavaRule,
    KillOwners,
    KillStoppingOwners,
    MoreQueues,
    PauseOwners,
    ReadOnlyBroker,
    ResizeTopic,
    RestartNameServer,
    SilenceOwners,
    SlowBroker,
    TopicMoments,
    UnheardBroker,
)
from harness.wait import wait_until
from tests.lib.answering import Answering, answering
from tests.lib.values import NODES, asked, ended, made, trial_of_values

WAIT_S_MAX = 60.0


# --- clients ----------------------------------------------------------------------------------------------------------


class Owners:
    """The process that has the owners, whom nothing is done to."""

    name = "owner"

    def __init__(self, process: Answering, *, runs: bool = True, stops: bool = False) -> None:
        self.pid = process.process.pid
        self._process, self._runs, self._stops = process, runs, stops

    def owners(self) -> Owners:
        return self

    def is_running(self) -> bool:
        return self._runs

    def kill(self) -> tuple[int, int]:
        return mono_ns(), mono_ns()

    def pause(self, leases: Any, *, until_s: float) -> None:
        if self._stops:
            self._process.stop()

    def resume(self) -> float:
        if self._stops:
            self._process.go_on()
        return 3.0

    def shut_down_consumers(self, first_s: float = 0.0) -> None:
        """They are told."""


@pytest.fixture
def client() -> Iterator[Answering]:
    with answering() as one:
        yield one


@pytest.mark.parametrize("stops", [True, False])
@pytest.mark.parametrize("fault", [PauseOwners(), SilenceOwners()], ids=lambda fault: fault.kind)
def test_a_client_that_was_not_stopped_did_not_stand_still(
    client: Answering, fault: Fault, stops: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pause_proof, "STOPPING_S_MAX", 0.2)
    monkeypatch.setattr(owners, "able", lambda load, to: load)
    done = made(fault, trial_of_values(params={"pause_s": 1.0}), Owners(client, stops=stops))
    assert (done.detail, done.exercised) == ("owner", None)
    healed = ended(done)
    assert healed.exercised is stops, healed.achieved
    assert ("were not stopped" in healed.achieved) is not stops
    assert healed.achieved_ms == (3.0 if isinstance(fault, PauseOwners) else None)
    if stops:
        client.go_on()


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("fault", [KillOwners(), KillStoppingOwners()], ids=lambda fault: fault.kind)
def test_a_client_that_had_ended_before_was_not_killed(
    client: Answering, fault: Fault, runs: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(owners, "able", lambda load, to: load)
    done = made(fault, load=Owners(client, runs=runs))
    assert done.exercised is runs
    assert done.detail == ("owner" if runs else "owner had ended before it was killed")


# --- name servers, topics and permissions -----------------------------------------------------------------------------


class View:
    """A name server that goes on listing what it is told to forget, and a broker as one to write to."""

    def __init__(self, permission: int | None = 6) -> None:
        self.told: list[str] = []
        self._permission = permission

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *of, **more: self.told.append(name)

    def route(self, topic: str) -> Any:
        return None if self._permission is None else SimpleNamespace(permissions={"broker-a": self._permission})

    def cluster_brokers(self) -> Mapping[str, Mapping[int, str]]:
        self.told.append("look")
        return {"broker-b": {0: "127.0.0.1:4"}}


@pytest.fixture
def view(monkeypatch: pytest.MonkeyPatch) -> View:
    one = View()

    @contextmanager
    def ask(node: Node, **more: Any) -> Iterator[View]:
        yield one

    for module in (server_views, read_only, topic_moments):
        monkeypatch.setattr(module, "ask_name_server", ask)
    return one


def test_a_name_server_that_goes_on_listing_a_broker_hears_it(view: View) -> None:
    done = made(UnheardBroker(every_s=0.001))
    wait_until("it to be told and looked at twice", lambda: view.told.count("look") > 1, timeout_s=WAIT_S_MAX)
    healed = ended(done)
    assert healed.exercised is False
    assert healed.achieved.endswith("times; namesrv-2 went on listing broker-b")


def test_a_name_server_that_lists_a_broker_no_more_is_asked_no_more(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(View, "cluster_brokers", lambda self: self.told.append("look") or {"broker-a": {0: ""}})
    done = made(UnheardBroker(every_s=0.001))
    wait_until("it to be told", lambda: view.told.count("unregister_broker") > 2, timeout_s=WAIT_S_MAX)
    assert ended(done).exercised is True
    assert view.told.count("look") == 1


@pytest.mark.usefixtures("view")
def test_a_name_server_that_has_a_route_all_the_same_forgot_no_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_views, "able", lambda load, to: load)
    resized: list[tuple[int, int]] = []
    load = SimpleNamespace(numbers=(4, 4), resize=lambda *numbers: resized.append(numbers))
    done = made(ForgottenTopic(), load=load)
    assert (done.exercised, done.detail) == (False, "namesrv-2 still had a route of T then")
    ended(done)
    assert resized == [(4, 4)]


@pytest.mark.parametrize(("pids", "took_effect"), [([7, 7], False), ([7, None], False), ([7, 8], True)])
def test_a_name_server_that_is_the_same_process_was_not_restarted(
    pids: list[int | None], took_effect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_views, "ask", lambda node: asked(create_topic=lambda *of, **more: None))
    monkeypatch.setattr(server_views, "_has_all", lambda cluster, server, topic: True)
    now = iter(pids)
    cluster = SimpleNamespace(
        nodes=NODES, pid=lambda name: next(now), kill_node=lambda name: (1, 2), start_node=lambda name: None
    )
    assert made(RestartNameServer(), trial_of_values(cluster=cluster)).exercised is took_effect


@pytest.mark.parametrize(
    ("permission", "took_effect", "words"),
    [
        (6, False, "namesrv-1, namesrv-2 listed it as writable"),
        (4, True, "namesrv-1, namesrv-2 listed it as readable alone"),
        (None, None, "no name server said"),
    ],
)
def test_a_broker_that_is_listed_as_writable_is_not_read_only(
    permission: int | None, took_effect: bool | None, words: str, view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    view._permission = permission
    written: list[Mapping[str, str]] = []
    monkeypatch.setattr(read_only, "change_live", lambda node, settings: written.append(settings))
    healed = ended(made(ReadOnlyBroker(node="broker-a")))
    assert healed.exercised is took_effect
    assert words in healed.achieved
    assert written == [{"brokerPermission": "4"}, {"brokerPermission": "6"}], "it is given back whatever was seen"


@pytest.mark.parametrize("fault", [MoreQueues(), ResizeTopic(steps=((8, 4, 0.0),))], ids=lambda fault: fault.kind)
def test_a_topic_whose_numbers_the_name_servers_do_not_list_is_not_resized(fault: Fault) -> None:
    class Load:
        numbers = (4, 4)

        def resize(self, write_queues: int, read_queues: int) -> None:
            raise ClientError("waited in vain")

    with pytest.raises(ClientError, match="in vain"):
        made(fault, load=Load())


@pytest.mark.usefixtures("view")
def test_a_retry_topic_that_is_there_after_its_deletion_was_not_deleted(monkeypatch: pytest.MonkeyPatch) -> None:
    there: set[str] = set()

    class Broker(View):
        """One whose deletions do nothing."""

        def heartbeat(self, client_id: str, groups: Sequence[str], topic: str) -> None:
            there.update(f"%RETRY%{group}" for group in groups)

        def topic_table(self) -> Any:
            return SimpleNamespace(topics=[SimpleNamespace(name=name) for name in there])

        def send(self, *of: object) -> Any:
            return SimpleNamespace(commit_log_offset=0)

        def pull(self, *of: object) -> bool:
            return True

        def max_offset(self, *of: object) -> int:
            return 1

        def consumer_offset(self, *of: object) -> int:
            return 1

        def __enter__(self) -> Broker:
            return self

        def __exit__(self, *of: object) -> None:
            return None

    monkeypatch.setattr(topic_moments, "ask", lambda node: Broker())
    monkeypatch.setattr(topic_moments._Moments, "client_library", lambda self: None)
    done = made(TopicMoments())
    assert done.exercised is False
    assert done.detail.startswith("4 of its deletions left the topic there: g0-m-unused, ")


# --- rules in a broker ------------------------------------------------------------------------------------------------


def test_sends_that_no_rule_held_up_were_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    for held, took_effect in (([7, 7], False), ([7, 9], True)):
        answers = iter(held)
        monkeypatch.setattr(slow_sends, "asked_rule", lambda broker, line, count, answers=answers: [next(answers)])
        assert ended(made(SlowBroker(slow_ms=5.0))).exercised is took_effect


def test_an_own_rule_that_took_no_effect_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    rule = JavaRule(places=("a.B.c",), does="return")
    for counts, took_effect in (([7, 7], False), ([7, 9], True)):
        answers = iter(counts)
        monkeypatch.setattr(java_rule, "asked_rule", lambda broker, line, count, answers=answers: [next(answers)])
        assert ended(made(rule)).exercised is took_effect


@pytest.mark.parametrize("fault", [AppendThrows(), DeliveryThrows(), DispatchThrows()], ids=lambda fault: fault.kind)
def test_a_rule_that_stamped_nothing_threw_nothing(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "rule_of", lambda broker: asked(sendall=lambda line: None))
    monkeypatch.setattr(rules, "answer_of", lambda connection, broker: "nothing was thrown")
    with pytest.raises(ClientError, match="no rule of broker-a took effect: nothing was thrown"):
        made(fault)
