"""What article A3 says of the locks of ordered queues, as claims that ``ordered-lock-handover`` decides.

First the delay and its two fixes, then whose the locks are and what becomes of order. What an operator can see meanwhile is in
``ordered_lock_signs``.
"""

from __future__ import annotations

from harness.model.rules import Harm, Told, Weight
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import (
    claim,
    confirmed,
    control,
    each,
    fact,
    law,
    median,
    never,
    of,
    refuted,
    side,
)

LOCKS = "org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager"
CLIENT = "org.apache.rocketmq.client.impl.consumer"

LIFE_OF_15_S = side(
    35, 60, "15 s, and up to 20 s until the successor asks again; a setting that does nothing leaves 60 s"
)
HELD = "a lock that another client holds is refused by the broker that keeps it"
ONE_OVERTAKES = "a single message that comes after one of a higher offset"

# The bound of the lock's age is the article's 60 s less a thirtieth, since both requests take their time to the broker.
ORDER_01 = claim(
    "ORDER-01", "A3", "A consumer that ends without completing its shutdown leaves its queue locks behind; its successor gets "
    "nothing until they expire: 54.7 s, with 5,677 messages delayed, were reported.",
    reading="After kill -9 a queue's first message comes tens of seconds later, and no lock changes hands before its 60 s.",
    expected=confirmed("a lock is granted to another client only when it is older than lockMaxLiveTime", f"{LOCKS}.tryLockBatch"),
    parts={
        "hand-over": median(of("handover_s", "incident"), side(50, 20, "a kill leaves 40 to 60 s of a lock that is renewed every "
            "20 s; without a lock the next rebalance would come within 20 s")),
        "lock's age": each(of("lock_age_at_takeover_s", "incident"), side(60, 20, "a lock lives 60 s; one that is not heeded is "
            "at most 20 s old, since it is renewed every 20 s", bound=58)),
        "without a fault": control(each(of("message_delay_max_s", "baseline"), side(1, 20, "the load alone delays no message"))),
    },
    summary="After kill -9 a queue stood still for {hand-over}; {#lock's age} had a lock taken over that was younger than 58 s.",
    told=Told(
        weight=Weight.DELAY,
        parts={"hand-over": "kill -9 of an ordered consumer: its queues stand still for {after} ({before} before)"},
    ),
)  # fmt: skip

ORDER_02 = claim(
    "ORDER-02", "A3", "A queue lock lives 60 s on the broker, which an environment variable named lockMaxLiveTime sets.",
    reading="No lock is taken over before its 60 s; set to 15 s, as the article says or as -D, it is taken over much earlier.",
    expected=refuted("the value is read by System.getProperty: a JVM system property, not the environment",
        f"{LOCKS}.REBALANCE_LOCK_MAX_LIVE_TIME"),
    parts={
        "by default": fact(of("lock_age_at_takeover_s", "incident"), side(60, 30, "a client trusts its lock for 30 s")),
        "set by -D": fact(of("lock_age_at_takeover_s", "fix-short-lock"), LIFE_OF_15_S),
        "set as a variable": fact(of("lock_age_at_takeover_s", "incident-as-documented"), LIFE_OF_15_S),
    }, summary="By default every lock was over 42 s old when it was taken over {by default}. With a life of 15 s every one was "
    "below 46 s with the JVM property {set by -D}, and with the environment variable {set as a variable}.",
)  # fmt: skip

# A hiccup moves one round of a timer at fixed rate, and not the round in the middle.
ORDER_03 = claim(
    "ORDER-03", "A3", "A client renews its locks every 20 s, which rocketmq.client.rebalance.lockInterval sets.",
    reading="The lock requests of a client's timer to one broker come 20 s apart by default and 5 s apart with 5000, within 5 %.",
    expected=confirmed("lockMQPeriodically is scheduled at fixed rate with ProcessQueue.REBALANCE_LOCK_INTERVAL",
        f"{CLIENT}.ConsumeMessageOrderlyService.start"),
    parts={
        "by default": law(of("renewal_period_s", "baseline"), predicted=20, band=1, if_false=10, slack_ms=2500,
            because="the client's own life of a lock, 30 s, would be the longest that makes sense"),
        "with 5000": law(of("renewal_period_s", "fix-short-lock"), predicted=5, band=0.25, if_false=15, slack_ms=2500,
            because="a setting that does nothing leaves 20 s"),
    },
    summary="Renewals came 20 s apart by default, to within {by default}, and 5 s apart with 5000, to within {with 5000}.",
)  # fmt: skip

ORDER_05 = claim(
    "ORDER-05", "A3", "Each broker keeps its own lock table; they are not shared.",
    reading="A stranger that asks for the lock of a queue is refused by the queue's own broker and granted it by another one.",
    expected=confirmed("the table is a field of each broker's own RebalanceLockManager", f"{LOCKS}.mqLockTable"),
    parts={
        "granted by another": fact(of("foreign_lock_granted", "incident", asked="other"), side(1, 0, "a shared table refuses")),
        "refused by its own": control(fact(of("foreign_lock_granted", "incident", asked="own"), side(0, 1, HELD))),
    },
    summary="Another client got the lock from every other broker {granted by another}, and from the queue's own "
    "{!refused by its own}.",
)  # fmt: skip

ORDER_06 = claim(
    "ORDER-06", "A3", "A graceful shutdown unlocks every queue at once, which is the first fix.",
    reading="After consumer.shutdown() of the owner every queue reaches the successor within 3 s.",
    expected=confirmed("shutdown() unlocks, then unregisters", f"{CLIENT}.ConsumeMessageOrderlyService.shutdown", ("4.9.7",))
    | refuted("a queue that a rebalance gets is not marked as locked, and not pulled from, before the lock timer's next round",
        f"{CLIENT}.RebalanceImpl.updateProcessQueueTableInRebalance", ("4.6.0",))
    | refuted("shutdown() does not stop consumeMessagePopService, whose lock timer may lock all queues again before they are "
        "given up", f"{CLIENT}.DefaultMQPushConsumerImpl.shutdown", RELEASES_5X),
    parts={
        "every queue within 3 s": each(of("handover_s", "fix-graceful-shutdown"), side(1, 10, "unlocking, telling the group and "
            "a rebalance take milliseconds; a timer of 20 s that has to come first takes 10 s on average", bound=3)),
    },
    summary="After a graceful shutdown, {#every queue within 3 s} had a queue that took longer than 3 s.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.FAILS,
        holds="consumer.shutdown() frees an ordered consumer's queues at once",
        fails="consumer.shutdown() does not always free an ordered consumer's queues: some stand still, for a minute at worst",
        cures=("ORDER-07",),
    ),
)  # fmt: skip

ORDER_07 = claim(
    "ORDER-07", "A3", "lockInterval 5 s with lockMaxLiveTime 15 s shortens the delay accordingly, which is the second fix.",
    reading="A deployment's median hand-over is at most 16 s: the lock's life, and a second to ask again.",
    expected=refuted("a refused successor asks again at its next rebalance, waitInterval (20 s) after the last",
        f"{CLIENT}.RebalanceService.run", RELEASES_4X)
    | confirmed("a client whose queues are not balanced rebalances again after minInterval (1 s)",
        f"{CLIENT}.RebalanceService.run", RELEASES_5X),
    parts={
        "hand-over": median(of("handover_s", "fix-short-lock"), side(13.5, 24, "a kill leaves 10 to 15 s of the lock, and a second "
            "to ask again; asking every 20 s adds 10 s on average", bound=16)),
    },
    summary="With lockInterval 5 s and lockMaxLiveTime 15 s a queue stood still for {hand-over}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.FAILS,
        parts={"hand-over": "with locks of 15 s a killed ordered consumer's queues stand still for {after} ({before} before)"},
        do="shorten the locks: -Drocketmq.broker.rebalance.lockMaxLiveTime=15000 on brokers, "
        "-Drocketmq.client.rebalance.lockInterval=5000 and -Drocketmq.client.rebalance.lockMaxLiveTime=10000 on clients",
    ),
)  # fmt: skip

# Where listeners take no time an overlap has no length to show: only arms whose listeners work are judged by it. 500 ms are 50 ms
# and the longest hiccup of a trial that counts.
ORDER_09 = claim(
    "ORDER-09", "A3", "One queue is consumed by one thread at a time, so order in a queue is kept.",
    reading="No two members work on a queue when a shutdown finds listeners at work; offsets come in order then and after a kill.",
    expected=refuted("shutdown() does not wait for listeners (awaitTerminationMillisWhenShutdown is 0) and unlocks every queue",
        f"{CLIENT}.ConsumeMessageOrderlyService.shutdown"),
    parts={
        "two at work": each(of("overlap_ms", "incident-slow-shutdown"), side(0, 5000, "a listener of 10 s is half way on average "
            "when its queue is unlocked", bound=500), slack_ms=2000, deployments_min=3),
        "disorder in it": never(of("out_of_order_count", "incident-slow-shutdown"), 1, ONE_OVERTAKES, deployments_min=3),
        "disorder after a kill": never(of("out_of_order_count", "incident"), 1, ONE_OVERTAKES),
    },
    summary="In a shutdown, {#two at work} had a queue that two members worked on; {#disorder in it} had messages out of order "
    "then, and after a kill {#disorder after a kill} did.",
)  # fmt: skip

ORDER_17 = claim(
    "ORDER-17", "A3", "Locks are kept by group and queue: other groups on the same queue do not wait.",
    reading="A lock request for a queue that an owner holds is refused to its group and granted to another one.",
    expected=confirmed("the table maps a group to its own map of queues", f"{LOCKS}.mqLockTable"),
    parts={
        "granted to another group": fact(of("foreign_lock_granted", "incident", asked="own, other group"), side(1, 0, "one table "
            "for all groups refuses")),
        "refused to its own": control(fact(of("foreign_lock_granted", "incident", asked="own"), side(0, 1, HELD))),
    },
    summary="Every request for a queue that was held was granted to another group {granted to another group}; one was granted to "
    "the same group {!refused to its own}.",
)  # fmt: skip

# The first round is a duration, and a start on busy cores takes seconds: judged by the member in the middle, not as a fact of each.
ORDER_18 = claim(
    "ORDER-18", "A3", "The first lock request comes 1 s after start; renewing and unlocking exist in clustering mode only; the "
    "owner's next request renews its lock.",
    reading="The lock timer begins 1 s after start; a broadcasting member asks for none; a renewed lock is refused to strangers.",
    expected=refuted("a rebalance asks for the lock of each new queue in broadcasting mode as well",
        f"{CLIENT}.RebalanceImpl.updateProcessQueueTableInRebalance"),
    parts={
        "first round": median(of("lock_timer_first_round_s", "baseline"), side(1, 20, "1 s after the start, or a whole period")),
        "none when broadcasting": fact(of("lock_requests_count", "baseline", mode="broadcasting"),
                                       side(0, 6, "one for each of six queues")),
        "renewed": fact(of("foreign_lock_granted", "fix-short-lock", asked="own"), side(0, 1, "a lock lives 15 s, owners 25 s")),
    }, summary="The lock timer began {first round} after the start. A broadcasting member asked for a lock "
    "{!none when broadcasting}. A renewed lock of 15 s was granted to another client {!renewed}.",
    told=Told(
        weight=Weight.OTHER,
        parts={"none when broadcasting": "members of broadcasting groups no longer ask for locks"},
    ),
)  # fmt: skip

CLAIMS = (ORDER_01, ORDER_02, ORDER_03, ORDER_05, ORDER_06, ORDER_07, ORDER_09, ORDER_17, ORDER_18)
