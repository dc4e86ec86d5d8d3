"""Users: a member that joins an ordered group has its queues' locks, and waits for them all the same (apache/rocketmq 2621, 5465).

A rebalance asks the broker for the lock of each new queue before it has a process queue for it. In a client of 4.6.0 nobody then
notes there that it is locked: that does the lock timer, which asks for all locks each 20 s. Meanwhile a pull finds the queue not
locked, and comes again after 3 s.
"""

from __future__ import annotations

from typing import Literal

from harness.model.cluster import Topology
from harness.model.faults import NoFault
from harness.model.loads import OrderedGroups
from harness.model.rules import Part
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_5X
from scenarios.rules import claim, confirmed, control, each, median, of, refuted, side

GROUPS = 8
NEWER = "4.9.7"
OLDEST = ("4.6.0",)

CODE = "org.apache.rocketmq.client.impl.consumer"
TABLE = f"{CODE}.RebalanceImpl.updateProcessQueueTableInRebalance"
TIMER = f"{CODE}.ConsumeMessageOrderlyService.start"
PULL = f"{CODE}.DefaultMQPushConsumerImpl.pullMessage"

WAITS = side(
    3, 0.1, "a pull that finds its queue not locked comes again after 3 s; of a queue that is locked it comes at once",
    bound=1.5,
)  # fmt: skip
AT_ONCE = side(
    0.1, 3, "a pull of a queue that is locked comes at once; one that finds it not locked comes again after 3 s",
    bound=1.5,
)  # fmt: skip


def _load(joins: Literal["before", "after"] = "after", client: str = "") -> OrderedGroups:
    return OrderedGroups(
        groups=GROUPS, queues_per_broker=4, rate_per_queue_hz=5.0, owner_start_spread_s=4.0, successor_joins=joins,
        client_release=client,
    )  # fmt: skip


def _undisturbed() -> Part:
    return each(of("message_delay_max_s", "baseline"), side(1, 20, "the load alone delays no message"), noun="groups")


X_01 = claim(
    "X-orderly-start-waits-01", "", "Every time an orderly consumer gets started and assigned new queues, the lock is there and "
    "consumer delay will happen.",
    reading="A second member joins a group whose first one works. From the grant of a queue's lock to its rebalance until it is "
    "given the first message of the queue 1.5 s pass and more, by the median.",
    expected=confirmed("the new process queue is not marked as locked until the lock timer has asked for it again, and a pull that "
                       "finds it so comes again after 3 s", f"{TABLE}, {PULL}", OLDEST)
    | refuted("the new process queue is marked as locked when it is made", TABLE, ("4.9.7", *RELEASES_5X)),
    parts={"waits": median(of("lock_wait_s", "incident"), WAITS), "nobody joins": control(_undisturbed())},
    summary="A member had a queue's lock for {waits} before it was given the first message.",
)  # fmt: skip

X_02 = claim(
    "X-orderly-start-waits-02", "", "After the fix there should be almost no consumer delay once the lock is granted.",
    reading=f"With clients of {NEWER} on brokers of 4.6.0 less than 1.5 s pass from the grant to the first message, by the "
    "median. The price is an upgrade of every member.",
    expected=confirmed("the client marks the new process queue as locked, whatever release the broker has", TABLE, OLDEST),
    parts={
        "waits": median(of("lock_wait_s", "fix-newer-client"), AT_ONCE),
        "older clients": control(median(of("lock_wait_s", "incident"), WAITS)),
    },
    summary=f"With clients of {NEWER} a member waited {{waits}} after the grant.",
)  # fmt: skip

X_03 = claim(
    "X-orderly-start-waits-03", "", "Where nobody joins, messages of an ordered group come without delay.",
    reading="While two members have half of the queues each no message of a queue comes 4.5 s late.",
    expected=confirmed("each member renews its locks long before they expire, and nothing else stops it", TIMER),
    parts={"longest delay": _undisturbed()},
    summary="With both members there from the start the longest delay of a message was {longest delay}.",
)  # fmt: skip

SCENARIO = Scenario(
    name="orderly-start-waits",
    title="A member that joins an ordered group waits for its own locks",
    summary="Ordered groups of one member that a second one joins: how long a queue waits whose lock the second one has already.",
    topology=Topology(name="single"),
    arms=(
        Arm(name="baseline", what="Both members are there from the start.", fault=NoFault(), load=_load("before")),
        Arm(name="incident", what="The second member joins, and nobody dies.", fault=NoFault(), load=_load()),
        Arm(
            name="fix-newer-client", what=f"The same with clients of {NEWER}.", fault=NoFault(), load=_load(client=NEWER),
            releases=OLDEST,
        ),
    ),
    phases=Phases(steady_s=6.0, hold_s_min=45.0, hold_s_max=45.0, recover_s=1.0),
    claims=(X_01, X_02, X_03),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=False,
    schedule="side by side",
    hiccup_ms_max=2000.0,
    extra_measures=("join_gap_s",),
)  # fmt: skip
"""A rebalance and the lock timer have both come twice by the end of the hold. The bound is half of the 3 s after which a pull comes
again."""
