"""What an open-loop load sends, by its fields, on a trial of values."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.clients.commands import SendSettings
from harness.load import open_loop
from harness.load.open_loop import OpenLoopSession
from harness.model.loads import OpenLoopSends


def _session(load: OpenLoopSends, monkeypatch: pytest.MonkeyPatch, stayed: list[float], conf: dict[str, str]) -> Any:
    master = SimpleNamespace(kind="broker", broker_id=0, name="broker-a")
    producers = SimpleNamespace(
        instance_for=lambda load: "producer", client=SimpleNamespace(close_history=lambda: None)
    )
    spec = SimpleNamespace(user=SimpleNamespace(broker={}), settings=SimpleNamespace(conf=conf))
    trial = SimpleNamespace(
        record=SimpleNamespace(topic="T", trial="t"),
        params={"rate_hz": 100},
        cluster=SimpleNamespace(nodes=[master], spec=spec),
        shared=SimpleNamespace(once=lambda kind, start: producers),
        stay=stayed.append,
    )
    monkeypatch.setattr(open_loop, "masters", lambda cluster: cluster.nodes)
    session = OpenLoopSession(cast(Any, trial), load)
    monkeypatch.setattr(session, "record_ends", lambda moment, on=(): None)
    return session


def _sends(load: OpenLoopSends, monkeypatch: pytest.MonkeyPatch) -> SendSettings:
    sends: SendSettings = _session(load, monkeypatch, [], {})._sends()
    return sends


def test_one_queue_of_all_may_get_most_and_the_others_the_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    sends = _sends(OpenLoopSends(queues=8, busy_queue_share=0.98), monkeypatch)
    assert (sends.route, sends.keys, sends.key_distribution, sends.key_skew) == ("fixed", 8, "hot", 0.98)
    usual = _sends(OpenLoopSends(queues=8), monkeypatch)
    assert (usual.route, usual.keys, usual.key_distribution) == ("normal", 64, "cycle")


@pytest.mark.parametrize(
    ("mode", "conf", "waits"),
    [
        ("async", {}, False),
        ("oneway", {}, True),
        ("async", {"transientStorePoolEnable": "true"}, True),
    ],
)
def test_what_nobody_answers_has_come_before_the_ends_are_read(
    mode: Any, conf: dict[str, str], waits: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    stayed: list[float] = []
    _session(OpenLoopSends(mode=mode), monkeypatch, stayed, conf).collect()
    assert stayed == ([open_loop.COMMITTED_S] if waits else [])
