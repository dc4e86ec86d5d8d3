"""In which order deployments start, and which of them are up together.

There is one rule (``Schedule.may_be_up``): a deployment may boot beside others that need the same, as memory allows. Each
trial then waits until the core budget has room for it. Where nothing may boot meanwhile, as many boot as the cores can bear
all at once, their trials run, and the next ones boot when all have ended.
"""

from __future__ import annotations

import itertools
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from harness.errors import UsageError
from harness.host.facts import Host
from harness.plan.core_budget import fits
from harness.plan.cost import Costs
from harness.plan.deployments import PlannedDeployment, PlannedTrial, deployments_of
from harness.plan.request import BudgetName, Request

ANALYSIS_S, ANALYSIS_TRIAL_S, ANALYSIS_WAITING_S = 20.0, 0.13, 0.7
"""Of a run, for each of its trials (868 took 131 s on two cores, 933 took 143), and for each of those that wait, which have more
clients and so more histories and logs: 191 took 164 s, 72 took 70."""

FIRST_ANSWER_S = 25.0
"""Of the analysis of one cluster's trials, Spark's start included, beside clusters that boot."""

TRIALS_MAX = 10_000
"""Of a run: on two cores it would take days."""

CORES_SHARE = 1.1
"""Of the cores, what trials may need on average, from their start to their end. They need most of it when they start: with 0.95
a fifth of two cores was idle while all were up and waited."""

MEMORY_SHARE = 0.65
"""Of the host's memory, what is up may take; the rest is for page cache, and for nodes that take a tenth more than others did."""

TRIALS_AHEAD = 2
"""The next cluster boots when no more trials than this have still to find room."""

NODE_CORE_S = 1.6
"""Seconds of a core that it takes until a node is up beside others that boot as well."""

STORE_BYTES = 128 * 2**20 * 2


@dataclass(frozen=True, kw_only=True)
class Schedule:
    """Deployments in the order in which they boot."""

    deployments: tuple[PlannedDeployment, ...]
    host: Host

    @property
    def cores(self) -> float:
        """What trials may take of the cores."""
        return CORES_SHARE * self.host.cores

    def next_of(
        self, left: Sequence[PlannedDeployment], are_up: Sequence[PlannedDeployment]
    ) -> PlannedDeployment | None:
        """The first of those left that may be up beside these."""
        return next((one for one in left if self.may_be_up(one, are_up)), None)

    def may_be_up(self, one: PlannedDeployment, others: Sequence[PlannedDeployment]) -> bool:
        """Whether it may boot beside those that are up; one that is too large for the host may where nothing is."""
        return not others or (
            not one.needs.alone
            and all(other.needs == one.needs for other in others)
            and one.memory_mb + sum(other.memory_mb for other in others) <= MEMORY_SHARE * self.host.memory_mb
            and (not one.needs.no_boots_meanwhile or self._fits(one, others))
            and not any(_are_repetitions(one, other) for other in others)
        )

    def _fits(self, one: PlannedDeployment, others: Sequence[PlannedDeployment]) -> bool:
        return fits([other.cores for other in others], one.cores, one.needs.core_share * self.cores)

    def pool(self) -> tuple[PlannedDeployment, ...]:
        """Those that boot while others are at work."""
        return tuple(one for one in self.deployments if not one.needs.no_boots_meanwhile)

    def batches(self) -> Iterator[tuple[PlannedDeployment, ...]]:
        """The others, as they are up together."""
        left = [one for one in self.deployments if one.needs.no_boots_meanwhile]
        while left:
            batch: list[PlannedDeployment] = []
            while (one := self.next_of(left, batch)) is not None:
                left.remove(one)
                batch.append(one)
            yield tuple(batch)

    @property
    def seconds(self) -> float:
        """How long it takes when nothing else is at work on the host."""
        pool_s = max((ends for ends, _ in self._pool_foreseen()), default=0.0)
        return pool_s + sum(map(self._batch_s, self.batches()))

    def _batch_s(self, batch: Sequence[PlannedDeployment]) -> float:
        """What boots or starts does so as the cores allow, and then takes as long as it does alone."""
        starts_s = sum(trial.cost.start_core_s for one in batch for trial in one.trials) / self.host.cores
        further = sum(one.topology.nodes for one in batch[1:])
        boots_s = max(one.boot_s for one in batch) + NODE_CORE_S * further / self.host.cores
        return boots_s + starts_s + max(one.seconds for one in batch)

    @property
    def at_once_max(self) -> int:
        """The most deployments that are up at the same time."""
        return max(itertools.chain((up for _, up in self._pool_foreseen()), map(len, self.batches())), default=0)

    def _pool_foreseen(self) -> Iterator[tuple[float, int]]:
        """When each trial of the pool will end, and how many deployments are up when it starts.

        What comes up does so one after another, and what is up takes as long as it does alone.
        """
        now = up = 0.0
        left = list(self.pool())
        waiting: list[tuple[PlannedDeployment, PlannedTrial]] = []
        running: list[tuple[float, float, PlannedDeployment]] = []
        while left or waiting:
            are_up = list({one.id: one for one in (*(w[0] for w in waiting), *(r[2] for r in running))}.values())
            if len(waiting) <= TRIALS_AHEAD and (booted := self.next_of(left, are_up)):
                left.remove(booted)
                waiting += ((booted, trial) for trial in booted.trials)
                up = max(now, up) + booted.boot_s
            elif waiting and fits(
                [cores for _, cores, _ in running], waiting[0][0].cores_of(waiting[0][1]), self.cores
            ):
                deployment, trial = waiting.pop(0)
                up = max(now, up) + trial.cost.start_core_s / self.host.cores
                ends = up + trial.cost.seconds
                running.append((ends, deployment.cores_of(trial), deployment))
                yield ends, len(are_up)
            else:
                ended = min(running, key=lambda ending: ending[0])
                running.remove(ended)
                now = ended[0]


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What a run will do."""

    schedule: Schedule
    budget: BudgetName
    notes: tuple[str, ...] = ()
    first: PlannedDeployment | None = None
    """The deployment that runs before all others and is judged while the next ones boot; none where nothing boots meanwhile."""

    def deployments(self) -> tuple[PlannedDeployment, ...]:
        """All of them, in the order in which they boot."""
        return self.schedule.deployments

    def trials(self) -> Iterator[tuple[PlannedDeployment, PlannedTrial]]:
        """Every trial with its deployment, in order."""
        for deployment in self.deployments():
            for trial in deployment.trials:
                yield deployment, trial

    def without(self, done: Collection[str]) -> Plan:
        """What is left of it when the trials of these ids are."""
        left = (
            replace(one, trials=tuple(trial for trial in one.trials if trial.id not in done))
            for one in self.deployments()
        )
        deployments = tuple(one for one in left if one.trials)
        return replace(self, schedule=replace(self.schedule, deployments=deployments), first=None)

    @property
    def seconds(self) -> float:
        """Expected time to the report."""
        trials_s = sum(
            ANALYSIS_TRIAL_S if deployment.scenario.exclusive else ANALYSIS_WAITING_S for deployment, _ in self.trials()
        )
        return self.schedule.seconds + ANALYSIS_S + trials_s + (FIRST_ANSWER_S if self.first else 0.0)

    @property
    def first_answer_s(self) -> float | None:
        """Expected time to the first answer; None where there is none before the report."""
        return self.first.boot_s + self.first.seconds + FIRST_ANSWER_S if self.first else None

    @property
    def disk_bytes(self) -> int:
        """Expected size of the run directory, the analysis' tables and the stores of what is up at once."""
        history = sum(deployment.history_bytes for deployment in self.deployments())
        return int(1.4 * history) + STORE_BYTES * self.schedule.at_once_max


def make_plan(request: Request, host: Host, costs: Costs | None = None) -> Plan:
    """What waits first, then what must not be disturbed, then what must be alone; in each, the longest first.

    Where an answer is wanted early, one of those that must be alone comes before all, and is judged while the others boot.

    What is up together lasts as long as its longest, and what starts last should not be long. Without ``costs`` everything
    is guessed.

    Raises:
        UsageError: these are more trials than a run has.
    """
    costs = costs or Costs()
    found = [one for scenario in request.scenarios for one in deployments_of(scenario, request, costs)]
    if (count := sum(len(one.trials) for one in found)) > TRIALS_MAX:
        raise UsageError(
            f"these are {count:,} trials, and a run has {TRIALS_MAX:,} at most",
            advice="Give fewer trials, cells, incidents or releases, in several runs.",
        )
    by_place = [one for _, one in sorted(enumerate(found), key=lambda item: _place(*item))]
    schedule = Schedule(deployments=tuple(by_place), host=host)
    pool, rest = schedule.pool(), list(itertools.chain.from_iterable(schedule.batches()))
    first = _to_answer_first(rest) if request.answer_first and pool else None
    if first is not None:
        rest.remove(first)
        pool = tuple(map(_longest_first, pool))
    as_they_boot = (*filter(None, [first]), *pool, *rest)
    return Plan(
        schedule=replace(schedule, deployments=as_they_boot), budget=request.budget, notes=request.notes(), first=first
    )


def _to_answer_first(found: Sequence[PlannedDeployment]) -> PlannedDeployment | None:
    """The shortest of those that are up alone: their trials end one by one, and nothing of them is cut off by the others."""
    return min((one for one in found if one.needs.alone), key=lambda one: one.boot_s + one.seconds, default=None)


def _longest_first(one: PlannedDeployment) -> PlannedDeployment:
    """With its trials in the order of how long they take: the whole waits for the longest, which is to begin before others."""
    return replace(one, trials=tuple(sorted(one.trials, key=lambda trial: -trial.cost.seconds)))


def _place(number: int, one: PlannedDeployment) -> tuple[float, ...]:
    """Where a deployment stands. Repetitions of what may boot beside others come after all first ones."""
    if one.needs.alone:
        return 3, number
    if one.needs.judged_by == "counts":
        return 2, -one.seconds
    return (1, -one.seconds) if one.needs.no_boots_meanwhile else (0, one.index, -one.seconds)


def _are_repetitions(one: PlannedDeployment, other: PlannedDeployment) -> bool:
    """Of an incident on one release, they are never up at the same time: what happens to the machine would be in both."""
    same = one.scenario.name == other.scenario.name and one.release == other.release
    return same and one.index != other.index and not one.scenario.repetitions_together
