"""The article's own picture: an instance is moved while three brokers of eight queues each carry its load.

The owner of all 24 queues is ended and its replacement joins after that. The load is the one at which the article counted
5,677 delayed messages within 10 s, and a delay of 54,725 ms; the report shows our figures for the same. What is claimed
about it is judged where more owners stand side by side, in ``ordered-lock-handover``.
"""

from __future__ import annotations

from harness.model import (
    Arm,
    BrokerSettings,
    Effort,
    KillOwners,
    NoFault,
    OrderedGroups,
    Phases,
    Scenario,
    ShutDownOwners,
    Topology,
)
from scenarios.ordered_lock_handover import FAST, LOCK_LIFE, SHORT

QUEUES = 24
RATE_HZ = 567.7
"""5,677 messages in 10 s."""


def _load(properties: dict[str, str] | None = None, successor_joins_after: bool = True) -> OrderedGroups:
    return OrderedGroups(
        groups=1,
        queues_per_broker=QUEUES // 3,
        rate_per_queue_hz=RATE_HZ / QUEUES,
        successor_joins="after" if successor_joins_after else "before",
        owner_properties=properties or {},
        successor_properties=properties or {},
    )


SCENARIO = Scenario(
    name="ordered-migration",
    title="An instance is moved under the article's load, and ordered consumption stands still",
    article="A3",
    summary="Three brokers of eight queues each, 568 messages a second by key; the instance that has every queue is killed "
    "or shut down, and its replacement joins. The article: 54,725 ms and 5,677 delayed messages in 10 s.",
    topology=Topology(name="three-masters", masters=3),
    arms=(
        Arm(
            name="baseline",
            what="Two instances, and nobody is moved.",
            fault=NoFault(),
            load=_load(successor_joins_after=False),
        ),
        Arm(name="incident", what="The instance is killed before it was shut down.", fault=KillOwners(), load=_load()),
        Arm(
            name="fix-graceful-shutdown",
            what="The article's first fix: it is shut down first.",
            fault=ShutDownOwners(),
            load=_load(),
        ),
        Arm(
            name="fix-short-lock",
            what="The article's second fix: lockInterval 5 s, lockMaxLiveTime 15 s.",
            fault=KillOwners(),
            load=_load(SHORT),
            broker=BrokerSettings(properties={LOCK_LIFE: "15000"}),
        ),
        Arm(
            name="better-short-lock-and-rebalance",
            what="Ours: locks of 5 s that are renewed every second, and a rebalance every second.",
            fault=KillOwners(),
            load=_load(FAST),
            broker=BrokerSettings(properties={LOCK_LIFE: "5000"}),
        ),
    ),
    phases=Phases(steady_s=8.0, hold_s_min=12.0, hold_s_max=110.0, recover_s=5.0),
    claims=(),
    effort=Effort(trials=1, deployments=1),
    quick_effort=Effort(trials=1, deployments=1),
    quick_cells={"fix-short-lock": (), "better-short-lock-and-rebalance": ()},
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=1000.0,
    shown=("handover_s", "handover_part_s", "message_delay_max_s", "delayed_in_10s_count", "lost_count"),
)
"""Hand-overs take seconds to a minute; a hiccup of a second is the resolution at which they are shown."""
