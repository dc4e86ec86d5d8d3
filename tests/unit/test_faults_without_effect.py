"""A fault that changed nothing says so: on a cluster, a client or a kernel of values that stays as it was."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.cluster import Node
from harness.clock import mono_ns
from harness.errors import ClientError
from harness.faults import (
    broker_crash,
    dirty_pages,
    disk_full,
    network,
    owners,
    pause_proof,
    read_only,
    rules,
    server_views,
    slow_sends,
    topic_moments,
    write_throttle,
)
from harness.faults.injections import injection_of
from harness.model.faults import (
    AppendThrows,
    BrokerCrash,
    CutOffOwners,
    DeliveryThrows,
    DiskFilled,
    DiskFull,
    DispatchThrows,
    Fault,
    ForgottenTopic,
    KillOwners,
    KillStoppingOwners,
    LimitedPageCache,
    MoreQueues,
    NetworkCut,
    NetworkDelay,
    PageCacheNeighbour,
    PauseOwners,
    ReadOnlyBroker,
    ResizeTopic,
    RestartNameServer,
    SilenceOwners,
    SlowBroker,
    ThrottledWrites,
    TopicMoments,
    UnheardBroker,
)
from harness.trial import Healed, Injected
from harness.wait import wait_until
from tests.lib.answering import Answering, answering

NODES = (
    Node(name="namesrv-1", kind="namesrv", address="127.0.0.1:1"),
    Node(name="namesrv-2", kind="namesrv", address="127.0.0.1:2"),
    Node(name="broker-a", kind="broker", address="127.0.0.1:3", broker_name="broker-a"),
    Node(name="broker-b", kind="broker", address="127.0.0.1:4", broker_name="broker-b"),
)
TOPIC, GROUP = "T", "g0"
WAIT_S_MAX = 60.0


def _trial(**more: Any) -> Any:
    events = SimpleNamespace(probe=lambda *of, **more: None, reading=lambda *of, **more: None)
    facts: dict[str, Any] = {
        "cluster": SimpleNamespace(nodes=NODES, pid=lambda name: None),
        "record": SimpleNamespace(topic=TOPIC, groups=[GROUP], repetition=1),
        "events": events,
        "leases": None,
        "until_s": 60.0,
        "cancel": threading.Event(),
        "stay": lambda seconds: None,
        "params": {},
        "clients": [],
    }
    return SimpleNamespace(**(facts | more))


def _done(fault: Fault, trial: Any = None, load: Any = None, name: str = "") -> Injected:
    return injection_of(fault, name).inject(fault, trial or _trial(), load)


def _ended(done: Injected) -> Healed:
    assert done.end is not None
    return done.end()


@contextmanager
def _asked(**answers: Any) -> Iterator[Any]:
    yield SimpleNamespace(**answers)


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
    done = _done(fault, _trial(params={"pause_s": 1.0}), Owners(client, stops=stops))
    assert (done.detail, done.exercised) == ("owner", None)
    healed = _ended(done)
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
    done = _done(fault, load=Owners(client, runs=runs))
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
    done = _done(UnheardBroker(every_s=0.001))
    wait_until("it to be told and looked at twice", lambda: view.told.count("look") > 1, timeout_s=WAIT_S_MAX)
    healed = _ended(done)
    assert healed.exercised is False
    assert healed.achieved.endswith("times; namesrv-2 went on listing broker-b")


def test_a_name_server_that_lists_a_broker_no_more_is_asked_no_more(
    view: View, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(View, "cluster_brokers", lambda self: self.told.append("look") or {"broker-a": {0: ""}})
    done = _done(UnheardBroker(every_s=0.001))
    wait_until("it to be told", lambda: view.told.count("unregister_broker") > 2, timeout_s=WAIT_S_MAX)
    assert _ended(done).exercised is True
    assert view.told.count("look") == 1


@pytest.mark.usefixtures("view")
def test_a_name_server_that_has_a_route_all_the_same_forgot_no_topic(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_views, "able", lambda load, to: load)
    resized: list[tuple[int, int]] = []
    load = SimpleNamespace(numbers=(4, 4), resize=lambda *numbers: resized.append(numbers))
    done = _done(ForgottenTopic(), load=load)
    assert (done.exercised, done.detail) == (False, "namesrv-2 still had a route of T then")
    _ended(done)
    assert resized == [(4, 4)]


@pytest.mark.parametrize(("pids", "took_effect"), [([7, 7], False), ([7, None], False), ([7, 8], True)])
def test_a_name_server_that_is_the_same_process_was_not_restarted(
    pids: list[int | None], took_effect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_views, "ask", lambda node: _asked(create_topic=lambda *of, **more: None))
    monkeypatch.setattr(server_views, "_has_all", lambda cluster, server, topic: True)
    now = iter(pids)
    cluster = SimpleNamespace(
        nodes=NODES, pid=lambda name: next(now), kill_node=lambda name: (1, 2), start_node=lambda name: None
    )
    assert _done(RestartNameServer(), _trial(cluster=cluster)).exercised is took_effect


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
    healed = _ended(_done(ReadOnlyBroker(node="broker-a")))
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
        _done(fault, load=Load())


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
    done = _done(TopicMoments())
    assert done.exercised is False
    assert done.detail.startswith("4 of its deletions left the topic there: g0-m-unused, ")


# --- rules in a broker ------------------------------------------------------------------------------------------------


def test_sends_that_no_rule_held_up_were_not_slow(monkeypatch: pytest.MonkeyPatch) -> None:
    for held, took_effect in (([7, 7], False), ([7, 9], True)):
        answers = iter(held)
        monkeypatch.setattr(slow_sends, "asked_rule", lambda broker, line, count, answers=answers: [next(answers)])
        assert _ended(_done(SlowBroker(slow_ms=5.0))).exercised is took_effect


@pytest.mark.parametrize("fault", [AppendThrows(), DeliveryThrows(), DispatchThrows()], ids=lambda fault: fault.kind)
def test_a_rule_that_stamped_nothing_threw_nothing(fault: Fault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rules, "rule_of", lambda broker: _asked(sendall=lambda line: None))
    monkeypatch.setattr(rules, "answer_of", lambda connection, broker: "nothing was thrown")
    with pytest.raises(ClientError, match="no rule of broker-a took effect: nothing was thrown"):
        _done(fault)


# --- the kernel -------------------------------------------------------------------------------------------------------


class Lease:
    """One that ends."""

    record = SimpleNamespace(id="1")

    def __getattr__(self, name: str) -> Callable[..., None]:
        return lambda *of: None


@pytest.mark.parametrize("packets", [0, 3])
def test_a_cut_that_dropped_nothing_took_no_effect(
    client: Answering, packets: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(network, "dropped_packets", lambda lease: packets)
    monkeypatch.setattr(network, "cut_ports", lambda leases, ports, until_s: Lease())
    assert _ended(_done(NetworkCut(nodes=("broker-a",)))).exercised is (packets > 0)
    cut = network.Cut(lease=cast(Any, Lease()))
    monkeypatch.setattr(owners, "cut_processes", lambda leases, pairs, until_s: cut)
    monkeypatch.setattr(owners, "able", lambda load, to: load)
    assert _ended(_done(CutOffOwners(), load=Owners(client))).exercised is (packets > 0)


@pytest.mark.parametrize("packets", [0, 3])
def test_a_delay_that_delayed_nothing_took_no_effect(packets: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(network, "_delayed_packets", lambda: packets)
    monkeypatch.setattr(network, "delay_ports", lambda leases, ports, delay_ms, until_s: Lease())
    assert _ended(_done(NetworkDelay(nodes=("broker-a",), delay_ms=5.0))).exercised is (packets > 0)


def test_a_disk_with_more_room_than_was_asked_is_not_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(disk_full, "store_of", lambda node: SimpleNamespace(mountpoint=tmp_path))
    for left, took_effect in ((0, True), (10 * 2**20, False)):
        balloon = disk_full.Balloon(lease=cast(Any, Lease()), asked_bytes=0, left_bytes=left)
        monkeypatch.setattr(disk_full, "fill", lambda leases, store, free_bytes, until_s, one=balloon: one)
        assert _ended(_done(DiskFull(node="broker-a"))).exercised is took_effect
    empty = os.statvfs_result((4096, 4096, 1000, 990, 990, 0, 0, 0, 0, 255))
    monkeypatch.setattr("harness.faults.disk_full.os.statvfs", lambda path: empty)
    healed = _ended(_done(DiskFilled(node="broker-a", share=0.87)))
    assert healed.exercised is False
    assert healed.achieved.startswith("0.010 was used")


@pytest.mark.parametrize(
    ("group_bytes", "device_bytes", "took_effect"), [(100, 100, True), (10, 100, False), (100, 400, False)]
)
def test_writes_below_the_limit_or_past_it_were_not_throttled(
    group_bytes: int, device_bytes: int, took_effect: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A limit of 100 bytes a second, for a second."""
    monkeypatch.setattr(write_throttle, "_group_bytes", lambda path, device: group_bytes)
    monkeypatch.setattr(write_throttle, "device_bytes", lambda device, what: device_bytes)
    monkeypatch.setattr(write_throttle, "mono_ns", lambda: 1_000_000_000)
    group = cast(Any, SimpleNamespace(path=None, end=lambda: None))
    throttle = write_throttle.Throttle(group=group, device="7:1", rate_bps=100, from_ns=0, device_bytes_before=0)
    monkeypatch.setattr(write_throttle, "limit", lambda *of, **more: throttle)
    monkeypatch.setattr(write_throttle, "pid_of", lambda trial, name: 1)
    monkeypatch.setattr(write_throttle, "store_of", lambda node: None)
    assert _ended(_done(ThrottledWrites(node="broker-a", bytes_per_s=100))).exercised is took_effect


@pytest.mark.parametrize(("written", "stays"), [(True, True), (True, False), (False, True)])
@pytest.mark.parametrize("fault", [PageCacheNeighbour(), LimitedPageCache()], ids=lambda fault: fault.kind)
def test_a_neighbour_that_wrote_too_little_or_a_limit_that_was_left_took_no_effect(
    fault: Fault, written: bool, stays: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    neighbour = SimpleNamespace(end=lambda: Healed(achieved="so much", exercised=written))
    group = SimpleNamespace(set=lambda name, value: None, has=lambda pid: stays, end=lambda: None)
    for name, value in {
        "start_neighbour": lambda *of, **more: neighbour,
        "store_of": lambda node: SimpleNamespace(mountpoint=tmp_path),
        "watch_appends": lambda broker: _asked(tally=lambda: None),
        "record_tally": lambda *of: None,
        "pid_of": lambda trial, name: 1,
        "make_group": lambda *of, **more: group,
    }.items():
        monkeypatch.setattr(dirty_pages, name, value)
    done = _done(fault, _trial(params={"watch_ms": 1, "neighbour_mb": 1, "limit_mb": 1}))
    is_limited = isinstance(fault, LimitedPageCache)
    assert done.exercised is (written and (stays or not is_limited))
    assert ("memory was not limited" in done.detail) is (is_limited and not stays)


@pytest.mark.parametrize("takes", [True, False])
def test_a_file_system_that_takes_a_file_has_its_power(
    takes: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = SimpleNamespace(mountpoint=tmp_path if takes else tmp_path / "nothing", kind="ext4")
    for name, value in {
        "store_of": lambda node: store,
        "cut_power": lambda store: None,
        "able": lambda load, to: load,
    }.items():
        monkeypatch.setattr(broker_crash, name, value)
    cluster = SimpleNamespace(nodes=NODES, kill_node=lambda name: (1, 2))
    load = SimpleNamespace(stop_sending=lambda: None)
    done = _done(BrokerCrash(power=True), _trial(cluster=cluster), load)
    assert done.exercised is not takes
    assert ("took a file all the same" in done.detail) is takes
    assert list(tmp_path.iterdir()) == []
    assert _done(BrokerCrash(), _trial(cluster=cluster), load).exercised is None, "its process has ended"
