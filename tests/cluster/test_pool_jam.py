"""A request pool that stands still, and stalls of both masters, in real brokers."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from types import SimpleNamespace
from typing import Any, cast

from harness.backends.cluster import ask, create_topic, masters
from harness.backends.local import LocalCluster
from harness.clock import mono_ns
from harness.faults.injections import injection_of
from harness.model.faults import AppendStall, Fault, PoolJam

TOPIC, STALL_MS = "jammed", 400


class Events:
    def __init__(self) -> None:
        self.stamps: dict[str, dict[str, int]] = {}

    def record(self, kind: str, *, node: str, **stamps: int) -> None:
        self.stamps[node] = stamps


def _injecting(pool: ThreadPoolExecutor, fault: Fault, cluster: LocalCluster, events: Events | None = None) -> Any:
    trial = cast(Any, SimpleNamespace(cluster=cluster, params={"stall_ms": STALL_MS}, events=events))
    return pool.submit(injection_of(fault).inject, fault, trial, cast(Any, None))


def test_a_jammed_pool_stands_still_and_sends_go_on(cluster: LocalCluster) -> None:
    create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
    broker = masters(cluster)[0]
    sent: list[tuple[int, int]] = []
    with ThreadPoolExecutor() as pool, ask(broker, timeout_s=60) as sender, ask(broker, timeout_s=60) as asker:
        sender.send(TOPIC, 0, b"installs the rules")
        injecting = _injecting(pool, PoolJam(pool="admin"), cluster)

        def keep_asking() -> list[tuple[int, int]]:
            asked = []
            while not injecting.done():
                begun_ns = mono_ns()
                asker.max_offset(TOPIC, 0)
                asked.append((begun_ns, mono_ns()))
            return asked

        asking = pool.submit(keep_asking)
        while not injecting.done():
            begun_ns = mono_ns()
            sender.send(TOPIC, 0, b"meanwhile")
            sent.append((begun_ns, mono_ns()))
        done, asked = injecting.result(timeout=60), asking.result(timeout=60)
    assert done.target == broker.name
    assert done.achieved_ms >= STALL_MS
    # The request with which the jam began waited for its end, and sends began and ended within it.
    assert max(ended - begun for begun, ended in asked) >= STALL_MS * 1e6
    assert any(done.injected_ns < begun and ended < done.healed_ns for begun, ended in sent)


def test_an_append_of_each_master_stalls(cluster: LocalCluster) -> None:
    create_topic(cluster, TOPIC, read_queues=1, write_queues=1)
    brokers, events = masters(cluster), Events()
    with ThreadPoolExecutor() as pool, ask(brokers[0], timeout_s=60) as one, ask(brokers[1], timeout_s=60) as other:
        for connection in (one, other):
            connection.send(TOPIC, 0, b"installs the rules")
        injecting = _injecting(pool, AppendStall(every_master=True), cluster, events)

        def send_until_done(connection: Any) -> list[tuple[int, int]]:
            sent = []
            while not injecting.done():
                begun_ns = mono_ns()
                connection.send(TOPIC, 0, b"until both have stalled")
                sent.append((begun_ns, mono_ns()))
            return sent

        sending = [pool.submit(send_until_done, connection) for connection in (one, other)]
        sent = [of_one.result(timeout=120) for of_one in sending]
        done = injecting.result(timeout=60)
    assert list(events.stamps) == [broker.name for broker in brokers]
    # A busy host only lengthens a stall; that it was this send's, and no other's, is known by its two ends.
    for stamps, sends in zip(events.stamps.values(), sent, strict=True):
        assert stamps["delay_end_ns"] - stamps["entry_ns"] >= STALL_MS * 1e6
        assert sum(begun <= stamps["entry_ns"] and stamps["exit_ns"] <= ended for begun, ended in sends) == 1
    assert done.achieved_ms >= STALL_MS
