"""A broker restarts while ordered consumers hold its locks: who gets them?

Locks are in the broker's memory. No article says what a restart does to them; what its code leads one to expect is that
the table is empty afterwards, so that whoever asks first is granted a lock for its whole life, whether or not a member
consumes by it (``mqLockTable`` of org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager). An owner asks again
when its timer says so, within 20 s. Read here, for the restarted broker and for the one that stays: which locks
another client is granted as soon as the broker listens (expected: those that their owners have not renewed by then), for how
long the queues that it was granted stand still (the life of a lock and up to a renewal: 60 to 80 s), and how soon the
successors of killed owners have the queues (the restarted broker's at their next request, the others' after 60 s).
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import KillOwnersRestartBroker, NoFault, RestartBroker
from harness.model.loads import OrderedGroups
from harness.model.rocketmq import LOCK_LIFE
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.ordered_lock_handover import QUEUES_PER_BROKER, RATE_PER_QUEUE_HZ, SHORT

GROUPS = 40


def _load(properties: dict[str, str] | None = None, *, replaced: bool = False) -> OrderedGroups:
    return OrderedGroups(
        groups=GROUPS,
        queues_per_broker=QUEUES_PER_BROKER,
        rate_per_queue_hz=RATE_PER_QUEUE_HZ,
        owner_age_s_min=25.0,
        successor_joins="after" if replaced else "before",
        owner_properties=properties or {},
        successor_properties=properties or {},
    )


SCENARIO = Scenario(
    name="ordered-lock-restart",
    title="A broker restarts, and its locks of ordered queues are gone",
    article="A3",
    summary="One of two brokers is killed and started again at once, with owners that live on and another client that "
    "asks first, and with owners that are killed at the same moment.",
    symptom="A broker restarted, and some ordered queues stand still although their consumers live.",
    advice="Shorten the locks (rocketmq.broker.rebalance.lockMaxLiveTime): a queue whose lock another client was "
    "granted waits until it expires.",
    no_sign="A broker that starts has no locks and says nothing of it: look at when it started, and at which clients "
    "took their queues then.",
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(name="baseline", what="Nothing is restarted.", fault=NoFault(), load=_load()),
        Arm(
            name="incident",
            what="The broker restarts, and another client is the first to ask for a lock of each owner.",
            fault=RestartBroker(),
            load=_load(),
        ),
        Arm(
            name="incident-owners-killed",
            what="Owners that have every queue are killed, the broker restarts, and replacements join: its locks are gone "
            "with it, the other's are not.",
            fault=KillOwnersRestartBroker(),
            load=_load(replaced=True),
        ),
        Arm(
            name="fix-short-lock",
            what="The article's second fix: owners that renew every 5 s leave another client less time, and what it is "
            "granted lives 15 s.",
            fault=RestartBroker(),
            load=_load(SHORT),
            broker=BrokerSettings(properties={LOCK_LIFE: "15000"}),
        ),
    ),
    phases=Phases(steady_s=6.0, hold_s_min=10.0, hold_s_max=95.0, recover_s=3.0),
    claims=(),
    budget=TrialBudget(trials=1, deployments=1),
    quick_budget=TrialBudget(trials=1, deployments=1, load={"groups": 7}),
    quick_cells={"fix-short-lock": ()},
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=1000.0,
    cluster_per_trial=True,
    extra_measures=(
        "granted_after_restart",
        "restart_handover_s",
        "restart_delay_max_s",
        "overlap_ms",
        "out_of_order_count",
        "lost_count",
    ),
)
"""What a restart does to a lock lasts seconds to a minute; a hiccup of a second is the resolution at which it is shown."""
