"""Both of Python's clients in a trial on a real cluster: what each kind of send tries is what their library's log tells of."""

from __future__ import annotations

import threading
from collections import defaultdict
from pathlib import Path

import pytest

from harness.backends.local import LocalCluster
from harness.clock import mono_ns
from harness.faults.injections import injection_of
from harness.leases.leases import Leases
from harness.load.python_sends import PythonSendKindsSession
from harness.model.faults import ReadOnlyBroker
from harness.model.python_sends import PythonSendKind, PythonSendKinds
from harness.model.scenario import Arm, Phases
from harness.releases.java import Java
from harness.rundir.lines import read_records
from harness.rundir.manifest import TrialRecord
from harness.rundir.writing import TrialDirectory
from harness.trial import SharedClients, TrialContext

NORMAL, LAYER = (
    PythonSendKind(client="native", route="normal", mode="sync"),
    PythonSendKind(client="rocketmq-client-python", route="normal", mode="sync"),
)
TOLD_THREE, TOLD_NONE = (PythonSendKind(client="native", route="selector", mode="sync", retries=r) for r in (3, 0))
ONE_WAY = PythonSendKind(client="native", route="normal", mode="oneway")
# A busy machine may take long to answer, which is not to lead to another try.
LOAD = PythonSendKinds(kinds=(NORMAL, LAYER, TOLD_THREE, TOLD_NONE, ONE_WAY), order_topic=True, timeout_ms=20_000)
PHASES = Phases(steady_s=2.0, hold_s_min=4.0, hold_s_max=40.0, recover_s=0.5, drain_s_max=120.0)
ON_THEIR_WAY_S = 3.0
"""A one-way send has ended before the broker has it."""
Records = list[dict[str, object]]


def _trial(cluster: LocalCluster, folder: Path, leases: Leases, java: Java) -> TrialContext:
    record = TrialRecord(
        trial="python", incident="send-retries-python", arm="incident-read-only", params={}, release=cluster.spec.release,
        client=LOAD.client_of(cluster.spec.release), backend="local", injection="request", deployment="d", repetition=1, seed=1,
        topic="python-sends", groups=("python-sends-both",),
    )  # fmt: skip
    directory = TrialDirectory(path=folder)
    (folder / "history").mkdir()
    return TrialContext(
        record=record, arm=Arm(name=record.arm, what="", fault=ReadOnlyBroker(node="broker-b"), load=LOAD), phases=PHASES,
        cluster=cluster, directory=directory, events=directory.open_events(), leases=leases, java=java, until_s=600.0,
        cancel=threading.Event(), boots=threading.Semaphore(), starts=threading.Semaphore(), on_rate=lambda rate: None,
        shared=SharedClients(),
    )  # fmt: skip


def _run(trial: TrialContext) -> tuple[int, int]:
    """The trial's phases; from when to when the second broker took no sends."""
    session = PythonSendKindsSession(trial, LOAD)
    injection = injection_of(trial.arm.fault)
    try:
        session.up()
        session.steady()
        fault = injection.inject(trial.arm.fault, trial, session)
        try:
            from_ns = mono_ns()
            session.hold()
            to_ns = mono_ns()
            trial.stay(ON_THEIR_WAY_S)
        finally:
            assert fault.end is not None
            fault.end()
        session.recover()
        session.drain()
        session.collect()
    finally:
        session.down()
        trial.events.close()
    return from_ns, to_ns


def _of_type(folder: Path, kind: str) -> Records:
    histories = sorted((folder / "history").glob("*.jsonl"))
    return [dict(one) for path in histories for one in read_records(path).records if one["type"] == kind]


@pytest.mark.parametrize("cluster", ["5.5.0"], indirect=True)
def test_a_broker_that_must_not_be_written_to_is_tried_once_and_then_the_other_where_the_client_tries_again(
    cluster: LocalCluster, tmp_path: Path, leases: Leases, java: Java
) -> None:
    from_ns, to_ns = _run(_trial(cluster, tmp_path, leases, java))
    calls, stored = defaultdict(list), {one["seq"] for one in _of_type(tmp_path, "consume")}
    for call in _of_type(tmp_path, "call"):
        calls[call["seq"]].append(call["broker"])
    tried: dict[str, list[tuple[list[object], object, bool]]] = defaultdict(list)
    for send in _of_type(tmp_path, "send"):
        seq = send["seq"]
        if from_ns <= int(str(send["started_ns"])) <= to_ns and calls[seq][0] == "broker-b":
            tried[str(send["instance"])].append((calls[seq], send.get("error"), seq in stored))
        assert seq in stored or send["outcome"] != "ok"

    assert set(tried) == {kind.name for kind in LOAD.kinds}
    elsewhere = (["broker-b", "broker-a"], None, True)
    for kind in (NORMAL, LAYER, TOLD_THREE):
        assert tried[kind.name] == [elsewhere] * len(tried[kind.name])
    refused = (["broker-b"], "ProducerSendOrderlyFailed", False)
    assert tried[TOLD_NONE.name] == [refused] * len(tried[TOLD_NONE.name])
    # Nobody is told, and it is in no store.
    assert tried[ONE_WAY.name] == [(["broker-b"], None, False)] * len(tried[ONE_WAY.name])
