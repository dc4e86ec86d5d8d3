"""Which settings give the shortest hand-over after a kill, and what do they cost the broker?

A sweep over the life of a lock on the broker, how often the client renews it, and how often it shares queues out, which is
when 4.x asks again. Beside each hand-over stand the lock requests a second and what the broker logs while members wait.
Nothing is claimed by an article here; the report shows every value.
"""

from __future__ import annotations

from harness.model.cells import Parameters
from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import KillOwners, NoFault
from harness.model.loads import OrderedGroups
from harness.model.rocketmq import LOCK_LIFE
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.ordered_lock_handover import QUEUES_PER_BROKER, RATE_PER_QUEUE_HZ

GROUPS = 20
"""Each life is tried with two settings of the client: 40 owners an arm. The defaults are there to compare with on the same
machine; ``ordered-lock-handover`` has more owners of them."""

LOAD = OrderedGroups(
    groups=GROUPS,
    queues_per_broker=QUEUES_PER_BROKER,
    rate_per_queue_hz=RATE_PER_QUEUE_HZ,
    owner_age_s_min=16.0,
)


def _cell(lock_interval_ms: int, rebalance_ms: int, client_life_ms: int) -> Parameters:
    return {"lock_interval_ms": lock_interval_ms, "rebalance_ms": rebalance_ms, "lock_life_ms": client_life_ms}


def _life(life_ms: int) -> BrokerSettings:
    return BrokerSettings(properties={LOCK_LIFE: str(life_ms)})


SCENARIO = Scenario(
    name="ordered-lock-tuning",
    title="The shortest hand-over of ordered queues, and its price",
    article="A3",
    summary="A kill of the owners under seven settings of lock life, renewal and rebalance: the hand-over, the lock requests "
    "a second, and the volume of the lock log.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(name="baseline", what="The defaults, and nobody is killed.", fault=NoFault(), load=LOAD),
        Arm(name="incident", what="The defaults: renewed every 20 s, 60 s of life.", fault=KillOwners(), load=LOAD),
        Arm(
            name="fix-life-15s",
            what="The article's 15 s and 5 s, with the rebalance at its 20 s and at one second.",
            fault=KillOwners(),
            load=LOAD,
            broker=_life(15_000),
            cells=(_cell(5000, 20_000, 12_000), _cell(5000, 1000, 12_000)),
        ),
        Arm(
            name="better-life-5s",
            what="Locks of 5 s, renewed every second or every two.",
            fault=KillOwners(),
            load=LOAD,
            broker=_life(5000),
            cells=(_cell(1000, 1000, 4000), _cell(2000, 1000, 4000)),
        ),
        Arm(
            name="better-life-3s",
            what="Locks of 3 s, renewed every second or twice a second.",
            fault=KillOwners(),
            load=LOAD,
            broker=_life(3000),
            cells=(_cell(1000, 1000, 2500), _cell(500, 500, 2500)),
        ),
    ),
    phases=Phases(steady_s=6.0, hold_s_min=10.0, hold_s_max=110.0, recover_s=3.0),
    claims=(),
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1, load={"groups": 7}),
    quick_cells={
        "fix-life-15s": (_cell(5000, 1000, 12_000),),
        "better-life-5s": (_cell(1000, 1000, 4000),),
        "better-life-3s": (),
    },
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=500.0,
    extra_measures=("handover_s", "handover_part_s", "lock_requests_per_s", "lock_log_bytes_per_s", "overlap_ms"),
)
"""A lock of 3 s is renewed twice a second: a machine that stands still for half a second must not count as its fault."""
