"""Users: with SYNC_FLUSH a broker stores one message at a time, and sends time out (apache/rocketmq 1515, 348, 2471).

A send thread of 4.6.0 waits until its message is on disk, and by default there is one such thread: each flush takes one message,
however many senders wait. Each flush takes 5 ms longer here, as on a disk that is slow; what else it takes is the host's disk.
"""

from __future__ import annotations

from collections.abc import Mapping

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import Fault, NoFault, SlowFlush
from harness.model.loads import OpenLoopSends
from harness.model.rules import Harm, Part, Told, Weight
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_5X
from scenarios.rules import Side, claim, confirmed, control, fact, of, ratio, refuted, side

ASYNC, THREADS = "incident-async-flush", "fix-threads"
SENDERS, RATE_HZ, FLUSH_MS, SEND_THREADS = 64, 1200, 5.0, 16
"""Senders that each wait for the answer before they send again; together they send no more than ``RATE_HZ``."""
HOLD_S = 4.0

BROKER, STORE = "org.apache.rocketmq.broker.processor.SendMessageProcessor", "org.apache.rocketmq.store.CommitLog"
CONFIG = "org.apache.rocketmq.common.BrokerConfig.sendMessageThreadPoolNums"
GROUP_COMMIT = f"{STORE}.GroupCommitService.doCommit"

ALONE_HZ = 1000 / FLUSH_MS
"""What one message a flush comes to, at most."""
ONE = side(1, RATE_HZ / ALONE_HZ, "one message a flush, or all that come while one lasts")
SOME = side(0.4, 0, "what comes beyond 200 a second and 200 ms of waiting, or none", bound=0.1)
NONE = side(0, 0.4, "none, or what comes beyond 200 a second and 200 ms of waiting", bound=0.1)
ALL = side(RATE_HZ, ALONE_HZ, "all that is sent, or one message a flush")
MORE = side(RATE_HZ / ALONE_HZ, 1, "threads share a flush, or each of them waits for one of its own", bound=2)
WAITS = side(1, 0, "each send waits for a flush, or none does")


def _alone(arm: str) -> Part:
    return fact(of("accepted_per_flush", arm), ONE)


def _refused(arm: str, at: Side) -> Part:
    return fact(of("refused_in_hold_share", arm), at)


def _accepted(arm: str) -> Part:
    return fact(of("accepted_per_s", arm), ALL)


PASSED_ON = (
    "the send thread hands the message on and takes the next one; one flush answers all that were appended before it"
)
NOT_BLOCKED = refuted(PASSED_ON, f"{BROKER}.asyncSendMessage, {STORE}.submitFlushRequest, {GROUP_COMMIT}", ("4.9.7",)) | refuted(
    PASSED_ON, f"{BROKER}.sendMessage, {STORE}.DefaultFlushManager.handleDiskFlush, {GROUP_COMMIT}", RELEASES_5X
)  # fmt: skip

APPENDED = "a send is answered once it is appended; flushes come every 500 ms, in a thread of their own"

X_01 = claim(
    "X-sync-flush-one-thread-01", "", "The request processor waits, blocked, until the message is flushed, which blocks the "
    "requests that come.",
    reading=f"{SENDERS} senders, SYNC_FLUSH, flushes that take {FLUSH_MS:g} ms longer: each flush takes one message.",
    expected=confirmed("there is one send thread, which waits in waitForFlush until its message is on disk",
                       f"{BROKER}.sendMessage, {STORE}.handleDiskFlush, {GROUP_COMMIT}, {CONFIG}", ("4.6.0",)) | NOT_BLOCKED,
    parts={"alone": _alone("incident")},
    summary="With SYNC_FLUSH each flush took one message {alone}.",
    told=Told(
        weight=Weight.DELAY, harm=Harm.HOLDS,
        holds="with SYNC_FLUSH a send thread waits for the disk: sends queue behind it",
        fails="with SYNC_FLUSH no send thread waits for the disk",
    ),
)  # fmt: skip

X_02 = claim(
    "X-sync-flush-one-thread-02", "", "There are many [TIMEOUT_CLEAN_QUEUE] exceptions with the default configuration.",
    reading="In the same load a tenth or more of the sends that end are refused as busy; without SYNC_FLUSH none is.",
    expected=confirmed("what one thread does not take from its queue within 200 ms is refused",
                       f"org.apache.rocketmq.broker.latency.BrokerFastFailure.cleanExpiredRequestInQueue, {CONFIG}", ("4.6.0",))
    | NOT_BLOCKED,
    parts={"refused": _refused("incident", SOME), "ASYNC_FLUSH": control(_refused(ASYNC, NONE))},
    summary="With SYNC_FLUSH sends were refused as busy {refused}.",
    told=Told(
        weight=Weight.OUTAGE, harm=Harm.HOLDS,
        holds="SYNC_FLUSH with the default settings refuses many sends ([TIMEOUT_CLEAN_QUEUE])",
        fails="SYNC_FLUSH with the default settings refuses no sends",
    ),
)  # fmt: skip

X_03 = claim(
    "X-sync-flush-one-thread-03", "", "sendMessageThreadPoolNums=16 and useReentrantLockWhenPutMessage=true improve it.",
    reading=f"With {SEND_THREADS} send threads at least twice as much is accepted as with one, and less than a tenth is "
    "refused. The price: so many threads of the broker that wait, and each send waits for a flush still.",
    expected=confirmed("each thread waits for its own message, and one flush answers all that were appended before it",
                       f"{STORE}.handleDiskFlush, {GROUP_COMMIT}", ("4.6.0",)), cure_of=X_01.id,
    parts={
        "accepted": ratio(of("accepted_per_s", THREADS), of("accepted_per_s", "incident"), MORE),
        "few refused": _refused(THREADS, NONE),
        "price": fact(of("waited_flush_share", THREADS), WAITS),
        "by default": control(_alone("incident")),
    }, summary="With SYNC_FLUSH and 16 send threads, {accepted} times as much was accepted, and under a tenth was refused "
    "{few refused}; each send waited for a flush {price}.",
    told=Told(
        weight=Weight.DELAY,
        do="sendMessageThreadPoolNums=16 and useReentrantLockWhenPutMessage=true",
    ),
)  # fmt: skip

X_04 = claim(
    "X-sync-flush-one-thread-04", "", "With ASYNC_FLUSH a slow flush keeps no send waiting.",
    reading="With the same flushes and ASYNC_FLUSH all is accepted that is sent, none is refused.",
    expected=confirmed(APPENDED, f"{STORE}.handleDiskFlush, {STORE}.FlushRealTimeService", ("4.6.0",))
    | confirmed(APPENDED, f"{STORE}.submitFlushRequest, {STORE}.FlushRealTimeService", ("4.9.7",))
    | confirmed(APPENDED, f"{STORE}.DefaultFlushManager.handleDiskFlush, {STORE}.FlushRealTimeService", RELEASES_5X),
    parts={"accepted": _accepted(ASYNC), "few refused": _refused(ASYNC, NONE), "without a fault": control(_accepted("baseline"))},
    summary="With ASYNC_FLUSH and slow flushes everything was accepted {accepted}, and under a tenth was refused {few refused}.",
)  # fmt: skip

SYNC_FLUSH = {"flushDiskType": "SYNC_FLUSH"}
CURE = {**SYNC_FLUSH, "sendMessageThreadPoolNums": str(SEND_THREADS), "useReentrantLockWhenPutMessage": "true"}


def _arm(name: str, what: str, conf: Mapping[str, str], fault: Fault, releases: tuple[str, ...] = ()) -> Arm:
    return Arm(
        name=name, what=what, fault=fault, load=OpenLoopSends(mode="sync", threads=SENDERS), broker=BrokerSettings(conf=conf),
        cells=({"rate_hz": RATE_HZ},), releases=releases,
    )  # fmt: skip


SLOW = SlowFlush(flush_ms=FLUSH_MS)

SCENARIO = Scenario(
    name="sync-flush-one-thread",
    title="SYNC_FLUSH, and one message a flush",
    summary=f"{SENDERS} senders that wait for their answers, at most {RATE_HZ} sends a second in all, to a broker whose flushes "
    f"take {FLUSH_MS:g} ms longer.",
    symptom="With SYNC_FLUSH a broker takes no more than some hundred messages a second ([TIMEOUT_CLEAN_QUEUE]broker "
    "busy), however many producers send.",
    threads=("issues/1515", "issues/348", "issues/320", "issues/601", "issues/2471"),
    faces={
        "a flush takes one message": "X-sync-flush-one-thread-01",
        "sends are refused": "X-sync-flush-one-thread-02",
    },
    advice="Set sendMessageThreadPoolNums=16 with useReentrantLockWhenPutMessage=true, or upgrade the broker to 4.9.7 "
    "or newer.",
    cures=("X-sync-flush-one-thread-03",),
    audited=("one-message-a-flush",),
    no_sign="Brokers write of the refused sends alone, as in append-stall: ask for flushDiskType and "
    "sendMessageThreadPoolNums, and see how long the disk takes for a flush.",
    topology=Topology(name="single"),
    arms=(
        _arm("baseline", "ASYNC_FLUSH, the default; no flush is held up.", {}, NoFault()),
        _arm("incident", "SYNC_FLUSH; all else is the default.", SYNC_FLUSH, SLOW),
        _arm(ASYNC, "ASYNC_FLUSH, the default.", {}, SLOW),
        _arm(THREADS, "SYNC_FLUSH, sendMessageThreadPoolNums=16, useReentrantLockWhenPutMessage=true.", CURE, SLOW, ("4.6.0",)),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=HOLD_S, hold_s_max=HOLD_S, recover_s=0.0),
    claims=(X_01, X_02, X_03, X_04),
    budget=TrialBudget(trials=5, deployments=5),
    quick_budget=TrialBudget(trials=1, deployments=1),
    exclusive=True,
    shares_machine=True,
    hiccup_ms_max=500.0,
    extra_measures=("accepted_per_s", "waited_flush_share"),
)  # fmt: skip
"""How many messages share a flush is decided by code, how much more that is by the host's disk, too: five deployments."""
