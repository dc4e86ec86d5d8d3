"""What an operator sees while an ordered queue waits for its lock, by article A3: claims that ``ordered-lock-handover`` decides."""

from __future__ import annotations

from harness.model.rules import Harm, Told, Weight
from scenarios.ordered_lock_claims import CLIENT, LOCKS
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import (
    claim,
    confirmed,
    control,
    each,
    fact,
    happens,
    measured_share,
    median,
    of,
    refuted,
    scopes,
    share,
    side,
)  # fmt: skip

LOGBACK_5X = "rmq.broker.logback.xml in the jar rocketmq-broker of each 5.x"
PARKED = side(
    1, 0.5, "a thread waits for work; half of the queues stand still, and a thread stuck in each is half of them"
)

ORDER_04 = claim(
    "ORDER-04", "A3", "The broker's lock.log says meanwhile that another client has the queue locked, with both ids and the queue.",
    reading="With the release's own logging each queue that waited has such a line in lock.log between kill and take-over.",
    expected=confirmed("a refused lock request is logged by RocketmqRebalanceLock, which logback_broker.xml sends to lock.log",
        f"{LOCKS}.tryLockBatch", RELEASES_4X)
    | refuted("the configuration inside the jar sends the lock's logger to filter.log",
        LOGBACK_5X, RELEASES_5X),
    parts={
        "all queues in lock.log": each(of("lock_lines_waiting", "incident-as-documented", file="lock.log"), side(2, 0,
            "asked every 20 s a wait of 40 to 60 s has two lines and more; lines that go elsewhere leave none"), deployments_min=3),
        "with our logging": control(happens(of("lock_lines_waiting", "incident", file="lock.log"), 2, "ours are sent to lock.log")),
    },
    summary="The stock lock.log omitted a waiting queue of {#all queues in lock.log}.",
    told=Told(
        weight=Weight.ALARMS, harm=Harm.FAILS,
        holds="lock.log names each queue that waits for a killed consumer's lock",
        fails="lock.log no longer names the queues that wait for a killed consumer's lock",
    ),
)  # fmt: skip

ORDER_11 = claim(
    "ORDER-11", "A3", "Store errors are written to storeerr.log, lock errors to lock.log.",
    reading="With the release's own logging each broker has a storeerr.log, and the lock manager's lines are in lock.log.",
    expected=refuted("the store's error logger writes to storeerror.log",
        f"logback_broker.xml of the 4.x distribution; {LOGBACK_5X}"),
    parts={
        "a storeerr.log": fact(of("log_file_exists", "incident-as-documented", file="storeerr.log"), side(1, 0, "the file is "
            "made when the broker starts, or never")),
        "lines in lock.log": fact(of("lock_lines_in_file", "incident-as-documented", file="lock.log"), side(9, 0, "each of nine "
            "owners' first locks has a line")),
    },
    summary="Each broker had a storeerr.log {a storeerr.log} (the store's errors go to storeerror.log), and had the lock "
    "manager's lines in lock.log {lines in lock.log}.",
    told=Told(
        weight=Weight.ALARMS,
        parts={"lines in lock.log": "the lock manager's lines are no longer in lock.log"},
    ),
)  # fmt: skip

# "About 54 s" is the delay itself, which ORDER-01 has. That threads wait is a control here: ORDER-15 claims it.
ORDER_14 = claim(
    "ORDER-14", "A3", "The lock lines go on for as long as the delay lasts, about 54 s, and agree with the time that the consuming "
    "threads are parked.",
    reading="From the first to the last line, in any file, that another client has a queue locked nearly all of its wait passes.",
    expected=refuted("a line is written when the successor asks, every 20 s: the first up to 20 s after the kill, the last 20 s "
        "before the take-over", f"{CLIENT}.RebalanceService.run", RELEASES_4X)
    | confirmed("an unbalanced client asks again every second", f"{CLIENT}.RebalanceService.run", RELEASES_5X),
    parts={
        "wait between the lines": measured_share(of("wait_logged_share", "incident"), side(0.97, 0.5, "asked every second all but "
            "one or two of 50 s; asked every 20 s, 30 of 60 s pass before the first and after the last line")),
        "threads parked": control(measured_share(of("parked_share", "incident"), PARKED)),
    }, summary="The lines spanned {wait between the lines} of the wait; {threads parked} of the threads were parked.",
    told=Told(
        weight=Weight.ALARMS,
        holds="the lock lines last as long as the delay",
        fails="the lock lines end before the delay does",
    ),
)  # fmt: skip

# A hiccup below 4 s makes at most six of 1.5 messages a second late. No ratio to the baseline: nothing is late there.
ORDER_15 = claim(
    "ORDER-15", "A3", "Meanwhile consuming threads are parked with nothing to do, there is no long GC, and a backlog grows.",
    reading="The successors' threads are parked, no stop of their JVM is long enough to matter, and most of a minute comes late.",
    expected=confirmed("a queue whose lock is refused is not put into the table of those that are pulled from",
        f"{CLIENT}.RebalanceImpl.updateProcessQueueTableInRebalance"),
    parts={
        "threads parked": measured_share(of("parked_share", "incident"), PARKED),
        "longest stop": median(of("stopped_ms_max", "incident"), side(100, 50_000, "collecting a small heap takes tens of ms on "
            "shared cores; stops that explained the delay would last as long as it")),
        "messages late": median(of("delayed_over_1s_count", "incident-late-replacement"), side(75, 1.5, "1.5 a second for 40 to "
            "60 s; a queue that moves at once has what comes in a second"), slack_ms=4000, noun="owners"),
    }, summary="Of the consuming threads, {threads parked} were parked; the longest stop took {longest stop}; {messages late} "
    "messages of a queue were late.",
    told=Told(
        weight=Weight.DELAY,
        parts={"messages late": "messages of a queue that were late after kill -9 of its consumer: {after} ({before} before)"},
    ),
)  # fmt: skip

ORDER_16 = claim(
    "ORDER-16", "A3", "The first lock of a queue and the take-over of an expired one are logged too, the latter with both clients.",
    reading="The lock manager writes a line for the first lock of each queue, and one for each take-over with both client ids.",
    expected=confirmed("tryLockBatch logs a lock that it makes at INFO, and one that it takes over at WARN with both client ids",
        f"{LOCKS}.tryLockBatch"),
    parts={
        "first lock": each(of("first_lock_lines", "incident"), side(1, 0, "a line for each queue, or none")),
        "take-over": each(of("takeover_lines", "incident"), side(1, 0, "a line for each queue, or none")),
    },
    summary="The log lacked the line of a queue's first lock for {#first lock}, and that of its take-over for {#take-over}.",
)  # fmt: skip

# The classifier was written on the first three.
STANDSTILLS = (
    *("incident", "incident-slow-shutdown", "incident-stalled-owner"),
    *("incident-full-collection", "incident-throttled-disk", "incident-listeners-on-one-lock"),
)
ORDER_19 = claim(
    "ORDER-19", "A3", "Stuck consumption elsewhere comes from GC, safepoints, slow processing, locks or I/O.",
    reading="What is seen from outside tells a lock that is held from a slow listener, a process that stops, a full collection, a "
    "listener on a throttled disk and two listeners on one lock.",
    expected=confirmed("one thread works on a queue at a time; a missing lock is asked for and refused, other causes ask for "
        "nothing", f"{CLIENT}.ConsumeMessageOrderlyService.ConsumeRequest.run"),
    parts=scopes("cause:", STANDSTILLS, lambda arm: share(of("diagnosed_right", arm), (1, 1), side(1, 0.25,
        "each queue is told right; of four answers one is right by chance", bound=0.8))),
    summary="The cause was told right for {cause: incident} with a lock held, for {cause: incident-slow-shutdown} with a slow "
    "listener, for {cause: incident-stalled-owner} with a process that stood still, for {cause: incident-full-collection} with a "
    "full collection, for {cause: incident-throttled-disk} with a slow disk, and for {cause: incident-listeners-on-one-lock} with "
    "a lock of the application.",
)  # fmt: skip

CLAIMS = (ORDER_04, ORDER_11, ORDER_14, ORDER_15, ORDER_16, ORDER_19)
