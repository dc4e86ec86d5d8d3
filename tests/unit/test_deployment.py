"""What becomes of a deployment's trials when a node of it ends, on a fake cluster."""

from __future__ import annotations

import dataclasses
import shutil
import threading
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import scenarios
from harness.backends.cluster import Cluster, ClusterSpec, Node
from harness.errors import AnalysisError, ClientError, DiskFullError, NodeStartError
from harness.faults.injections import injection_of
from harness.host.facts import Host
from harness.model.cluster import UserSettings
from harness.model.faults import NoFault
from harness.model.rocketmq import LOCK_LIFE
from harness.model.scenario import TrialBudget
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.run import deployment, run_plan
from harness.run.context import RunContext
from harness.rundir.manifest import HostRecord, Manifest
from harness.rundir.writing import RunWriter
from harness.trial import TrialContext

CRASH = "code 253"
USER = UserSettings(
    broker={"flushDiskType": "SYNC_FLUSH"}, broker_jvm={LOCK_LIFE: "15000"}, client={"pullBatchSize": "8"}
)


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
        trial.client_overrides["client.pullBatchSize"] = f"{trial.user.client['pullBatchSize']} -> 32"

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
    silent = injection_of(NoFault())
    probe = SimpleNamespace(copy_into=lambda *_: [], stop=lambda: None)
    monkeypatch.setattr(deployment, "session_of", FakeSession)
    monkeypatch.setattr(deployment, "injection_of", lambda *_: silent)
    monkeypatch.setattr(deployment, "change_live", lambda *_: None)
    monkeypatch.setattr(run_plan, "NoiseProbe", SimpleNamespace(start=lambda *_, **__: probe))
    return []


@pytest.fixture
def plan() -> Plan:
    stall = dataclasses.replace(
        scenarios.find("append-stall"), budget=TrialBudget(trials=5, deployments=1, extra_trials=3)
    )
    return make_plan(
        Request(scenarios=[stall], releases=["4.6.0", "5.3.3"], arms=["baseline"], trials=3),
        Host(cores=2, memory_mb=9_000),
    )


@pytest.fixture
def context(tmp_path: Path, clusters: list[FakeCluster], plan: Plan) -> Iterator[RunContext]:
    manifest = Manifest(
        run="r", created="", command="mqlab verify", commit="c", dirty=False, seed=1, incidents=("append-stall",),
        releases=("4.6.0", "5.3.3"), client_releases={}, backend="local", budget="full", rules={}, host=HostRecord(),
    )  # fmt: skip

    def start(spec: ClusterSpec, folder: Path, until_s: float) -> FakeCluster:
        clusters.append(FakeCluster(spec, folder, ends=0 if clusters else 2))
        return clusters[-1]

    observer = SimpleNamespace(**dict.fromkeys(("phase", "rate", "ended", "repeats", "say"), lambda *_: None))
    with RunWriter.create(tmp_path / "run", manifest) as run:
        yield RunContext(
            run=run, leases=None, java=None, start_cluster=start, observer=observer,  # type: ignore[arg-type]
            user=USER, cancel=threading.Event(),
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


def test_a_disk_that_gets_full_ends_the_run_at_once_and_is_said(
    context: RunContext, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(run_plan, "SPACE_CHECK_S", 0.05)
    full = SimpleNamespace(free=2**20)

    def hold(session: FakeSession) -> None:
        monkeypatch.setattr(shutil, "disk_usage", lambda _: full)
        assert context.cancel.wait(60), "it does not wait until the trial's files are closed"

    monkeypatch.setattr(FakeSession, "hold", hold)
    with pytest.raises(DiskFullError, match=r"the disk of .* is full \(1\.0 MiB are left\), and the run was ended"):
        run_plan.run_plan(context, plan)
    assert context.run.manifest.status == "failed"
    said = {record.error for record in context.run.trials().values() if record.status == "interrupted"}
    assert said == {str(context.full[0])}, "it was not the user who stopped it"


def test_a_trial_says_what_it_took_and_its_deployment_what_the_user_set(context: RunContext, plan: Plan) -> None:
    run_plan.run_plan(context, plan)
    complete = [one for one in context.run.trials().values() if one.status == "complete"]
    assert complete
    assert all(set(one.took) == {"seconds", "boot_s", "cpu_s", "wait_s", "clients_mb", "nodes_mb"} for one in complete)
    assert all(not one.took for one in context.run.trials().values() if one.status == "failed")
    records = [context.run.deployment(one.deployment).read() for one in complete]
    assert {one.user.by_prefix()["broker.flushDiskType"] for one in records} == {"SYNC_FLUSH"}
    assert all(one.user == USER for one in records)
    assert {one.overrides for one in records} == {("client.pullBatchSize: 8 -> 32",)}


def test_an_arms_own_settings_of_clients_win_over_the_users(context: RunContext, plan: Plan) -> None:
    first = plan.deployments()[0]
    arm = dataclasses.replace(first.trials[0].arm, client={"pullBatchSize": "16"})
    trials = tuple(dataclasses.replace(trial, arm=arm) for trial in first.trials)
    schedule = dataclasses.replace(plan.schedule, deployments=(dataclasses.replace(first, trials=trials),))
    run_plan.run_plan(context, dataclasses.replace(plan, schedule=schedule))
    (name,) = {one.deployment for one in context.run.trials().values()}
    record = context.run.deployment(name).read()
    assert record.overrides == ("client.pullBatchSize: 16 -> 32",)
    assert record.user == USER


def test_what_is_not_let_into_the_lab_no_client_is_given_and_the_record_says_so(
    context: RunContext, plan: Plan, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[dict[str, str]] = []

    class Session(FakeSession):
        def __init__(self, trial: TrialContext) -> None:
            super().__init__(trial)
            given.append(dict(trial.user.client))

    monkeypatch.setattr(deployment, "session_of", Session)
    user = dataclasses.replace(USER, client={**USER.client, "socksProxyConfig": "{}", "http.proxyHost": "proxy"})
    run_plan.run_plan(dataclasses.replace(context, user=user), plan)
    assert given
    assert all(client == USER.client for client in given)
    for trial in context.run.trials().values():
        changes = dict(change.split(": ", 1) for change in context.run.deployment(trial.deployment).read().overrides)
        assert changes["client.socksProxyConfig"].startswith("(not shown) -> left out: ")
        assert changes["client.http.proxyHost"].startswith("proxy -> left out: ")


def _plan(*names: str, memory_mb: int = 20_000, answer_first: bool = False) -> Plan:
    chosen = [scenarios.find(name) for name in names]
    request = Request(
        scenarios=chosen, releases=["4.6.0", "5.3.3"], budget="quick", trials=1, answer_first=answer_first
    )
    return make_plan(request, Host(cores=2, memory_mb=memory_mb))


def _recorded(
    context: RunContext, monkeypatch: pytest.MonkeyPatch, *, fails_to_boot: str = "", error: Exception | None = None
) -> tuple[RunContext, list[tuple[str, str]]]:
    """The context with what happens written down: a deployment's boot, start and end of each trial, and down."""
    happened: list[tuple[str, str]] = []

    class Cluster(FakeCluster):
        def down(self) -> None:
            happened.append(("down", self.spec.name))

    class Session(FakeSession):
        def up(self) -> None:
            happened.append(("up", self.cluster.spec.name))

        def steady(self) -> None:
            happened.append(("steady", self.cluster.spec.name))

    def start(spec: ClusterSpec, folder: Path, until_s: float) -> Cluster:
        happened.append(("boot", spec.name))
        if spec.name == fails_to_boot and error is not None:
            raise error
        return Cluster(spec, folder, ends=0)

    monkeypatch.setattr(deployment, "session_of", Session)
    return dataclasses.replace(context, start_cluster=start), happened  # type: ignore[arg-type]


def test_nothing_boots_beside_trials_that_must_not_be_disturbed(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan("ordered-migration", "name-server-divergence", "append-stall", memory_mb=9_000)
    context, happened = _recorded(context, monkeypatch)
    run_plan.run_plan(context, plan)
    needs = {one.id: one.needs for one in plan.deployments()}
    assert {name for what, name in happened if what == "boot"} == set(needs)
    assert {record.status for record in context.run.trials().values()} == {"complete"}
    up: set[str] = set()
    at_work: set[str] = set()
    together = 0
    for what, name in happened:
        if what == "boot":
            assert not any(needs[other].no_boots_meanwhile for other in at_work)
            assert not any(needs[other].alone or needs[name].alone for other in up)
            up.add(name)
        elif what == "up":
            at_work.add(name)
            together = max(together, len(up))
        elif what == "down":
            up.discard(name)
            at_work.discard(name)
    assert together == plan.schedule.at_once_max > 1


def test_the_first_deployment_is_judged_while_one_trial_comes_up_that_goes_no_further_before_it_is(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan("ordered-lock-handover", "append-stall", answer_first=True)
    context, happened = _recorded(context, monkeypatch)
    is_up_beside = threading.Event()

    def judge(name: str, is_over: threading.Event) -> None:
        while ("up", longest.id) not in happened:
            assert not is_over.wait(0.01)
        is_up_beside.set()
        happened.append(("judged", name))

    longest = next(one for one in plan.deployments() if one is not plan.first)
    run_plan.run_plan(dataclasses.replace(context, judge_first=judge), plan)
    assert is_up_beside.is_set()
    assert {record.status for record in context.run.trials().values()} == {"complete"}
    assert plan.first is not None
    judged = happened.index(("judged", plan.first.id))
    before, after = happened[:judged], happened[judged:]
    assert ("down", plan.first.id) in before
    assert {name for what, name in before if what == "boot"} == {plan.first.id, longest.id}
    assert [name for what, name in before if what == "up" and name != plan.first.id] == [longest.id]
    assert {name for what, name in before if what == "steady"} == {plan.first.id}
    assert {name for what, name in after if what == "steady"} == {one.id for one in plan.deployments()} - {
        plan.first.id
    }


def test_what_must_be_alone_waits_for_the_first_answer_though_nothing_else_came_up(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan("ordered-lock-handover", "append-stall", answer_first=True)
    context, happened = _recorded(context, monkeypatch)
    start = context.start_cluster
    first, *others = plan.deployments()
    waiting = [one for one in others if one.scenario is not first.scenario]

    def start_some(spec: ClusterSpec, folder: Path, until_s: float) -> Cluster:
        if any(one.id == spec.name for one in waiting):
            happened.append(("failed", spec.name))
            raise NodeStartError("namesrv-1 did not come up")
        return start(spec, folder, until_s)

    def judge(name: str, is_over: threading.Event) -> None:
        while sum(what == "failed" for what, _ in happened) < len(waiting):
            assert not is_over.wait(0.01)
        happened.append(("judged", name))

    run_plan.run_plan(dataclasses.replace(context, judge_first=judge, start_cluster=start_some), plan)
    assert [what for what, _ in happened if what in ("boot", "judged")] == ["boot", "judged", "boot"]


def test_a_first_answer_that_fails_is_said_and_costs_the_run_nothing(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan("ordered-lock-handover", "append-stall", answer_first=True)
    said: list[str] = []
    observer = SimpleNamespace(**{**vars(context.observer), "say": said.append})
    context, _ = _recorded(dataclasses.replace(context, observer=observer), monkeypatch)  # type: ignore[arg-type]

    def judge(name: str, is_over: threading.Event) -> None:
        raise AnalysisError("Spark does not start")

    run_plan.run_plan(dataclasses.replace(context, judge_first=judge), plan)
    assert said == ["no first answer: AnalysisError: Spark does not start"]
    assert {record.status for record in context.run.trials().values()} == {"complete"}


def test_a_cluster_that_does_not_come_up_keeps_none_of_its_batch_waiting(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan("name-server-divergence")
    (first, *_) = plan.deployments()
    context, _ = _recorded(
        context, monkeypatch, fails_to_boot=first.id, error=NodeStartError("namesrv-1 did not come up")
    )
    run_plan.run_plan(context, plan)
    records = context.run.trials().values()
    assert {record.status for record in records if record.deployment == first.id} == {"failed"}
    assert {record.status for record in records if record.deployment != first.id} == {"complete"}


def test_a_full_disk_ends_the_run_and_every_cluster_without_further_trials(
    context: RunContext, monkeypatch: pytest.MonkeyPatch
) -> None:
    plan = _plan("name-server-divergence")
    batch = next(plan.schedule.batches())
    assert len(batch) > 1
    context, happened = _recorded(context, monkeypatch, fails_to_boot=batch[-1].id, error=DiskFullError("full"))
    with pytest.raises(DiskFullError):
        run_plan.run_plan(context, plan)
    assert context.run.manifest.status == "failed"
    booted = {name for what, name in happened if what == "boot"} - {batch[-1].id}
    assert {name for what, name in happened if what == "down"} == booted == {one.id for one in batch[:-1]}
    assert not [name for what, name in happened if what == "up"]
