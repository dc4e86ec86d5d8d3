"""What becomes of a deployment's trials when a node of it ends, on a fake cluster."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import scenarios
from harness.backends.cluster import ClusterSpec, Node
from harness.errors import ClientError, NodeStartError
from harness.faults.none import NothingHappens
from harness.host.facts import Host
from harness.model.faults import NoFault
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.run import deployment, run_plan
from harness.run.context import RunContext
from harness.rundir.manifest import HostRecord, Manifest
from harness.rundir.writing import RunWriter
from harness.trial import TrialContext

CRASH = "code 253"


class FakeCluster:
    """Its broker is gone once ``ends`` trials have begun."""

    def __init__(self, spec: ClusterSpec, folder: Path, ends: int) -> None:
        self.spec, self.folder, self.ends = spec, folder, ends
        self.nodes = (Node(name="broker-a", kind="broker", address="127.0.0.1:1", broker_name="broker-a"),)
        self.overrides: dict[str, str] = {}
        self.begun = 0
        self.downs = 0

    def pid(self, name: str) -> int | None:
        return None if 0 < self.ends <= self.begun else 1

    def check_running(self) -> None:
        if 0 < self.ends <= self.begun:
            raise NodeStartError(f"broker-a of RocketMQ 4.6.0 ended with {CRASH}")

    def down(self) -> None:
        self.downs += 1


class FakeSession:
    def __init__(self, trial: TrialContext) -> None:
        self.cluster = trial.cluster

    def up(self) -> None:
        self.cluster.begun += 1  # type: ignore[attr-defined]

    def steady(self) -> None:
        if self.cluster.pid("broker-a") is None:
            raise ClientError("sends fail")

    def nothing(self) -> None:
        return

    hold = recover = drain = collect = down = nothing


@pytest.fixture
def clusters(monkeypatch: pytest.MonkeyPatch) -> list[FakeCluster]:
    silent = NothingHappens(NoFault())
    probe = SimpleNamespace(copy_into=lambda *_: [], stop=lambda: None)
    monkeypatch.setattr(deployment, "session_of", FakeSession)
    monkeypatch.setattr(deployment, "injection_of", lambda *_: silent)
    monkeypatch.setattr(deployment, "change_live", lambda *_: None)
    monkeypatch.setattr(run_plan, "NoiseProbe", SimpleNamespace(start=lambda *_, **__: probe))
    return []


@pytest.fixture
def plan() -> Plan:
    stall = scenarios.find("append-stall")
    return make_plan(
        Request(scenarios=[stall], releases=["4.6.0", "5.3.3"], arms=["baseline"], trials=3),
        Host(cores=2, memory_mb=9_000),
    )


@pytest.fixture
def context(tmp_path: Path, clusters: list[FakeCluster], plan: Plan) -> Iterator[RunContext]:
    manifest = Manifest(
        run="r", created="", command="mqlab verify", commit="c", dirty=False, seed=1, incidents=("append-stall",),
        releases=("4.6.0", "5.3.3"), client_releases={}, backend="local", effort="full", rules={}, host=HostRecord(),
    )  # fmt: skip

    def start(spec: ClusterSpec, folder: Path, until_s: float) -> FakeCluster:
        clusters.append(FakeCluster(spec, folder, ends=0 if clusters else 2))
        return clusters[-1]

    observer = SimpleNamespace(**dict.fromkeys(("phase", "rate", "ended", "repeats", "say"), lambda *_: None))
    with RunWriter.create(tmp_path / "run", manifest) as run:
        yield RunContext(
            run=run, leases=None, java=None, start_cluster=start, observer=observer,  # type: ignore[arg-type]
            user_conf={"flushDiskType": "SYNC_FLUSH"}, cancel=threading.Event(),
        )  # fmt: skip


def test_a_node_that_dies_ends_its_deployment_and_the_run_goes_on(
    context: RunContext, plan: Plan, clusters: list[FakeCluster]
) -> None:
    run_plan.run_plan(context, plan)
    first, second = plan.deployments()
    records = context.run.trials()
    statuses = [[records[trial.id].status for trial in one.trials] for one in (first, second)]
    assert statuses[0][0] == "complete"
    assert set(statuses[0][1:]) == {"failed"}
    assert len(statuses[0]) > 2
    assert set(statuses[1]) == {"complete"}
    assert records[first.trials[1].id].error == "sends fail"
    assert CRASH in records[first.trials[-1].id].error
    assert [one.downs for one in clusters] == [1, 1]
    assert clusters[0].begun == 2
    assert context.run.manifest.status == "complete"


def test_a_trial_says_what_it_took_and_its_deployment_what_the_user_set(context: RunContext, plan: Plan) -> None:
    run_plan.run_plan(context, plan)
    complete = [one for one in context.run.trials().values() if one.status == "complete"]
    assert complete
    assert all(set(one.took) == {"seconds", "boot_s", "cpu_s", "clients_mb", "nodes_mb"} for one in complete)
    assert all(not one.took for one in context.run.trials().values() if one.status == "failed")
    records = [context.run.deployment(one.deployment).read() for one in complete]
    assert {one.settings["user_conf"]["flushDiskType"] for one in records} == {"SYNC_FLUSH"}
