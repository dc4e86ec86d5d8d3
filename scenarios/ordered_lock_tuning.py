"""Which settings give the shortest hand-over after a kill, and what do they cost?

``mqlab tune ordered-lock-tuning`` sweeps how long a lock lives on the broker and how often the client renews it. Beside each
hand-over stand the lock requests a second, what the broker logs while members wait, and how long nobody holds a lock that is
renewed too late. Nothing is claimed by an article here.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import KillOwners, NoFault
from harness.model.loads import OrderedGroups
from harness.model.rocketmq import LOCK_INTERVAL, LOCK_LIFE
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.ordered_lock_handover import QUEUES_PER_BROKER, RATE_PER_QUEUE_HZ

LOAD = OrderedGroups(
    groups=20,
    queues_per_broker=QUEUES_PER_BROKER,
    rate_per_queue_hz=RATE_PER_QUEUE_HZ,
    owner_age_s_min=16.0,
)

SCENARIO = Scenario(
    name="ordered-lock-tuning",
    title="The shortest hand-over of ordered queues, and its price",
    article="A3",
    summary="A kill of the owners under settings of a lock's life and renewal: the hand-over, the lock requests a second, the "
    "volume of the lock log, and the time in which nobody holds the lock.",
    symptom="Ordered queues stand still for longer than is wanted when a member is killed.",
    advice="Sweep how long locks live and how often they are renewed, with the price of each: mqlab tune "
    "ordered-lock-tuning.",
    no_sign="Settings of locks leave no line: ask the brokers and clients for lockMaxLiveTime and lockInterval.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(name="baseline", what="The defaults, and nobody is killed.", fault=NoFault(), load=LOAD),
        Arm(name="incident", what="The defaults: renewed every 20 s, 60 s of life.", fault=KillOwners(), load=LOAD),
        Arm(
            name="fix-life-15s",
            what="The article's 15 s and 5 s.",
            fault=KillOwners(),
            load=LOAD,
            broker=BrokerSettings(properties={LOCK_LIFE: "15000"}),
            cells=({"lock_interval_ms": 5000, "rebalance_ms": 20_000, "lock_life_ms": 12_000},),
        ),
    ),
    phases=Phases(steady_s=6.0, hold_s_min=10.0, hold_s_max=110.0, recover_s=3.0),
    claims=(),
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1, load={"groups": 7}),
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=500.0,
    extra_measures=(
        *(
            "handover_s",
            "handover_part_s",
            "lock_requests_per_s",
            "lock_log_bytes_per_s",
            "unlocked_share",
            "overlap_ms",
        ),
    ),
    sweep=(f"broker-jvm.{LOCK_LIFE}=5000,15000,60000", f"client.{LOCK_INTERVAL}=1000,20000"),
)
"""A hiccup of half a second is a tenth of the shortest life that is swept."""
