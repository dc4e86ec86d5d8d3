"""What article A3 says of the locks of ordered queues, as claims that ``ordered-lock-handover`` decides.

First the delay and its two fixes, then whose the locks are and what becomes of order, then what an operator can see.
"""

from __future__ import annotations

from typing import Literal

from harness.model.claims import Claim, Part, Quantity, Statistic
from harness.model.verdicts import VerdictKind
from scenarios.expectations import RELEASES_4X, expect

LOCK_MANAGER = "org.apache.rocketmq.broker.client.rebalance.RebalanceLockManager"


def _handover(arm: str, statistic: Statistic, within: tuple[float | None, float | None] = (None, None)) -> Quantity:
    return Quantity(measure="handover_s", arm=arm, statistic=statistic, within=within)


def _renewal(name: str, arm: str, relation: Literal["<=", ">="], bound: float) -> Part:
    return Part(
        name=name,
        quantity=Quantity(measure="renewal_period_s", arm=arm, statistic=Statistic.MEDIAN),
        relation=relation,
        bound=bound,
        unit="s",
        why="A period is exact to the milliseconds of a timer; a tenth either way is generous.",
    )


ORDER_01 = Claim(
    id="ORDER-01",
    article="A3",
    says="A consumer that ends without completing its shutdown leaves its queue locks behind, and its successor gets "
    "nothing until they expire: 54.7 s, with 5,677 messages delayed, were reported.",
    reading="After kill -9 of the owner the successor's first message of a queue comes tens of seconds later, and on no "
    "queue before the lock has lived out its 60 s; without a fault no message waits that long.",
    parts=(
        Part(
            name="hand-over after a kill",
            quantity=_handover("incident", Statistic.MEDIAN),
            relation=">=",
            bound=30.0,
            unit="s",
            why="Locks are renewed every 20 s and live 60 s, so a kill leaves 40 to 60 s; half a minute is far from both "
            "that and from any other cause of delay here.",
        ),
        Part(
            name="lock's age when it was taken over",
            quantity=Quantity(
                measure="lock_age_at_takeover_s", arm="incident", statistic=Statistic.SHARE, within=(59.0, None)
            ),
            relation=">=",
            bound=0.5,
            unit="of owners",
            why="Nothing until they expire: no lock may change hands younger than 60 s. Half of the owners as a lower "
            "bound is what seven of seven allow.",
        ),
        Part(
            name="longest delay without a fault",
            quantity=Quantity(measure="message_delay_max_s", arm="baseline", statistic=Statistic.MEDIAN),
            relation="<=",
            bound=5.0,
            unit="s",
            why="The control: load and machine alone must not delay messages.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "a lock of another client is granted only when it is older than lockMaxLiveTime; nothing removes it when a client's "
        "connection closes",
        f"{LOCK_MANAGER}.tryLockBatch",
    ),
    summary="After kill -9 a queue stood still for {hand-over after a kill} s (median).",
)

ORDER_02 = Claim(
    id="ORDER-02",
    article="A3",
    says="A queue lock lives 60 s on the broker, which an environment variable named after the property lockMaxLiveTime sets.",
    reading="Locks are taken over at an age of 60 s and a little, and the variable set to 15 s in the broker's environment "
    "brings the hand-over below 25 s.",
    parts=(
        Part(
            name="age at take-over, default",
            quantity=Quantity(measure="lock_age_at_takeover_s", arm="incident", statistic=Statistic.MEDIAN),
            relation=">=",
            bound=60.0,
            unit="s",
            why="A lock of 60 s cannot be taken over earlier.",
        ),
        Part(
            name="age at take-over, set by -D to 15 s",
            quantity=Quantity(measure="lock_age_at_takeover_s", arm="fix-short-lock", statistic=Statistic.MEDIAN),
            relation="<=",
            bound=40.0,
            unit="s",
            why="The name of the property is right when the lock is gone much earlier than at 60 s; a successor may ask "
            "only every 20 s.",
        ),
        Part(
            name="hand-over with the environment variable at 15 s",
            quantity=_handover("incident-as-documented", Statistic.MEDIAN),
            relation="<=",
            bound=25.0,
            unit="s",
            why="15 s of lock life and at most one rebalance of the successor would be below; the default is far above.",
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "the value is read by System.getProperty at class initialisation: a JVM system property, not the environment",
        f"{LOCK_MANAGER}.REBALANCE_LOCK_MAX_LIVE_TIME",
    ),
    summary="Locks were {age at take-over, default} s old when taken over; as an environment variable the setting did nothing "
    "(hand-over {hand-over with the environment variable at 15 s} s), as a JVM property it works.",
)

ORDER_03 = Claim(
    id="ORDER-03",
    article="A3",
    says="A client renews its locks every 20 s, which rocketmq.client.rebalance.lockInterval sets.",
    reading="The client's scheduled lock requests to one broker come 20 s apart by default and 5 s apart with 5000.",
    parts=(
        _renewal("default at least", "baseline", ">=", 18.0),
        _renewal("default at most", "baseline", "<=", 22.0),
        _renewal("with 5000 at least", "fix-short-lock", ">=", 4.5),
        _renewal("with 5000 at most", "fix-short-lock", "<=", 5.5),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "lockMQPeriodically is scheduled at fixed rate with ProcessQueue.REBALANCE_LOCK_INTERVAL",
        "org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService.start",
    ),
    summary="Renewals came {default at least} s apart by default and {with 5000 at least} s with 5000.",
)

ORDER_04 = Claim(
    id="ORDER-04",
    article="A3",
    says="While the successor waits, the broker's lock.log says that the queue is locked by another client, and names both "
    "client ids and the queue.",
    reading="With the release's own logging, each queue that waited has at least one such line in lock.log between the kill "
    "and its take-over.",
    parts=(
        Part(
            name="queues with such a line in the stock lock.log",
            quantity=Quantity(
                measure="lock_lines_waiting",
                arm="incident-as-documented",
                statistic=Statistic.SHARE,
                where={"file": ("lock.log",)},
                within=(1.0, None),
            ),
            relation=">=",
            bound=0.5,
            unit="of owners",
            why="An owner counts when all of its queues have such a line; half is what seven of seven allow as a lower bound.",
        ),
    ),
    expected={
        **expect(
            VerdictKind.CONFIRMED,
            "a refused lock request is logged with both client ids by RocketmqRebalanceLock, which the distribution's "
            "logback_broker.xml sends to lock.log",
            f"{LOCK_MANAGER}.tryLockBatch",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.REFUTED,
            "the lock's logger is sent to filter.log by the configuration inside the jar",
            "rmq.broker.logback.xml of rocketmq-broker-5.3.3.jar",
            ("5.3.3",),
        ),
    },
    summary="Of the owners, {queues with such a line in the stock lock.log} had every waiting queue named in lock.log.",
)

ORDER_05 = Claim(
    id="ORDER-05",
    article="A3",
    says="Each broker keeps its own lock table; they are not shared.",
    reading="A lock request of a stranger for a queue that its owner holds is refused by the queue's own broker and granted "
    "by another broker of the cluster.",
    parts=(
        Part(
            name="granted by its own broker",
            quantity=Quantity(
                measure="foreign_lock_granted", arm="incident", statistic=Statistic.MEAN, where={"asked": ("own",)}
            ),
            relation="<=",
            bound=0.6,
            unit="of requests",
            why="A held lock must not be granted; seven of seven refused bound the rate of grants below 0.53.",
        ),
        Part(
            name="granted by another broker",
            quantity=Quantity(
                measure="foreign_lock_granted", arm="incident", statistic=Statistic.MEAN, where={"asked": ("other",)}
            ),
            relation=">=",
            bound=0.6,
            unit="of requests",
            why="A table that knows nothing of the lock grants it.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "the table is a field of each broker's own RebalanceLockManager",
        f"{LOCK_MANAGER}.mqLockTable",
    ),
    summary="A stranger's request was granted by {granted by another broker} of the other brokers and by "
    "{granted by its own broker} of the queue's own.",
)

ORDER_06 = Claim(
    id="ORDER-06",
    article="A3",
    says="A graceful shutdown unlocks every queue at once, which is the first fix.",
    reading="After consumer.shutdown() of the owner every queue reaches the successor within 3 s.",
    parts=(
        Part(
            name="owners whose queues all moved within 3 s",
            quantity=_handover("fix-graceful-shutdown", Statistic.SHARE, (None, 3.0)),
            relation=">=",
            bound=0.5,
            unit="of owners",
            why="Unlocking, telling the group and the successor's rebalance take milliseconds; 3 s allow for a busy "
            "machine and stay far below any lock's life.",
        ),
        Part(
            name="hand-over after a graceful shutdown",
            quantity=_handover("fix-graceful-shutdown", Statistic.MEDIAN),
            relation="<=",
            bound=3.0,
            unit="s",
            why="The same for the queue in the middle.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "shutdown() calls unlockAllMQ in clustering mode, then unregisters, which tells the group to rebalance",
        "org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService.shutdown",
    ),
    summary="After a graceful shutdown a queue moved in {hand-over after a graceful shutdown} s (median).",
)

ORDER_07 = Claim(
    id="ORDER-07",
    article="A3",
    says="lockInterval 5 s with lockMaxLiveTime 15 s shortens the delay accordingly, which is the second fix.",
    reading="The median hand-over is at most 16 s, the lock's life and one second.",
    parts=(
        Part(
            name="hand-over with 5 s and 15 s",
            quantity=_handover("fix-short-lock", Statistic.MEDIAN),
            relation="<=",
            bound=16.0,
            unit="s",
            why="Accordingly means: as long as the lock lives. A kill leaves 10 to 15 s of it, and the second allows for "
            "the retry after it has expired.",
        ),
    ),
    expected={
        **expect(
            VerdictKind.REFUTED,
            "a refused successor asks again only at its next rebalance, waitInterval (20 s) after the last, however early "
            "the lock expires",
            "org.apache.rocketmq.client.impl.consumer.RebalanceService.run",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.CONFIRMED,
            "an unbalanced client rebalances again after minInterval (1 s)",
            "org.apache.rocketmq.client.impl.consumer.RebalanceService.run",
            ("5.3.3",),
        ),
    },
    summary="With lockInterval 5 s and lockMaxLiveTime 15 s a queue stood still for {hand-over with 5 s and 15 s} s (median).",
)


def _never(name: str, measure: str, arm: str, why: str) -> Part:
    """The share of owners none of whose queues shows it."""
    return Part(
        name=name,
        quantity=Quantity(measure=measure, arm=arm, statistic=Statistic.SHARE, within=(None, 0.0)),
        relation=">=",
        bound=0.9,
        unit="of owners",
        why=why,
    )


ORDER_09 = Claim(
    id="ORDER-09",
    article="A3",
    says="One queue is consumed by one thread at a time, so order in a queue is kept.",
    reading="In a group no queue is ever consumed by two members at once, and first consumptions come in the order of their "
    "offsets: without a fault, after a kill, after a graceful shutdown, and after one that finds listeners at work.",
    parts=(
        _never(
            "no overlap without a fault",
            "overlap_ms",
            "baseline",
            "A guarantee allows no exception; nine tenths is what 42 of 42 owners allow as a lower bound.",
        ),
        _never(
            "no overlap after a kill",
            "overlap_ms",
            "incident",
            "The same; a dead owner can hardly overlap with anybody.",
        ),
        _never(
            "in order after a kill",
            "out_of_order_count",
            "incident",
            "The same for order; what the owner had not reported comes again, which is a duplicate and no disorder.",
        ),
        _never(
            "no overlap after a shutdown",
            "overlap_ms",
            "fix-graceful-shutdown",
            "The same, with listeners that take no time.",
        ),
        _never(
            "no overlap after a shutdown with listeners at work",
            "overlap_ms",
            "incident-slow-shutdown",
            "The same. A listener of ten seconds is at work in nearly every queue when the shutdown comes, so that a lock "
            "that is given back too early shows in nearly every owner.",
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "shutdown() stops the pool without waiting for its listeners (awaitTerminationMillisWhenShutdown is 0 where there "
        "is such a setting) and unlocks every queue at once, so that the successor starts while a listener is at work",
        "org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService.shutdown",
    ),
    summary="Owners without any overlap: {no overlap without a fault} without a fault, {no overlap after a kill} after a kill, "
    "{no overlap after a shutdown} after a shutdown, but {no overlap after a shutdown with listeners at work} when listeners "
    "were at work during it.",
)

ORDER_11 = Claim(
    id="ORDER-11",
    article="A3",
    says="Store errors are written to storeerr.log, lock errors to lock.log.",
    reading="With the release's own logging, each broker has a storeerr.log, and the lock manager's lines are in lock.log.",
    parts=(
        Part(
            name="brokers with a storeerr.log",
            quantity=Quantity(
                measure="log_file_exists",
                arm="incident-as-documented",
                statistic=Statistic.MEDIAN,
                where={"file": ("storeerr.log",)},
            ),
            relation=">=",
            bound=0.5,
            unit="of brokers",
            why="Whether a file is made is decided by the logging configuration, not by chance: one broker shows it.",
            units_min=1,
        ),
        Part(
            name="lock manager's lines in lock.log",
            quantity=Quantity(
                measure="lock_lines_in_file",
                arm="incident-as-documented",
                statistic=Statistic.MEDIAN,
                where={"file": ("lock.log",)},
            ),
            relation=">=",
            bound=1.0,
            unit="lines a broker",
            why="Every hand-over is refused at least once, so the file has lines if they are sent there.",
            units_min=1,
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "the store's error logger writes to storeerror.log",
        "logback_broker.xml of the 4.x distribution; rmq.broker.logback.xml of rocketmq-broker-5.3.3.jar",
    ),
    summary="{brokers with a storeerr.log} of the brokers had a storeerr.log (the file is storeerror.log); lock.log had "
    "{lock manager's lines in lock.log} lines of the lock manager a broker.",
)


def _parked() -> Part:
    return Part(
        name="consuming threads parked",
        quantity=Quantity(measure="parked_share", arm="incident", statistic=Statistic.MEDIAN),
        relation=">=",
        bound=0.9,
        unit="of threads",
        why="A successor that consumes its own half of the queues is busy for a hundredth of the time at this load; "
        "threads that are stuck would be a large part of all.",
        units_min=2,
    )


ORDER_14 = Claim(
    id="ORDER-14",
    article="A3",
    says="The lock lines go on for as long as the delay lasts, about 54 s, and agree with the time that the consuming threads "
    "are parked.",
    reading="For the queue in the middle, the time from the first to the last line that it is locked by another client is "
    "four fifths of the hand-over and more, whatever file the lines are in, and the successors' threads are parked.",
    parts=(
        Part(
            name="share of the wait between first and last line",
            quantity=Quantity(measure="wait_logged_share", arm="incident", statistic=Statistic.MEDIAN),
            relation=">=",
            bound=0.8,
            unit="share",
            why="As long as the delay lasts means all of it; a fifth allows for what comes before the first request and "
            "after the last refused one when requests come every second, and not when they come every 20 s.",
        ),
        _parked(),
    ),
    expected={
        **expect(
            VerdictKind.REFUTED,
            "a line is written when the successor asks, which it does every 20 s: the first one comes up to 20 s after the "
            "kill, and the last one 20 s before the take-over",
            "org.apache.rocketmq.client.impl.consumer.RebalanceService.run",
            RELEASES_4X,
        ),
        **expect(
            VerdictKind.CONFIRMED,
            "an unbalanced client asks again every second",
            "org.apache.rocketmq.client.impl.consumer.RebalanceService.run",
            ("5.3.3",),
        ),
    },
    summary="From the first to the last line {share of the wait between first and last line} of the wait had passed; "
    "{consuming threads parked} of the successors' threads were parked meanwhile.",
)

ORDER_15 = Claim(
    id="ORDER-15",
    article="A3",
    says="Meanwhile consuming threads are parked with nothing to do, there is no long GC or safepoint, and a backlog grows.",
    reading="While successors wait their consuming threads are parked, their JVM is stopped for at most half a second at a "
    "time, and the queues that wait pile messages up.",
    parts=(
        _parked(),
        Part(
            name="longest stop of a successor's JVM",
            quantity=Quantity(measure="stopped_ms_max", arm="incident", statistic=Statistic.MEDIAN),
            relation="<=",
            bound=500.0,
            unit="ms",
            why="Half a second is a hundredth of the delay that would have to be explained by it, and what a collection "
            "of such a small heap may take on a machine that is shared by many.",
            units_min=2,
        ),
        Part(
            name="messages that piled up in a queue",
            quantity=Quantity(
                measure="delayed_over_1s_count", arm="incident-late-replacement", statistic=Statistic.MEDIAN
            ),
            relation=">=",
            bound=20.0,
            unit="messages",
            why="A queue gets more than one message a second, so that most of a minute of waiting makes more than fifty.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "nothing is pulled for a queue whose lock was refused, so that its consuming threads get no task; producers know "
        "nothing of it",
        "org.apache.rocketmq.client.impl.consumer.RebalanceImpl.updateProcessQueueTableInRebalance",
    ),
    summary="{consuming threads parked} of the successors' threads were parked, their JVM stopped for at most {longest stop of a "
    "successor's JVM} ms, and {messages that piled up in a queue} messages a queue piled up (median).",
)

ORDER_16 = Claim(
    id="ORDER-16",
    article="A3",
    says="The first lock of a queue and the take-over of an expired one are logged too, the latter with old and new client.",
    reading="The lock manager writes a line for the first lock of each queue that an owner had, and one for the take-over "
    "that names the owner's and the successor's client id.",
    parts=(
        Part(
            name="queues with a line of their first lock",
            quantity=Quantity(
                measure="first_lock_lines", arm="incident", statistic=Statistic.SHARE, within=(1.0, None)
            ),
            relation=">=",
            bound=0.9,
            unit="of owners",
            why="An owner counts when each of its queues has the line; nine tenths is what 42 of 42 allow.",
        ),
        Part(
            name="queues with a line of their take-over",
            quantity=Quantity(measure="takeover_lines", arm="incident", statistic=Statistic.SHARE, within=(1.0, None)),
            relation=">=",
            bound=0.9,
            unit="of owners",
            why="The same for the line of the take-over, which names both clients.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "tryLockBatch logs a lock that it makes at level INFO, and an expired one that it takes over at level WARN with both "
        "client ids",
        f"{LOCK_MANAGER}.tryLockBatch",
    ),
    summary="Owners all of whose queues had a line of the first lock: {queues with a line of their first lock}, of the "
    "take-over with both clients: {queues with a line of their take-over}.",
)

ORDER_17 = Claim(
    id="ORDER-17",
    article="A3",
    says="Locks are kept by group and queue: other groups on the same queue do not wait.",
    reading="A lock request for a queue that an owner holds is refused in the name of its group and granted in the name of "
    "another one.",
    parts=(
        Part(
            name="granted to the same group",
            quantity=Quantity(
                measure="foreign_lock_granted", arm="incident", statistic=Statistic.MEAN, where={"asked": ("own",)}
            ),
            relation="<=",
            bound=0.5,
            unit="of requests",
            why="The control: the queue is held. A held lock must not be granted; half is far from both outcomes.",
        ),
        Part(
            name="granted to another group",
            quantity=Quantity(
                measure="foreign_lock_granted",
                arm="incident",
                statistic=Statistic.MEAN,
                where={"asked": ("own, other group",)},
            ),
            relation=">=",
            bound=0.5,
            unit="of requests",
            why="What is kept by group grants it at once; half is far from both outcomes.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "the table maps a group to its own map of queues",
        f"{LOCK_MANAGER}.mqLockTable",
    ),
    summary="Of the requests for a queue that was held, {granted to the same group} were granted to the same group and "
    "{granted to another group} to another one.",
)

ORDER_18 = Claim(
    id="ORDER-18",
    article="A3",
    says="The first lock request comes 1 s after start; renewing and unlocking exist in clustering mode only; the owner's "
    "repeated request renews its lock.",
    reading="A member's first lock request of any kind comes a second after its start, and from the lock timer, whose rounds "
    "begin within 2 s of the start; the timer of a member in broadcasting mode sends none; a lock that is older than its "
    "life, had it not been renewed, is still refused to a stranger.",
    parts=(
        Part(
            name="first lock request after the start",
            quantity=Quantity(measure="first_lock_request_s", arm="baseline", statistic=Statistic.MEDIAN),
            relation=">=",
            bound=0.9,
            unit="s",
            why="A second, less a tenth for the timer; what comes at the start itself is far below.",
        ),
        Part(
            name="first lock request sent by the timer",
            quantity=Quantity(
                measure="first_lock_by_timer",
                arm="baseline",
                statistic=Statistic.MEAN,
                where={"mode": ("clustering",)},
            ),
            relation=">=",
            bound=0.5,
            unit="of members",
            why="A start on busy cores can take a second by itself; who asks first does not depend on that. Half is far "
            "from both outcomes.",
        ),
        Part(
            name="first round of the timer",
            quantity=Quantity(measure="lock_timer_first_round_s", arm="baseline", statistic=Statistic.MEDIAN),
            relation="<=",
            bound=2.0,
            unit="s",
            why="A second after the service has started, which is a moment after start() was called, on a busy machine.",
        ),
        Part(
            name="renewals in broadcasting mode",
            quantity=Quantity(
                measure="lock_renewals_count",
                arm="baseline",
                statistic=Statistic.MEAN,
                where={"mode": ("broadcasting",)},
            ),
            relation="<=",
            bound=0.5,
            unit="a member",
            why="None is what it means; six members without any bound the rate below 0.62 a member, twelve below 0.31.",
        ),
        Part(
            name="renewed lock granted to a stranger",
            quantity=Quantity(
                measure="foreign_lock_granted",
                arm="fix-short-lock",
                statistic=Statistic.MEAN,
                where={"asked": ("own",)},
            ),
            relation="<=",
            bound=0.5,
            unit="of requests",
            why="Owners are 25 s old and more when they are asked, and a lock lives 15 s there: without renewal every one "
            "of them would be granted.",
        ),
    ),
    expected=expect(
        VerdictKind.REFUTED,
        "lockMQPeriodically starts 1 s after the service, but start() ends with rebalanceImmediately(), and the rebalance "
        "asks for the lock of each new queue at once, in broadcasting mode as well, where nothing renews it",
        "org.apache.rocketmq.client.impl.consumer.RebalanceImpl.updateProcessQueueTableInRebalance",
    ),
    summary="The first lock request came {first lock request after the start} s after the start, and was the lock timer's for "
    "{first lock request sent by the timer} of the members; the timer's rounds began {first round of the timer} s after the "
    "start. Members in broadcasting mode renewed "
    "{renewals in broadcasting mode} times; a renewed lock was granted to {renewed lock granted to a stranger} of strangers.",
)


def _diagnosed(name: str, arm: str, why: str) -> Part:
    return Part(
        name=name,
        quantity=Quantity(measure="diagnosed_right", arm=arm, statistic=Statistic.SHARE, within=(1.0, None)),
        relation=">=",
        bound=0.9,
        unit="of owners",
        why=why,
    )


ORDER_19 = Claim(
    id="ORDER-19",
    article="A3",
    says="Stuck consumption elsewhere comes from GC, safepoints, slow processing, locks or I/O.",
    reading="Queues stand still in the same way for a lock that is held, for a listener that works slowly and for a process "
    "that stops as in a long collection; what is to be seen from outside (lock requests that are refused, a consumption "
    "that does not end, a process that writes nothing) tells them apart.",
    parts=(
        _diagnosed(
            "told right, lock held",
            "incident",
            "An owner counts when each of its queues is told right; nine tenths is what 42 of 42 allow.",
        ),
        _diagnosed(
            "told right, slow listener",
            "incident-slow-shutdown",
            "The same for owners whose listener works ten seconds a message.",
        ),
        _diagnosed(
            "told right, process stopped",
            "incident-stalled-owner",
            "The same for owners whose process stands still for twelve seconds.",
        ),
    ),
    expected=expect(
        VerdictKind.CONFIRMED,
        "one thread works on a queue at a time, so that whatever stops it stops the queue; a lock that is missing is asked "
        "for and refused, the other causes ask for nothing",
        "org.apache.rocketmq.client.impl.consumer.ConsumeMessageOrderlyService.ConsumeRequest.run",
    ),
    summary="Owners all of whose queues were told right: {told right, lock held} with a lock held, {told right, slow listener} "
    "with a slow listener, {told right, process stopped} with a process that stood still.",
)

CLAIMS = (
    ORDER_01,
    ORDER_02,
    ORDER_03,
    ORDER_04,
    ORDER_05,
    ORDER_06,
    ORDER_07,
    ORDER_09,
    ORDER_11,
    ORDER_14,
    ORDER_15,
    ORDER_16,
    ORDER_17,
    ORDER_18,
    ORDER_19,
)
