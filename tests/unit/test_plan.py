from __future__ import annotations

import dataclasses
import itertools
from collections import Counter

import pytest

import scenarios
from harness.backends.abilities import ABILITIES, Ability
from harness.errors import UsageError
from harness.faults.injections import injections_of
from harness.host.abilities import Abilities
from harness.host.facts import Host
from harness.model.cluster import UserSettings
from harness.model.scenario import Scenario, TrialBudget
from harness.plan.request import Request
from harness.plan.schedule import Plan, Schedule, make_plan
from harness.releases.jars import recorded_releases
from scenarios.releases import RELEASES

TWO_CORES = Host(cores=2, memory_mb=20_000)
NOBODY = Abilities(
    root=False, loop_devices=False, file_systems=frozenset(), tools=frozenset(), cgroup="none", firewall=False,
    delay=False,
)  # fmt: skip
STALL = scenarios.find("append-stall")
HANDOVER = scenarios.find("ordered-lock-handover")
RATIO = scenarios.find("ordered-lock-ratio")
UPGRADE = scenarios.find("rolling-upgrade")
KEYS = scenarios.find("broker-leaves-keys-move")
NUMBERS = scenarios.find("queue-number-mismatch")


def test_every_cell_is_run_as_often_as_the_effort_says() -> None:
    plan = make_plan(Request(scenarios=[STALL], releases=["4.6.0", "5.3.3"]), TWO_CORES)
    counts = Counter((d.release, t.arm.name, tuple(t.params.items())) for d, t in plan.trials())
    judged = {(arm, count) for (_, arm, _), count in counts.items() if arm in STALL.judged_arms()}
    assert judged == {(arm, STALL.arm(arm).trials or STALL.budget.trials) for arm in STALL.judged_arms()}
    assert {count for (_, arm, _), count in counts.items() if arm not in STALL.judged_arms()} == {
        STALL.budget.extra_trials
    }
    assert len(counts) == 2 * sum(len(arm.cells) for arm in STALL.arms)


def test_an_arm_has_trials_of_its_own_in_a_full_run_alone() -> None:
    stalls = scenarios.find("append-lock-over-1s")
    own, shown = stalls.arm("incident").trials, stalls.budget.extra_trials
    assert shown is not None
    assert own > stalls.budget.trials > shown
    assert "baseline" in stalls.judged_arms()
    assert "fix-large-queue" not in stalls.judged_arms()
    full = Request(scenarios=[stalls], releases=["4.6.0"])
    quick = stalls.quick_budget.trials
    for request, usual, incident, not_judged in (
        (full, stalls.budget.trials, own, shown),
        (dataclasses.replace(full, budget="quick"), quick, quick, quick),
        (dataclasses.replace(full, trials=2), 2, 2, 2),
    ):
        counts = Counter(t.arm.name for _, t in make_plan(request, TWO_CORES).trials())
        assert (counts["baseline"], counts["incident"], counts["fix-large-queue"]) == (usual, incident, not_judged)


def test_trials_are_spread_over_the_deployments() -> None:
    plan = make_plan(Request(scenarios=[HANDOVER], releases=["4.6.0"]), TWO_CORES)
    incident = [d.id for d, t in plan.trials() if t.arm.name == "incident"]
    assert len(set(incident)) == HANDOVER.budget.deployments == 5


def test_what_measures_milliseconds_is_up_alone() -> None:
    plan = make_plan(Request(scenarios=[STALL, HANDOVER], releases=["4.6.0"]), TWO_CORES)
    batches = list(plan.schedule.batches())
    assert any(deployment.scenario.exclusive for batch in batches for deployment in batch)
    for batch in batches:
        if any(deployment.scenario.exclusive for deployment in batch):
            assert len(batch) == 1


def test_two_repetitions_of_an_incident_on_a_release_are_never_up_at_once() -> None:
    schedule = make_plan(Request(scenarios=[HANDOVER, RATIO], releases=["4.6.0", "5.3.3"]), TWO_CORES).schedule
    first = next(one for one in schedule.pool() if one.scenario is HANDOVER and one.release == "4.6.0")
    assert first.index == 1
    again = [one for one in schedule.pool() if (one.scenario.name, one.release) == (HANDOVER.name, "4.6.0")]
    seconds = [one for one in again if one.index == 2]
    assert seconds
    assert schedule.next_of(seconds, [first]) is None
    assert schedule.next_of(seconds, [one for one in schedule.pool() if one.release == "5.3.3"][:1]) is seconds[0]


def test_clusters_of_the_pool_boot_beside_those_of_other_incidents_as_memory_allows() -> None:
    request = Request(scenarios=[HANDOVER, KEYS], releases=["4.6.0"])
    assert make_plan(request, TWO_CORES).schedule.at_once_max > 2
    assert make_plan(request, Host(cores=2, memory_mb=1000)).schedule.at_once_max == 1


def test_a_pool_takes_as_long_as_its_trials_need_of_the_cores() -> None:
    plan = make_plan(Request(scenarios=[HANDOVER, RATIO], releases=["4.6.0", "4.9.7", "5.3.3"]), TWO_CORES)
    pool = plan.schedule
    needed_s = sum(one.cores_of(trial) * trial.cost.seconds for one, trial in plan.trials())
    assert needed_s / 2 < pool.seconds < 1.3 * needed_s / 2
    twice = Schedule(deployments=pool.deployments, host=Host(cores=4, memory_mb=40_000))
    assert 0.4 * pool.seconds < twice.seconds < 0.8 * pool.seconds


def test_where_nodes_are_watched_for_seconds_none_boots_beside_them() -> None:
    names = scenarios.find("name-server-divergence")
    plan = make_plan(Request(scenarios=[HANDOVER, names], releases=["4.6.0"]), TWO_CORES)
    batches = list(plan.schedule.batches())
    assert {one.scenario.name for one in plan.schedule.pool()} == {HANDOVER.name}
    assert {one.scenario.name for batch in batches for one in batch} == {names.name}
    assert list(plan.deployments()) == [*plan.schedule.pool(), *(one for batch in batches for one in batch)]


def test_an_arm_stands_in_where_the_other_cannot_be_run_or_when_asked_for() -> None:
    def names(**request: object) -> set[str]:
        plan = make_plan(Request(scenarios=[HANDOVER], releases=["4.6.0"], **request), TWO_CORES)  # type: ignore[arg-type]
        return {trial.arm.name for _, trial in plan.trials()}

    silent, cut_off = "incident-silent-owner", "incident-cut-off-owner"
    assert {silent, cut_off} & names() == {cut_off}
    assert {silent, cut_off} & names(abilities=NOBODY) == {silent}
    assert names(arms=[silent]) == {silent}


def test_a_trial_whose_fault_is_the_clusters_has_a_cluster_of_its_own() -> None:
    plan = make_plan(Request(scenarios=[KEYS], releases=["4.6.0"]), TWO_CORES)
    assert all(len(deployment.trials) == 1 for deployment in plan.deployments())
    assert len(list(plan.trials())) == KEYS.budget.trials * len(KEYS.arms)


def test_a_topic_on_three_brokers_costs_what_it_costs_on_one() -> None:
    plan = make_plan(Request(scenarios=[NUMBERS], releases=["4.6.0"], trials=1), TWO_CORES)
    (deployment,) = plan.deployments()
    by_brokers = [
        dataclasses.replace(deployment, trials=tuple(t for t in deployment.trials if t.params["brokers"] == brokers))
        for brokers in (1, 3)
    ]
    assert by_brokers[0].cores == pytest.approx(by_brokers[1].cores)
    # Twelve trials of ten groups took 1.0 in a run of 4.9.7. Ten of these have five groups, four that shrink in order fifteen.
    assert 0.5 < deployment.cores < 1.2


def test_the_order_of_trials_is_drawn_from_the_seed() -> None:
    def order(seed: int) -> list[str]:
        return [
            t.id for _, t in make_plan(Request(scenarios=[STALL], releases=["4.6.0"], seed=seed), TWO_CORES).trials()
        ]

    assert order(1) == order(1)
    assert order(1) != order(2)
    assert sorted(order(1)) == sorted(order(2))


def test_arms_with_equal_settings_share_a_cluster() -> None:
    plan = make_plan(Request(scenarios=[HANDOVER], releases=["4.6.0"], budget="quick"), TWO_CORES)
    arms = {d.id: {t.arm.name for t in d.trials} for d in plan.deployments()}
    assert {"baseline", "incident", "fix-graceful-shutdown"} in arms.values()
    assert {"fix-short-lock"} in arms.values()


def test_a_quick_run_says_that_it_is_reduced_and_takes_less_time() -> None:
    request = Request(scenarios=[STALL, HANDOVER], releases=["4.6.0", "5.3.3"], budget="quick")
    plan = make_plan(request, TWO_CORES)
    assert "reduced number of trials" in plan.notes[0]
    assert plan.seconds < 6 * 60
    assert plan.seconds < make_plan(dataclasses.replace(request, budget="full"), TWO_CORES).seconds / 2


def test_only_brokers_whose_trials_stall_carry_the_rules() -> None:
    plan = make_plan(Request(scenarios=[STALL, HANDOVER], releases=["4.6.0"], budget="quick"), TWO_CORES)
    for deployment in plan.deployments():
        assert deployment.can_stall == (deployment.scenario is STALL)


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_trial_names_are_unique_and_can_be_folders(scenario: Scenario) -> None:
    names = [t.id for _, t in make_plan(Request(scenarios=[scenario], releases=["4.6.0"]), TWO_CORES).trials()]
    assert len(set(names)) == len(names)
    assert not any("/" in name or len(name) > 200 for name in names)


@pytest.mark.parametrize("scenario", scenarios.ALL, ids=lambda scenario: scenario.name)
def test_a_full_run_has_the_cells_of_every_part_by_each_way_of_injection(scenario: Scenario) -> None:
    """Else no number of runs decides a claim by that way, which was so of BUSY-12 by a freeze."""
    for release, injection in itertools.product(recorded_releases(), ("", *list(injections_of(scenario))[1:])):
        arms = Request(scenarios=[scenario], releases=[release]).arms_of(scenario, release, injection)
        cells = [(arm.name, cell) for arm in arms for cell in arm.cells]
        missing = [
            (claim.id, part.name, quantity.arm)
            for claim in scenario.claims
            if scenario.asks(claim, release)
            for part in claim.parts
            for quantity in part.quantities()
            # An arm that nothing makes yet leaves its part open, and says so.
            if quantity.arm in {arm.name for arm in scenario.arms} and not any(quantity.is_of(*one) for one in cells)
        ]
        assert missing == [], (release, injection)


def test_each_way_of_injection_has_deployments_of_its_own_with_the_cells_that_it_keeps() -> None:
    request = Request(scenarios=[STALL], releases=["4.6.0", "5.3.3"], injections=["byteman", "freeze"])
    plan = make_plan(request, TWO_CORES)
    one = make_plan(dataclasses.replace(request, injections=["byteman"]), TWO_CORES)
    by_injection = {
        injection: sorted(
            (d.release, t.arm.name, tuple(t.params.items()), t.repetition)
            for d, t in plan.trials()
            if d.injection == injection and t.params in STALL.other_injection_cells.get(t.arm.name, t.arm.cells)
        )
        for injection in ("byteman", "freeze")
    }
    assert by_injection["byteman"] == by_injection["freeze"]
    assert len(by_injection["freeze"]) == sum(d.injection == "freeze" for d, _ in plan.trials())
    assert [t.id for d, t in plan.trials() if d.injection == "byteman"] == [t.id for _, t in one.trials()]
    frozen = [(d.id, t.id) for d, t in plan.trials() if d.injection == "freeze"]
    assert all(".freeze." in deployment and ".freeze." in trial for deployment, trial in frozen)
    assert len({t.id for _, t in plan.trials()}) == sum(1 for _ in plan.trials())
    # Both injections of a release stand beside each other in time, so that drift hits them alike.
    order = [(d.release, d.injection) for d in plan.deployments() if d.index == 1]
    assert list(dict.fromkeys(order)) == [
        ("4.6.0", "byteman"),
        ("4.6.0", "freeze"),
        ("5.3.3", "byteman"),
        ("5.3.3", "freeze"),
    ]


def test_only_brokers_that_are_frozen_get_a_store_and_a_jvm_for_it() -> None:
    request = Request(scenarios=[STALL, HANDOVER], releases=["4.6.0"], injections=["byteman", "freeze"])
    deployments = list(make_plan(request, TWO_CORES).deployments())
    for deployment in deployments:
        frozen = deployment.injection == "freeze"
        assert (deployment.settings.store == "loop-ext4") == frozen
        assert ("-XX:GuaranteedSafepointInterval=0" in deployment.settings.jvm) == frozen
        assert len(set(deployment.settings.jvm)) == len(deployment.settings.jvm)
        assert (deployment.injection == "") == (deployment.scenario is HANDOVER)
    assert any(d.injection == "freeze" and d.settings.logging == "stock" for d in deployments)


def test_an_arm_whose_fault_the_host_cannot_make_is_left_out_with_the_reason() -> None:
    names = scenarios.find("name-server-divergence")
    plans = {
        host: make_plan(Request(scenarios=[names], releases=["4.6.0"], abilities=host), TWO_CORES)
        for host in (None, NOBODY)
    }
    arms = {host: {trial.arm.name for _, trial in plan.trials()} for host, plan in plans.items()}
    assert arms[None] - arms[NOBODY] == {"incident-cut"}
    assert arms[NOBODY] < arms[None]
    assert plans[None].notes == ()
    assert plans[NOBODY].notes == ("name-server-divergence: incident-cut is left out: firewall rules need root",)


def test_an_arm_that_the_backend_or_the_store_of_its_own_rules_out_is_left_out_before_the_start(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    less = {**ABILITIES, "compose": ABILITIES["compose"] - {Ability.LOCKED_MEMORY}}
    monkeypatch.setattr("harness.faults.injections.ABILITIES", less)
    pools = [scenarios.find("pool-exhausted"), scenarios.find("pool-loss")]
    plan = make_plan(Request(scenarios=pools, releases=["4.6.0"], abilities=NOBODY, backend="compose"), TWO_CORES)
    reads, powerless = ([arm.name for arm in pool.arms if arm.broker.store != "folder"] for pool in pools)
    assert plan.notes == (
        "pool-exhausted: incident-pool-5-low-memlock is left out: "
        "the backend compose cannot limit how much memory a broker locks",
        *(f"pool-exhausted: {arm} is left out: mounting needs root" for arm in reads),
        *(f"pool-loss: {arm} is left out: mounting needs root" for arm in powerless),
    )
    assert reads
    assert powerless
    assert not {"incident-pool-5-low-memlock", *reads, *powerless} & {trial.arm.name for _, trial in plan.trials()}


def test_brokers_of_a_large_table_are_compiled_by_both_compilers() -> None:
    flood = scenarios.find("retry-topic-flood")
    plan = make_plan(Request(scenarios=[flood], releases=["4.6.0"]), TWO_CORES)
    quick_only = {
        trial.arm.name: "-XX:TieredStopAtLevel=1" in deployment.settings.jvm for deployment, trial in plan.trials()
    }
    assert quick_only.pop("incident-full-size") is False
    assert all(quick_only.values())


@pytest.mark.parametrize("release", RELEASES)
def test_a_rolling_upgrade_has_the_cores_for_itself(release: str) -> None:
    plan = make_plan(Request(scenarios=[UPGRADE], releases=[release]), Host(cores=2, memory_mb=23_500))
    assert [len(batch) for batch in plan.schedule.batches()] == [1] * 14


def test_an_arm_may_have_a_topology_of_its_own() -> None:
    slaves = {trial.arm.name: one.topology.slaves_per_master for one, trial in _family(23_500).trials()}
    assert slaves["baseline"] == slaves["incident"] == 0
    assert slaves["incident-full-size"] == slaves["fix-raise-limit"] == 1


def test_timers_are_coarse_where_nodes_share_the_cores_and_nothing_is_judged_by_milliseconds() -> None:
    plan = make_plan(Request(scenarios=[STALL, HANDOVER], releases=["4.6.0"], budget="quick"), TWO_CORES)
    slack = {one.scenario.name: one.settings.timer_slack_ms for one in plan.deployments()}
    assert slack == {STALL.name: 0.0, HANDOVER.name: 10.0}


def test_a_growing_table_of_70000_topics_is_not_up_with_another() -> None:
    batches = _family(23_500).schedule.batches()
    arms = [[trial.arm.name for one in batch for trial in one.trials] for batch in batches]
    assert sorted(found.count("incident-full-size") for found in arms)[-3:] == [1, 1, 1]


def test_retries_that_count_as_late_after_seconds_are_up_with_each_other_alone() -> None:
    incidents = [{one.scenario.name for one in batch} for batch in _family(23_500).schedule.batches()]
    with_retries = [found for found in incidents if "dead-letter" in found]
    assert with_retries
    assert all(found == {"dead-letter"} for found in with_retries)


def _family(memory_mb: int) -> Plan:
    chosen = [scenarios.find(name) for name in ("retry-topic-flood", "name-server-divergence", "dead-letter")]
    request = Request(scenarios=chosen, releases=["4.6.0", "4.9.7", "5.3.3"])
    return make_plan(request, Host(cores=2, memory_mb=memory_mb))


def test_brokers_of_5x_beside_others_compare_their_timer_wheel_rarely_unless_the_user_said_how_often() -> None:
    def intervals(**request: object) -> set[str | None]:
        plan = make_plan(Request(budget="quick", **request), TWO_CORES)  # type: ignore[arg-type]
        return {one.settings.conf.get("timerFlushIntervalMs") for one in plan.deployments()}

    assert intervals(scenarios=[HANDOVER], releases=["5.3.3"]) == {"60000"}
    assert intervals(scenarios=[HANDOVER], releases=["4.9.7"]) == {None}
    assert intervals(scenarios=[STALL], releases=["5.3.3"]) == {None}
    assert intervals(
        scenarios=[HANDOVER], releases=["5.3.3"], user=UserSettings(broker={"timerFlushIntervalMs": "500"})
    ) == {None}


def test_what_is_left_of_a_plan_has_neither_trials_that_are_done_nor_their_time() -> None:
    request = Request(scenarios=[scenarios.find("append-stall")], releases=["4.6.0", "5.3.3"], budget="quick", trials=2)
    plan = make_plan(request, Host(cores=2, memory_mb=20_000))
    first, second = plan.deployments()
    done = {trial.id for trial in first.trials} | {second.trials[0].id}
    left = plan.without(done)
    assert [trial.id for _, trial in left.trials()] == [trial.id for trial in second.trials[1:]]
    assert left.seconds < plan.seconds
    assert left.notes == plan.notes
    assert plan.without(()) == plan


def test_more_trials_than_a_run_has_are_refused_before_the_first() -> None:
    many = dataclasses.replace(STALL, budget=TrialBudget(trials=1000, deployments=2))
    with pytest.raises(UsageError, match=r"^these are [\d,]+ trials, and a run has 10,000 at most$") as caught:
        make_plan(Request(scenarios=[many], releases=["4.6.0", "5.3.3"]), TWO_CORES)
    assert "in several runs" in caught.value.advice
