"""A1, A2: one append holds the put lock for more than a second, and the broker answers in five ways.

Each way is produced on purpose, in an arm where it appears and beside one where it does not:

- ``REJECTREQUEST`` and ``PCBUSY_CLEAN_QUEUE``: a stall of 1200 ms against 700 ms, and against a longer
  osPageCacheBusyTimeOutMills; ``REJECTREQUEST`` also without any stall, from a transient store pool that is too small.
- ``TIMEOUT_CLEAN_QUEUE``: a stall of 450 ms against none.
- ``OVERLOAD``: a send queue of 50 places and a stall of 150 ms, which fill 75 of them, against the default 10,000.
- ``PC_SYNCHRONIZED`` needs requests that pass the check on the network thread while the lock is younger than a second and
  reach the store when it is older: 64 send threads that are held up for 400 ms before the store. At 50 sends a second, of
  a stall of 1500 ms, those that came 600 to 1000 ms after its begin meet a busy page cache there: 20 requests.
"""

# ruff: noqa: I001 - constants stay on two lines

from __future__ import annotations

from harness.model.rules import Harm, Told, Weight

from typing import Any

from harness.model.cluster import BrokerSettings, Topology
from harness.model.faults import AppendStall, NoFault
from harness.model.incident import Sign
from harness.model.log_events import Logged, LogPattern
from harness.model.loads import OpenLoopSends
from harness.model.rocketmq import BUSY_KEYWORDS, OVERLOAD, PAGE_CACHE_BUSY, PAGE_CACHE_BUSY_MS, PC_SYNCHRONIZED
from harness.model.rocketmq import PCBUSY_CLEAN_QUEUE, REJECTREQUEST, TIMEOUT_CLEAN_QUEUE
from harness.model.rules import Part, Selection
from harness.model.scenario import Arm, Phases, Scenario, TrialBudget
from scenarios.releases import RELEASES_4X, RELEASES_5X
from scenarios.rules import claim, code, confirmed, control, each, fact, happens, mean, never, of, refuted, side

RATE_HZ = 500
LOAD = OpenLoopSends(readings=("busy_ends_ms", "other_reject_conditions"))
ONE_WAY_LOAD = OpenLoopSends(mode="oneway")
DEFAULTS = {PAGE_CACHE_BUSY: f"{PAGE_CACHE_BUSY_MS:g}"}
POOL_OF_TWO = BrokerSettings(conf={"transientStorePoolEnable": "true", "transientStorePoolSize": "2"})
THREADS_RATE_HZ, THREADS_STALL_MS = 50, 1500
SHORT_MS, WAITING_MS, YOUNGER_MS, LONG_MS = 150, 450, 700, 1200
FOREVER_MS = 10_000_000

SMALL_QUEUE, SMALL_POOL, BUSY_THREADS = "incident-small-queue", "incident-small-pool", "incident-busy-threads"
ONE_WAY, CALM_ONE_WAY = "incident-small-pool-one-way", "baseline-one-way"
YOUNGER, LONGER_LIMIT = "incident-younger-lock", "better-longer-busy-timeout"
ANY, FIRST_FOUR = "any", "first-four"
PROCESS_REQUEST = "org.apache.rocketmq.remoting.netty.NettyRemotingAbstract.processRequestCommand"
PAGE_CACHE_IS_BUSY = "org.apache.rocketmq.store.DefaultMessageStore.isOSPageCacheBusy"
REJECT_REQUEST = "org.apache.rocketmq.broker.processor.SendMessageProcessor.rejectRequest"

ARRIVED = side(100, 0, "200 ms of arrivals at 500 a second, or none")
OVERFLOWED = side(25, 0, "of the 75 requests of 150 ms 25 find no place among 50")
NO_BUFFER = side(200, 0, "all requests of 0.4 s, or none")
BEYOND_MS = LONG_MS - PAGE_CACHE_BUSY_MS
"""For so long the lock of the long stall counts as timed out; a shorter hiccup takes no refusal away."""
A_SECOND = side(PAGE_CACHE_BUSY_MS, 500, "the limit of the lock's age, or half of it")


def _refused(keyword: str, arm: str, stall_ms: int) -> Selection:
    return of("rejected_count", arm, keyword=keyword, stall_ms=stall_ms)


def _rejected_at_1200(arm: str = "incident") -> Selection:
    return _refused(REJECTREQUEST, arm, LONG_MS)


def _from_a_second_on(keyword: str, scope: str = "") -> Part:
    """Of the 600 requests that come in the long stall 500 come while its lock is younger than a second."""
    return each(of("first_rejected_after_ms", "incident", keyword=keyword), A_SECOND, scope=scope, noun="stalls")


BUSY_01_PARTS = {
    "before queueing": fact(_rejected_at_1200(), ARRIVED, slack_ms=BEYOND_MS),
    "for the page cache": fact(_refused(PCBUSY_CLEAN_QUEUE, "incident", LONG_MS), ARRIVED, slack_ms=BEYOND_MS),
    "for waiting": fact(_refused(TIMEOUT_CLEAN_QUEUE, YOUNGER, WAITING_MS), side(125, 0, "250 ms of arrivals"), slack_ms=250),
    "full queue": fact(_refused(OVERLOAD, SMALL_QUEUE, SHORT_MS), OVERFLOWED, slack_ms=SHORT_MS),
    "in the store": fact(_refused(PC_SYNCHRONIZED, BUSY_THREADS, THREADS_STALL_MS),
                         side(20, 0, "400 ms of arrivals at 50 a second, by construction")),
    "without a fault": control(never(_refused(ANY, "baseline", 0), 200, "all of 0.4 s at worst", slack_ms=BEYOND_MS)),
}  # fmt: skip

BUSY_02_PARTS = {
    "before a second": _from_a_second_on(FIRST_FOUR, "default settings"),
    "queue of 50": never(_refused(FIRST_FOUR, SMALL_QUEUE, SHORT_MS), OVERFLOWED.if_true, OVERFLOWED.because,
                         scope="a send queue of 50 places", slack_ms=PAGE_CACHE_BUSY_MS - SHORT_MS, noun="stalls"),
    "pool of two": never(_refused(FIRST_FOUR, SMALL_POOL, 0), NO_BUFFER.if_true, NO_BUFFER.because,
                         scope="a pool of two buffers", slack_ms=PAGE_CACHE_BUSY_MS),
    **{keyword: happens(_refused(keyword, "incident", LONG_MS), ARRIVED.if_true, ARRIVED.because, slack_ms=BEYOND_MS, noun="stalls")
       for keyword in BUSY_KEYWORDS if keyword != TIMEOUT_CLEAN_QUEUE},
}  # fmt: skip

BUSY_13_PARTS = {
    "page cache busy": fact(_rejected_at_1200(), ARRIVED, slack_ms=BEYOND_MS),
    "pool short": fact(_refused(REJECTREQUEST, SMALL_POOL, 0), NO_BUFFER),
    "lock younger": _from_a_second_on(REJECTREQUEST),
    "stall shorter": fact(_refused(REJECTREQUEST, YOUNGER, YOUNGER_MS), side(0, 100, "none, or 200 ms of arrivals"), slack_ms=300),
    "queue full": fact(_refused(REJECTREQUEST, SMALL_QUEUE, SHORT_MS), side(0, 25, "none, or as many as find no place"),
                       slack_ms=SHORT_MS),
    "longer limit": fact(_rejected_at_1200(LONGER_LIMIT), side(0, 100, "none, or as with a limit of 1 s"), slack_ms=BEYOND_MS),
    "others": code(of("other_reject_conditions", "incident", moment="after"), side(0, 1, "it asks for something else or does not")),
}  # fmt: skip

# Of a pool that is short REJECTREQUEST alone comes, and of a one-way send nobody tells which keyword it met.
BUSY_16_PARTS = {
    "one-way": happens(of("unanswered_absent_count", ONE_WAY), 450, "All that are sent in 0.9 s at 500 a second.",
                       without=of("unanswered_absent_count", CALM_ONE_WAY), noun="trials"),
    "code 2": each(of("refusal_code", "incident", keyword=REJECTREQUEST),
                   side(0, 2, "SYSTEM_BUSY is 2, and 0 would be success", bound=0), predicted=2),
    "stored": never(of("refused_stored_count", "incident"), 100, "what a stall has rejected, or some of it", noun="stalls"),
    "acknowledged": control(never(of("lost_count", "incident"), 100, "what a stall has rejected, or some of it")),
    "rejected": control(fact(_rejected_at_1200(), ARRIVED, slack_ms=BEYOND_MS)),
    "pool short": control(fact(_refused(REJECTREQUEST, SMALL_POOL, 0), NO_BUFFER)),
    "never sent": control(mean(of("refused_for_good_count", "incident"), side(600, 0, "all that came in the stall, or none"))),
}  # fmt: skip

BUSY_01 = claim(
    "BUSY-01", "A1", "Five keywords mark a busy broker: [REJECTREQUEST]system busy, too many requests and system thread pool "
    "busy, [PC_SYNCHRONIZED]broker busy, [PCBUSY_CLEAN_QUEUE]broker busy and [TIMEOUT_CLEAN_QUEUE]broker busy; each arises at "
    "its own stage of a send.",
    reading="Each of the five stages, when it is brought about, refuses requests with its own text in what the client is told, "
    "and none does without a fault. The article lists words of logs: those of the full send queue are the broker's own log line, "
    "in one millisecond of every ten seconds, and a client is told [OVERLOAD]system busy.",
    expected=confirmed("each stage has its own text: of a full send queue it is a log line of the remoting code, and [OVERLOAD] in "
                       "the answer", PROCESS_REQUEST),
    parts=BUSY_01_PARTS,
    summary="Requests were refused before they were queued {before queueing}, in the queue for the page cache "
    "{for the page cache} and for their wait {for waiting}, in the store with 64 threads {in the store}, and by a full queue of "
    "50 {full queue}, which is answered with [OVERLOAD].",
)  # fmt: skip

BUSY_02 = claim(
    "BUSY-02", "A1, A2", "The first four come mainly from one append that holds the lock for more than a second.",
    reading="Without an append of a second there is none of the first four, whatever else is set; one append of 1200 ms on a "
    "broker with default settings brings all four.",
    expected=refuted("a small queue or a small pool refuses without any slow append; and the queue of 10,000 places does not fill "
                     "within the second after which new requests are rejected",
                     f"{PAGE_CACHE_IS_BUSY}, {PROCESS_REQUEST}"),
    parts=BUSY_02_PARTS,
    summary="Before a lock was a second old one of the four came at default settings {before a second}, from a queue of 50 places "
    "{queue of 50} and from a pool of two buffers {pool of two}. An append of 1200 ms brought REJECTREQUEST {REJECTREQUEST}, "
    "PCBUSY_CLEAN_QUEUE {PCBUSY_CLEAN_QUEUE}, PC_SYNCHRONIZED {PC_SYNCHRONIZED} and OVERLOAD {OVERLOAD}.",
)  # fmt: skip

BUSY_13 = claim(
    "BUSY-13", "A2", "A request is rejected before queueing when the page cache is busy or the transient pool is short: exactly "
    "these two conditions.",
    reading="REJECTREQUEST comes with each of the two alone, with neither there is none, and the release's code asks for no other.",
    expected=confirmed("it asks isOSPageCacheBusy and isTransientStorePoolDeficient",
                       REJECT_REQUEST, RELEASES_4X)
    | refuted("a slave that does not act as master rejects every send in the same way, before the other two",
              REJECT_REQUEST, RELEASES_5X),
    parts=BUSY_13_PARTS,
    summary="Requests were rejected by a busy page cache {page cache busy}, by a pool of two buffers {pool short}, and before the "
    "lock was a second old {lock younger}. The number of other conditions in the release's code is {others}.",
    told=Told(
        weight=Weight.ALARMS, harm=Harm.FAILS,
        holds="[REJECTREQUEST] has two causes alone: a busy page cache and an empty pool",
        fails="[REJECTREQUEST] has further causes beside a busy page cache and an empty pool",
    ),
)  # fmt: skip

BUSY_16 = claim(
    "BUSY-16", "A2", "[REJECTREQUEST] is a cause of message loss.",
    reading="Lost is what no store has though its sender was told that it is stored, or was told nothing: one-way sends to a "
    "broker that rejects. Each send that waits for its answer ends with code 2 and is not stored, which is no loss.",
    expected=confirmed("a request is rejected before it is queued, one-way or not, and a one-way sender waits for no answer",
                       PROCESS_REQUEST),
    parts=BUSY_16_PARTS,
    summary="One-way sends to a broker that rejected were absent from every store {one-way}, and nobody was told. Of the others "
    "{#code 2} had a code that is not 2, and refused ones were stored {stored}; without retries a stall had {never sent} refused.",
)  # fmt: skip

BUSY_21 = claim(
    "BUSY-21", "A2", "A lock that has been held for 10,000,000 ms or more no longer counts as busy.",
    reading="Code only: the one constant with which the release's isOSPageCacheBusy compares the lock's age is 10,000,000.",
    expected=confirmed("busy means that the lock's age is below 10000000 and above osPageCacheBusyTimeOutMills",
                       PAGE_CACHE_IS_BUSY),
    parts={"upper end": code(of("busy_ends_ms", "incident", moment="after"), predicted=FOREVER_MS,
                             at=side(0, FOREVER_MS, "the article's own number, exactly, or no end", bound=0))},
    summary="In the release's jar the lock counts as busy below an age of {upper end}.",
)  # fmt: skip


def _stalled(name: str, what: str, *stalls_ms: int, **more: Any) -> Arm:
    cells = tuple({"stall_ms": stall_ms, "rate_hz": RATE_HZ} for stall_ms in stalls_ms)
    return Arm(name=name, what=what, fault=AppendStall(), load=LOAD, cells=cells, **more)


def _calm(name: str, what: str, load: OpenLoopSends = LOAD, **more: Any) -> Arm:
    return Arm(name=name, what=what, fault=NoFault(), load=load, cells=({"stall_ms": 0, "rate_hz": RATE_HZ},), **more)


SCENARIO = Scenario(
    name="append-lock-over-1s",
    title="An append of more than a second, and the five ways to refuse",
    article="A1, A2",
    summary="Open-loop sends, client retries off, one append stalled or a queue, a pool or the send threads too small: which "
    "of the five keywords comes from what, and what happens to the messages.",
    symptom="A broker refuses its sends as busy ([REJECTREQUEST], [PCBUSY_CLEAN_QUEUE], [PC_SYNCHRONIZED]) for a "
    "while.",
    advice="Look at what the disk did at those times.",
    cures=("BUSY-04", "BUSY-02"),
    sign=Sign(
        pattern=LogPattern.LONG_STALL,
        events=(Logged.SLOW_APPEND, Logged.REFUSED_FOR_CACHE),
        because="while an append holds the lock for longer than osPageCacheBusyTimeOutMills, or the transient store pool "
        "is empty, sends are refused for the page cache ([PCBUSY_CLEAN_QUEUE], [PC_SYNCHRONIZED], [REJECTREQUEST])",
    ),
    topology=Topology(name="single"),
    arms=(
        _calm("baseline", "The same load, no stall.", live_conf=DEFAULTS),
        _calm(CALM_ONE_WAY, "The same, sent one-way.", ONE_WAY_LOAD, live_conf=DEFAULTS),
        _stalled(
            "incident", "One append stalls; every setting at its default.", LONG_MS, live_conf=DEFAULTS, trials=36
        ),
        _stalled(
            YOUNGER,
            "The append ends before its lock is a second old.",
            WAITING_MS,
            YOUNGER_MS,
            live_conf=DEFAULTS,
            trials=2,
        ),
        _stalled(
            "fix-large-queue",
            "A short stall with the default sendThreadPoolQueueCapacity of 10,000.",
            SHORT_MS,
            live_conf=DEFAULTS,
        ),
        _stalled(
            LONGER_LIMIT,
            "osPageCacheBusyTimeOutMills=2000: the same stall, and the page cache does not count as busy.",
            LONG_MS,
            live_conf={PAGE_CACHE_BUSY: "2000"},
            trials=2,
        ),
        _stalled(
            SMALL_QUEUE,
            "The same short stall with sendThreadPoolQueueCapacity=50.",
            SHORT_MS,
            broker=BrokerSettings(conf={"sendThreadPoolQueueCapacity": "50"}),
            trials=2,
        ),
        Arm(
            name=BUSY_THREADS,
            what="64 send threads that need 400 ms before the store, and an append that stalls.",
            fault=AppendStall(before_store_ms=400.0),
            load=LOAD,
            broker=BrokerSettings(conf={"sendMessageThreadPoolNums": "64", "useReentrantLockWhenPutMessage": "true"}),
            cells=({"stall_ms": THREADS_STALL_MS, "rate_hz": THREADS_RATE_HZ},),
            trials=2,
        ),
        _calm(SMALL_POOL, "A transient store pool of two buffers, no stall.", broker=POOL_OF_TWO, trials=2),
        _calm(ONE_WAY, "The same pool, and sends that wait for no answer.", ONE_WAY_LOAD, broker=POOL_OF_TWO),
    ),
    phases=Phases(steady_s=0.5, hold_s_min=0.4, hold_s_max=0.4, recover_s=0.1),
    claims=(BUSY_01, BUSY_02, BUSY_13, BUSY_16, BUSY_21),
    budget=TrialBudget(trials=5, deployments=5, extra_trials=1),
    quick_budget=TrialBudget(trials=3, deployments=1),
    quick_cells=dict.fromkeys((LONGER_LIMIT, BUSY_THREADS, CALM_ONE_WAY, ONE_WAY), ()),
    exclusive=True,
    hiccup_ms_max=40.0,
    injections=("byteman",),
    extra_measures=("refused_stored_count", "has_article_phrase"),
)
"""The freeze would stop the threads that are to be held up before the store as well, so that there is one injection only."""
