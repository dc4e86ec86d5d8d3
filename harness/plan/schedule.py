"""From incidents, releases and an effort to the order in which deployments start, each with its trials.

A *deployment* is one cluster that is up and holds as many trials as its settings allow. Deployments that mostly wait run side
by side. Where clients wait for each other, one starts as soon as there is room beside those that are up (the *relay*); where
brokers and name servers are watched for seconds, none may boot meanwhile, and those of a *wave* boot first and then run. A
deployment whose trials measure milliseconds has a wave of its own.
"""

from __future__ import annotations

import dataclasses
import itertools
import random
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Literal

from harness.faults.injections import DEFAULT_WAY, injection_of, injections_of, obstacle
from harness.host.abilities import Abilities
from harness.host.facts import Host
from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.loads import FailingMessages, KeyedSends, Load, OrderedGroups, QueueNumbers, SteadyClients
from harness.model.scenario import Arm, Scenario
from harness.plan.core_budget import fits
from harness.releases.jars import is_5x

EffortName = Literal["quick", "full"]

BOOT_S = 10.0
"""A deployment of one broker with its warm-up, on an idle machine of two cores: 6 s of 4.6.0, 12 s of 5.3.3."""

ORDERED_TRIAL_S = 165.0
"""Starts spread over 20 s, settling, a renewal period, the longest hand-over of 4.x, and the drain."""

TRIAL_OVERHEAD_S = 0.25

ANALYSIS_S, ANALYSIS_TRIAL_S, ANALYSIS_WAITING_S = 20.0, 0.13, 0.7
"""Of a run, for each of its trials (868 took 131 s on two cores, 933 took 143), and for each of those that wait, which have more
clients and so more histories and logs: 191 took 164 s, 72 took 70."""

SHARING_AT_ONCE_PER_CORE = 2
"""Clusters whose trials wait more than they compute, and are judged by counts that no scheduler moves far."""

BROKER_MB, NAMESRV_MB, CLIENT_MB = 330, 110, 140

MEMORY_SHARE_4X = 0.65
"""Nodes and clients of 4.x hold so much of what those of 5.x do."""

MEMORY_SHARE = 0.65
"""Of the host's memory, what a wave may take; the rest is for page cache, and for nodes that take a tenth more than others did."""

CORES_SHARE = 1.0
"""Of the cores, what the trials of a wave may need on average if all of them ran at once."""

RELAY_SHARE = 1.1
"""Of the cores, what the trials of a relay may need on average, from their start to their end. They need most of it when they
start: with 0.95 a fifth of two cores was idle while all were up and waited."""

TRIALS_AHEAD = 2
"""The next cluster of a relay boots when no more trials than this have still to find room."""

CLIENT_BOOTS_PER_CORE = 5
"""Trials that come up at once. Their first messages come when all members have their queues; ten ordered ones of 4.9.7 on two
cores were there after one to two minutes."""

UP_AT_ONCE, PROCESS_UP_S = 6, 3.5
"""On two cores so many trials of a wave come up as if they were alone, and each further one makes it longer by so much."""

NODE_UP_S = 0.8
"""A wave begins when all of its nodes are up, and each makes it longer by so much."""

NODE_CORE_S, PROCESS_CORE_S, GROUP_CORE_S = 2.0, 2.0, 0.25
"""Seconds of a core that it takes until a node is up, a client process, and the two members of a group with their queues, beside
others that do the same: ten ordered trials of 4.9.7 took 117 s in four clusters, twelve of queue numbers 74 in one."""

BROKER_CORES, GROUP_CORES = 0.025, 0.003
"""What a broker (its reput loop above all) and the two members of a group need while nothing is sent, of one core."""

BUSY_GROUP_CORES, BUSY_GROUP_HZ, BATCHING = 0.036, 160.0, 0.6
"""A group of so many messages a second needs so much. Fewer cost more each, since less is pulled at once: 12 a second of
4.6.0 took 0.011."""

SEND_CORE_S = 0.0005
"""What a producer and its broker need for a message that is sent by itself, in seconds of a core."""

FLOWING = 0.5
"""Ordered messages begin to flow when all members have their queues, which is half of a trial's time."""

STEADY_CORES = 0.07
"""What a trial adds to its idle brokers: its clients 0.03, three name servers that are asked 0.02, and what brokers do for them."""

BROKER_CORES_5X, CORES_5X = 1.8, 1.4
"""How much more idle brokers, and all that trials add, need of 5.x."""

LARGE_FRAME_BYTES, LARGE_FRAME_MEMORY, LARGE_FRAME_CORES = 8 * 2**20, 5, 1.4
"""A table of 70,000 topics, and its registration in text and bytes. While such a table comes up and grows its cluster takes
whatever the cores have left: three small clusters beside it made it no slower, nine doubled its time and theirs."""

OPERATION_BYTES = 360

FIRST_COMPILER = ("-XX:TieredStopAtLevel=1",)
"""For brokers beside others, which do not measure milliseconds: the second compiler's work for many fresh brokers is what
fills the cores."""

QUIET_5X: Mapping[str, str] = {"timerFlushIntervalMs": "60000", "transactionMetricFlushInterval": "1000"}
"""Once a second a broker of 5.x compares the 37 MiB of its timer wheel byte by byte, full or empty: a quarter of what an idle one
needs, and two thirds where only the first compiler is at work. Once a minute it is nearly nothing. And until it first writes
down its transactions, 3 s after its start, a thread of it does not sleep. No claim is about either."""

TIMER_SLACK_MS = 10.0
"""Of nodes beside others, whose trials are judged by seconds."""


@dataclass(frozen=True, kw_only=True)
class PlannedTrial:
    """One cell, one repetition."""

    id: str
    arm: Arm
    params: Parameters
    repetition: int
    seed: int


@dataclass(frozen=True, kw_only=True)
class PlannedDeployment:
    """One cluster and the trials that it holds, in the order in which they run."""

    id: str
    scenario: Scenario
    release: str
    settings: BrokerSettings
    index: int
    trials: tuple[PlannedTrial, ...]
    way: str = ""
    """In which of the ways that its faults offer they are made; empty where they offer one only."""

    @property
    def topology(self) -> Topology:
        """Its nodes; trials that share a cluster want the same."""
        return self.trials[0].arm.topology or self.scenario.topology

    @property
    def can_stall(self) -> bool:
        """Whether its brokers need the rules of the append stall."""
        return any(trial.arm.fault.needs_rules for trial in self.trials)

    @property
    def cores(self) -> float:
        """What its nodes and clients need on average, in cores."""
        large = LARGE_FRAME_CORES if _has_large_table(self.settings) else 0.0
        return large + sum(map(self.cores_of, self.trials))

    def cores_of(self, trial: PlannedTrial) -> float:
        """What a trial needs on average from its start to its end with its part of the idle brokers, in cores."""
        brokers = BROKER_CORES * self.topology.brokers * (BROKER_CORES_5X if is_5x(self.release) else 1.0)
        steady = self._steady_cores_of(trial) * (CORES_5X if is_5x(self.release) else 1.0)
        start = self.start_core_s(trial) / self.seconds_of(trial) if self.is_relayed else 0.0
        return brokers / len(self.trials) + steady + start

    def start_core_s(self, trial: PlannedTrial) -> float:
        """What it takes until the clients of a trial are up, in seconds of a core."""
        load = trial.arm.load
        needed = PROCESS_CORE_S * _clients_of(load) + GROUP_CORE_S * _groups_of(load)
        return needed * (CORES_5X if is_5x(self.release) else 1.0)

    @property
    def is_relayed(self) -> bool:
        """Whether it may boot beside others that are at work: no node is watched for what a boot delays."""
        loads = (trial.arm.load for trial in self.trials)
        return not self.scenario.exclusive and all(
            isinstance(load, OrderedGroups | QueueNumbers | KeyedSends) for load in loads
        )

    def _steady_cores_of(self, trial: PlannedTrial) -> float:
        load = trial.arm.load
        if isinstance(load, SteadyClients):
            return STEADY_CORES
        if isinstance(load, KeyedSends):
            return len(load.kinds) * (_busy_cores(load.rate_hz) + load.rate_hz * SEND_CORE_S)
        if isinstance(load, QueueNumbers):
            rate_hz = load.rate_hz
        elif isinstance(load, OrderedGroups):
            rate_hz = load.queues_per_broker * self.topology.masters * load.rate_per_queue_hz
        else:
            return 0.0
        flowing = FLOWING if isinstance(load, OrderedGroups) else 1.0
        return load.groups * (GROUP_CORES + flowing * _busy_cores(rate_hz)) + flowing * rate_hz * SEND_CORE_S

    @property
    def memory_mb(self) -> int:
        """Resident memory of nodes and clients, from what runs on real machines used."""
        topology = self.topology
        clients = 1 if self.scenario.exclusive else sum(_clients_of(trial.arm.load) for trial in self.trials)
        nodes = topology.name_servers * NAMESRV_MB + topology.brokers * BROKER_MB
        if _has_large_table(self.settings):
            nodes *= LARGE_FRAME_MEMORY
        needed = nodes + clients * CLIENT_MB
        return needed if is_5x(self.release) else int(needed * MEMORY_SHARE_4X)

    @property
    def seconds(self) -> float:
        """How long it takes on an idle machine."""
        if not self.scenario.exclusive:
            return max(map(self.seconds_of, self.trials))
        return BOOT_S + sum(_phases_s(self.scenario, trial) + TRIAL_OVERHEAD_S for trial in self.trials)

    def seconds_of(self, trial: PlannedTrial) -> float:
        """How long one of its trials takes that run side by side."""
        return trial.arm.trial_s or self.scenario.trial_s or ORDERED_TRIAL_S

    @property
    def history_bytes(self) -> int:
        """How much its trials record."""
        return int(sum(OPERATION_BYTES * _operations(self, trial) for trial in self.trials))


def _busy_cores(rate_hz: float) -> float:
    """What a group needs for its messages, in cores."""
    return BUSY_GROUP_CORES * float((rate_hz / BUSY_GROUP_HZ) ** BATCHING)


def _clients_of(load: Load) -> int:
    """Client processes of a trial: the owners apart from who takes over, or one for everything."""
    return 2 if isinstance(load, OrderedGroups) else 1


def _groups_of(load: Load) -> int:
    """Groups of two members."""
    if isinstance(load, OrderedGroups | QueueNumbers):
        return load.groups
    return len(load.kinds) if isinstance(load, KeyedSends) else 0


def _phases_s(scenario: Scenario, trial: PlannedTrial) -> float:
    phases = scenario.phases_of(trial.arm)
    return phases.steady_s + phases.hold_s_max + phases.recover_s + trial.arm.fault.seconds(trial.params)


def _operations(deployment: PlannedDeployment, trial: PlannedTrial) -> float:
    load = trial.arm.load
    if isinstance(load, OrderedGroups):
        queues = load.queues_per_broker * deployment.topology.masters
        return queues * load.rate_per_queue_hz * (1 + load.groups) * ORDERED_TRIAL_S
    if isinstance(load, QueueNumbers):
        return load.rate_hz * (1 + load.groups) * deployment.seconds
    if isinstance(load, KeyedSends):
        return load.rate_hz * 2 * len(load.kinds) * deployment.seconds
    if isinstance(load, SteadyClients):
        return 2 * load.rate_hz * deployment.seconds
    if isinstance(load, FailingMessages):
        return float(20 * load.messages)
    return float(trial.params["rate_hz"]) * (_phases_s(deployment.scenario, trial) + 1.0)


@dataclass(frozen=True, kw_only=True)
class Wave:
    """Deployments that are up at the same time."""

    deployments: tuple[PlannedDeployment, ...]

    @property
    def seconds(self) -> float:
        """How long it takes; what starts at once shares the cores while it boots."""
        trials = sum(len(one.trials) for one in self.deployments if not one.scenario.exclusive)
        nodes = sum(one.topology.nodes for one in self.deployments[1:])
        waits_s = NODE_UP_S * nodes + PROCESS_UP_S * max(0, trials - UP_AT_ONCE)
        return max(one.seconds for one in self.deployments) + waits_s


@dataclass(frozen=True, kw_only=True)
class Relay:
    """Deployments in the order in which they boot; each of their trials starts as soon as there is room for it."""

    deployments: tuple[PlannedDeployment, ...]
    host: Host

    @property
    def cores(self) -> float:
        """What trials may take of the cores."""
        return RELAY_SHARE * self.host.cores

    def next_of(
        self, left: Sequence[PlannedDeployment], are_up: Sequence[PlannedDeployment]
    ) -> PlannedDeployment | None:
        """The first of those left that may be up beside these."""
        return next((one for one in left if self._may_be_up(one, are_up)), None)

    def _may_be_up(self, deployment: PlannedDeployment, others: Sequence[PlannedDeployment]) -> bool:
        memory_mb = deployment.memory_mb + sum(one.memory_mb for one in others)
        return not others or (
            memory_mb <= MEMORY_SHARE * self.host.memory_mb
            and not any(_are_repetitions(one, deployment) for one in others)
        )

    @property
    def seconds(self) -> float:
        """How long it takes on an idle machine."""
        return max((ends for ends, _ in self._foreseen()), default=0.0)

    @property
    def at_once_max(self) -> int:
        """The most deployments that are up at the same time."""
        return max((at_once for _, at_once in self._foreseen()), default=0)

    def _foreseen(self) -> Iterator[tuple[float, int]]:
        """When each trial will end, and how many deployments are up when it starts.

        What comes up does so one after another, and what is up takes as long as it does alone.
        """
        now = up = 0.0
        left = list(self.deployments)
        waiting: list[tuple[PlannedDeployment, PlannedTrial]] = []
        running: list[tuple[float, float, PlannedDeployment]] = []
        while left or waiting:
            are_up = list({one.id: one for one in (*(w[0] for w in waiting), *(r[2] for r in running))}.values())
            if len(waiting) <= TRIALS_AHEAD and (booted := self.next_of(left, are_up)):
                left.remove(booted)
                waiting += ((booted, trial) for trial in booted.trials)
                up = max(now, up) + NODE_CORE_S * booted.topology.nodes / self.host.cores
            elif waiting and fits(
                [cores for _, cores, _ in running], waiting[0][0].cores_of(waiting[0][1]), self.cores
            ):
                deployment, trial = waiting.pop(0)
                up = max(now, up) + deployment.start_core_s(trial) / self.host.cores
                ends = up + deployment.seconds_of(trial)
                running.append((ends, deployment.cores_of(trial), deployment))
                yield ends, len(are_up)
            else:
                ended = min(running, key=lambda ending: ending[0])
                running.remove(ended)
                now = ended[0]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run will do."""

    relay: Relay
    waves: tuple[Wave, ...]
    effort: EffortName
    notes: tuple[str, ...] = ()

    def deployments(self) -> Iterator[PlannedDeployment]:
        """All of them: those of the relay, and then wave by wave."""
        yield from self.relay.deployments
        for wave in self.waves:
            yield from wave.deployments

    def trials(self) -> Iterator[tuple[PlannedDeployment, PlannedTrial]]:
        """Every trial with its deployment, in order."""
        for deployment in self.deployments():
            for trial in deployment.trials:
                yield deployment, trial

    @property
    def seconds(self) -> float:
        """Expected time to the report."""
        waves_s = sum(wave.seconds for wave in self.waves)
        trials_s = sum(
            ANALYSIS_TRIAL_S if deployment.scenario.exclusive else ANALYSIS_WAITING_S for deployment, _ in self.trials()
        )
        return self.relay.seconds + waves_s + ANALYSIS_S + trials_s

    @property
    def disk_bytes(self) -> int:
        """Expected size of the run directory, the analysis' tables and the stores of what is up at once."""
        history = sum(deployment.history_bytes for deployment in self.deployments())
        at_once = [self.relay.at_once_max, *(len(wave.deployments) for wave in self.waves)]
        stores = 128 * 2**20 * 2 * max(at_once)
        return int(1.4 * history) + stores


@dataclass(frozen=True, kw_only=True)
class Wish:
    """What the user asked for."""

    scenarios: Sequence[Scenario]
    releases: Sequence[str]
    effort: EffortName = "full"
    trials: int | None = None
    seed: int = 1
    arms: Sequence[str] = ()
    user_conf: Mapping[str, str] = field(default_factory=dict)
    ways: Sequence[str] = (DEFAULT_WAY,)
    """Ways of injection, for the incidents whose faults can be made in more than one."""
    abilities: Abilities | None = None
    """What the host can; arms whose fault it cannot make are left out, with a note. None leaves nothing out."""


def make_plan(wish: Wish, host: Host) -> Plan:
    """What waits first, side by side as the host allows, then what must be alone."""
    found = [deployment for scenario in wish.scenarios for deployment in _deployments(scenario, wish)]
    relayed = [deployment for deployment in found if deployment.is_relayed]
    waiting = [deployment for deployment in found if not deployment.scenario.exclusive and not deployment.is_relayed]
    alone = [deployment for deployment in found if deployment.scenario.exclusive]
    # The longest first: a wave lasts as long as its longest, and what starts last should not be long.
    relay = Relay(deployments=tuple(sorted(relayed, key=lambda one: (one.index, -one.seconds))), host=host)
    sharing = sorted((one for one in alone if one.scenario.shares_machine), key=lambda one: -one.seconds)
    lonely = [deployment for deployment in alone if not deployment.scenario.shares_machine]
    at_once = SHARING_AT_ONCE_PER_CORE * host.cores
    waves = [
        *_pack(waiting, host),
        *(Wave(deployments=tuple(sharing[at : at + at_once])) for at in range(0, len(sharing), at_once)),
        *(Wave(deployments=(deployment,)) for deployment in lonely),
    ]
    return Plan(relay=relay, waves=tuple(waves), effort=wish.effort, notes=_notes(wish))


def _left_out(scenario: Scenario, wish: Wish) -> dict[str, str]:
    """The arms whose fault this host can make in no way, each with the reason."""
    if wish.abilities is None:
        return {}
    reasons = {arm.name: obstacle(arm.fault, wish.abilities) for arm in scenario.arms}
    return {arm: reason for arm, reason in reasons.items() if reason is not None}


def _notes(wish: Wish) -> tuple[str, ...]:
    left_out = tuple(
        f"{scenario.name}: {arm} is left out: {reason}"
        for scenario in wish.scenarios
        for arm, reason in _left_out(scenario, wish).items()
    )
    if wish.effort == "full":
        return left_out
    kept = [
        f"{scenario.name}: {wish.trials or scenario.quick_effort.trials} trials a cell in "
        f"{scenario.quick_effort.deployments} deployment(s) instead of {scenario.effort.trials} in "
        f"{scenario.effort.deployments}, and fewer cells"
        + "".join(f", {name} {value:g}" for name, value in scenario.quick_effort.load.items())
        for scenario in wish.scenarios
    ]
    return (
        f"A quick run with a reduced number of trials ({'; '.join(kept)}). The full one is mqlab verify without --quick.",
        *left_out,
    )


def _deployments(scenario: Scenario, wish: Wish) -> list[PlannedDeployment]:
    effort = scenario.quick_effort if wish.effort == "quick" else scenario.effort
    trials_total = wish.trials or effort.trials
    deployments_total = min(effort.deployments, trials_total)
    by_arm = wish.effort == "full" and wish.trials is None
    judged = scenario.judged_arms()
    shown_total = effort.shown_trials or trials_total
    trials_of = {
        arm.name: (by_arm and arm.trials) or (shown_total if by_arm and arm.name not in judged else trials_total)
        for arm in scenario.arms
    }
    found = []
    for index in range(1, deployments_total + 1):
        arms_of = {
            repetition: {name for name, trials in trials_of.items() if repetition <= trials}
            for repetition in range(index, max(trials_of.values()) + 1, deployments_total)
        }
        for release, way in itertools.product(wish.releases, _ways(scenario, wish)):
            mark = "" if way == DEFAULT_WAY else way
            for label, settings, arms in _by_settings(scenario, _arms(scenario, release, wish, mark)):
                trials = _trials(scenario, release, mark, arms, arms_of, wish.seed)
                for arm in arms:
                    settings = injection_of(arm.fault, way).brokers(settings)
                if not scenario.exclusive or scenario.shares_machine:
                    settings = _beside_others(settings, release, wish, exclusive=scenario.exclusive)
                if trials:
                    found.append(
                        PlannedDeployment(
                            id=_name(scenario.name, release, mark, label, f"d{index}"),
                            scenario=scenario,
                            release=release,
                            settings=settings,
                            index=index,
                            trials=trials,
                            way=way,
                        )
                    )
    return found


def _beside_others(settings: BrokerSettings, release: str, wish: Wish, *, exclusive: bool) -> BrokerSettings:
    """What brokers are started with that share the cores with those of other deployments."""
    if not _has_large_table(settings):
        settings = dataclasses.replace(settings, jvm=(*FIRST_COMPILER, *settings.jvm))
    if is_5x(release):
        conf = {key: value for key, value in QUIET_5X.items() if key not in wish.user_conf}
        settings = dataclasses.replace(settings, conf={**conf, **settings.conf})
    return settings if exclusive else dataclasses.replace(settings, timer_slack_ms=TIMER_SLACK_MS)


def _has_large_table(settings: BrokerSettings) -> bool:
    """Its brokers write and send tens of thousands of topics again and again, which is work for both compilers."""
    return settings.topics_ahead is not None and settings.topics_ahead.frame_bytes >= LARGE_FRAME_BYTES


def _ways(scenario: Scenario, wish: Wish) -> tuple[str, ...]:
    return tuple(way for way in wish.ways if way in injections_of(scenario)) or ("",)


def _name(*parts: str) -> str:
    return ".".join(filter(None, parts))


def _arms(scenario: Scenario, release: str, wish: Wish, other_way: str) -> list[Arm]:
    left_out = _left_out(scenario, wish)
    arms = [
        arm
        for arm in scenario.arms
        if (not wish.arms or arm.name in wish.arms)
        and (not arm.releases or release in arm.releases)
        and arm.name not in left_out
        and (not arm.stands_in_for or arm.stands_in_for in left_out or arm.name in wish.arms)
    ]
    if other_way:
        arms = [dataclasses.replace(arm, cells=scenario.way_cells.get(arm.name, arm.cells)) for arm in arms]
    if wish.effort == "full":
        return arms
    return [
        dataclasses.replace(
            arm,
            cells=scenario.quick_cells.get(arm.name, arm.cells),
            # The fields are the scenario's own; a name that its load does not have raises TypeError.
            load=dataclasses.replace(arm.load, **scenario.quick_effort.load),  # type: ignore[arg-type]
        )
        for arm in arms
    ]


def _by_settings(scenario: Scenario, arms: Sequence[Arm]) -> list[tuple[str, BrokerSettings, list[Arm]]]:
    """Arms that can share a cluster, with the name of the first as a label."""
    if scenario.cluster_per_trial:
        return [
            (_name(arm.name, _cell_name(cell)), arm.broker, [dataclasses.replace(arm, cells=(cell,))])
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
) -> tuple[PlannedTrial, ...]:
    """Every cell of the arms once a repetition; the order within a repetition is drawn, so that drift hits all alike.

    ``arms_of`` are the names of those that take part in a repetition.
    """
    planned: list[PlannedTrial] = []
    for repetition, names in arms_of.items():
        draw = random.Random(f"{seed} {scenario.name} {release} {repetition}")
        once = [
            PlannedTrial(
                id=_name(scenario.name, release, mark, arm.name, _cell_name(params), f"r{repetition}"),
                arm=arm,
                params=params,
                repetition=repetition,
                seed=draw.randrange(2**31),
            )
            for arm in arms
            if arm.name in names
            for params in arm.cells
        ]
        if scenario.schedule == "interleaved":
            draw.shuffle(once)
        planned += once
    return tuple(planned)


def _cell_name(params: Parameters) -> str:
    return "-".join(f"{name}-{value}" for name, value in params.items())


def _pack(deployments: Sequence[PlannedDeployment], host: Host) -> list[Wave]:
    """Each deployment, the longest first, goes into the first wave that has room for it by memory and cores, else into a
    new one. One that is too large for both still runs, alone.
    """
    waves: list[list[PlannedDeployment]] = []
    for deployment in sorted(deployments, key=lambda one: -one.seconds):
        wave = next((wave for wave in waves if _has_room(wave, deployment, host)), None)
        if wave is None:
            waves.append([deployment])
        else:
            wave.append(deployment)
    return [Wave(deployments=tuple(wave)) for wave in waves]


def _has_room(wave: Sequence[PlannedDeployment], deployment: PlannedDeployment, host: Host) -> bool:
    candidate = [*wave, deployment]
    return (
        sum(one.memory_mb for one in candidate) <= MEMORY_SHARE * host.memory_mb
        and sum(one.cores for one in candidate) <= CORES_SHARE * host.cores
        and not any(_are_repetitions(one, deployment) for one in wave)
        and sum(map(_keeps_cores_busy, candidate)) <= 1
        and len(set(map(_is_judged_by_seconds, candidate))) == 1
    )


def _are_repetitions(one: PlannedDeployment, other: PlannedDeployment) -> bool:
    """Of an incident on one release, they are never up at the same time: what happens to the machine would be in both."""
    same = one.scenario.name == other.scenario.name and one.release == other.release
    return same and one.index != other.index


def _keeps_cores_busy(deployment: PlannedDeployment) -> bool:
    return _has_large_table(deployment.settings)


def _is_judged_by_seconds(deployment: PlannedDeployment) -> bool:
    """Retries that come three seconds late count as late, as they do where a dozen other clusters start."""
    return any(isinstance(trial.arm.load, FailingMessages) for trial in deployment.trials)
