"""An ordered consumer is killed: how long do its queues stand still, and which setting shortens that?

Ordered consumption locks each queue on its broker for one client. A client that is killed cannot unlock, so a successor
waits until the lock has expired and until it asks again. Many groups, each with an owner and a successor that is there
already, are put through the same fault at once; their owners' lock renewals are spread over a whole period. What shortens the
hand-over further than the article's fixes, and what that costs, is swept in ``ordered-lock-tuning``.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import (
    CollectOwners,
    CutOffOwners,
    KillOwners,
    KillStoppingOwners,
    LockOwners,
    NoFault,
    PauseOwners,
    ShutDownOwners,
    SilenceOwners,
    ThrottleOwners,
)
from harness.model.incident import Sign
from harness.model.loads import OrderedGroups
from harness.model.log_events import Logged, LogPattern
from harness.model.rocketmq import LOCK_INTERVAL, LOCK_LIFE
from harness.model.rules import Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, Shown, TrialBudget
from scenarios import ordered_lock_claims, ordered_lock_signs
from scenarios.releases import RELEASES_5X
from scenarios.rules import claim, confirmed, control, each, median, never, of, refuted, side

GROUPS = 9
"""Owners of an arm in one deployment, each with 3 of 6 queues or all of them: five deployments make 45, enough for "never"."""
GROUPS_OF_A_FIX = 21
"""Of 105 owners one in 40 that waits for its queues is missed once in 14 times."""
GROUPS_IN_THREE = 14
"""Where no side is judged: 42 owners in three deployments."""
QUEUES_PER_BROKER = 3
RATE_PER_QUEUE_HZ = 0.4
"""Every message is a pull of its own for each group: little load for many owners, which all wait at the same time. A queue
that stood still for longer than the gap between two messages has one waiting at its take-over, so that the gap does not
enter the figure; where it moves at once the gap would, and the rate is higher."""
RATE_WITHOUT_WAIT_HZ = 2.5
RATE_OF_A_BACKLOG_HZ = 1.5
"""Where messages that pile up are counted."""
QUICK_LOAD = {"groups": 7}


def _load(**changes: Any) -> OrderedGroups:
    usual = {"groups": GROUPS, "queues_per_broker": QUEUES_PER_BROKER, "rate_per_queue_hz": RATE_PER_QUEUE_HZ}
    return OrderedGroups(**usual | changes)


LOAD = _load()
SLOW = _load(groups=GROUPS_IN_THREE, owner_work_ms=10_000.0, owner_age_s_min=25.0)
"""An owner whose listener takes ten seconds a message."""
AGED = _load(owner_age_s_min=25.0)
"""Owners that have renewed their locks at least once."""
AWAIT_MS = 20_000
"""Twice the listener's time."""

SHORT = {LOCK_INTERVAL: "5000"}

PHASES = Phases(steady_s=8.0, hold_s_min=10.0, hold_s_max=180.0, recover_s=3.0)
LATE = replace(PHASES, hold_s_max=240.0)
"""A broker misses a connection that says nothing after 120 s, and a queue changes hands up to 90 s later."""
LOOKED_AT = replace(PHASES, hold_s_max=PHASES.hold_s_min)
"""No queue changes hands."""

STOPPING, IN_SHUTDOWN = "incident-killed-while-stopping", "incident-killed-in-shutdown"
AT_ONCE_S = 0.01
UNLOCKS = "org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService.shutdown"
SINCE_4_9_7 = ("4.9.7", *RELEASES_5X)

ORDER_20_PARTS = {
    "hand-over": median(of("handover_s", STOPPING), side(50, 20, "a kill leaves 40 to 60 s of a lock, renewed each 20 s; "
                        "an owner that had given its queues up leaves the next rebalance, within 20 s")),
    "lock's age": each(of("lock_age_at_takeover_s", STOPPING), side(60, 20, "as after kill -9", bound=58)),
    "unlocked": control(never(of("unlock_lines", STOPPING), 6, "a queue that was given up has a line, of six queues")),
    "in shutdown()": each(of("handover_s", IN_SHUTDOWN), side(35, 20, "a lock of 60 s, renewed 25 s ago at most; or the next "
                          "rebalance"), scope="while shutdown() waits for listeners", deployments_min=3, slack_ms=4000),
}  # fmt: skip

ORDER_20 = claim(
    "ORDER-20", "A3", "An instance that is told to stop and is killed before shutdown() has finished leaves its locks behind, as "
    "kill -9 does.",
    reading="Killed 5 s after it was told to stop, before it calls shutdown() or while that waits for listeners of 10 s a message "
    "(awaitTerminationMillisWhenShutdown), it leaves locks that no other client gets before their 60 s: queues stand still.",
    expected=confirmed("unlockAll comes after the wait for the listeners, which a kill cuts short", UNLOCKS, SINCE_4_9_7)
    | refuted("shutdown() waits for no listener: unlockAll is the first that it does of what takes time", UNLOCKS, ("4.6.0",)),
    parts=ORDER_20_PARTS,
    summary="Owners killed before their shutdown left queues still for {hand-over}; {#lock's age} had a lock taken over that was "
    "younger than 58 s. Killed amid their shutdown, {#in shutdown()} had a queue taken over within 26 s.",
    told=Told(
        weight=Weight.DELAY,
        holds="a consumer that is killed during shutdown() leaves its locks behind",
        fails="a consumer that is killed during shutdown() leaves no locks behind",
        parts={"hand-over": "a consumer killed during shutdown(): its queues stand still for {after} ({before} before)"},
    ),
)  # fmt: skip


SCENARIO = Scenario(
    name="ordered-lock-handover",
    title="Ordered consumption stands still after a consumer was killed",
    shown=Shown(
        says="A killed ordered consumer blocks its queues for about a minute",
        measure="handover_s",
        caption="From the end of the consumer until another one consumes its queue",
        rows={
            "kill -9, defaults": "incident",
            "kill -9, locks of 15 s (two JVM properties)": "fix-short-lock",
            "consumer.shutdown()": "fix-graceful-shutdown",
        },
    ),
    article="A3",
    summary="Keyed ordered sends to every queue, groups with an owner and a successor, the owner killed or shut down: how "
    "long until the successor consumes, and what each setting does to it.",
    symptom="A member of an ordered group was killed, and some queues of the group are not consumed for a minute.",
    advice="Let consumer.shutdown() end before the process does. For crashes, shorten the locks: start brokers with "
    "-Drocketmq.broker.rebalance.lockMaxLiveTime=15000 and clients with "
    "-Drocketmq.client.rebalance.lockInterval=5000 and -Drocketmq.client.rebalance.lockMaxLiveTime=10000: after a stop, a client "
    "that trusts a lock for longer than brokers keep it goes on beside the new owner.",
    cures=("ORDER-06", "ORDER-07"),
    sign=Sign(
        pattern=LogPattern.LOCK_WAITED,
        events=(Logged.LOCK_WAITED,),
        because="ordered consumers asked for queues that another client had locked. A few such lines at a rebalance are "
        "ordinary; the same queue for tens of seconds has lost a consumer that was killed",
    ),
    topology=Topology(name="two-masters", masters=2),
    arms=(
        Arm(
            name="baseline",
            what="The same load, nobody is killed; some members in broadcasting mode beside it.",
            fault=NoFault(),
            # Two renewals, of which the first comes a period after the start: the least that shows a period of 20 s.
            load=_load(broadcasting=6, owner_age_s_min=42.0),
        ),
        Arm(
            name="incident", what="kill -9 of the owners; every setting at its default.", fault=KillOwners(), load=LOAD
        ),
        Arm(
            name=STOPPING,
            what="The owners' process is told to stop, has other work to do before it calls shutdown(), and is killed after 5 s.",
            fault=KillStoppingOwners(),
            load=LOAD,
        ),
        Arm(
            name=IN_SHUTDOWN,
            what="The owners call shutdown(), which may wait for their listeners of 10 s a message, and are killed after 5 s.",
            fault=KillStoppingOwners(first_s=AT_ONCE_S),
            load=SLOW,
            # 4.6.0 knows no such setting, and takes no notice of it.
            client={"awaitTerminationMillisWhenShutdown": f"{AWAIT_MS}"},
        ),
        Arm(
            name="incident-as-documented",
            what="The article to the letter: the lock's life as an environment variable, and the logging that the release "
            "ships, to see what an operator finds in which file.",
            fault=KillOwners(),
            load=_load(groups=GROUPS_IN_THREE),
            trials=3,
            broker=BrokerSettings(environment={LOCK_LIFE: "15000"}, logging="stock"),
        ),
        Arm(
            name="incident-late-replacement",
            what="kill -9 of the owners, which had every queue; their replacements join after that, as in a migration.",
            fault=KillOwners(),
            load=_load(successor_joins="after", rate_per_queue_hz=RATE_OF_A_BACKLOG_HZ),
        ),
        Arm(
            name="incident-silent-owner",
            what="The owners' process stands still for good with its connections open, as when a network is cut: the broker "
            "misses it only after serverChannelMaxIdleTimeSeconds, 120 s by default.",
            fault=SilenceOwners(),
            load=_load(groups=2 * GROUPS_OF_A_FIX, owner_age_s_min=25.0),
            trials=1,
            is_apart=True,
            phases=LATE,
            stands_in_for="incident-cut-off-owner",
        ),
        Arm(
            name="incident-cut-off-owner",
            what="The owners' process loses its network and works on with what it has: packets between it and every node are "
            "dropped.",
            fault=CutOffOwners(),
            load=_load(groups=2 * GROUPS_OF_A_FIX, owner_age_s_min=25.0),
            trials=1,
            is_apart=True,
            phases=LATE,
        ),
        Arm(
            name="incident-stalled-owner",
            what="The owners' process stands still for twelve seconds, as in a long collection, and goes on.",
            fault=PauseOwners(),
            load=AGED,
            cells=({"pause_s": 12.0},),
        ),
        Arm(
            name="incident-full-collection",
            what="The owners' process keeps more and more objects, until a full collection stops it for 6 s and more.",
            fault=CollectOwners(),
            load=_load(owner_heap_mb=2560),
            phases=LOOKED_AT,
        ),
        Arm(
            name="incident-throttled-disk",
            what="The owners' listeners write to a disk that takes 128 KiB/s, two of their messages a second.",
            fault=ThrottleOwners(),
            load=_load(owner_writes_kb=64),
            phases=LOOKED_AT,
        ),
        Arm(
            name="incident-listeners-on-one-lock",
            what="The owners' listeners wait for a lock that another thread of their process holds.",
            fault=LockOwners(),
            load=_load(owners_share_lock=True),
            phases=LOOKED_AT,
        ),
        Arm(
            name="incident-slow-shutdown",
            what="The owners call shutdown() while their listeners are busy for ten seconds a message.",
            fault=ShutDownOwners(),
            load=SLOW,
        ),
        Arm(
            name="better-await-termination",
            what="Ours: the same, and shutdown() waits for the listeners (awaitTerminationMillisWhenShutdown).",
            fault=ShutDownOwners(),
            load=_load(
                groups=2 * GROUPS_OF_A_FIX,
                owner_work_ms=10_000.0,
                owner_age_s_min=25.0,
                owner_settings={"awaitTerminationMillisWhenShutdown": AWAIT_MS},
            ),
            trials=1,
            releases=("4.9.7", *RELEASES_5X),
        ),
        Arm(
            name="fix-graceful-shutdown",
            what="The article's first fix: the owners call shutdown().",
            fault=ShutDownOwners(),
            load=_load(groups=GROUPS_OF_A_FIX, rate_per_queue_hz=RATE_WITHOUT_WAIT_HZ),
        ),
        Arm(
            name="fix-short-lock",
            what="The article's second fix: lockInterval 5 s, lockMaxLiveTime 15 s.",
            fault=KillOwners(),
            load=_load(owner_properties=SHORT, successor_properties=SHORT, owner_age_s_min=25.0),
            broker=BrokerSettings(properties={LOCK_LIFE: "15000"}),
        ),
    ),
    phases=PHASES,
    claims=(*ordered_lock_claims.CLAIMS, *ordered_lock_signs.CLAIMS, ORDER_20),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1, load=QUICK_LOAD),
    quick_cells={
        STOPPING: (),
        IN_SHUTDOWN: (),
        "incident-as-documented": (),
        "incident-late-replacement": (),
        "incident-silent-owner": (),
        "incident-cut-off-owner": (),
        "incident-stalled-owner": (),
        "incident-full-collection": (),
        "incident-throttled-disk": (),
        "incident-listeners-on-one-lock": (),
        "incident-slow-shutdown": (),
        "better-await-termination": (),
    },
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=1000.0,
    extra_measures=("lock_requests_count", "handover_part_s", "handover_gap_s", "duplicate_count", "lost_count"),
)
"""Hand-overs take seconds to a minute; a hiccup of a second is the resolution at which they are judged."""
