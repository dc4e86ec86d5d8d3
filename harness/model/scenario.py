"""An incident as it is replayed: arms, phases, claims, and how much of it is run."""

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Literal

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import Fault
from harness.model.incident import Incident
from harness.model.loads import LoadValue
from harness.model.rules import Claim
from harness.model.steps import READING, Step
from harness.model.timed_faults import Inject


class ArmRole(StrEnum):
    """The first word of an arm's name."""

    BASELINE = "baseline"
    INCIDENT = "incident"
    FIX = "fix"
    BETTER = "better"


@dataclass(frozen=True, kw_only=True)
class Phases:
    """How long the runner stays in each phase, in seconds.

    Where a load can tell that the fault's effect is over, hold ends then, but not before ``hold_s_min``. ``settle_s_max``
    and ``drain_s_max`` bound waits for conditions.
    """

    steady_s: float
    hold_s_min: float
    hold_s_max: float
    recover_s: float
    settle_s_max: float = 150.0
    drain_s_max: float = 60.0


@dataclass(frozen=True, kw_only=True)
class Arm:
    """One way of living through the incident.

    ``cells`` are its parameter sets; an arm without parameters has one empty cell. ``live_conf`` is changed on the
    running broker before each of its trials, ``broker`` needs a deployment of its own kind. ``releases`` are those that
    have what it sets; empty stands for all.
    """

    name: str
    what: str
    fault: Fault
    load: LoadValue
    broker: BrokerSettings = field(default_factory=BrokerSettings)
    live_conf: Mapping[str, str] = field(default_factory=dict)
    cells: tuple[Parameters, ...] = ({},)
    releases: tuple[str, ...] = ()
    trials: int = 0
    """Trials of a cell of it in a full run where that differs from the scenario's budget; 0: it does not. An event that
    never came in five trials may still come in half of all."""
    is_apart: bool = False
    """Shares its cluster with no other arm, whose clients, topics or store it might disturb."""
    phases: Phases | None = None
    topology: Topology | None = None
    """Its own phases and topology where they differ from the scenario's; one with a topology needs a cluster of its own."""
    client: Mapping[str, str] = field(default_factory=dict)
    """Settings of its clients, as ``UserSettings.client`` has them; they win over the user's. Clients that trials share are
    started with those of the first, so that an arm with settings of its own is apart."""
    steps: tuple[Step, ...] = ()
    """What happens in the hold, one after another, after its own fault has come; the hold lasts until all is done. Faults with a
    time of their own come at it."""
    every_s: float = 0.0
    """After so many seconds each of these faults comes again, as long as the hold lasts; 0: once."""
    stands_in_for: str = ""
    """The arm that shows the same better, and needs more of the host: this one is run where that cannot be, or when asked for."""

    @property
    def role(self) -> ArmRole:
        """What the arm is for; ValueError when its name does not say."""
        return ArmRole(self.name.split("-", 1)[0])

    @property
    def injects(self) -> tuple[Inject, ...]:
        """Those of its steps that are faults."""
        return tuple(step for step in self.steps if isinstance(step, Inject))

    @property
    def faults(self) -> tuple[Fault, ...]:
        """Its own, and those of its steps."""
        return (self.fault, *(step.fault for step in self.injects))

    @property
    def steps_s(self) -> float:
        """How long its steps take, one after another."""
        return sum(step.seconds for step in self.steps)

    def live_conf_under(self, user_conf: Mapping[str, str]) -> dict[str, str]:
        """What is changed on the running broker: an incident happens under the user's own value, a fix brings its own."""
        if self.role in (ArmRole.FIX, ArmRole.BETTER):
            return dict(self.live_conf)
        return {key: user_conf.get(key, value) for key, value in self.live_conf.items()}


@dataclass(frozen=True, kw_only=True)
class TrialBudget:
    """How much of a scenario is run: trials a cell, and over how many deployments they are spread.

    ``extra_trials`` are those of arms that no claim is judged by (default: as many). ``load`` are fields of the arms' loads
    that it changes, for a run that has to be light.
    """

    trials: int
    deployments: int
    extra_trials: int | None = None
    load: Mapping[str, int | float] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Shown:
    """What a run's page shows of an incident first: a sentence, and a table of a measure's medians.

    ``rows`` are arms by the words of their rows. The columns are the values that the cells' parameter ``across`` has, or without
    one the releases. ``where`` are the measure's own parameters and those of cells that all rows share.
    """

    measure: str = ""
    says: str = ""
    caption: str = ""
    rows: Mapping[str, str] = field(default_factory=dict)
    across: str = ""
    where: Parameters = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Scenario(Incident):
    """An incident that is replayed, and what is claimed of it."""

    topology: Topology
    arms: tuple[Arm, ...]
    phases: Phases
    claims: tuple[Claim, ...]
    budget: TrialBudget
    quick_budget: TrialBudget = TrialBudget(trials=1, deployments=1)
    quick_cells: Mapping[str, tuple[Parameters, ...]] = field(default_factory=dict)
    """Cells by arm that a quick run keeps; an arm that is absent keeps all of its cells, one that has none is left out."""
    exclusive: bool = True
    """True when the trials measure milliseconds and must have the machine to themselves."""
    hiccup_ms_max: float = 100.0
    """Where no claim asks: a trial whose hiccup probe exceeds this was too noisy, and is repeated within a bound."""
    schedule: Literal["interleaved", "side by side"] = "interleaved"
    shown: Shown | None = None
    """Where none is given the page takes what the first claim is judged by."""
    extra_measures: tuple[str, ...] = ()
    """Measures whose values the report shows although no claim is judged by them."""
    computed: Mapping[str, Callable[[Mapping[str, float]], float | None]] = field(default_factory=dict)
    """Further readings by name, each made of a trial's readings by name when the run is judged; None is no value."""
    sweep: tuple[str, ...] = ()
    """What ``mqlab tune`` sweeps where nobody says: ``broker.KEY=A,B`` and so on, as its ``--sweep`` has them."""
    cluster_per_trial: bool = False
    """True when a trial's fault is one of the cluster itself, which others must not share."""
    repetitions_together: bool = False
    """True when repetitions of a cell may be up at the same time, since what the machine does to a trial leaves no value."""
    shares_machine: bool = False
    """Of an exclusive one: its clusters may run beside each other, each of them one trial after another."""
    injections: tuple[str, ...] = ()
    """The injections that it can be run with, where its faults offer several and not all of them serve it."""
    other_injection_cells: Mapping[str, tuple[Parameters, ...]] = field(default_factory=dict)
    """Cells by arm that are run with any other injection than the usual one; an arm that is absent keeps all of its cells."""
    experiment_version: int = 1
    """Raised by hand when code of a fault, a load or the recorder changes what happens in its trials: a new series begins."""
    has_modelled_stalls: bool = False
    """The model of a stalled append is held against its trials."""

    def to_show(self) -> Shown:
        """What its page shows first: where it names nothing, what its first claim is judged by first, in each arm."""
        if self.shown is not None or not self.claims:
            return self.shown or Shown()
        first = self.claims[0].parts[0].of
        where = {name: allowed[0] for name, allowed in first.where.items()}
        caption = f"Medians of {where[READING]}" if READING in where else ""
        return Shown(
            measure=first.measure, caption=caption, rows={arm.name: arm.name for arm in self.arms}, where=where
        )

    @property
    def is_replayed(self) -> bool:
        """It is: it has arms."""
        return True

    def arm(self, name: str) -> Arm:
        """The arm of that name."""
        return next(arm for arm in self.arms if arm.name == name)

    def phases_of(self, arm: Arm) -> Phases:
        """How long its trials stay in each phase."""
        return arm.phases or self.phases

    def hiccup_limit_ms(self, arm: Arm, params: Parameters) -> float:
        """The hiccup above which a trial of the cell is repeated: the least that one of its parts allows."""
        limits = (
            part.hiccup_ms_max(params)
            for claim in self.claims
            for part in claim.parts
            if any(quantity.is_of(arm.name, params) for quantity in part.quantities())
        )
        return min(limits, default=self.hiccup_ms_max)

    def asks(self, claim: Claim, release: str) -> bool:
        """Whether a claim is one of the release: every arm that it is judged by is run there."""
        arms = {quantity.arm for quantity in claim.quantities()}
        return all(not arm.releases or release in arm.releases for arm in self.arms if arm.name in arms)

    def is_restart(self, claim: Claim, release: str) -> bool:
        """Whether a claim is of an upgrade, and the release the one that is upgraded to: its arms restart a cluster there."""
        arms = {quantity.arm for quantity in claim.quantities()}
        return all(cell.get("to") == release for arm in self.arms if arm.name in arms for cell in arm.cells)

    def judged_arms(self) -> frozenset[str]:
        """Names of the arms that a claim is judged by."""
        return frozenset(quantity.arm for claim in self.claims for quantity in claim.quantities())

    def measures(self, arms: Collection[str] | None = None) -> frozenset[str]:
        """What its claims are judged by and tell of in ``arms`` (default: in any), and what its report shows beside that."""
        parts = (part for claim in self.claims for part in (*claim.parts, *claim.beside))
        asked = (quantity for part in parts for quantity in part.quantities())
        return frozenset(item.measure for item in asked if arms is None or item.arm in arms) | frozenset(
            self.extra_measures
        )
