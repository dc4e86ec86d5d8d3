"""From a request to the clusters that have to be up, each with its trials and what they need."""

import dataclasses
import itertools
import random
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from harness.faults.injections import USUAL_INJECTION, injection_of
from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import JavaRule
from harness.model.scenario import Arm, Scenario
from harness.plan.cost import Cost, Costs, cell_name
from harness.plan.request import Request
from harness.releases.settings import settings_of

LARGE_FRAME_BYTES = 8 * 2**20
"""A table of 70,000 topics."""

OPERATION_BYTES = 360

FIRST_COMPILER = ("-XX:TieredStopAtLevel=1",)
"""For brokers beside others, which do not measure milliseconds: the second compiler's work for many fresh brokers is what
fills the cores."""

QUIET: Mapping[str, str] = {"timerFlushIntervalMs": "60000", "transactionMetricFlushInterval": "1000"}
"""Once a second a broker of 5.x compares the 37 MiB of its timer wheel byte by byte, full or empty: a quarter of what an idle one
needs, and two thirds where only the first compiler is at work. Once a minute it is nearly nothing. And until it first writes
down its transactions, 3 s after its start, a thread of it does not sleep. No claim is about either."""

TIMER_SLACK_MS = 10.0
"""Of nodes beside others, whose trials are judged by seconds."""


@dataclass(frozen=True, kw_only=True)
class Needs:
    """What a deployment asks of the others. Only those with the same needs are up together."""

    alone: bool = False
    """Its trials measure milliseconds."""
    no_boots_meanwhile: bool = False
    """Its trials watch nodes, or share the cores one by one: those that are up together boot first and then run."""
    core_share: float = 1.0
    """Of the cores that trials may take, those that they may."""
    judged_by: Literal["events", "seconds", "counts"] = "events"
    """What its trials are judged by: seconds count where retries are late by them, counts where each has the cores for itself."""


@dataclass(frozen=True, kw_only=True)
class PlannedTrial:
    """One cell, one repetition."""

    id: str
    arm: Arm
    params: Parameters
    repetition: int
    seed: int
    cost: Cost


@dataclass(frozen=True, kw_only=True)
class PlannedDeployment:
    """One cluster and the trials that it holds, in the order in which they run."""

    id: str
    scenario: Scenario
    release: str
    settings: BrokerSettings
    index: int
    trials: tuple[PlannedTrial, ...]
    injection: str = ""
    """Which of the injections that its faults offer is taken; empty where they offer one only."""

    @cached_property
    def topology(self) -> Topology:
        """Its nodes; trials that share a cluster want the same."""
        return self.trials[0].arm.topology or self.scenario.topology

    @cached_property
    def can_stall(self) -> bool:
        """Whether its brokers need the rules of the append stall."""
        arms = [trial.arm for trial in self.trials]
        return any(fault.needs_rules for arm in arms for fault in arm.faults)

    @cached_property
    def own_rules(self) -> tuple[JavaRule, ...]:
        """Rules of the incident's own file that its brokers need beside the lab's."""
        faults = [fault for trial in self.trials for fault in trial.arm.faults]
        return tuple(dict.fromkeys(fault for fault in faults if isinstance(fault, JavaRule)))

    @cached_property
    def needs(self) -> Needs:
        """What its trials need beside cores and memory."""
        if self.scenario.exclusive:
            alone = not self.scenario.shares_machine
            return Needs(alone=alone, no_boots_meanwhile=True, judged_by="counts")
        loads = [trial.arm.load for trial in self.trials]
        return Needs(
            no_boots_meanwhile=any(load.no_boots_meanwhile for load in loads),
            core_share=min(load.core_share for load in loads),
            judged_by="seconds" if any(load.seconds_count for load in loads) else "events",
        )

    @cached_property
    def cores(self) -> float:
        """What its nodes and clients need on average."""
        each = list(map(self.cores_of, self.trials))
        return max(each) if self.scenario.exclusive else sum(each)

    def cores_of(self, trial: PlannedTrial) -> float:
        """What a trial needs on average from its start to its end, with its part of the waiting nodes."""
        return trial.cost.cores + self._nodes_cores / len(self.trials)

    @cached_property
    def _nodes_cores(self) -> float:
        return max(trial.cost.nodes_cores for trial in self.trials)

    @cached_property
    def memory_mb(self) -> float:
        """Memory of its nodes and of the clients that are up at once."""
        clients = [trial.cost.clients_mb for trial in self.trials]
        nodes_mb = max(trial.cost.nodes_mb for trial in self.trials)
        return nodes_mb + (max(clients) if self.scenario.exclusive else sum(clients))

    @cached_property
    def boot_s(self) -> float:
        """How long it takes until it is up."""
        return max(trial.cost.boot_s for trial in self.trials)

    @cached_property
    def seconds(self) -> float:
        """How long its trials take."""
        each = [trial.cost.seconds for trial in self.trials]
        return sum(each) if self.scenario.exclusive else max(each)

    @cached_property
    def history_bytes(self) -> int:
        """How much its trials record."""
        return int(
            OPERATION_BYTES
            * sum(one.arm.load.operations(self.topology, one.params, one.cost.seconds + 1.0) for one in self.trials)
        )


def deployments_of(scenario: Scenario, request: Request, costs: Costs) -> list[PlannedDeployment]:
    """Every trial of an incident that is asked for, spread over its deployments."""
    trials_of = request.trials_of(scenario)
    usual = request.trials or request.budget_of(scenario).trials
    total = min(request.budget_of(scenario).deployments, usual)
    found = []
    for index in sorted({*range(1, total + 1)} & {*request.deployments.get(scenario.name, range(1, total + 1))}):
        arms_of = {
            repetition: {name for name, trials in trials_of.items() if repetition <= trials}
            for repetition in range(index, max(trials_of.values()) + 1, total)
        }
        for release, injection in itertools.product(request.releases, request.offered_injections(scenario)):
            mark = "" if injection == USUAL_INJECTION else injection
            groups = _by_settings(scenario, request.arms_of(scenario, release, mark))
            # Of clusters one after another what comes first in one round comes last in the next: none always follows another.
            for label, settings, arms in reversed(groups) if scenario.exclusive and index % 2 == 0 else groups:
                trials = _trials(scenario, release, mark, arms, arms_of, request.seed, costs)
                for arm in arms:
                    settings = injection_of(arm.fault, injection).brokers(settings)
                    for step in arm.injects:
                        settings = injection_of(step.fault, step.injection).brokers(settings)
                if not scenario.exclusive or scenario.shares_machine:
                    settings = beside_others(settings, release, request.user.broker)
                if not scenario.exclusive:
                    settings = dataclasses.replace(settings, timer_slack_ms=TIMER_SLACK_MS)
                if trials:
                    found.append(
                        PlannedDeployment(
                            id=_name(scenario.name, release, mark, label, f"d{index}"),
                            scenario=scenario,
                            release=release,
                            settings=settings,
                            index=index,
                            trials=trials,
                            injection=injection,
                        )
                    )
    return found


def beside_others(settings: BrokerSettings, release: str, users: Collection[str] = ()) -> BrokerSettings:
    """What brokers are started with that share the cores with others; settings of the user's stay his."""
    ahead = settings.topics_ahead
    # To write and send tens of thousands of topics again and again is work for both compilers.
    if ahead is None or ahead.frame_bytes < LARGE_FRAME_BYTES:
        settings = dataclasses.replace(settings, jvm=(*FIRST_COMPILER, *settings.jvm))
    has = settings_of(release).broker
    conf = {key: value for key, value in QUIET.items() if key in has and key not in users}
    return dataclasses.replace(settings, conf={**conf, **settings.conf}) if conf else settings


def _name(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _by_settings(scenario: Scenario, arms: Sequence[Arm]) -> list[tuple[str, BrokerSettings, list[Arm]]]:
    """Arms that can share a cluster, with the name of the first as a label."""
    if scenario.cluster_per_trial:
        return [
            (_name(arm.name, cell_name(cell)), arm.broker, [dataclasses.replace(arm, cells=(cell,))])
            for arm in arms
            for cell in arm.cells
        ]
    groups: list[tuple[str, BrokerSettings, list[Arm]]] = []
    for arm in arms:
        shared = (
            group
            for group in groups
            if group[1] == arm.broker and group[2][0].topology == arm.topology and not group[2][0].is_apart
        )
        if not arm.is_apart and (group := next(shared, None)):
            group[2].append(arm)
        else:
            groups.append((arm.name, arm.broker, [arm]))
    return groups


def _trials(
    scenario: Scenario,
    release: str,
    mark: str,
    arms: Sequence[Arm],
    arms_of: Mapping[int, Collection[str]],
    seed: int,
    costs: Costs,
) -> tuple[PlannedTrial, ...]:
    """Every cell of the arms once a repetition; the order within a repetition is drawn, so that drift hits all alike.

    ``arms_of`` are the names of those that take part in a repetition.
    """
    planned: list[PlannedTrial] = []
    for repetition, names in arms_of.items():
        draw = random.Random(f"{seed} {scenario.name} {release} {repetition}")
        once = [
            PlannedTrial(
                id=_name(scenario.name, release, mark, arm.name, cell_name(params), f"r{repetition}"),
                arm=arm,
                params=params,
                repetition=repetition,
                seed=draw.randrange(2**31),
                cost=costs.of_trial(scenario, arm, params, release),
            )
            for arm in arms
            if arm.name in names
            for params in arm.cells
        ]
        if scenario.schedule == "interleaved":
            draw.shuffle(once)
        planned += once
    return tuple(planned)
