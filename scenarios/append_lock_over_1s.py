"""A1, A2: one append holds the put lock for more than a second, and the broker answers in five ways.

Each way is produced on purpose, in an arm where it appears and beside one where it does not:

- ``REJECTREQUEST`` and ``PCBUSY_CLEAN_QUEUE``: a stall of 1200 ms against 450 and 950 ms, and against a longer
  osPageCacheBusyTimeOutMills; ``REJECTREQUEST`` also without any stall, from a transient store pool that is too small.
- ``TIMEOUT_CLEAN_QUEUE``: a stall of 450 ms against none.
- ``OVERLOAD``: a send queue of 50 places and a stall of 150 ms, which fill 75 of them, against the default 10,000.
- ``PC_SYNCHRONIZED`` needs requests that pass the check on the network thread while the lock is younger than a second and
  reach the store when it is older: 64 send threads that are held up for 400 ms before the store. At 50 sends a second, of
  a stall of 1500 ms, those that came 600 to 1000 ms after its begin meet a busy page cache there: 20 requests.
"""

from __future__ import annotations

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.loads import OpenLoopSends
from harness.model.rocketmq import PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.claims import (
    CONFIRMED,
    REFUTED,
    RELEASES_4X,
    claim,
    expect,
    mean,
    median,
    of,
    share,
)

RATE_HZ = 500
LOAD = OpenLoopSends(readings=("busy_ends_ms", "other_reject_conditions"))
DEFAULTS = {PAGE_CACHE_BUSY: f"{PAGE_CACHE_BUSY_MS:g}"}
THREADS_RATE_HZ, THREADS_STALL_MS = 50, 1500


BUSY_01 = claim(
    "BUSY-01", "A1", "Five keywords mark a busy broker: [REJECTREQUEST]system busy, too many requests and system thread pool "
    "busy, [PC_SYNCHRONIZED]broker busy, [PCBUSY_CLEAN_QUEUE]broker busy and [TIMEOUT_CLEAN_QUEUE]broker busy; each arises at "
    "its own stage of a send.",
    reading="Each of the five stages, when it is brought about, refuses requests with its own text in what the client is told, "
    "and none does without a fault. For the full send queue that text is the article's.",
    expected=expect(
        REFUTED, "a full send queue is answered with [OVERLOAD]system busy; the article's words are the broker's own log line, "
        "and that only in one millisecond of every ten seconds",
        "org.apache.rocketmq.remoting.netty.NettyRemotingAbstract.processRequestCommand"
    ),
    parts={
        "rejected before queueing": mean(
            of("rejected_count", "incident", keyword="REJECTREQUEST", stall_ms=1200), ">=", 10.0, "requests a stall",
            "At 500 sends a second 200 ms of arrivals are 100 requests; a tenth of them is more than chance.", units_min=3),
        "cleaned for the page cache": mean(
            of("rejected_count", "incident", keyword="PCBUSY_CLEAN_QUEUE", stall_ms=1200), ">=", 10.0, "requests a stall",
            "At 500 sends a second 200 ms of arrivals are 100 requests; a tenth of them is more than chance.", units_min=3),
        "cleaned for waiting": mean(
            of("rejected_count", "incident", keyword="TIMEOUT_CLEAN_QUEUE", stall_ms=450), ">=", 10.0, "requests a stall",
            "At 500 sends a second 200 ms of arrivals are 100 requests; a tenth of them is more than chance.", units_min=3),
        "refused by a full queue": mean(
            of("rejected_count", "incident-small-queue", keyword="OVERLOAD", stall_ms=150), ">=", 5.0, "requests a stall",
            "Of the 75 requests that 150 ms bring, 25 find no place among 50; a fifth of that is more than chance.", units_min=3),
        "refused in the store": mean(
            of("rejected_count", "incident-busy-threads", keyword="PC_SYNCHRONIZED", stall_ms=1500), ">=", 4.0,
            "requests a stall", "Of 20 requests that reach the store too late by construction; a fifth is more than chance.",
            units_min=3),
        "refused without a fault": mean(
            of("rejected_count", "baseline", keyword="any", stall_ms=0), "<=", 1.5, "requests a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "the article's text of a full queue": share(
            of("has_article_phrase", "incident-small-queue", keyword="OVERLOAD"), 1.0, 1.0, 0.5, "of stalls",
            "A keyword that fewer than half of the clients ever read is not what marks the failure.", units_min=3),
    },
    summary="Requests refused a stall: {rejected before queueing} REJECTREQUEST, {cleaned for the page cache} "
    "PCBUSY_CLEAN_QUEUE, {cleaned for waiting} TIMEOUT_CLEAN_QUEUE, {refused in the store} PC_SYNCHRONIZED, and {refused by a "
    "full queue} from a full queue, which reads [OVERLOAD]: {the article's text of a full queue} of those stalls gave a client "
    "the article's text.",
)  # fmt: skip

BUSY_02 = claim(
    "BUSY-02", "A1, A2", "The first four come mainly from one append that holds the lock for more than a second.",
    reading="With appends of up to 950 ms there is none of the first four, whatever else is set; one append of 1200 ms on a "
    "broker with default settings brings all four.",
    expected=expect(
        REFUTED, "two of the four follow from the age of the lock; the send queue of 10,000 places does not fill within the "
        "second after which new requests are rejected, and a request that passed the first check finds the store's check a "
        "moment later; on the other hand a small queue or a small pool refuses without any slow append",
        "org.apache.rocketmq.store.DefaultMessageStore.isOSPageCacheBusy, "
        "org.apache.rocketmq.remoting.netty.NettyRemotingAbstract.processRequestCommand"
    ),
    parts={
        "up to 950 ms": mean(
            of("rejected_count", "incident", keyword="page-cache", stall_ms=(450, 950)), "<=", 1.5, "requests a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "full queue, 150 ms": mean(
            of("rejected_count", "incident-small-queue", keyword="OVERLOAD", stall_ms=150), "<=", 1.5, "requests a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "small pool, no stall": mean(
            of("rejected_count", "incident-small-pool", keyword="REJECTREQUEST", stall_ms=0), "<=", 1.5, "requests a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "REJECTREQUEST at 1200 ms": mean(
            of("rejected_count", "incident", keyword="REJECTREQUEST", stall_ms=1200), ">=", 1.0, "requests a stall",
            "One refusal by this way would do.", units_min=3),
        "PCBUSY at 1200 ms": mean(
            of("rejected_count", "incident", keyword="PCBUSY_CLEAN_QUEUE", stall_ms=1200), ">=", 1.0, "requests a stall",
            "One refusal by this way would do.", units_min=3),
        "PC_SYNCHRONIZED at 1200 ms": mean(
            of("rejected_count", "incident", keyword="PC_SYNCHRONIZED", stall_ms=1200), ">=", 1.0, "requests a stall",
            "One refusal by this way would do.", units_min=3),
        "OVERLOAD at 1200 ms": mean(
            of("rejected_count", "incident", keyword="OVERLOAD", stall_ms=1200), ">=", 1.0, "requests a stall",
            "One refusal by this way would do.", units_min=3),
    },
    summary="One append of 1200 ms gave {REJECTREQUEST at 1200 ms} REJECTREQUEST, {PCBUSY at 1200 ms} PCBUSY_CLEAN_QUEUE, "
    "{PC_SYNCHRONIZED at 1200 ms} PC_SYNCHRONIZED and {OVERLOAD at 1200 ms} OVERLOAD; a queue of 50 places gave {full queue, "
    "150 ms} OVERLOAD at 150 ms, and a pool of two buffers {small pool, no stall} REJECTREQUEST without a stall.",
)  # fmt: skip

BUSY_13 = claim(
    "BUSY-13", "A2", "A request is rejected before queueing when the page cache is busy or the transient pool is short: exactly "
    "these two conditions.",
    reading="REJECTREQUEST comes with each of the two alone, and with neither there is none; the release's own "
    "SendMessageProcessor.rejectRequest, read from its jar, asks for nothing else.",
    expected=expect(
        CONFIRMED, "rejectRequest is isOSPageCacheBusy or isTransientStorePoolDeficient",
        "org.apache.rocketmq.broker.processor.SendMessageProcessor.rejectRequest", RELEASES_4X
    )
    | expect(
        REFUTED, "a slave that does not act as master rejects every send in the same way, before the other two",
        "org.apache.rocketmq.broker.processor.SendMessageProcessor.rejectRequest", ("5.3.3",)
    ),
    parts={
        "page cache busy": mean(
            of("rejected_count", "incident", keyword="REJECTREQUEST", stall_ms=1200), ">=", 10.0, "requests a stall",
            "At 500 sends a second 200 ms of arrivals are 100 requests; a tenth of them is more than chance.", units_min=3),
        "pool short": mean(
            of("rejected_count", "incident-small-pool", keyword="REJECTREQUEST", stall_ms=0), ">=", 10.0, "requests a stall",
            "At 500 sends a second 200 ms of arrivals are 100 requests; a tenth of them is more than chance.", units_min=3),
        "lock younger": mean(
            of("rejected_count", "incident", keyword="REJECTREQUEST", stall_ms=(450, 950)), "<=", 1.5, "requests a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "queue full": mean(
            of("rejected_count", "incident-small-queue", keyword="REJECTREQUEST", stall_ms=150), "<=", 1.5, "requests a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "longer limit": mean(
            of("rejected_count", "better-longer-busy-timeout", keyword="REJECTREQUEST", stall_ms=1200), "<=", 1.5,
            "requests a stall", "With osPageCacheBusyTimeOutMills=2000 the same stall leaves the page cache not busy.",
            units_min=3),
        "other conditions in the code": median(
            of("other_reject_conditions", "incident", moment="after"), "<=", 0.5, "",
            "The code either asks for something else or does not.", units_min=1),
    },
    summary="A busy page cache gave {page cache busy} REJECTREQUEST a stall and a pool of two buffers {pool short}; with "
    "neither there were {lock younger}. Of other conditions its code has {other conditions in the code}.",
)  # fmt: skip

BUSY_16 = claim(
    "BUSY-16", "A2", "[REJECTREQUEST] is a cause of message loss.",
    reading="Of the messages that a stall of 1200 ms finds, some fail for good (asynchronous sends, which no release repeats "
    "after a broker's refusal) and are not stored. This is apart from loss of what was acknowledged, of which there is none.",
    expected=expect(
        CONFIRMED, "an asynchronous send that the broker answers with an error ends with that error, and nothing was appended",
        "org.apache.rocketmq.client.impl.MQClientAPIImpl.sendMessageAsync: onExceptionImpl with needRetry=false"
    ),
    parts={
        "failed for good": mean(
            of("refused_for_good_count", "incident", stall_ms=1200), ">=", 10.0, "messages a stall",
            "At 500 sends a second 200 ms of arrivals are 100 requests; a tenth of them is more than chance.", units_min=3),
        "refused and stored all the same": mean(
            of("refused_stored_count", "incident", stall_ms=1200), "<=", 1.5, "messages a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
        "acknowledged and absent": mean(
            of("lost_count", "incident", stall_ms=1200), "<=", 1.5, "messages a stall",
            "None is expected; three stalls without any bound the mean below 1.3.", units_min=3),
    },
    summary="A stall of 1200 ms left {failed for good} messages unsent for good, of which {refused and stored all the same} "
    "were in the store after all; acknowledged and absent were {acknowledged and absent}.",
)  # fmt: skip

BUSY_21 = claim(
    "BUSY-21", "A2", "A lock that has been held for 10,000,000 ms or more no longer counts as busy.",
    reading="Code only: the one constant that the release's isOSPageCacheBusy compares the lock's age with, read from its jar, "
    "is 10,000,000.",
    expected=expect(
        CONFIRMED, "busy means that the lock's age is below 10000000 and above osPageCacheBusyTimeOutMills",
        "org.apache.rocketmq.store.DefaultMessageStore.isOSPageCacheBusy"
    ),
    parts={
        "upper end": median(
            of("busy_ends_ms", "incident", moment="after"), "<=", 10000000.0, "ms",
            "The article's own number, exactly; nobody waits 2.8 hours to see it.", units_min=1),
        "not less": median(
            of("busy_ends_ms", "incident", moment="after"), ">=", 10000000.0, "ms",
            "The article's own number, exactly; nobody waits 2.8 hours to see it.", units_min=1),
    },
    summary="In the release's jar the lock counts as busy below an age of {upper end} ms.",
)  # fmt: skip

SCENARIO = Scenario(
    name="append-lock-over-1s",
    title="An append of more than a second, and the five ways to refuse",
    article="A1, A2",
    summary="Open-loop sends, client retries off, one append stalled or a queue, a pool or the send threads too small: which "
    "of the five keywords comes from what, and what happens to the messages.",
    topology=Topology(name="single"),
    arms=(
        Arm(
            name="baseline",
            what="The same load, no stall.",
            fault=NoFault(),
            load=LOAD,
            live_conf=DEFAULTS,
            cells=({"stall_ms": 0, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="incident",
            what="One append stalls; every setting at its default.",
            fault=AppendStall(),
            load=LOAD,
            live_conf=DEFAULTS,
            cells=tuple({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in (450, 950, 1200)),
        ),
        Arm(
            name="fix-large-queue",
            what="A short stall with the default sendThreadPoolQueueCapacity of 10,000.",
            fault=AppendStall(),
            load=LOAD,
            live_conf=DEFAULTS,
            cells=({"stall_ms": 150, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="better-longer-busy-timeout",
            what="osPageCacheBusyTimeOutMills=2000: the same stall, and the page cache does not count as busy.",
            fault=AppendStall(),
            load=LOAD,
            live_conf={PAGE_CACHE_BUSY: "2000"},
            cells=({"stall_ms": 1200, "rate_hz": RATE_HZ},),
        ),
        Arm(
            name="incident-small-queue",
            what="The same short stall with sendThreadPoolQueueCapacity=50.",
            fault=AppendStall(),
            load=LOAD,
            broker=BrokerSettings(conf={"sendThreadPoolQueueCapacity": "50"}),
            cells=({"stall_ms": 150, "rate_hz": RATE_HZ},),
            trials=6,  # What is in none of six trials is in less than half of all with 95 %.
        ),
        Arm(
            name="incident-busy-threads",
            what="64 send threads that need 400 ms before the store, and an append that stalls.",
            fault=AppendStall(before_store_ms=400.0),
            load=LOAD,
            broker=BrokerSettings(conf={"sendMessageThreadPoolNums": "64", "useReentrantLockWhenPutMessage": "true"}),
            cells=({"stall_ms": THREADS_STALL_MS, "rate_hz": THREADS_RATE_HZ},),
        ),
        Arm(
            name="incident-small-pool",
            what="A transient store pool of two buffers, no stall.",
            fault=NoFault(),
            load=LOAD,
            broker=BrokerSettings(conf={"transientStorePoolEnable": "true", "transientStorePoolSize": "2"}),
            cells=({"stall_ms": 0, "rate_hz": RATE_HZ},),
        ),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(BUSY_01, BUSY_02, BUSY_13, BUSY_16, BUSY_21),
    budget=TrialBudget(trials=5, deployments=1, extra_trials=3),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells={"better-longer-busy-timeout": (), "incident-busy-threads": ()},
    exclusive=True,
    hiccup_ms_max=40.0,
    injections=("byteman",),
)
"""A hiccup of 40 ms moves a count at 500 sends a second by 20 requests. The freeze would stop the threads that are to be
held up before the store as well, so that there is one injection only."""
