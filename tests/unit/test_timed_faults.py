"""Faults at times of a load: read from the command line, refused where they cannot be, and made by the runner."""

from __future__ import annotations

import dataclasses
import json
import math
import threading
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from harness.backends.cluster import ClusterSpec
from harness.backends.given import GivenCluster
from harness.backends.topologies import TOPOLOGIES
from harness.errors import EXIT_USAGE, ClientError, ConfigurationError, UsageError
from harness.faults.injections import INJECTIONS
from harness.leases.leases import Leases
from harness.model.cluster import Topology
from harness.model.faults import (
    FAULTS,
    AppendStall,
    DiskFull,
    JavaRule,
    KillOwners,
    NetworkCut,
    NetworkDelay,
    NoFault,
    PauseOwners,
)
from harness.model.timed_faults import LIBRARY, LibraryFault, TimedFault, parse_fault, parse_seconds, why_not_on
from harness.run import steps
from harness.run.script import Script
from harness.trial import Healed, Injected, Injection, LoadSession, TrialContext
from mqlab.main import main

ONE, TWO = Topology(name="single"), Topology(name="two-masters", masters=2)
ARTICLE = TOPOLOGIES["article"]


@pytest.mark.parametrize(
    "kind", [fault for fault in FAULTS if fault not in (NoFault, JavaRule)], ids=lambda fault: fault.kind
)
def test_every_fault_of_the_library_can_be_put_on_a_load(kind: Any) -> None:
    (found,) = [one for one in LIBRARY.values() if one.fault is kind]
    timed = parse_fault(f"{found.name}@1.5s")
    assert (type(timed.fault), timed.at_s) == (kind, 1.5)
    for parameter in found.parameters:
        assert parameter.default is not None or parameter.name == "consumer"


@pytest.mark.parametrize(
    ("text", "fault", "params", "at_s", "stays_s"),
    [
        ("page-cache-stall:1200ms@30s", AppendStall(), {"stall_ms": 1200.0}, 30.0, 0.0),
        ("append-stall:1.2s,by=freeze@1min", AppendStall(), {"stall_ms": 1200.0}, 60.0, 0.0),
        ("kill-consumer@45", KillOwners(), {}, 45.0, 0.0),
        ("pause-consumer:pause_s=3s@0", PauseOwners(), {"pause_s": 3.0}, 0.0, 3.0),
        ("network-delay:50ms,for=5s@1s", NetworkDelay(nodes=("broker-a",), delay_ms=50.0), {}, 1.0, 5.0),
        ("network-cut:namesrv-1,peers=broker-a+broker-b@2s",
         NetworkCut(nodes=("namesrv-1",), peers=("broker-a", "broker-b")), {}, 2.0, 10.0),
        ("disk-full:free_mb=2MiB@500ms", DiskFull(node="broker-a", free_mb=2.0), {}, 0.5, 10.0),
        ("silence-consumer@1", None, {}, 1.0, math.inf),
    ],
)  # fmt: skip
def test_a_fault_is_read_with_its_units(
    text: str, fault: object, params: dict[str, float], at_s: float, stays_s: float
) -> None:
    timed = parse_fault(text)
    assert (timed.params, timed.at_s, timed.stays_s, timed.text) == (params, at_s, stays_s, text)
    assert fault is None or timed.fault == fault


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("append-stall:1200ms", "is not NAME[:VALUE[,KEY=VALUE...]]@TIME"),
        ("append-stal:1200ms@3s", "append-stall"),
        ("append-stall:stal_ms=3@3s", "stall_ms"),
        ("append-stall:long@3s", "is no value in ms"),
        ("append-stall:1200ms,stall_ms=3@3s", "has stall_ms twice"),
        ("append-stall:by=magic@3s", "is no value"),
        ("append-stall:1200ms@soon", "is no time"),
        ("append-stall:1200ms@-1s", "is no time"),
        ("append-stall:1200ms@nan", "is no time"),
        ("append-stall:1200ms@99999999s", "more than a day"),
        ("resize-topic:8/4@3s", "is no value"),
        ("kill-consumer:3@1s", ""),
    ],
)
def test_what_is_no_fault_is_refused_with_the_way_out(text: str, said: str) -> None:
    if not said:
        assert parse_fault(text).consumer == 3
        return
    with pytest.raises(UsageError) as caught:
        parse_fault(text)
    assert said in f"{caught.value} {caught.value.advice}"


def test_a_period_is_above_nothing() -> None:
    assert parse_seconds("1.5min") == 90.0
    with pytest.raises(UsageError, match="not above 0"):
        parse_seconds("0s")


@pytest.mark.parametrize(
    ("text", "topology", "consumers", "given", "said"),
    [
        ("append-stall@1s", ONE, 0, None, ""),
        ("append-stall@1s", ONE, 2, (), "only a broker that the lab has started carries"),
        ("slow-broker@1s", ONE, 2, ("broker-a",), "only a broker that the lab has started carries"),
        ("cut-off-consumer@1s", ONE, 2, (), "is done to a cluster that the lab has started"),
        ("master-away@1s", ONE, 2, ("broker-a",), "pause-node, kill-node, flapping-node on nodes"),
        ("pause-node@1s", ONE, 2, (), "only a file of --nodes says how to reach one"),
        ("pause-node@1s", ONE, 2, ("left", "right"), "names broker-a, and the nodes are left, right"),
        ("flapping-node:left@1s", ONE, 2, ("left", "right"), ""),
        ("kill-node:right@1s", ONE, 2, ("left", "right"), ""),
        ("kill-consumer@1s", ONE, 2, (), ""),
        ("kill-consumer@1s", ONE, 1, None, "--consumers 2 or more"),
        ("kill-consumer:consumer=2@1s", ONE, 2, None, "names consumer 2"),
        ("broker-away@1s", ONE, 0, None, "--topology two-masters"),
        ("broker-away@1s", TWO, 0, None, ""),
        ("rolling-upgrade@1s", ONE, 0, None, "--topology two-masters"),
        ("rolling-upgrade@1s", TWO, 0, None, "another one with slaves"),
        ("rolling-upgrade:order=namesrv+master@1s", TWO, 0, None, ""),
        ("stopped-slave@1s", TWO, 0, None, "another one with slaves"),
        ("stopped-slave@1s", ARTICLE, 0, None, ""),
        ("pause-node:broker-b-s1@1s", ARTICLE, 0, None, ""),
        ("kill-node:broker-b-s1@1s", ARTICLE, 0, None, ""),
        ("pause-node:broker-b@1s", ONE, 0, None, "the nodes are namesrv-1, broker-a"),
        ("network-delay:nodes=broker-a+broker-c@1s", TWO, 0, None, "names broker-c"),
    ],
)
def test_a_fault_says_before_the_start_why_a_load_cannot_have_it(
    text: str, topology: Topology, consumers: int, given: tuple[str, ...] | None, said: str
) -> None:
    why = why_not_on(parse_fault(text), topology, consumers=consumers, given=given)
    assert (why is None) if not said else (why is not None and said in why)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (
            ["--fault", "kill-consumer@1s"],
            "--fault kill-consumer@1s is done to a consumer whose queues others take over",
        ),
        (["--fault", "broker-away@1s"], "asks for --topology two-masters"),
        (["--fault-every", "5s"], "--fault-every repeats faults"),
        (["--fault", "append-stall:1200ms@99s", "--duration", "10"], "would never come: the load ends after 10 s"),
        (["--fault", "append-stall@1s", "--fault", "append-stall@30s"], "--fault append-stall@30s would never come"),
        (["--fault", "append-stall@30s", "--fault-every", "5s"], "or --duration of more than 30."),
    ],
)
def test_a_load_with_a_fault_that_cannot_be_ends_before_its_start(
    arguments: list[str], words: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["load", *arguments]) == EXIT_USAGE
    assert words in " ".join(capsys.readouterr().err.split())


def test_the_list_of_faults_has_all_of_them_with_what_they_ask_of_the_host(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "--faults", "--json"]) == 0
    told = {one["fault"]: one for one in json.loads(capsys.readouterr().out)}
    assert set(told) == set(LIBRARY)
    for name in ("network-delay", "disk-full", "throttled-writes"):
        assert all("root" in way["asks"] for way in told[name]["by"])
    assert [way["name"] for way in told["append-stall"]["by"]] == ["byteman", "freeze"]
    assert "free_mb=0MiB" in told["disk-full"]["parameters"]
    assert main(["explain", "--faults"]) == 0
    said = capsys.readouterr().out
    assert "page-cache-stall is append-stall" in said
    assert "`" not in said
    assert "cell" not in said
    assert all(one["what"].endswith(".") for one in told.values())


@pytest.mark.parametrize("found", LIBRARY.values(), ids=LIBRARY)
def test_a_parameter_can_be_given_as_it_is_listed(found: LibraryFault) -> None:
    given = [str(one) for one in found.parameters if one.default not in (None, math.inf, ())]
    asked = parse_fault(f"{found.name}:{','.join(given)}@1s")
    assert asked.fault == parse_fault(f"{found.name}@1s").fault


# --- made by the runner -----------------------------------------------------------------------------------------------


class Events:
    def __init__(self) -> None:
        self.stamped: list[tuple[int | None, str]] = []

    def fault(self, kind: str, state: str, *, number: int | None = None, **values: object) -> None:
        self.stamped.append((number, state))


def _made(
    monkeypatch: pytest.MonkeyPatch, faults: tuple[TimedFault, ...], inject: Any, *, every_s: float = 0.0, hold_s: float
) -> tuple[Events, list[str]]:
    events = Events()
    notes: list[str] = []
    injection: Injection[Any] = Injection(name="test", inject=inject, heal=lambda *_: Healed())
    monkeypatch.setattr(steps, "injection_of", lambda fault, name: injection)
    trial = dataclasses.make_dataclass("Trial", ["record", "arm", "events", "note", "cancel"])(
        record=dataclasses.make_dataclass("Record", ["params"])(params={}),
        arm=SimpleNamespace(steps=faults, every_s=every_s),
        events=events,
        note=notes.append,
        cancel=threading.Event(),
    )
    timed = Script(cast(TrialContext, trial), cast(LoadSession, object()))
    timed.during(lambda: time.sleep(hold_s))
    return events, notes


def test_each_comes_at_its_time_stays_as_long_as_asked_and_is_healed_at_the_end(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    at: dict[str, float] = {}
    begun = time.monotonic()

    def inject(fault: Any, trial: Any, load: Any) -> Injected:
        at[fault.kind] = time.monotonic() - begun
        assert trial.record.params == ({"stall_ms": 7.0} if fault.kind == "append-stall" else {})
        return Injected()

    faults = (
        parse_fault("append-stall:7ms@300ms"),
        parse_fault("silence-consumer@100ms"),
        parse_fault("kill-consumer@9s"),
    )
    events, notes = _made(monkeypatch, faults, inject, hold_s=0.8)
    assert 0.1 <= at["silence-owners"] < at["append-stall"]
    assert set(at) == {"append-stall", "silence-owners"}
    states = ["asked", "injecting", "injected", "healing", "healed"]
    for number in (1, 2):
        assert [state for of, state in events.stamped if of == number] == states
    assert events.stamped[-1] == (2, "healed"), "what stays to the end is healed with it"
    assert {number for number, _ in events.stamped} == {1, 2}, "numbers are by what was asked; the third never came"
    assert notes == []


def test_it_comes_again_until_the_hold_is_over_and_one_that_fails_is_noted(monkeypatch: pytest.MonkeyPatch) -> None:
    def inject(fault: Any, trial: Any, load: Any) -> Injected:
        raise ClientError("nobody is left")

    events, notes = _made(monkeypatch, (parse_fault("kill-consumer@0s"),), inject, every_s=0.2, hold_s=0.9)
    assert len(notes) >= 3
    assert set(notes) == {"kill-consumer@0s: nobody is left"}
    assert {state for _, state in events.stamped} == {"asked"}
    assert [number for number, _ in events.stamped] == list(range(1, len(events.stamped) + 1))


def test_of_a_given_cluster_no_node_is_touched(tmp_path: Path) -> None:
    spec = ClusterSpec(name="load", release="5.3.3", topology=Topology(name="given"))
    cluster = GivenCluster(
        spec, tmp_path, cast(Leases, None), namesrv=("127.0.0.1:1",), brokers={"broker-a": "127.0.0.1:2"}
    )
    assert [node.address for node in cluster.nodes] == ["127.0.0.1:1", "127.0.0.1:2"]
    assert cluster.pid("broker-a") is None
    for act in (cluster.kill_node, cluster.restart_node, cluster.start_node, cluster.resume_node):
        with pytest.raises(ConfigurationError, match="no node of the lab's"):
            act("broker-a")
    assert INJECTIONS[KillOwners]
