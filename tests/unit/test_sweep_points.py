"""From ``--sweep`` to points, arms and clusters: what is a list, what is there now, and what needs a cluster of its own."""

from __future__ import annotations

import dataclasses
from typing import Any

import pytest

import scenarios
from harness.errors import UsageError
from harness.model.cluster import UserSettings
from harness.model.scenario import Scenario
from harness.model.sweep import Sweep
from harness.plan.request import Request
from harness.plan.schedule import Plan, make_plan
from harness.releases.jars import recorded_releases
from mqlab.tune.sweep import Asked, check_swept, read_swept, sweep_of, without
from tests.unit.test_plan import TWO_CORES

STALL, HANDOVER = scenarios.find("append-stall"), scenarios.find("ordered-lock-handover")
NEWEST = recorded_releases()[-1]
WAIT = "broker.waitTimeMillsInSendQueue=100,200,400"


def swept_of(*texts: str, scenario: Scenario = STALL, **asked: Any) -> tuple[Sweep, Scenario]:
    whole = Asked(**{"scenario": scenario, "releases": (NEWEST,), **asked})
    return sweep_of(whole, [read_swept(text) for text in texts])


def _plan(scenario: Scenario, deployments: int = 2) -> Plan:
    budget = dataclasses.replace(scenario.budget, trials=deployments, deployments=deployments)
    request = Request(scenarios=[dataclasses.replace(scenario, budget=budget)], releases=[NEWEST])
    return make_plan(request, TWO_CORES)


# --- points ---------------------------------------------------------------------------------------------------------------


def test_a_list_makes_an_arm_of_each_value_and_knows_the_one_that_is_there_now() -> None:
    sweep, scenario = swept_of(WAIT, params={"stall_ms": "300"})
    assert [(one.arm, one.steps) for one in sweep.points] == [
        ("incident-100", 1),
        ("incident-200", 0),
        ("incident-400", 1),
    ]
    assert [arm.live_conf["waitTimeMillsInSendQueue"] for arm in scenario.arms] == ["100", "200", "400"]
    assert {tuple(arm.cells[0].items()) for arm in scenario.arms} == {(("stall_ms", 300), ("rate_hz", 500))}
    assert sweep.goal == "rejected_count"
    assert {"latency_max_ms", "append_in_lock_ms"} <= scenario.measures()
    assert scenario.claims == ()


def test_without_the_value_that_is_there_the_first_one_stands_for_it() -> None:
    sweep, _ = swept_of("broker.waitTimeMillsInSendQueue=400,100,300")
    assert [(one.settings["broker.waitTimeMillsInSendQueue"], one.steps) for one in sweep.points] == [
        ("100", 2), ("300", 1), ("400", 0),
    ]  # fmt: skip


def test_the_defaults_of_a_locks_life_and_its_renewal_are_known_although_they_are_properties_of_a_jvm() -> None:
    life = "broker-jvm.rocketmq.broker.rebalance.lockMaxLiveTime=5000,60000"
    renewal = "client.rocketmq.client.rebalance.lockInterval=1000,20000"
    sweep, _ = swept_of(life, renewal, scenario=HANDOVER)
    assert sweep.goal == "handover_s"
    assert [tuple(one.settings.values()) for one in sweep.points if not one.steps] == [("60000", "20000")]


def test_a_users_own_broker_conf_says_what_is_there_now_and_the_sweep_wins_over_it() -> None:
    user = UserSettings(broker={"waitTimeMillsInSendQueue": "400", "flushDiskType": "SYNC_FLUSH"})
    sweep, _ = swept_of(WAIT, user=user)
    assert [one.steps for one in sweep.points] == [2, 1, 0]
    assert without(user, [read_swept(WAIT)]).broker == {"flushDiskType": "SYNC_FLUSH"}


def test_lists_make_a_grid_and_a_load_a_part_of_it() -> None:
    sweep, scenario = swept_of(WAIT, "broker.sendMessageThreadPoolNums=1,4", "load.rate=200,900")
    assert len(sweep.points) == 12
    assert [len(points) for points in sweep.by_load()] == [6, 6]
    assert {arm.cells[0]["rate_hz"] for arm in scenario.arms} == {200, 900}
    assert len({arm.name for arm in scenario.arms}) == 12
    for points in sweep.by_load():
        assert [one.steps for one in points].count(0) == 1


def test_a_sample_is_drawn_by_the_seed_and_holds_what_is_there_now() -> None:
    texts = (WAIT, "broker.osPageCacheBusyTimeOutMills=500,1000,2000", "load.rate=200,900")
    first, again, other = (swept_of(*texts, sample=4, seed=seed)[0] for seed in (1, 1, 2))
    assert first == again
    assert first.points != other.points
    for sweep in (first, other):
        assert [len(points) for points in sweep.by_load()] == [4, 4]
        assert all(min(one.steps for one in points) == 0 for points in sweep.by_load())


def test_values_that_make_no_name_are_numbered() -> None:
    _, scenario = swept_of("broker.messageDelayLevel=1s 5s,2s 9s")
    assert [arm.name for arm in scenario.arms] == ["incident-1", "incident-2"]


@pytest.mark.parametrize(
    "text", ["", "x=1,2", "waitTime=1,2", "broker.=1,2", "broker.a", "broker.a=", "disk.a=1,2", "broker.a=1\n,2"]
)
def test_what_is_no_list_is_refused_by_its_form(text: str) -> None:
    with pytest.raises(ValueError, match=r"^$"):
        read_swept(text)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("broker.a=1", "there is 1 value"),
        ("broker.a=1,,2", "a value is empty"),
        ("broker.a=400,400.0", "400.0 is given twice"),
        (f"broker.a={','.join(map(str, range(51)))}", "there are 51 values"),
    ],
)
def test_a_list_of_no_use_is_refused_with_what_to_do(text: str, says: str) -> None:
    with pytest.raises(UsageError, match=says) as raised:
        read_swept(text)
    assert raised.value.advice


def test_names_that_conflict_are_refused() -> None:
    wait = read_swept(WAIT)
    with pytest.raises(UsageError, match="is given twice"):
        check_swept([wait, wait], ())
    with pytest.raises(UsageError, match="is set to one value as well"):
        check_swept([wait], [wait.key])
    with pytest.raises(UsageError, match=r"load\.rate_hz is swept, and is set"):
        swept_of("load.rate=200,900", params={"rate_hz": "300"})
    with pytest.raises(UsageError, match=r"load.rate_hz is given twice"):
        swept_of("load.rate=200,900", "load.rate_hz=300,400")
    lists = [read_swept(f"broker.{name}={','.join(map(str, range(9)))}") for name in "abc"]
    with pytest.raises(UsageError, match="make 729 points"):
        check_swept(lists, ())


def test_what_the_load_does_not_have_and_a_goal_that_nobody_measures_are_refused() -> None:
    with pytest.raises(UsageError, match="unknown parameter of arm incident 'colour'"):
        swept_of("load.colour=1,2")
    topics = scenarios.find("retry-topic-flood")
    with pytest.raises(UsageError, match="does not say what is to become less") as raised:
        swept_of("broker.flushDiskType=SYNC_FLUSH,ASYNC_FLUSH", scenario=topics)
    assert "--goal" in raised.value.advice
    sweep, scenario = swept_of(WAIT, goal="latency_p99_ms")
    assert sweep.goal in scenario.measures()


# --- clusters -------------------------------------------------------------------------------------------------------------


def test_what_the_incident_changes_on_a_running_broker_shares_clusters_in_drawn_order() -> None:
    plan = _plan(swept_of(WAIT)[1], deployments=4)
    assert [len(one.trials) for one in plan.deployments()] == [3, 3, 3, 3]
    assert len({tuple(trial.arm.name for trial in one.trials) for one in plan.deployments()}) > 1


def test_any_other_setting_has_clusters_of_its_own_one_round_after_the_other() -> None:
    plan = _plan(swept_of("broker.sendMessageThreadPoolNums=1,4")[1])
    assert [(one.index, one.settings.conf["sendMessageThreadPoolNums"]) for one in plan.deployments()] == [
        (1, "1"), (1, "4"), (2, "4"), (2, "1"),
    ]  # fmt: skip
    plan = _plan(swept_of("broker-jvm.rocketmq.broker.rebalance.lockMaxLiveTime=5000,60000", scenario=HANDOVER)[1], 1)
    assert sorted(one.settings.properties["rocketmq.broker.rebalance.lockMaxLiveTime"] for one in plan.deployments()) == [
        "5000", "60000",
    ]  # fmt: skip


def test_client_settings_and_fields_of_the_load_have_clusters_of_their_own() -> None:
    client = _plan(swept_of("client.sendMsgTimeout=1000,3000")[1], 1)
    assert [one.trials[0].arm.client for one in client.deployments()] == [
        {"sendMsgTimeout": "1000"}, {"sendMsgTimeout": "3000"},
    ]  # fmt: skip
    bodies = _plan(swept_of("load.body_bytes=128,4096")[1], 1)
    assert [len(one.trials) for one in bodies.deployments()] == [1, 1]
    rates = _plan(swept_of("load.rate=200,900")[1], 1)
    assert [len(one.trials) for one in rates.deployments()] == [2]
